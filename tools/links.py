"""Check the links of the Markdown pages: each file and each heading that a page refers to must exist.

Only links within the repository are checked, so it needs no network. Anchors follow the rules of GitHub. Prints each
broken link with its location, and ends with 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["*.md", "docs/**/*.md", "crates/**/*.md"]

FENCE = re.compile(r"^ {0,3}(?P<marks>`{3,}|~{3,}).*?(?:^ {0,3}(?P=marks)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# Spans of code end in the same paragraph.
CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\s*\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
INLINE = re.compile(r"\]\(\s*(?:<([^>\n]*)>|([^\s()]*(?:\([^\s()]*\)[^\s()]*)*))(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[ \t]*(?:<([^>\n]*)>|(\S+))", re.MULTILINE)
SCHEME = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*:|^//")
LABEL = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


@dataclass(frozen=True)
class Link:
    """A link of a page and its location, both numbers from 1."""

    line: int
    column: int
    target: str


def blank(match: re.Match[str]) -> str:
    """Return spaces in place of the match, so that locations remain."""
    return re.sub(r"[^\n]", " ", match.group())


def prose(text: str) -> str:
    """Return the page without blocks of code and comments."""
    return COMMENT.sub(blank, FENCE.sub(blank, text))


def slug(heading: str) -> str:
    """Return the anchor of a heading on GitHub, before duplicates are numbered."""
    words = re.sub(r"[^\w\- ]", "", LABEL.sub(r"\1", heading).strip().lower())
    return words.replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a page."""
    text = prose(text)
    found = set(ANCHOR.findall(text))
    for heading in HEADING.findall(text):
        first = slug(heading)
        anchor, number = first, 0
        while anchor in found:
            number += 1
            anchor = f"{first}-{number}"
        found.add(anchor)
    return found


def links(text: str) -> Iterator[Link]:
    """Return the links of a page to pages and headings of the repository."""
    text = CODE.sub(blank, prose(text))
    for match in sorted([*INLINE.finditer(text), *DEFINITION.finditer(text)], key=lambda match: match.start()):
        group = 1 if match[1] is not None else 2
        target, start = match[group], match.start(group)
        if not SCHEME.match(target):
            yield Link(text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start), target)


@cache
def anchors_of(page: Path) -> set[str]:
    """Return the anchors of the page in a file."""
    return anchors(page.read_text(encoding="utf-8"))


def fault(root: Path, page: Path, target: str) -> str | None:
    """Return the problem of a link of a page, if there is one."""
    name, _, anchor = unquote(target).partition("#")
    start = root if name.startswith("/") else page.parent
    file = (start / name.lstrip("/")).resolve() if name else page.resolve()
    if not target:
        return "the link is empty; accepted: a file of the repository, a #heading or a URL"
    if not file.is_relative_to(root):
        return "it leaves the repository; accepted: a path within it"
    if not file.exists():
        return f"there is no {file.relative_to(root)}; accepted: a path relative to the page"
    if not anchor or file.suffix != ".md" or anchor in anchors_of(file):
        return None
    known = anchors_of(file)
    near = get_close_matches(anchor, sorted(known), n=1, cutoff=0)
    example = f", for example #{near[0]}" if near else ""
    return f"{file.relative_to(root)} has no such heading; accepted: the anchor of one of its headings{example}"


def faults(root: Path) -> tuple[list[str], int]:
    """Return a message for each broken link of the pages below a folder, and the number of links."""
    root = root.resolve()
    pages = sorted({page for pattern in PAGES for page in root.glob(pattern)})
    found, count = [], 0
    for page in pages:
        for link in links(page.read_text(encoding="utf-8")):
            count += 1
            why = fault(root, page, link.target)
            if why:
                found.append(f"{page.relative_to(root)}:{link.line}:{link.column}: {link.target}: {why}")
    return found, count


def main() -> int:
    """Check all pages."""
    found, count = faults(ROOT)
    for message in found:
        print(message, file=sys.stderr)
    print(f"{count} links, {len(found)} broken")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
