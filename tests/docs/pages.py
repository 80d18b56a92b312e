#!/usr/bin/env python3
"""README and the pages of the manual: short enough, every link leads somewhere, each page says first what it answers, and sentences
can be read in one breath.   pages.py ROOT"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop()).resolve()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MOST_WORDS = 40
NEVER = r"\b(mend(s|ed|ing)?|so often|of which nothing|stands which|gets what|whatever a time|what studies gave|least of a robust)\b"


def prose(text):
    """Paragraphs and items of lists, without code, tables, headings and comments; code and links as words."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*|#>] )|\n(?=\s*\d+\. )", text):
        block = " ".join(block.split())
        if block and block[0] not in "#|<":
            yield re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", block))


def sentences(text):
    return [s for block in prose(text) for s in re.split(r"(?<=[.?!:;])\s+", block)]


def anchors(page):
    """As GitHub and the site name headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h) for h in re.findall(r"^#+ (.*)$", text, flags=re.M)]
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


class Pages(unittest.TestCase):
    def test_readme_is_read_in_a_minute(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), 120)

    def test_links_lead_to_files_and_headings_that_are_there(self):
        links = 0
        for page in PAGES:
            # A name with a dot or a slash: not a lambda of the code that a page shows.
            for target, anchor in re.findall(r"\]\(([^)#\s]*[./][^)#\s]*|(?=#))(#[^)\s]*)?\)", page.read_text()):
                if "://" in target:
                    continue
                with self.subTest(page=page.name, link=target + anchor):
                    place = page.parent / target if target else page
                    self.assertTrue(place.exists())
                    if anchor and place.suffix == ".md":
                        self.assertIn(anchor[1:], anchors(place))
                links += 1
        self.assertGreater(links, 100)

    def test_each_page_says_first_what_it_answers(self):
        for page in PAGES:
            body = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.S).split("\n", 1)[1].lstrip()
            with self.subTest(page=page.name):
                self.assertRegex(body, r"\A(?!```)[*\[(`]*[A-Za-z0-9]", "a page begins with a sentence")

    def test_sentences_can_be_read_in_one_breath(self):
        for page in PAGES:
            long = [s for s in sentences(page.read_text()) if len(s.split()) > MOST_WORDS]
            with self.subTest(page=page.name):
                self.assertEqual(long, [])

    def test_words_that_nobody_says(self):
        for page in PAGES:
            with self.subTest(page=page.name):
                self.assertEqual([m[0] for m in re.finditer(NEVER, page.read_text(), flags=re.I)], [])


if __name__ == "__main__":
    unittest.main()
