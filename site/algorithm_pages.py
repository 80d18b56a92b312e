"""What the site adds to docs/algorithms/NAME.md: options, rows of committed studies, cells against the paper, claims, source. All of it is read
from committed pages, which the program made: nothing is computed here."""
import re
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


@lru_cache(maxsize=None)
def source_of(name):
    for path in sorted(ROOT.glob("algorithms/*/*.cpp")):
        if re.search(rf'\.name = "{name}"', path.read_text()):
            return path.relative_to(ROOT)
    raise KeyError(f"no file of algorithms/ has the method {name}")


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


@lru_cache(maxsize=None)
def tables(page):
    """Of each table of a page: the last heading and the last paragraph before it, its header and its rows."""
    found, heading, said, rows = [], "", "", []
    for line in (DOCS / page).read_text().splitlines() + [""]:
        if line.startswith("|"):
            rows.append(cells_of(line))
            continue
        if len(rows) > 2:
            found.append((heading, said, rows[0], rows[2:]))
        rows = []
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.strip():
            said = line.strip()
    return found


def table(header, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows])


def options(name):
    text = (DOCS / "reference/algorithms.md").read_text()
    section = re.search(rf"^### `/algorithm`: `{name}`\n(.*?)(?=^##)", text, flags=re.S | re.M)
    rows = [cells_of(line) for line in section[1].splitlines() if line.startswith("|")][2:]
    return table(["option", "meaning", "may be", "default"],
                 [[key, meaning, " ".join(filter(None, (kind, extent))), default] for key, meaning, kind, _, extent, default, _ in rows]) if rows else "None."


def is_of(cell, name):
    return re.fullmatch(rf"{name}( \(.*\))?", cell) is not None


def studies(name):
    parts = []
    scaling = [(said, header, row) for _, said, header, rows in tables("studies.md") for row in rows
               if said.startswith("Scaling efficiency on") and is_of(row[0], name)]
    if scaling:
        rows = [[said.removeprefix("Scaling efficiency on ").rstrip(":"), *row[1:]] for said, _, row in scaling]
        parts += ["Scaling efficiency, by workers ([study](../studies.md#how-far-does-each-algorithm-scale)):",
                  table(["network", *scaling[0][1][1:]], rows)]
    for _, _, header, rows in tables("studies.md"):
        if header[0] == "severity" and name in header:
            at, base = header.index(name), header.index("allreduce_sgd")
            kept = [header.index("severity"), header.index("share"), at] + ([base] if base != at else [])
            parts += ["Minutes to 85 % accuracy with slow workers, with 95 % intervals ([study](../studies.md#who-wins-where-with-slow-workers); "
                      "`*` best, `=` tie with it):",
                      table([header[i] for i in kept], [[row[i] for i in kept] for row in rows])]
    for _, _, header, rows in tables("convergence.md"):
        mine = [row for row in rows if is_of(row[0], name)]
        if header[0] == "algorithm" and mine:
            parts += ["Learning with skewed labels, 16 workers, with 95 % intervals ([study](../convergence.md)):", table(header, mine)]
    for heading, _, header, rows in tables("studies.md"):
        at = header.index("method") if "method" in header else 0
        mine = [row for row in rows if is_of(row[at], name)]
        if header[:2] == ["algorithm", "step (ms)"] or (at > 0 and mine):
            if at > 0:
                mine = [row for row in rows if is_of(row[at], name) or is_of(row[at], "allreduce_sgd")]
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            parts += [f"[{heading}](../studies.md#{anchor})", table(header, mine)] if mine else []
    return "\n\n".join(parts)


def cells(name):
    parts = []
    for heading, _, header, rows in tables("papers/left_out.md"):
        mine = [row for row in rows if name in row[:3]]
        if "measured" in header and mine:
            parts += [f"{heading}:", table(header, mine)]
    if not parts:
        return ""
    return "\n\n".join([*parts, "How these were predicted: [the papers' cells, fitted and left out](../papers/left_out.md)."])


def claims(title):
    short = title.split(" (")[0].removesuffix("-SGD").removesuffix(" S-SGD").removesuffix(" SGD")
    rows = next(rows for _, _, header, rows in tables("claims.md") if header[0] == "claim")
    mine = [[re.sub(r"\[(\w+)\]\([^)]*\)", r"\1", row[0]), *row[1:]] for row in rows if re.search(rf"\b{re.escape(short)}\b", row[1])]
    return table(["claim", "said", "verdict", "reproduced in"], mine) + "\n\nHow they were tested: [claims of the papers](../claims.md)." if mine else ""


def generated(name, title):
    source = source_of(name)
    sections = {"Options": options(name), "In committed studies": studies(name), "Its cells against the paper": cells(name),
                "What its paper says": claims(title), "Source": f"[{source}](../../{source}), with the paper it follows and what a crash does."}
    return "\n\n".join(f"## {heading}\n\n{text}" for heading, text in sections.items() if text) + "\n"


def whole(path):
    """The text of a page of the manual, with what is added to it."""
    text = Path(path).read_text()
    if Path(path).parent == DOCS / "algorithms" and Path(path).stem != "glance":
        text += "\n" + generated(Path(path).stem, text.splitlines()[0].lstrip("# "))
    return text
