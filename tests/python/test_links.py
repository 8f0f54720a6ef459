"""The link checker of the pages: the links that it finds, and the anchors that GitHub gives headings."""

from __future__ import annotations

from pathlib import Path

import links
import pytest


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Opening and ending", "opening-and-ending"),
        ("`[[peer]]`", "peer"),
        ("What a peer can, and cannot, do?", "what-a-peer-can-and-cannot-do"),
        ("Rates - and times", "rates---and-times"),
        ("max_rate of [a class](classes.md)", "max_rate-of-a-class"),
        ("Größe", "größe"),
    ],
)
def test_a_heading_has_the_anchor_of_github(heading: str, anchor: str) -> None:
    assert links.slug(heading) == anchor


def test_headings_with_the_same_words_are_numbered() -> None:
    text = '# Limits\n## Limits ##\n### Limits 1\n## Limits\n```sh\n# no heading\n```\n<a id="here"></a>\n'
    assert links.anchors(text) == {"limits", "limits-1", "limits-1-1", "limits-2", "here"}


def test_links_are_found_with_their_location() -> None:
    text = (
        "See [a](b.md#c) and ![an image\n"
        'of it](<d e.svg> "title"), [`f`](g_(h).md).\n'
        "Not `[code](i.md)`, [a URL](https://example.org/j.md), <!-- [a comment](k.md) -->\n"
        "```\n[a block](l.md)\n```\n"
        "[m]: n.md\n"
    )
    found = [(link.line, link.column, link.target) for link in links.links(text)]
    assert found == [(1, 9, "b.md#c"), (2, 9, "d e.svg"), (2, 34, "g_(h).md"), (7, 6, "n.md")]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("other.md", None),
        ("other.md#a-heading", None),
        ("#top", None),
        ("../README.md", None),
        ("/docs/other.md", None),
        ("with%20space.svg", None),
        ("../docs", None),
        ("absent.md", "there is no docs/absent.md; accepted: a path relative to the page"),
        (
            "other.md#a-headin",
            "docs/other.md has no such heading; accepted: the anchor of one of its headings, for example #a-heading",
        ),
        ("#Top", "docs/page.md has no such heading; accepted: the anchor of one of its headings, for example #top"),
        ("../../elsewhere.md", "it leaves the repository; accepted: a path within it"),
        ("", "the link is empty; accepted: a file of the repository, a #heading or a URL"),
    ],
)
def test_a_broken_link_is_reported_with_its_reason(tmp_path: Path, target: str, why: str | None) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "README.md").write_text("# Read me\n", encoding="utf-8")
    (docs / "other.md").write_text("# A heading\n", encoding="utf-8")
    (docs / "with space.svg").write_text("<svg/>", encoding="utf-8")
    (docs / "page.md").write_text(f"# Top\n\n[link]({target})\n", encoding="utf-8")
    found, count = links.faults(tmp_path)
    assert count == 1
    assert found == ([f"docs/page.md:3:8: {target}: {why}"] if why else [])
