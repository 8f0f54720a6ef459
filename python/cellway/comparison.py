"""The results of theory, simulation and emulation for one scenario, next to each other."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from cellway import documents
from cellway.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILE_NAME = "compare.json"
"""The file that makes a result folder one of a comparison."""

SCHEMA: dict[str, Any] = {
    "subject": pl.String,
    "metric": pl.String,
    "unit": pl.String,
    "predicted": pl.Float64,
    "bound": pl.Boolean,
    "simulated": pl.Float64,
    "simulated_low": pl.Float64,
    "simulated_high": pl.Float64,
    "emulated": pl.Float64,
    "emulated_low": pl.Float64,
    "emulated_high": pl.Float64,
    "published": pl.Float64,
    "difference": pl.Float64,
    "main": pl.Boolean,
}
"""Columns of the rows behind those of the axes."""


class Comparison:
    """One scenario predicted, simulated and emulated.

    `results` has the tables, in which `source` is `predict`, `simulate`, `emulate` or `published`. `about` is what
    `cellway compare --json` prints.
    """

    def __init__(self, results: Results, about: dict[str, Any]) -> None:
        self.results = results
        self.about = about

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> Comparison:
        """Read a folder that `compare` wrote."""
        path = Path(folder) / FILE_NAME
        about = documents.record(documents.text_of(path, "a folder that `compare` wrote"), str(path))
        return cls(Results.from_folder(folder), about)

    @cached_property
    def rows(self) -> pl.DataFrame:
        """One row per point, subject and metric that at least two sources have.

        The columns of the axes, then `subject`, `metric`, `unit`; `predicted`, and `bound`, true if it is an upper one
        only; `simulated` and `emulated`, means with the ends of their 95 % confidence intervals in `simulated_low`,
        `simulated_high`, `emulated_low` and `emulated_high`; `published`; `difference` of the emulation from the
        simulation over the seeds that both have, as a share of the latter; and `main`, true for the
        metrics that a summary shows.
        """
        points = self.about["points"]
        axes = list(dict.fromkeys(name for point in points for name in point["axes"]))
        records = [
            {**{a: point["axes"].get(a) for a in axes}, **_flat(row)} for point in points for row in point["rows"]
        ]
        texts = {a for a in axes for point in points if isinstance(point["axes"].get(a), str)}
        kinds = {axis: pl.String if axis in texts else pl.Float64 for axis in axes}
        return pl.DataFrame(records, schema=kinds | SCHEMA, strict=False)

    @property
    def emulation(self) -> str:
        """The outcome of the emulation: `valid`, `invalid`, `impossible` here, or `left out`."""
        return str(self.about["emulation"])

    @property
    def warnings(self) -> list[str]:
        """The warnings to check before trusting the numbers."""
        return list(self.about["warnings"])

    def figure(self) -> Figure:
        """Draw the main rows as a matplotlib figure."""
        from cellway.plot import sources

        return sources(self.rows.filter("main"))

    def __repr__(self) -> str:
        name, points = self.about["name"], len(self.about["points"])
        return f"<cellway.Comparison: {name}, {points} points, {self.rows.height} rows, emulation {self.emulation}>"

    def _repr_html_(self) -> str:
        from cellway import notebook

        return notebook.comparison(self)


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    predicted = row["predicted"] or {}
    flat = {name: row[name] for name in ("subject", "metric", "unit", "published", "difference", "main")}
    flat |= {"predicted": predicted.get("value"), "bound": predicted.get("bound")}
    for source in ("simulated", "emulated"):
        measured = row[source] or {}
        low, high = measured.get("interval_95") or (None, None)
        flat |= {source: measured.get("mean"), f"{source}_low": low, f"{source}_high": high}
    return flat
