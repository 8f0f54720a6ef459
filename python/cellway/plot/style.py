"""The style of every figure: size, fonts, colours, and the same bytes each time."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from cellway.plot.figure import Picture

COLUMN = 3.5
"""Width of a journal column, in inches."""

WIDE = 7.16
"""Width of a page of two columns, in inches."""

INK = "#1b1f24"
SOFT = "#6b7280"
GRID = "#e3e6ea"
STRIPE = "#f3f5f7"

# Okabe and Ito's palette, which stays distinct for every common kind of colour blindness.
BLUE, ORANGE, RED = "#0072B2", "#CC8400", "#C8401A"
GREEN, PURPLE, SKY = "#00795C", "#9C4F96", "#3E8FC4"

DARK = {
    "#ffffff": "#1c2024", INK: "#e4e7eb", SOFT: "#9aa4b0", GRID: "#363d45", STRIPE: "#242a30",
    BLUE: "#5ab4ec", ORANGE: "#f0b040", RED: "#f58a6a", GREEN: "#35c79f", PURPLE: "#d59ad0", SKY: "#9bd0f5",
    "#9CC7E4": "#2f5f80", "#F3C06B": "#8a6420", "#E1EFF9": "#1d3a52",
}  # fmt: skip
"""Colours of figures -> those on a dark page, with as much contrast."""

RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same glyphs on every machine
    "font.size": 8.0,
    "axes.titlesize": 8.5,
    "axes.labelsize": 8.5,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "legend.handlelength": 1.9,
    "legend.columnspacing": 0.9,
    "legend.handletextpad": 0.4,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,  # outlines of TrueType, which can be edited and which publishers accept
    "svg.hashsalt": "cellway",
    "axes.formatter.useoffset": False,
}


STYLING = RLock()
"""Held while the settings of matplotlib are those of this style."""


@dataclass(frozen=True)
class Mark:
    """The mark of one series: colour for the screen, dashes and marker for paper."""

    label: str
    color: str
    dashes: Any
    marker: str


CHANNEL = "multiplexing.channel"
"""The key of scenario files whose values have marks of their own."""

CHANNELS = {
    "per-conversation": Mark("per conversation", BLUE, "-", "o"),
    "per-type": Mark("per type", ORANGE, (0, (5, 1.6)), "s"),
    "per-destination": Mark("per destination", RED, (0, (5, 1.4, 1, 1.4)), "^"),
}

TRAFFIC = {
    "ftp": Mark("FTP", INK, "-", "o"),
    "nntp": Mark("NNTP", PURPLE, (0, (5, 1.6)), "s"),
    "smtp": Mark("SMTP", GREEN, (0, (5, 1.4, 1, 1.4)), "D"),
    "telnet": Mark("TELNET", SKY, (0, (1.2, 1.2)), "v"),
}

SEQUENCE = [
    Mark("", BLUE, "-", "o"),
    Mark("", ORANGE, (0, (5, 1.6)), "s"),
    Mark("", GREEN, (0, (5, 1.4, 1, 1.4)), "^"),
    Mark("", PURPLE, (0, (1.2, 1.2)), "D"),
    Mark("", INK, (0, (7, 1.4, 1, 1.4, 1, 1.4)), "v"),
    Mark("", RED, "-", "P"),
    Mark("", SKY, (0, (5, 1.6)), "X"),
    Mark("", SOFT, (0, (1.2, 1.2)), "<"),
]

PUBLISHED = Mark("published", INK, "none", "D")
PREDICTED = Mark("predicted", SOFT, "none", "x")
SIMULATED = Mark("simulated", BLUE, "-", "o")
EMULATED = Mark("emulated", RED, (0, (5, 1.6)), "s")
"""The sources of a number, the same in every figure: an open diamond, a cross, a filled dot and an open square with
their intervals."""


def traffic(name: str, index: int = 0) -> Mark:
    """Return the mark of a kind of traffic: that of its `app` where it has one, else of the `index`-th of several."""
    return TRAFFIC.get(name.lower(), replace(numbered(index), label=name))


def of_value(axis: str | None, value: object, index: int) -> Mark:
    """Return the mark of the `index`-th value of an axis, labelled by the value."""
    name = str(value)
    if axis == CHANNEL and name in CHANNELS:
        return CHANNELS[name]
    return replace(numbered(index), label=name)


def numbered(index: int) -> Mark:
    """Return the mark of the `index`-th of several equals: dashes and markers differ in each round of the colours."""
    look, others = SEQUENCE[index % len(SEQUENCE)], SEQUENCE[(index + 3 * (index // len(SEQUENCE))) % len(SEQUENCE)]
    return replace(look, dashes=others.dashes, marker=others.marker)


@contextmanager
def styled() -> Iterator[None]:
    """Draw with this style, and leave the caller's settings unchanged. Other threads wait: the settings are global."""
    with STYLING, mpl.rc_context(RC):
        yield


def new(height: float = 2.45, rows: int = 1, width: float = COLUMN, **share: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure of one column with `rows` panels above each other."""
    return panels(height, rows, 1, width, **share)


def panels(height: float, rows: int, columns: int, width: float = WIDE, **share: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure with a grid of panels, row by row."""
    figure = Picture(figsize=(width, height), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False, **share).flat)
    for axes in grid:
        # Ticks are made anew when a figure is drawn, outside of this style: it must be fixed on the axes.
        axes.tick_params(labelsize=RC["xtick.labelsize"], width=0.6, length=3.0, color=SOFT, labelcolor=INK)
        axes.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
    return figure, grid


def band(axes: Axes, rows: pl.DataFrame, x: str, color: str) -> None:
    """Draw the confidence band of rows in the order of `x`, where they have an interval."""
    banded = rows.filter(pl.col("low").is_not_null())
    axes.fill_between(banded[x], banded["low"], banded["high"], color=color, alpha=0.16, linewidth=0)


def table_rows(axes: Axes, labels: Sequence[str]) -> None:
    """Lay out one row per label from the top down, with stripes and a vertical grid."""
    for index in range(0, len(labels), 2):
        axes.axhspan(index - 0.5, index + 0.5, color=STRIPE, zorder=0, linewidth=0)
    axes.set_yticks(range(len(labels)), labels, fontsize=7.5)
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.6)


def plain_log(axis: Axis, steps: Sequence[float]) -> None:
    """Write numbers without exponents on a logarithmic axis, at these multiples of powers of ten."""
    axis.set_major_locator(LogLocator(base=10, subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(lambda _value, _place: ""))


def legend(figure: Figure, axes: Axes, columns: int = 3, title: str | None = None) -> None:
    """Draw the legend of `axes`, above everything, in one row if it fits."""
    handles, labels = axes.get_legend_handles_labels()
    if len(handles) > 1:
        above(figure, handles, labels, columns, title)


def above(figure: Figure, handles: Sequence[Artist], labels: Sequence[str], columns: int, title: str | None) -> None:
    """Draw a legend above the panels."""
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, borderaxespad=0.2, title=title,
                  title_fontsize=8.0)  # fmt: skip


def wrapped(label: str, inches: float) -> str:
    """Return a label in lines that fit beside an axis of this length."""
    return "\n".join(textwrap.wrap(label, max(12, int(13 * inches)))) or label


def heading(figure: Figure, text: str, color: str = SOFT) -> None:
    """Write what a figure shows above its first panel, in place of an earlier heading."""
    if not isinstance(figure, Picture):
        raise TypeError("only figures of this package have a heading")
    first = figure.axes[0]
    title = first.get_title(loc="left").removeprefix(figure.heading).removeprefix("\n")
    figure.heading = wrapped(text, figure.get_figwidth()) if text else ""
    first.set_title(f"{figure.heading}\n{title}".strip("\n"), loc="left", color=color, fontsize=8.5)


def label_ends(axes: Axes, ends: Sequence[tuple[float, float, str, str]], gap: float = 0.085) -> None:
    """Name lines at their right ends, given as (x, y, text, colour), pushed apart where they would overlap.

    They are placed from the top down, and lines that end together keep the order in which they are given.
    """
    low, high = axes.get_ylim()
    ceiling = high
    for x, y, text, color in sorted(ends, key=lambda end: -round(end[1], 2)):
        at = min(y, ceiling)
        ceiling = at - gap * (high - low)
        axes.annotate(
            text, (x, at), xytext=(7, 0), textcoords="offset points", va="center", color=color, annotation_clip=False
        )


def svg(figure: Figure) -> str:
    """Return the figure as SVG text: the same figure gives the same bytes."""
    out = io.StringIO()
    with styled():
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return out.getvalue()


def adaptive(drawn: str) -> str:
    """Return SVG text whose colours follow the reader's choice of a light or a dark page."""
    light, dark = [], []
    for index, (color, other) in enumerate(DARK.items()):
        light.append(f"--c{index}:{color}")
        dark.append(f"--c{index}:{other}")
        drawn = drawn.replace(color.lower(), f"var(--c{index})")
    sheet = f":root{{{';'.join(light)}}}@media(prefers-color-scheme:dark){{:root{{{';'.join(dark)}}}}}"
    head, sep, rest = drawn.partition("<defs>")
    return f"{head}<style>{sheet}</style>{sep}{rest}"
