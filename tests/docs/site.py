#!/usr/bin/env python3
"""The built site, as files: every page of the manual is in it, and every link, anchor and image is there.   site.py ROOT SITE"""
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

root, site = (Path(argument).resolve() for argument in sys.argv[1:])


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.links += [attributes[key] for key in ("href", "src", "srcset") if attributes.get(key)]


pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
missing = []
for path, page in pages.items():
    for link in page.links:
        if re.match(r"[a-z]+:", link) or path.name == "404.html":
            continue
        target, _, anchor = link.partition("#")
        place = Path(os.path.normpath(path.parent / target.split("?")[0])) if target else path
        if not place.exists() or (anchor and place in pages and anchor not in pages[place].ids):
            missing.append(f"{path.relative_to(site)}: {link}")
for path in pages:  # "- " or "|" within a paragraph: a list or a table that the site does not see as one
    article = re.sub(r"<pre.*?</pre>", "", path.read_text(), flags=re.S)
    for block in re.findall(r"<p>(?:(?!</p>).)*?\n(?:- |\d+\. |\|)", article, flags=re.S):
        missing.append(f"{path.relative_to(site)}: a list or a table that is not drawn as one: {block[-50:]}")
home = pages[site / "index.html"].links
for path in (root / "docs").rglob("*.md"):
    page = str(path.relative_to(root / "docs").with_suffix(".html"))
    if page not in home and page != "index.html":
        missing.append(f"site/mkdocs.yml: no entry for {page}")
for path in (site / "algorithms").glob("*.html"):  # what site/algorithm_pages.py adds
    written = {"pseudo-code", "what-it-sends", "memory"} if (root / f"docs/algorithms/{path.stem}.md").exists() else set()
    if path.stem != "glance" and not written | {"options", "source"} <= pages[path].ids:
        missing.append(f"algorithms/{path.name}: lacks a section")
print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links")
print("\n".join(missing))
sys.exit(bool(missing) or len(pages) < 40)
