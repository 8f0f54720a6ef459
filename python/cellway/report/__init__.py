"""The reports of result folders, each a self-contained HTML file: of simulations and emulations, of comparisons, and
of reproductions, for each paper one, and a page over all.

They are drawn from the tables of a folder, and by the recipe of the study (`figures.py`) if the folder has one, so they
can be drawn again at any time, on any machine, without a simulation. A recipe is a program: draw the report of folders
only whose recipe may run on your machine.

For recipes:

- `Section`, `Plate` and `add` make the report; `Studies` has the results by the ids of `study.toml`, and the claims.
- `Curve` and `Line` with `curve_table` put a metric along an axis next to published and predicted numbers;
  `compare_table` does so for claims; `Sensitivity` with `sensitivity` draws a study of one parameter. `beside` adds the
  numbers of claims to a table, `simulated` leaves out rows of theory.
- `series` takes one metric over time, `busiest` the line with the largest mean, `contract` the rate that a scenario
  changes. `plain_label` is the label of a claim. `MEGA` turns bit/s into Mbit/s; `THEORY` is the source of computed
  rows.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from cellway.comparison import FILE_NAME as COMPARE_NAME
from cellway.report import comparison, papers, shell, study
from cellway.report.claims import Claim
from cellway.report.index import entry, index
from cellway.report.papers import FILE_NAME
from cellway.report.plates import Plate, Section, Studies, add
from cellway.report.recipe import RecipeError
from cellway.report.sensitivity import Sensitivity, sensitivity
from cellway.report.sources import (
    MEGA,
    THEORY,
    Curve,
    Line,
    beside,
    busiest,
    compare_table,
    contract,
    curve_table,
    plain_label,
    series,
    simulated,
)
from cellway.results import Reproduction

__all__ = [
    "MEGA",
    "THEORY",
    "Claim",
    "Curve",
    "Line",
    "Plate",
    "RecipeError",
    "Section",
    "Sensitivity",
    "Studies",
    "add",
    "beside",
    "build",
    "busiest",
    "compare_table",
    "contract",
    "curve_table",
    "plain_label",
    "sensitivity",
    "series",
    "simulated",
]

INDEX_NAME = "index.html"


def build(folder: str | os.PathLike[str], *, seed: int | None = None) -> Path:
    """Draw the report of a result folder, and return the path of the page to open first.

    A folder of `simulate` or `emulate` gets `report.html`, with the series of one seed, by default the lowest.
    A folder of one paper gets `report.html`. A folder that holds such folders gets one in each, and `index.html` over
    them. A study that is not there is named in the report and its figures are left out. A folder of a comparison gets
    `compare.html` and `compare.svg`.
    """
    at = Path(folder)
    if (at / COMPARE_NAME).is_file():
        return comparison.write(at)
    if (at / "summary.parquet").is_file():
        return study.write(at, seed)
    inner = sorted(path.parent for path in at.glob("*/study.json") if ".partial-" not in path.parent.name)
    if (at / "study.json").is_file() or not inner:
        return papers.write(Reproduction(at))
    papers.write_all(inner, f"../{INDEX_NAME}")
    entries = [entry(Reproduction(path), f"{quote(path.name)}/{FILE_NAME}") for path in inner]
    return shell.write(at / INDEX_NAME, index(entries))
