"""A training method that is a function of yours, as text that the program can run by itself."""

import contextlib
import inspect
import textwrap
import types
from typing import Any, Callable, Dict, List

from .errors import InputError

_DECLARED = ("options", "memory", "needs_others", "shards", "sends", "activities", "notes")  # attributes of a method: docs/python.md


def source_of(method: Callable[..., Any]) -> str:
    """The method's source with all that it refers to: functions of yours, modules, and constants."""
    parts: Dict[str, str] = {}
    _add(method, parts)
    for name, value in vars(method).items():
        if name in _DECLARED:
            if inspect.isfunction(value):
                _add(value, parts)
            text = value.__name__ if inspect.isfunction(value) else _literal(value, name)
            parts[f"{method.__name__}.{name}"] = f"{method.__name__}.{name} = {text}"
    return "\n".join(parts.values()) + "\n"


def _add(function: Callable[..., Any], parts: Dict[str, str]) -> None:
    if not inspect.isfunction(function) or function.__name__ == "<lambda>":
        raise InputError(f"A method is a function with a name, written with def, and not {function!r:.60}")
    if function.__closure__:
        raise InputError(f"{function.__name__} uses {', '.join(function.__code__.co_freevars)} of the function around it, which "
                         "the program does not have. Pass it in options.")
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise InputError(f"The source of {function.__name__} cannot be read (was it typed at a prompt?). Write it to a file, or use a "
                         "notebook.") from None
    for name in _names(function.__code__):
        if name in parts or name not in function.__globals__:  # an attribute, a builtin, or an error that the run tells
            continue
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType):
            parts[name] = f"import {value.__name__} as {name}"
        elif inspect.isfunction(value) and value is not function:
            parts[name] = ""  # it may call itself, or us
            _add(value, parts)
            if value.__name__ != name:
                parts[name] += f"{name} = {value.__name__}\n"
        elif value is not function:
            parts[name] = f"{name} = {_literal(value, name)}"
    parts[function.__name__] = parts.pop(function.__name__, "") + text


def _names(code: types.CodeType) -> List[str]:
    inner = filter(inspect.iscode, code.co_consts)
    return [*code.co_names, *(name for each in inner for name in _names(each))]


def _literal(value: Any, name: str) -> str:
    text = repr(value)
    with contextlib.suppress(Exception):
        if (eval(text, {}) == value) is True:  # what the program will make of it
            return text
    raise InputError(f"The method refers to {name}, a {type(value).__name__}, which the program does not have. Pass it in "
                     "options, or make it in the method.")
