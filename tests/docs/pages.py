#!/usr/bin/env python3
"""README and the pages of the manual, as the site shows them: short enough, every link leads somewhere, each page says first what it answers, and sentences
can be read in one breath; code is run, here or elsewhere.   pages.py ROOT"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop()).resolve()
PAGES = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "SUPPORT.md", "bench/README.md")), *sorted((ROOT / "docs").rglob("*.md"))]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "site"))
from algorithm_pages import whole  # noqa: E402

TEXT = {page: whole(page) for page in PAGES}  # with what the site adds to pages of methods
REFERENCE = [ROOT / "docs/reference.md", *sorted((ROOT / "docs/reference").glob("*.md"))]
MOST_WORDS = 40
NEVER = (r"\b(mend(s|ed|ing)?|so often|of which nothing|stands which|gets what|whatever a time|what studies gave|least of a robust|every so many|so many (workers|"
         r"ranks|learners|samples)|taken? over|takes over|at hand|goes? with time|whoever|is told|told (below|by hand)|nobody (has|knows)|comes? out (too|"
         r"anew)|beside (one|them)|by hand it|was not looked into|half as (fast|slow) again|the like|has what|gives? away|come together|had what|slept through|less that of|remake|in the mean)\b")

# How a sentence begins that says what its page answers, unless it is a question or names the page.
ANSWERS = r"(How|What|Which|Why|Where|When|Whether|To \w+|Every(thing)?)\b|.*\?|.*\bthis page\b"

# Code that neither documented_commands.cpp runs, nor printed.py takes, by its page and beginning; what tries it.
TRIED = {("CONTRIBUTING.md", "cli/  bench/"): "tests/base/arrows.cpp", ("CONTRIBUTING.md", "+++ sim/"): "tests/docs/pages.py",
         ("CONTRIBUTING.md", "+++ topologies/"): "tests/docs/pages.py", ("CONTRIBUTING.md", "--- scenarios/"): "tests/docs/pages.py",
         ("docs/algorithms.md", "cmake --install"): "tests/python/test_plugin.py", ("docs/algorithms.md", "//"): "tests/algorithms/example_test.cpp",
         ("docs/algorithms.md", "/// Seconds"): "tests/algorithms/example_test.cpp", ("docs/algorithms.md", "class"): "tests/algorithms/example_test.cpp",
         ("docs/algorithms.md", "}"): "tests/algorithms/example_test.cpp", ("docs/algorithms.md", "TEST_CASE"): "tests/algorithms/example_test.cpp",
         ("docs/algorithms.md", "     low_communication"): "tests/docs/pages.py",
         ("docs/howto/my_device.md", "measure/torch_device.py"): "tests/measure/torch_device.sh",
         ("docs/howto/network_file.md", "graph two_racks"): "scenarios/networks/two-racks.dot",
         ("docs/howto/torch_profile.md", "measure/torch_profile.py"): "tests/measure/torch_profile.sh",
         ("docs/howto/torch_profile.md", "with simsgd.record"): "tests/python/test_recording.py",
         ("docs/import.md", "{"): "tests/traces/tables.cpp", ("docs/learners.md", '"learner"'): "tests/learn/data_files.cpp",
         ("docs/python.md", "./setup.sh python"): "tests/python/wheel.sh", ("docs/python.md", "import simsgd"): "tests/python/test_package.py",
         ("docs/python.md", "run.ask"): "tests/python/test_package.py", ("docs/python.md", "study = "): "tests/python/test_package.py",
         ("docs/python.md", "gradient, seen"): "tests/python/test_roles.py", ("docs/python.md", "with simsgd.record"): "tests/python/test_recording.py",
         ("docs/python.md", '{"id": 1'): "tests/python/test_package.py", ("docs/quickstart.md", "cpack"): "tests/cli/package.cpp",
         ("bench/README.md", "cmake --build"): ".ci/run", ("docs/store.md", "sqlite3"): "tests/python/test_package.py", ("docs/testbed.md", "measure/testbed"): "tests/measure/testbed.sh"}
COMMAND = re.compile(r"(\./)?(build/release/)?(simsgd|simsgd-measure)( .+)|mpirun .+|cmake (?!--install$).+|\./setup\.sh .+")  # of documented_commands.cpp
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", flags=re.S | re.M)

# How a fragment begins that leaves out what it is about.
FRAGMENT = r"(Of|Per|That|Once|Added|Added to|Only among|Nine tenths of them|So many|One way|Or|And|Its \w+$|When$|While computing|During|Until|For each|From a)\b"

# How a gloss begins that says of what a number is, and not what it does.
NOUNS = (r"(\w+: )?(Number|Bandwidth|(One-way )?[Ll]atency|(Extra|Fixed|Minimum) time|Time (of|that)|Steps (between|of|with)|Weight|Correlation|Learning rate|Momentum"
         r"|Bits|Bytes|Numbers(?! in messages have)|Routers|Nodes|Ports|NICs|Groups|Sizes?|Samples per|Estimate|Seed of (hashed|the)|Dimension|Distance|Densities|Columns|Blocks) (of|between|in|that|from|for|a)\b")


def prose(text):
    """Paragraphs and items of lists, without code, tables, headings and comments; code and links as words."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*|#>] )|\n(?=\s*\d+\. )", text):
        block = " ".join(block.split())
        if block and block[0] not in "#|<":
            yield re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", block))


def cells(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for line in text.splitlines():
        if line.startswith("|"):
            yield from (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", cell)) for cell in re.split(r"(?<!\\)\|", line))


def sentences(text):
    return [s for block in (*prose(text), *cells(text)) for s in re.split(r"(?<=[.?!:;])\s+", block)]


def anchors(page):
    """As GitHub and the site name headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h) for h in re.findall(r"^#+ (.*)$", text, flags=re.M)]
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


class Pages(unittest.TestCase):
    def test_readme_is_read_in_a_minute(self):
        text = TEXT[ROOT / "README.md"]
        self.assertLessEqual(len(text.splitlines()), 120)
        self.assertEqual(text.count("<img "), 1, "one picture")
        self.assertEqual(len(re.split(r"(?<=[.?!])\s", text.split("\n\n")[1].strip())), 1, "one sentence")
        self.assertEqual(len(re.findall(r"^\| .* `simsgd ", text.split("## Eight verbs")[1].split("\n## ")[0], flags=re.M)), 8)

    def test_readme_has_the_numbers_of_the_book(self):
        said = (ROOT / "docs/accuracy.md").read_text().split("## In short\n\n")[1].split("\n\n")[0]
        readme = (ROOT / "README.md").read_text()
        self.assertIn(f"<!-- simsgd book -->\n{said}\n", readme)
        cells, sets, off = re.match(r"We predicted (\d+) .* in (\d+) sets .* are ([\d.]+ %) off", said).groups()
        self.assertIn(f"Of {cells} public measurements that it was not fitted to, its predictions are {off} off, averaged over {sets} sets", readme)

    def test_links_lead_to_files_and_headings_that_are_there(self):
        links = 0
        for page in PAGES:
            # A name with a dot or a slash: not a lambda of the code that a page shows.
            for target, anchor in re.findall(r"\]\(([^)#\s]*[./][^)#\s]*|(?=#))(#[^)\s]*)?\)", TEXT[page]):
                if "://" in target:
                    continue
                with self.subTest(page=page.name, link=target + anchor):
                    place = page.parent / target if target else page
                    self.assertTrue(place.exists())
                    if anchor and place.suffix == ".md":
                        self.assertIn(anchor[1:], anchors(place))
                links += 1
            for target in re.findall(r'(?:src|srcset)="([^":]+)"', TEXT[page]):
                with self.subTest(page=page.name, picture=target):
                    self.assertTrue((page.parent / target).exists())
        self.assertGreater(links, 100)

    def test_each_page_says_first_what_it_answers(self):
        for page in PAGES:
            body = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S).split("\n", 1)[1].lstrip()
            with self.subTest(page=page.name):
                self.assertRegex(body, r"\A(?!```)[*\[(`]*[A-Za-z0-9]", "a page begins with a sentence")
                first = re.split(r"(?<=[.?:])\s", " ".join(body.split("\n\n")[0].split()).strip("*"))
                if page.parent.name == "algorithms" and page.parent.parent == ROOT / "docs" and page.stem != "glance":
                    self.assertLessEqual(2, len(first), "the idea of a method in some sentences")
                elif page.name not in ("README.md", "CHANGELOG.md"):
                    self.assertTrue(any(re.match(ANSWERS, sentence) for sentence in first[:2]), first[:2])

    def test_code_is_run(self):
        used = set()
        for page in PAGES:
            name, text = str(page.relative_to(ROOT)), page.read_text()
            commands = False  # whether the block before has some
            for language, code in BLOCK.findall(text):
                lines = [re.sub(r"\s+#.*$", "", line) for line in code.splitlines() if line.strip()]
                tried = [key for key in TRIED if key[0] == name and code.startswith(key[1])]
                used.update(tried)
                run = not language and all(COMMAND.fullmatch(line) for line in lines)
                printed = commands and not language  # by the commands above it: printed.py
                drawn = language == "mermaid" or (language == "text" and page.parent.name == "algorithms")
                shown = language == "json" or (not language and code.startswith(('{"', '"')))  # printed.py
                with self.subTest(page=name, code=code[:60]):
                    self.assertTrue(run or printed or drawn or shown or tried, "code that no test runs")
                commands = run
        self.assertEqual(used, set(TRIED), "what is tried and no longer shown")
        for what in set(TRIED.values()):
            with self.subTest(what=what):
                self.assertTrue((ROOT / what).exists())

    def test_changes_that_pages_show_fit_the_files(self):
        """A line of a diff that is not new is in its file."""
        for page, first in (("CONTRIBUTING.md", None), ("docs/algorithms.md", "algorithms/CMakeLists.txt")):
            for language, code in BLOCK.findall((ROOT / page).read_text()):
                file = first
                for line in code.splitlines() if language == "diff" else []:
                    if line.startswith(("--- ", "+++ ")):
                        file = line[4:] if line[0] == "-" else None
                    elif file and line[:1] in " -" and line.strip():
                        with self.subTest(page=page, line=line):
                            self.assertIn(line[1:].strip(), (ROOT / file).read_text())

    def test_sentences_can_be_read_in_one_breath(self):
        for page in PAGES:
            long = [s for s in sentences(TEXT[page]) if len(s.split()) > MOST_WORDS]
            with self.subTest(page=page.name):
                self.assertEqual(long, [])

    def test_tables_have_a_heading(self):
        for page in PAGES:
            text = re.sub(r"^```.*?^```", "", TEXT[page], flags=re.S | re.M)
            for first, second in re.findall(r"(?:\A|\n\n|\n(?=\|))(?<!\|\n)(\|.*)\n(.*)", text):
                with self.subTest(page=page.name, row=first[:60]):
                    self.assertRegex(second, r"^\|[\s:|-]+\|$", "a table's second line")

    def test_outputs_are_as_narrow_as_a_page(self):
        for page in PAGES:
            for block in re.findall(r"^```\w*\n(.*?)^```", page.read_text(), flags=re.S | re.M):
                wide = [line for line in block.splitlines() if len(line) > 118 and re.search(r"\S {3,}\S.* {3,}\S", line)]
                with self.subTest(page=page.name):
                    self.assertEqual(wide, [], "columns that the site scrolls (site/hooks.py)")

    def test_settings_are_told_in_sentences(self):
        rows = re.findall(r"^\| `[^`]+` \| ((?:[^|\\]|\\.)*) \|(?:[^|\\]|\\.)*\|(?:[^|\\]|\\.)*\|(?:[^|\\]|\\.)*\|(?:[^|\\]|\\.)*\|",
                          "".join(page.read_text() for page in REFERENCE), flags=re.M)
        self.assertGreater(len(rows), 500)
        self.assertEqual([row for row in rows if re.match(FRAGMENT, row) or re.match(NOUNS, row)], [])

    def test_words_that_nobody_says(self):
        for page in PAGES:
            with self.subTest(page=page.name):
                self.assertEqual([m[0] for m in re.finditer(NEVER, TEXT[page], flags=re.I)], [])

    def test_each_page_is_of_one_kind(self):
        nav = (ROOT / "site/mkdocs.yml").read_text().split("\nnav:\n")[1]
        listed = re.findall(r"^ +- .*: (\S+\.md)$", nav, flags=re.M)
        self.assertEqual(sorted(listed), sorted(str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")))

    def test_a_how_to_begins_with_what_to_do(self):
        for page in sorted((ROOT / "docs/howto").glob("*.md")):
            with self.subTest(page=page.name):
                lines = page.read_text().splitlines()
                self.assertTrue(any(line.startswith("```") for line in lines[:14]), "no command on the first screen")
                self.assertLessEqual(len(lines), 70)

    def test_methods_have_their_pages(self):
        names = set(re.findall(r"^### `/algorithm`: `(\w+)`$", (ROOT / "docs/reference/algorithms.md").read_text(), flags=re.M))
        pages = {page.stem for page in (ROOT / "docs/algorithms").glob("*.md")} - {"glance"}
        self.assertEqual(pages, names - {"python"})
        for page in pages:
            text = (ROOT / f"docs/algorithms/{page}.md").read_text()
            with self.subTest(page=page):
                self.assertTrue(text.splitlines()[0].endswith(f"(`{page}`)"))
                self.assertEqual(re.findall(r"^## (.*)$", text, flags=re.M),
                                 ["Pseudo-code", "What it sends", "Memory", "When it wins, and when not"])
                self.assertIn(f"({page}.md)", (ROOT / "docs/algorithms/glance.md").read_text())
                self.assertIn(f"](../figures/methods/{page}.svg)", text, "its drawing, which site/drawings.py makes")

    def test_the_page_of_notes_has_all(self):
        page = (ROOT / "docs/notes.md").read_text()
        sources = {path: path.read_text() for folder in ("algorithms", "analysis", "measure", "results", "scenarios/language", "sim")
                   for path in (ROOT / folder).rglob("*.cpp")}
        sources |= {path: path.read_text() for path in (ROOT / "algorithms").glob("*.hpp")}
        about = {name for text in sources.values() for name in re.findall(r'(?:add_note\([^;]*?|Note)\{\s*"([a-z-]+)"', text)}
        self.assertEqual(sorted(about), re.search(r"<!-- notes: ([^>]*?)-->", page)[1].split())
        # What the page says that a note says, a source says: its words between two places that are filled in.
        literals = "\n".join("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', re.sub(r"\{[^{}\n]*\}", "...", text))) for text in sources.values())
        for cell in re.findall(r"^\| (`.*?`) \| ", page, flags=re.M):
            for words in re.findall(r"`([^`]*)`", cell):
                for part in filter(None, (each.strip(" ,") for each in re.sub(r'"\.\.\."', "...", words).split("..."))):
                    with self.subTest(note=words):
                        self.assertTrue(part in literals, f"no source says {part}")


if __name__ == "__main__":
    unittest.main()
