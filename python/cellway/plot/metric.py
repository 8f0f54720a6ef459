"""One metric of any results: against the axes of the sweep, or by subject without one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from cellway import stats
from cellway.plot import held, labels, select, style
from cellway.plot.scale import scale

LANE = 0.62
"""The part of a row over which the dots of its lines are spread."""

FACTOR = 8.0
"""Values of an axis that span at least this factor are on a logarithmic scale."""

LETTER, TURNED, MARGIN = 0.068, 0.17, 0.7
"""The width of a letter of a tick and of a turned text, and the part of a panel beside its axis (inches)."""

SHARES = ("utilisation", "jain", "jain_min", "throughput_mean")
"""Metrics that are read against 1."""


@dataclass(frozen=True)
class Layout:
    """The table of a figure, and the columns that are its scale, its lines and its panels.

    `table` has the columns of `x`, `by` and `panels`, and `mean`, `low`, `high`, `n`. `heading` says what was chosen of
    the results, and `alike` is true if all panels have one scale.
    """

    metric: str
    unit: str
    table: pl.DataFrame
    x: str
    by: str | None
    panels: str | None
    heading: str
    alike: bool


def metric(
    source: held.Source | pl.DataFrame,
    name: str,
    *,
    at: str | Sequence[str] | None = None,
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, object] | None = None,
    width: float | None = None,
) -> Figure:
    """Draw a metric of the summary with its 95 % confidence intervals over the seeds.

    `source` is `Results`, their folder, or a summary. The metric is drawn against the axis `x`, with one line for each
    value of `by`, and one panel for each value of a third axis. By default `x` is the first axis of numbers or
    quantities, else the first that varies; without a sweep, a dot for each subject. `at` is a subject, or several; by
    default all that have the metric, but for slots whose group has it, idle lines, and the network. Axes may be given
    by the last parts of their paths, and as `subject`. `where` fixes axes.

    Raises `MissingDataError` and `ChoiceError`, which list what the results hold.
    """
    return draw(layout(source, name, at=at, x=x, by=by, where=where), width)


def layout(
    source: held.Source | pl.DataFrame,
    name: str,
    *,
    at: str | Sequence[str] | None = None,
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, object] | None = None,
) -> Layout:
    """Return what `metric` draws."""
    summary = held.summary_of(source)
    others: list[str] = []
    if not isinstance(source, pl.DataFrame):
        series = held.read(source).arrow("series")
        others = [str(known) for known in series["metric"].unique()]
    rows = held.of_metric(summary, name, held.SWEEP, others)
    everything, rows = rows, held.restricted(rows, summary, at, where)
    across, lines, panels = arranged(rows, x, by)
    table = stats.summarise(rows, list(dict.fromkeys(c for c in (panels, lines, across) if c)))
    if table.is_empty():
        raise select.MissingDataError(f"the results have no value of {name}")
    units = rows["unit"].unique().to_list() if "unit" in rows.columns else [""]
    heading = held.heading(rows, everything, (across, lines, panels))
    return Layout(name, str(units[0]) if len(units) == 1 else "", table, across, lines, panels, heading,
                  held.alike(rows, panels))  # fmt: skip


def arranged(rows: pl.DataFrame, x: str | None, by: str | None) -> tuple[str, str | None, str | None]:
    """Return the columns for scale, lines and panels, chosen where they are not given."""
    given = [select.axis_named(rows, axis) for axis in (x, by) if axis is not None]
    if len(set(given)) < len(given):
        raise select.ChoiceError(f"x and by are both {given[0]}; they must be two axes")
    free = [axis for axis in held.axes_of(rows) if axis not in given]
    if x is not None:
        across = given[0]
    else:
        numeric = [axis for axis in free if axis != "subject" and is_scale(rows, axis)]
        across = (numeric or free or ["subject"])[0]
        free = [axis for axis in free if axis != across]
    if by is not None:
        lines: str | None = given[-1]
    else:
        # An axis of the sweep before the subjects: what was varied is what is compared.
        lines = free.pop(0) if free else None
    panels = free.pop(0) if free else None
    return across, *held.settled(rows, free, lines, panels, ways="three")


def is_scale(rows: pl.DataFrame, axis: str) -> bool:
    """Return true for an axis whose values are all numbers, or quantities of one kind."""
    return select.are_amounts(select.in_order(rows, axis))


def draw(what: Layout, width: float | None = None) -> Figure:
    """Draw a layout: lines with bands over a scale of amounts, else rows of dots with intervals."""
    divisor, unit = scale(_top(what.table), what.unit)
    table = what.table.with_columns(pl.col("mean", "low", "high") / divisor)
    names: list[Any] = [None] if what.panels is None else select.in_order(table, what.panels)
    lines: list[Any] = [None] if what.by is None else select.in_order(table, what.by)
    over_scale = what.x != "subject" and is_scale(table, what.x) and table[what.x].n_unique() > 1
    narrow = width is not None and width <= style.COLUMN
    columns = 1 if len(names) == 1 or narrow else 2 if len(names) in (2, 4) else 3
    height = (
        (2.1 if len(names) == 1 or not narrow else 1.5)
        if over_scale
        else 0.55 + 0.12 * table[what.x].n_unique() * (1.3 + min(len(lines), 8))
    )
    rows = -(-len(names) // columns)
    width = width or (style.COLUMN if columns == 1 else style.WIDE)
    entries = 0 if len(lines) == 1 else -(-sum(6 + len(labels.drawn(line)) for line in lines) // int(15 * width))
    label = labels.label(what.metric, unit)
    own = not what.alike
    shared = {"sharex": over_scale or not own, "sharey": not over_scale or not own}
    with style.styled():
        above = 0.17 * entries + (0.17 if what.heading else 0.0)
        figure, grid = style.panels(0.35 + above + (height + 0.25) * rows, rows, columns, width, **shared)
        for index, name in enumerate(names):
            axes = grid[index]
            one = table if what.panels is None else table.filter(pl.col(what.panels) == name)
            (_over_scale if over_scale else _dots)(axes, one, what, lines)
            _limits(axes, what, one if own else table, vertical=over_scale)
            if over_scale:
                _ticks(axes, table, what.x, room=width / columns)
            if what.panels is not None:
                axes.set_title(labels.drawn(name), loc="left", color=style.SOFT)
        style.heading(figure, what.heading)
        for axes in grid[len(names) :]:
            axes.remove()
        words = "" if what.x == "subject" else labels.axis(what.x)
        label = style.wrapped(label, (height if over_scale else width) * rows - 0.4)
        _name(figure, grid, rows * columns, (words, label) if over_scale else (label, words))
        _legend(figure, what, lines, over_scale=over_scale, width=width)
        return figure


def _name(figure: Figure, grid: Sequence[Axes], panels: int, words: tuple[str, str]) -> None:
    if panels == 1:
        grid[0].set_xlabel(words[0])
        grid[0].set_ylabel(words[1])
        return
    figure.supxlabel(words[0], fontsize=8.5)
    figure.supylabel(words[1], fontsize=8.5)


def _over_scale(axes: Axes, table: pl.DataFrame, what: Layout, lines: Sequence[Any]) -> None:
    placed = select.amounts(table, what.x) if "x" not in table.columns else table
    for order, name in enumerate(lines):
        one = (placed if what.by is None else placed.filter(pl.col(what.by) == name)).sort("x")
        mark = style.numbered(order)
        style.band(axes, one, "x", mark.color)
        axes.plot(one["x"], one["mean"], color=mark.color, linestyle=mark.dashes, marker=mark.marker, markersize=4.0,
                  clip_on=False, zorder=3)  # fmt: skip


def _ticks(axes: Axes, table: pl.DataFrame, axis: str, room: float) -> None:
    places = select.amounts(table, axis).select("x", axis).unique(maintain_order=True).sort("x")
    ticks(axes, places["x"].to_list(), [labels.drawn(value) for value in places[axis]], room)


def ticks(axes: Axes, x: list[float], texts: list[str], width: float = style.COLUMN) -> None:
    """Put the texts at the values of an axis, as many as there is room for; logarithmic if they span a factor."""
    if x[0] > 0 and x[-1] >= FACTOR * x[0]:
        axes.set_xscale("log")
        low, high = math.log(x[0]), math.log(x[-1])
        room = 0.05 * (high - low)
        axes.set_xlim(math.exp(low - room), math.exp(high + room))
    else:
        room = 0.05 * (x[-1] - x[0]) or 0.5
        axes.set_xlim(x[0] - room, x[-1] + room)
    low, high = (math.log(end) if axes.get_xscale() == "log" else end for end in axes.get_xlim())
    ats = [math.log(at) if axes.get_xscale() == "log" else at for at in x]
    places = [(width - MARGIN) * (at - low) / (high - low) for at in ats]
    turned = len(_apart(places, [LETTER * (len(text) + 1) for text in texts])) < len(x)
    kept = _apart(places, [TURNED if turned else LETTER * (len(text) + 1) for text in texts])
    shown = {x[at]: texts[at] for at in kept}
    axes.xaxis.set_major_locator(FixedLocator(list(shown)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: shown.get(value, "")))
    if turned:
        axes.tick_params(axis="x", labelrotation=30)


def _apart(places: Sequence[float], widths: Sequence[float]) -> list[int]:
    """Return the texts that do not overlap those before them; the last of all is among them."""
    kept: list[int] = []
    for at in reversed(range(len(places))):
        if not kept or places[kept[-1]] - places[at] >= (widths[at] + widths[kept[-1]]) / 2:
            kept.append(at)
    return kept[::-1]


def _dots(axes: Axes, table: pl.DataFrame, what: Layout, lines: Sequence[Any]) -> None:
    rows = select.in_order(table, what.x)
    style.table_rows(axes, [labels.drawn(row) for row in rows])
    step = LANE / max(1, len(lines) - 1)
    for order, name in enumerate(lines):
        one = table if what.by is None else table.filter(pl.col(what.by) == name)
        mark = style.numbered(order)
        aside = 0.0 if len(lines) == 1 else order * step - LANE / 2
        arms = [
            (one["mean"] - one["low"]).fill_null(0.0).clip(0.0).to_list(),
            (one["high"] - one["mean"]).fill_null(0.0).clip(0.0).to_list(),
        ]
        drawn = axes.errorbar(one["mean"], [rows.index(row) + aside for row in one[what.x]], xerr=arms, fmt=mark.marker,
                              color=mark.color, markersize=4.0, linewidth=1.2, zorder=3)  # fmt: skip
        # A marker on an axis is seen whole.
        drawn.lines[0].set_clip_on(False)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))


def _top(table: pl.DataFrame) -> float:
    """Return the largest value or end of an interval; an end counts to four times the largest mean only."""
    most = float(table["mean"].abs().max() or 0.0)  # type: ignore[arg-type]
    end = float(table["high"].fill_null(0.0).max() or 0.0)  # type: ignore[arg-type]
    return max(most, min(end, 4 * most))


def _limits(axes: Axes, what: Layout, table: pl.DataFrame, *, vertical: bool) -> None:
    """Begin the scale of values at 0, unless some are below, and end it where they all are seen."""
    least, top = table["mean"].min(), _top(table)
    low = None if least is None or float(least) < 0 else 0.0  # type: ignore[arg-type]
    high = top * 1.06 if top > 0 and math.isfinite(top) else 1.0
    if what.metric in SHARES and high > 0.5:
        high = max(high, 1.03)
    if vertical:
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    else:
        axes.set_xlim(low, high)


def _legend(figure: Figure, what: Layout, lines: Sequence[Any], *, over_scale: bool, width: float) -> None:
    if what.by is None or len(lines) < 2:
        return
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=mark.color, linestyle=mark.dashes if over_scale else "none", marker=mark.marker,
               markersize=4.0, label=labels.drawn(name))
        for mark, name in ((style.numbered(order), name) for order, name in enumerate(lines))
    ]  # fmt: skip
    longest = max(len(labels.drawn(name)) for name in lines) + 6
    columns = max(1, min(len(lines), int(15 * width / longest)))
    title = None if what.by == "subject" else labels.axis(what.by)
    style.above(figure, handles, [str(handle.get_label()) for handle in handles], columns, title)
