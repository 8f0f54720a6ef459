"""The report of a reproduction: one HTML file that needs nothing beside it.

It is drawn from the tables alone, so it can be drawn again at any time, on any machine, without a simulation.
"""

from __future__ import annotations

import os
from pathlib import Path

from cellway.report.page import page
from cellway.report.sections import sections
from cellway.results import Reproduction

FILE_NAME = "report.html"


def build(folder: str | os.PathLike[str]) -> Path:
    """Draw `report.html` in a folder that `reproduce` wrote, and return its path.

    A study that is not there is named in the report and its figures are left out.
    """
    reproduction = Reproduction(folder)
    path = reproduction.folder / FILE_NAME
    # Written aside and renamed: a report that stands is whole.
    partial = path.with_suffix(".html.partial")
    partial.write_text(page(reproduction, sections(reproduction)), encoding="utf-8")
    partial.replace(path)
    return path
