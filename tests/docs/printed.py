#!/usr/bin/env python3
"""What pages show below a command is what the command prints, and the program takes the JSON that they show: these commands run, page by page, with those that write what they read, and every
line that is shown begins one that is printed, in this order; spaces count once.   printed.py ROOT PROGRAM [PAGE...]

A block of code without a language that follows a block of commands is what the last of them prints, and so is a table below `<!-- printed -->`, but
for its headings and its marks of the best. `<!-- not run: WHY -->` before the commands leaves both alone. A block of JSON behind "Save this as `NAME`:" becomes that file.
Other JSON is a part of a scenario or a study, which `simsgd check` accepts."""
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT, PROGRAM = (Path(argument).resolve() for argument in sys.argv[1:3])
PAGES = [Path(name).resolve() for name in sys.argv[3:]] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = re.compile(r"(build/release/)?simsgd \S|\./setup\.sh run$")
QUICK_START = "simsgd sweep run scenarios/quickstart.json -o out/quickstart.db --artifacts out/quickstart"
KEPT = tempfile.TemporaryDirectory()
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.S | re.M)


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def commands_of(block):
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    return [re.sub(r"\s+#.*$", "", line) for line in lines] if lines and all(COMMAND.match(line) for line in lines) else []


def missing(shown, printed):
    """The first line that is shown and does not begin one that is printed after those before it. A paragraph may be broken elsewhere."""
    whole, rest = " ".join(lines_of(printed)), iter(lines_of(printed))
    for paragraph in re.split(r"\n\s*\n", shown):
        lines = lines_of(paragraph)
        if len(lines) > 1 and " ".join(lines) in whole:
            continue
        for line in lines:
            if not any(each.startswith(line) for each in rest):
                return line
    return None


def rows_of(table):
    """Cells of a table in Markdown, without headings and marks."""
    rows = [[re.sub(r"\s*(\\\*|=)?$", "", cell.strip()) for cell in line.strip().strip("|").split("|")] for line in table.splitlines() if line.startswith("|")]
    return [" | ".join(row) for row in rows[2:]]


def shown_outputs(page):
    """Of a page in order: files to be saved, commands, and what the last of them prints, or nothing."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    for i, block in enumerate(blocks):
        before = text[blocks[i - 1].end() if i else 0:block.start()]
        if saved := re.search(r"Save this as `([^`]+)`:\s*$", before):
            yield "file", saved[1], block[2]
        commands = commands_of(block[2]) if not block[1] else []
        if not commands:
            continue
        following = blocks[i + 1] if i + 1 < len(blocks) else None
        between = text[block.end():following.start()] if following else ""
        shown = following and not following[1] and not commands_of(following[2]) and "```" not in between and "\n## " not in between
        if "<!-- not run" not in before:
            table = re.match(r"\s*<!-- printed -->\n\n?((?:\|.*\n)+)", text[block.end():])
            yield "commands", commands, following[2] if shown else table[1] if table else None


# What a page's JSON is put into: its keys replace these; an object by itself is an axis.
BASE = {"name": "shown", "cluster": {"use": "clusters/ethernet-10g.json", "workers": 64}, "workload": {"use": "workloads/resnet20.json", "batch": 64},
        "algorithm": {"name": "allreduce_sgd"}, "stragglers": [{"name": "exponential", "mean": "20 ms"}], "stop": {"steps": 5}}
LEARNS = {"learner": {"model": {"name": "softmax_regression"}, "data": {"name": "gaussian_mixture"}, "batch": 16}, "target": {"metric": "test_accuracy", "value": 0.7}}
AXES = [{"pointer": "/algorithm", "name": "algorithm", "values": [{"name": "allreduce_sgd"}, {"name": "wagma"}, {"name": "matcha", "probabilities": "uniform"}]},
        {"pointer": "/stragglers/0/mean", "name": "severity", "values": ["20 ms", "40 ms"]},
        {"pointer": "/workload/use", "values": ["workloads/resnet20.json", "workloads/resnet50.json"]}]
OTHER_JSON = ("import.md",)  # maps of tables: tests/traces


def parts_of(block):
    """The values of a block one after another, and its members ("key": ...) as objects."""
    axes = iter(['{"pointer": "/cluster/workers", "values": [8, 16]}', '{"pointer": "/workload/batch", "values": [32, 64]}'])
    text = re.sub(r"\bAXIS\b", lambda _: next(axes), block).strip()
    members = []
    while text:
        if text[0] == '"':
            key, end = json.JSONDecoder().raw_decode(text)
            value, after = json.JSONDecoder().raw_decode(text[end:].lstrip(": "))
            members.append({key: value})
            text = text[end:].lstrip(": ")[after:].lstrip(", \n")
        else:
            value, end = json.JSONDecoder().raw_decode(text)
            yield value
            text = text[end:].lstrip(", \n")
    if members:
        yield {key: value for member in members for key, value in member.items()}


def is_json(block):
    return block[1] == "json" or (not block[1] and re.match(r'\{"(?!id")|"\w+": ', block[2]) is not None)


def studies_of(page):
    """What `simsgd check` should accept."""
    text = page.read_text()
    blocks = list(BLOCK.finditer(text))
    for i, block in enumerate(blocks):
        before = text[blocks[i - 1].end() if i else 0:block.start()]
        if not is_json(block) or "Save this as" in before or "<!-- not run" in before or page.name in OTHER_JSON:
            continue
        for part in parts_of(block[2]):
            if {"pointer", "values", "sobol", "random", "zip"} & set(part):
                axis = [] if part.get("pointer") == "/algorithm" else AXES[:1]
                yield {**BASE, "axes": [*axis, part]}
            elif "topology" in part:
                yield {**BASE, "cluster": {**BASE["cluster"], "workers": 12, **part}}
            else:
                yield {**BASE, **({"axes": AXES} if {"exclude", "circumstances", "seeds"} & set(part) else {}), **(LEARNS if "seeds" in part else {}), **part}


def refused(page, folder):
    """How many parts the page shows, and what the program says of those that it refuses."""
    count, problems = 0, []
    Path(folder, "my.txt").write_text("a text of some words. " * 2000)
    for study in studies_of(page):
        count += 1
        Path(folder, "shown.json").write_text(json.dumps(study))
        ran = subprocess.run([PROGRAM, "check", "shown.json"], cwd=folder, capture_output=True, text=True, timeout=60)
        if ran.returncode:
            problems.append(f"{page.relative_to(ROOT)}: shows JSON that is refused\n  {ran.stderr.strip()}")
    return count, problems


def needed(steps):
    """The files, the commands whose output is shown, and those that write (-o FILE) what one of these reads; in order."""
    kept, words = [], set()
    for kind, what, shown in reversed(steps):
        if kind == "file" or shown or words & {name for command in what for name in re.findall(r"-o (\S+)", command)}:
            kept.append((kind, what, shown))
            words.update(word for command in what if kind == "commands" for word in command.split())
    return kept[::-1]


def check(page, quick_start):
    steps = needed(list(shown_outputs(page)))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "scenarios").symlink_to(ROOT / "scenarios")
        found, problems = refused(page, folder)
        if not any(kind == "commands" for kind, _, _ in steps):
            return found, problems
        for kind, what, shown in steps:
            if kind == "file":
                (Path(folder) / what).write_text(shown)
                continue
            for command in what:
                command = QUICK_START if command == "./setup.sh run" else command
                if command == QUICK_START and quick_start:  # another page's
                    ran = quick_start[0]
                    shutil.copytree(quick_start[1], Path(folder) / "out")
                    continue
                line = re.sub(r"^(build/release/)?simsgd ", f"{PROGRAM} ", command)
                ran = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=300)
                if command == QUICK_START:
                    quick_start[:] = ran, shutil.copytree(Path(folder) / "out", Path(KEPT.name) / "out")
            if shown:
                found += 1
                printed = ran.stdout + ran.stderr
                if shown.startswith("|"):
                    shown, printed = "\n".join(rows_of(shown)), "\n".join(rows_of(printed[printed.index("|"):]))
                line = missing(shown, printed)
                if line is not None:
                    problems.append(f"{page.relative_to(ROOT)}: {what[-1]}\n  does not print: {line}")
    return found, problems


def main():
    found, problems = 0, []
    quick_start = []
    for page in PAGES:
        count, wrong = check(page, quick_start)
        found += count
        problems += wrong
    print(f"{found} outputs and parts of scenarios")
    print("\n".join(problems))
    return bool(problems) or (found < 25 and len(sys.argv) == 3)


sys.exit(main())
