"""The reports of reproductions: for each paper one HTML file that needs nothing beside it, and a page over all. And the
page of a comparison.

They are drawn from the tables alone, so they can be drawn again at any time, on any machine, without a simulation.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from cellway.comparison import FILE_NAME as COMPARE_NAME
from cellway.report import comparison
from cellway.report.index import Entry, entry, index
from cellway.report.page import page
from cellway.report.sections import sections
from cellway.results import Reproduction

FILE_NAME = "report.html"
INDEX_NAME = "index.html"


def build(folder: str | os.PathLike[str]) -> Path:
    """Draw the report of a folder that `reproduce` or `compare` wrote, and return the path of the page to open first.

    A folder of one paper gets `report.html`. A folder that holds such folders gets one in each, and `index.html` over
    them. A study that is not there is named in the report and its figures are left out. A folder of a comparison gets
    `compare.html` and `compare.svg`.
    """
    at = Path(folder)
    if (at / COMPARE_NAME).is_file():
        return comparison.write(at)
    inner = sorted(path.parent for path in at.glob("*/study.json") if ".partial-" not in path.parent.name)
    if (at / "study.json").is_file() or not inner:
        return _one(Reproduction(at))
    entries: list[Entry] = []
    for path in inner:
        reproduction = Reproduction(path)
        _one(reproduction, f"../{INDEX_NAME}")
        entries.append(entry(reproduction, f"{quote(path.name)}/{FILE_NAME}"))
    return _write(at / INDEX_NAME, index(entries))


def _one(reproduction: Reproduction, others: str | None = None) -> Path:
    return _write(reproduction.folder / FILE_NAME, page(reproduction, sections(reproduction), others))


def _write(path: Path, text: str) -> Path:
    """Written aside and renamed: a page that stands is whole."""
    partial = path.with_suffix(".html.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path
