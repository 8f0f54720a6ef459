"""The works of the table, their targets, and the table as text and in Markdown."""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

SIGNS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "<": operator.lt}


@dataclass(frozen=True)
class Target:
    """A bound for a figure."""

    sign: str
    """One of SIGNS, with the figure on its left."""
    bound: float
    unit: str = ""
    of_ratio: bool = False
    """True: for the ratio to the calendar. False: for the figure of the default engine."""

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}{self.unit}"

    def is_met(self, value: float) -> bool:
        """Return True if the value is within the bound."""
        return SIGNS[self.sign](value, self.bound)


def times(bound: float) -> Target:
    """Return the target of so many times the calendar's speed."""
    return Target(">=", bound, "x", of_ratio=True)


@dataclass(frozen=True)
class Work:
    """A line of the table."""

    name: str
    unit: str
    digits: int
    """Decimals of its figures."""
    target: Target | None

    def shown(self, values: Sequence[float]) -> str:
        """Return the median of the values with the unit."""
        return f"{statistics.median(values):.{self.digits}f}{self.unit}" if values else "-"


@dataclass(frozen=True)
class Figures:
    """What was measured of a work, one value for each turn."""

    calendar: Sequence[float]
    """Empty where there is one engine only."""
    default: Sequence[float]
    ratios: Sequence[float] = ()
    """The default in terms of the calendar: more than 1 is better, in speed or in memory."""
    is_valid: bool = True
    """False: the target is missed, whatever the figure is."""


def spread(values: Sequence[float]) -> str:
    """Return the median, and the least and the largest of several values."""
    if not values:
        return "-"
    middle, low, high = (f"{value:.3g}" for value in (statistics.median(values), min(values), max(values)))
    return middle if len(values) == 1 else f"{middle} ({low}-{high})"


def met(target: Target | None, figures: Figures) -> str:
    """Return the word of the last column."""
    values = figures.ratios if target and target.of_ratio else figures.default
    if target is None or not values:
        return "-"
    return "yes" if figures.is_valid and target.is_met(statistics.median(values)) else "no"


HEAD = ("work", "calendar", "default", "ratio", "target", "met")


def row(work: Work, figures: Figures | None) -> tuple[str, ...]:
    """Return the cells of a line; without figures it was skipped."""
    target = str(work.target) if work.target else "-"
    if figures is None:
        return (work.name, "-", "-", "-", target, "skipped")
    shown = (work.shown(figures.calendar), work.shown(figures.default), spread(figures.ratios))
    return (work.name, *shown, target, met(work.target, figures))


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Return the table with aligned columns."""
    lines = [HEAD, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    text = []
    for line in lines:
        first, *middle, last = (
            cell.ljust(width) if column in (0, len(HEAD) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        text.append("  ".join([first, *middle, last]).rstrip())
    return "\n".join(text)


def as_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return the table for a page, with a missed target in bold."""
    bold = ([*line[:-1], "**no**" if line[-1] == "no" else line[-1]] for line in rows)
    lines = [HEAD, ["---"] * len(HEAD), *bold]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


BEGIN, END = "<!-- engine_bench: begin -->", "<!-- engine_bench: end -->"
"""The lines of a page between which the table is."""


def into_page(page: str, rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """Return the page with the table, and notes as a list behind it, between the two lines."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page must have the lines {BEGIN!r} and {END!r}, once each and in this order")
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    listed = "\n".join(f"- {note}" for note in notes)
    return f"{before}{BEGIN}\n{as_markdown(rows)}\n\n{listed}\n{END}{after}"


PAPERS = {"cellsim": 5.0, "kdd": 6.0, "magic": 10.0, "nasa": 6.0, "spacing": 5.0, "bbr": None, "l4s": None}
"""The papers and their targets, in times the calendar's speed."""

OC12C = 599_040_000
"""The rate of the cells that an emulation shall hold: OC-12c (bit/s)."""

WORKS = {
    "bulk": [
        Work("bulk TCP, 9180 B, OC-3c, 3 hops, cell-hops", " M/s", 1, Target(">=", 300, " M/s")),
    ],
    "worst": [Work("one-cell frames, ABR, ERICA, 100 channels", " s", 2, times(2.2))],
    "studies": [
        *(
            Work(f"study {name}, two threads", " s", 1, times(bound) if bound else None)
            for name, bound in PAPERS.items()
        ),
        Work("all studies above, two threads", " s", 1, Target("<=", 40, " s")),
    ],
    "packets": [Work("5 SACK flows, packet-hops/CPU s of htsim", "x", 2, Target(">=", 1.3, "x"))],
    "conversations": [
        Work("10,000 conversations: memory", " MB", 0, Target("<=", 60, " MB")),
        Work("10,000: time per event, of that of 100", "x", 2, Target("<=", 1.5, "x")),
        Work("60,000 conversations: memory", " MB", 0, Target("<=", 350, " MB")),
        Work("60,000: time per event, of that of 100", "x", 2, Target("<=", 1.5, "x")),
    ],
    "sweeps": [Work("1,000 runs of 10 ms: outside the engine", " %", 1, Target("<", 5, " %"))],
    "emulation": [
        Work("emulation, 100 Mbit/s of cells: cores", "", 2, Target("<=", 0.55)),
        Work("emulation, OC-12c held, 99 % lateness", " us", 0, Target("<", 500, " us")),
    ],
}
"""The lines of the table by what measures them."""
