"""How methods are loaded from their text, and driven; what is wrong with them is told in words. It follows door.py in one module."""

import inspect
import json
import linecache
import os
import traceback


def place(error):
    """Where in the method it happened."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != "door.py"]
    return "".join(f"{frame.filename}, line {frame.lineno}, in {frame.name}: " for frame in frames[-1:])


def described(error):
    return f"{place(error)}{type(error).__name__}: {error}"


def guarded(function, arguments):
    try:
        return True, function(*arguments)
    except BaseException as error:  # SystemExit too: nobody else ends the program
        return False, described(error)


def advance(generator, value):
    """The method goes on with `value`: ASKED, ENDED, or what is wrong in words."""
    try:
        got = generator.send(value)
    except StopIteration:
        return ENDED
    except BaseException as error:
        return described(error)
    if got is ASKED:
        return ASKED
    return (f"{generator.gi_code.co_filename}, line {generator.gi_frame.f_lineno}, in {generator.gi_code.co_name}: yielded {got!r}, "
            "which is not an operation. Yield what w.next_step(), w.gradient(), w.all_reduce(...), w.wait(...) and the like return.")


methods = []  # that were loaded: (function, options)


def chosen(names, file, function):
    found = {name: value for name, value in names.items() if inspect.isgeneratorfunction(value) and not name.startswith("_")}
    for name in (function, os.path.splitext(os.path.basename(file))[0]):
        if name in found:
            return found[name], []
        if function:
            break
    listed = ", ".join(found) or "none"
    if function:
        return None, [("/function", f"is not a generator function of the source, which has: {listed}", "Write the name of a function that yields")]
    if len(found) == 1:
        return next(iter(found.values())), []
    return None, [("/source", f"has {len(found)} generator functions ({listed}), and a method is one, and a method is one",
                   "Name the method in \"function\"" if found else "Write a generator function: def method(w, options): ... yield w.next_step()")]


TYPES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", list: "a list", dict: "an object"}


def checked(key, declared, value):
    """What is wrong with an option's value, as a list."""
    kind = type(declared["default"]) if declared.get("default") is not None else None
    fits = kind is None or (type(value) in (int, float) if kind is float else type(value) is kind)
    if not fits:
        return [(f"/options/{key}", f"is not {TYPES.get(kind, kind.__name__)}", f"Write {TYPES.get(kind, kind.__name__)}")]
    for bound, beyond, wrong, word in (("minimum", "below", lambda a, b: a < b, "at least"), ("maximum", "above", lambda a, b: a > b, "at most")):
        if bound in declared and wrong(value, declared[bound]):
            return [(f"/options/{key}", f"is {beyond} {declared[bound]}", f"Write {word} {declared[bound]}")]
    if "choices" in declared and value not in declared["choices"]:
        return [(f"/options/{key}", "is not one of the choices", "Use " + ", ".join(map(repr, declared["choices"])))]
    return []


def nearest(key, known):
    import difflib
    close = difflib.get_close_matches(key, known, 1)
    return f"Did you mean {close[0]}? " if close else ""


loaded = {}  # what was said of a text before: a job is made several times of a scenario


def load(*text):
    """JSON: the method's number and what it declares, or its problems."""
    if text not in loaded:
        loaded[text] = load_anew(*text)
    return loaded[text]


def load_anew(source, file, function, options_text):
    given = json.loads(options_text)
    if source.strip().endswith(".py") and "\n" not in source.strip():
        return json.dumps({"problems": [("/source", "is a path, and \"source\" takes the text of a method", "Give the path as \"file\"")]})
    names = {"__name__": "simsgd_method", "__file__": file}
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    try:
        code = compile(source, file, "exec")
        exec(code, names)
    except BaseException as error:
        line = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
        return json.dumps({"problems": [("/source", f"does not run: {place(error)}{line}{type(error).__name__}: {error}", "Correct it")]})
    method, problems = chosen(names, file, function)
    if problems:
        return json.dumps({"problems": problems})
    declared = getattr(method, "options", None)
    if declared is not None:
        for key in given:
            if key not in declared:
                problems.append((f"/options/{key}", "is not an option of the method", nearest(key, [*declared])
                                 + ("Choose " + ", ".join(declared) if declared else "The method has no options")))
        for key, each in declared.items():
            if key not in given and "default" in each:
                given[key] = each["default"]
            elif key not in given:
                problems.append(("/options", f"lacks {key}", f"Add it: {each.get('help', 'it has no default')}"))
            else:
                problems += checked(key, each, given[key])
    methods.append((method, given))
    memory = getattr(method, "memory", {})
    return json.dumps({"problems": problems, "number": len(methods) - 1, "memory": None if callable(memory) else memory,
                       "sends": getattr(method, "sends", None), "activities": getattr(method, "activities", None),
                       "notes": [*getattr(method, "notes", [])],
                       "posts": "post" in names_in(code), "needs_others": bool(getattr(method, "needs_others", True)), "shards": bool(getattr(method, "shards", False)),
                       "options": given})


def memory_of(number, about):
    """JSON: the bytes of each part of a GPU's memory, as the method's function says."""
    return json.dumps(methods[number][0].memory(json.loads(about)))


def names_in(code):
    """Those that it and the functions in it ask for."""
    return {*code.co_names}.union(*[names_in(each) for each in code.co_consts if inspect.iscode(each)])


def begin(number, worker):
    method, options = methods[number]
    worker._file = method.__code__.co_filename
    return method(worker, dict(options)) if len(inspect.signature(method).parameters) > 1 else method(worker)


def begin_hook(function, *arguments):
    got = function(*arguments)
    return got if inspect.isgenerator(got) else None
