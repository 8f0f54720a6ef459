"""What a section of the report is made of, and how one is filled from the tables that are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from cellway import stats
from cellway.plot import select
from cellway.plot.load import per_load_table
from cellway.report.claims import Claim
from cellway.results import Reproduction, Results


@dataclass
class Plate:
    """One figure with its caption and, where it is small enough to read, its numbers."""

    name: str
    title: str
    caption: str
    figure: Figure
    data: pl.DataFrame | None = None
    wide: bool = False
    """It takes the whole width of the page."""


@dataclass
class Section:
    """A part of the report. `ids` (beginnings), `figures` and `parts` say which of the paper's claims belong to it."""

    anchor: str
    title: str
    text: str
    figures: tuple[int, ...] = ()
    parts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    plates: list[Plate] = field(default_factory=list)
    tables: list[tuple[str, pl.DataFrame]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


class Studies:
    """The studies of a folder, each read once, and what `study.json` says of it."""

    def __init__(self, reproduction: Reproduction) -> None:
        self._reproduction = reproduction
        self._read: dict[str, Results] = {}
        self.present = set(reproduction.studies)
        self.claims = [Claim.read(record) for record in reproduction.claim_records]
        self._about: dict[str, dict[str, Any]] = {entry["id"]: entry for entry in reproduction.about.get("studies", [])}

    def __getitem__(self, name: str) -> Results:
        if name not in self.present:
            title = self._about.get(name, {}).get("title")
            raise select.MissingDataError(f"the study “{name}”{f' ({title})' if title else ''} is not in this folder")
        if name not in self._read:
            self._read[name] = self._reproduction.study(name)
        return self._read[name]

    def claim(self, name: str) -> Claim | None:
        """The claim of this id, if it is there."""
        return next((claim for claim in self.claims if claim.id == name), None)

    def times(self, name: str) -> tuple[float | None, float | None]:
        """Round trip and warm-up of a study, in seconds."""
        results = self[name]
        if results.rtt is None and "policies" in self.present:
            # A study without a delay to tell it: all run on the same network.
            results = self["policies"]
        return results.rtt, results.warmup


def add(section: Section, *makers: Callable[[], Plate]) -> Section:
    """Draw what can be drawn; say once what cannot."""
    for make in makers:
        try:
            section.plates.append(make())
        except select.MissingDataError as error:
            if str(error) not in section.missing:
                section.missing.append(str(error))
    return section


def by_load(
    studies: Studies,
    study: str,
    name: str,
    title: str,
    caption: str,
    draw: Callable[..., Figure],
    metric: str,
    subject: str,
    **options: Any,
) -> Callable[[], Plate]:
    """A plate of one metric against load, with `options` for the function that draws it."""

    def make() -> Plate:
        summary = studies[study].summary
        start = 2 if metric == "jain" else 0
        return Plate(
            name, title, caption, draw(summary, **options), per_load_table(summary, metric, subject, start=start)
        )

    return make


def add_paired(studies: Studies, section: Section, metrics: list[tuple[str, str, str]]) -> None:
    """A table of differences from per-conversation channels, seed by seed, at the highest load."""
    parts = []
    for metric, subject, label in metrics:
        try:
            rows = select.highest(select.values(studies["policies"].summary, metric, subject), select.COUNT)
            names = select.in_order(rows, select.POLICY)
        except select.MissingDataError:
            continue
        for other in (name for name in names if name != "per-conversation" and "per-conversation" in names):
            difference = stats.paired(rows, select.POLICY, "per-conversation", other)
            parts.append(
                difference.select(
                    pl.lit(label).alias("measure"),
                    pl.lit(f"{other} − per-conversation").alias("difference"),
                    pl.col("mean"),
                    pl.col("low"),
                    pl.col("high"),
                    pl.col("n"),
                )
            )
    if parts:
        section.tables.append(("Differences between policies at the highest load, paired by seed", pl.concat(parts)))
