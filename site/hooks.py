"""What the site of the manual needs beyond mkdocs: files of the repository that pages link to become pages, and search and drawings work from a
folder without a network (browsers let no script of a file:// page fetch or start a worker). Pages of algorithms get what algorithm_pages.py adds."""
import html
import json
import os
import re
import shutil
import sys
from pathlib import Path

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).resolve().parent))
import algorithm_pages  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "build/site/node_modules"
SOURCES = ROOT / "build/site/pages"
SCRIPTS = {"search_worker.js": "iframe-worker/shim/index.js", "mermaid.js": "mermaid/dist/mermaid.min.js"}
LINK = re.compile(r"(?<=\]\()([^)#\s]*[./][^)#\s]*)")
STYLE = """
.md-grid { max-width: 72rem; } .md-typeset h1 { margin-bottom: .5em; }
.md-typeset td code { word-break: normal; }
.md-typeset table:not([class]) th, .md-typeset table:not([class]) td { min-width: 2rem; padding: .5em .6em; }
.md-typeset td:nth-child(3):nth-last-child(2) code { overflow-wrap: anywhere; }
.md-typeset pre > code { font-size: .72em; } .md-content__inner { margin-left: 1rem !important; margin-right: 1rem !important; }
[data-md-color-scheme=slate] { --md-typeset-a-color: #9fa8ff; }
@media (min-width: 76.25em) {
  .md-sidebar { width: 10.8rem; } .md-typeset pre > code:not(.wide) { white-space: pre-wrap; }  /* as a terminal does */
}
"""
# A chart for light and for dark pages: GitHub follows the system, and the site its own switch.
PICTURE = re.compile(r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]*)">\s*<img alt="([^"]*)" src="([^"]*)"([^>]*)>\s*</picture>')
THEMED = r'<img alt="\2" src="\3#only-light"\4><img alt="\2" src="\1#only-dark"\4>'
# A drawing that is scaled to the page's width keeps its own height otherwise, with blanks above and below.
FITTED = """
(api => { const fitted = use => (svg, ...more) => use(svg.replace(/ height="[^"]*"/, ""), ...more);  // the API is frozen
  const render = (id, text, use, ...rest) => api.render(id, text, fitted(use), ...rest);
  window.mermaid = {...mermaid, mermaidAPI: {...api, render}};
})(mermaid.mermaidAPI);
"""
# A method's drawing stands in the page itself, where its words take the colour of the page's.
TIMELINE = re.compile(r'<img alt="[^"]*" src="(?:\.\./)*(figures/methods/\w+\.svg)" ?/?>')
TIMELINE_STYLE = "svg.timeline { max-width: 100%; height: auto; } svg.timeline .t { fill: var(--md-default-fg-color--light) !important; }"
# Each page would build the index of the search anew, a second of its time: it is asked for where one begins to search.
SEARCH = """var __search = {index: new Promise(done => { window.searchIndex = done; let asked = false;
  const ask = () => { if (!asked) document.head.append(Object.assign(document.createElement("script"), {src: "%sassets/search_index.js"})); asked = true; };
  addEventListener("focusin", event => { if (event.target.matches("[data-md-component=search-query]")) ask(); });
  if (/[?&]q=/.test(location.search)) ask();
})};"""
WIDTH = 118  # characters of code beside both columns of a page
# Examples in tables of keys that say no more than the type.
PLAIN = {f"`{text}`" for text in ("0.5", "8", '"text"', "1", "[8]", "[0.5]", '["text"]', "true", "false")}
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".json": "json", ".py": "python", ".ipynb": "python", ".sh": "bash"}


def page_of(path):
    """The site's page of a file of the repository: its own, or one that shows it."""
    return path[len("docs/"):] if path.startswith("docs/") else f"source/{path}.md"


def repository_path(page):
    return page[len("source/"):-len(".md")] if page.startswith("source/") else f"docs/{page}"


def rewritten(text, at, wanted=None):
    """`text` of the repository's file `at`, with links to other files of the repository as links between pages."""
    here = os.path.dirname(page_of(at))

    def link(match):
        if "://" in match[1]:
            return match[1]
        target = os.path.normpath(os.path.join(os.path.dirname(at), match[1]))
        if wanted is not None and not target.startswith("docs/"):
            wanted.add(target)
        return os.path.relpath(page_of(target), here or ".")

    return LINK.sub(link, text)


def shown(path):
    """A page that shows the repository's file or folder."""
    place = ROOT / path
    if place.is_dir():
        return f"# {path}\n\n" + "\n".join(f"- `{entry.name}`" for entry in sorted(place.iterdir()))
    text = place.read_text()
    if place.suffix == ".md":
        return text
    if place.suffix == ".ipynb":
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
        return "\n\n".join(source if kind == "markdown" else f"```python\n{source}\n```" for kind, source in cells)
    return f"# {path}\n\n````{LANGUAGES.get(place.suffix, 'text')}\n{text}\n````"


def apart(text):
    """A list or a table right below a paragraph begins there on GitHub; Python-Markdown wants an empty line before it."""
    lines, in_code, in_list = [], False, False
    for line in text.split("\n"):
        begins = re.match(r"[-*] |\d+\. |\|", line)
        if begins and not in_code and not in_list and lines and re.match(r"(?!#|\||<!--|.*-->)\S", lines[-1]):
            lines.append("")
        in_code ^= line.lstrip().startswith("```")
        in_list = bool(line) and not line.startswith("|") and (in_list or bool(begins))
        lines.append(line)
    return "\n".join(lines)


def marked(block):
    """Code whose columns would not be read if long lines went on below: it is scrolled instead."""
    text = html.unescape(re.sub("<[^>]*>", "", block[0]))
    wide = any(len(line) > WIDTH and re.search(r"\S {3,}\S.* {3,}\S", line) for line in text.split("\n"))
    return block[0].replace("<code>", '<code class="wide">', 1) if wide else block[0]


def narrower(text):
    """Tables of keys with four columns in place of seven: what a value may be, with its unit, range and an example, is one cell."""
    def row(line):
        cells = algorithm_pages.cells_of(line)
        if len(cells) != 7 or set(line) <= set("|-"):
            return line
        key, meaning, kind, unit, extent, default, example = cells
        if key == "key":
            return "| key | meaning | may be | default |"
        may_be = [kind + (f" ({unit})" if unit else ""), extent]
        if example and example != default and '"' not in kind and example not in PLAIN and not example.startswith(("`{", "`[{")):
            may_be.append(f"such as {example}")
        return f"| {key} | {meaning} | {'<br>'.join(filter(None, may_be))} | {default} |"

    text = re.sub(r"^\| key \| meaning \| type \|.*\n\|.*$", "| key | meaning | may be | default |\n|---|---|---|---|", text, flags=re.M)
    return "\n".join(row(line) if line.startswith("| `") else line for line in text.split("\n"))


def on_files(files, config):
    wanted, done = set(), set()
    for file in files.documentation_pages():
        rewritten(algorithm_pages.whole(file.abs_src_path), repository_path(file.src_uri), wanted)
    shutil.rmtree(SOURCES, ignore_errors=True)
    while wanted - done:
        path = (wanted - done).pop()
        done.add(path)
        if path.endswith((".md", ".ipynb")):
            rewritten((ROOT / path).read_text(), path, wanted)
        page = SOURCES / page_of(path)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(shown(path))
        files.append(File(page_of(path), str(SOURCES), config["site_dir"], use_directory_urls=False))
    return files


def on_page_markdown(markdown, page, config, files):
    at = repository_path(page.file.src_uri)
    if at.startswith("docs/algorithms/") and (ROOT / at).exists():
        markdown = algorithm_pages.whole(ROOT / at)
    if at.startswith("docs/reference"):
        markdown = narrower(markdown)
    markdown = apart(markdown)
    return rewritten(markdown, at) if at.endswith((".md", ".ipynb")) else markdown


def on_post_page(output, page, config):
    up = "../" * page.file.src_uri.count("/")
    names = ["search_worker.js"] + (["mermaid.js"] if 'class="mermaid"' in output else [])
    scripts = f"<script>{SEARCH % up}</script>" + "".join(f'<script src="{up}assets/{name}"></script>' for name in names)
    output = PICTURE.sub(THEMED, output)
    output = re.sub(r"<pre>.*?</pre>", marked, output, flags=re.S)
    output = re.sub(r"<th\b.*?</th>", lambda match: match[0].replace("_", "_<wbr>"), output, flags=re.S)  # names of metrics may break
    output = TIMELINE.sub(lambda match: (ROOT / "docs" / match[1]).read_text(), output)
    output = output.replace("</head>", f"<style>{STYLE}{TIMELINE_STYLE}</style></head>", 1)
    return re.sub(r'(<script src="[^"]*javascripts/bundle)', lambda match: scripts + match[1], output, count=1)


def on_post_build(config):
    assets = Path(config["site_dir"]) / "assets"
    index = json.loads((Path(config["site_dir"]) / "search/search_index.json").read_text())
    index["docs"] = [part for part in index["docs"] if not part["location"].startswith("source/")]  # words of code hide the manual's
    (assets / "search_index.js").write_text(f"searchIndex({json.dumps(index, ensure_ascii=False)});\n")
    for name, module in SCRIPTS.items():
        shutil.copy(MODULES / module, assets / name)
    with (assets / "mermaid.js").open("a") as drawing:
        drawing.write(FITTED)
