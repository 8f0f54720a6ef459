"""The parts of a report: sections of figures, and the studies that they are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from cellway.plot import select
from cellway.report.claims import Claim
from cellway.results import Reproduction, Results


@dataclass
class Plate:
    """One figure with its caption and, if it is small enough to read, its numbers.

    `name` is its id on the page and the name of the files that a reader saves: letters, digits and `-`.
    """

    name: str
    title: str
    caption: str
    figure: Figure
    data: pl.DataFrame | None = None
    wide: bool = False
    """It takes the whole width of the page."""


@dataclass
class Section:
    """A part of the report: a title, an introduction, figures, and the claims that belong to them.

    A claim belongs to the first section that has the beginning of its id in `ids`, else the number of its figure in
    `figures`, else its section of the paper in `parts`. `tables` are pairs of a title and a table; `missing` says what
    could not be drawn, and why.
    """

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
    """The studies of a result folder, each read when it is first used.

    `studies["id"]` are the `Results` of one, or `MissingDataError` if it was not run; `present` the ids of those that
    were; `claims` every claim with its verdict; `about` what `study.json` says.
    """

    def __init__(self, reproduction: Reproduction) -> None:
        self._reproduction = reproduction
        self._read: dict[str, Results] = {}
        self.about = reproduction.about
        self.folder = reproduction.folder
        self.present = set(reproduction.studies)
        self.claims = [Claim.read(record) for record in reproduction.claim_records]
        self.entries: dict[str, dict[str, Any]] = {
            entry["id"]: entry for entry in reproduction.about.get("studies", [])
        }

    def __getitem__(self, name: str) -> Results:
        if name not in self.present:
            title = self.entries.get(name, {}).get("title")
            raise select.MissingDataError(f"the study “{name}”{f' ({title})' if title else ''} is not in this folder")
        if name not in self._read:
            self._read[name] = self._reproduction.study(name)
        return self._read[name]

    def claim(self, name: str) -> Claim | None:
        """Return the claim of this id, if it exists."""
        return next((claim for claim in self.claims if claim.id == name), None)

    def title(self, name: str) -> str:
        """Return the title of a study, or its id if it has none."""
        return str(self.entries.get(name, {}).get("title") or name)

    def times(self, name: str) -> tuple[float | None, float | None]:
        """Return the propagation round trip and the warm-up of a study, in seconds; None for one that it lacks."""
        results = self[name]
        return results.rtt, results.warmup


def add(section: Section, *makers: Callable[[], Plate]) -> Section:
    """Add the figures that can be drawn; each reason why one cannot is added once to `missing`."""
    for make in makers:
        try:
            section.plates.append(make())
        except (select.MissingDataError, select.ChoiceError) as error:
            if str(error) not in section.missing:
                section.missing.append(str(error))
    return section
