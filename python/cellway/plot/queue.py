"""The content of a queue over time, and the deviation of theory from a simulation."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from cellway.plot import held, select, style
from cellway.plot.window import held_from, thin

POINTS = 900
ROOM = 1.16
"""Part of the axis above the highest line, for its label."""


def content(
    steps: held.Source | pl.DataFrame,
    *,
    lines: Sequence[tuple[float, str]] = (),
    theory: pl.DataFrame | None = None,
    start: float = 0.0,
    until: float | None = None,
    zero: bool = True,
    width: float = style.WIDE,
) -> Figure:
    """Draw the cells in the buffer at each change (columns `t` in seconds, `value`), from `start` to `until`.

    `steps` may be results, of one point and one recorded queue. `lines` are values that theory gives, with their
    labels; `theory` a trajectory with the same columns. The scale begins at 0 unless `zero` is false.
    """
    steps = _one_queue(steps)
    placed = steps.sort("t", maintain_order=True).select(x=(pl.col("t") - start) * 1e3, y=pl.col("value"))
    rows = held_from(placed, 0.0)
    if until is not None:
        rows = rows.filter(pl.col("x") <= (until - start) * 1e3)
    if rows.is_empty():
        end = "" if until is None else f", up to {until:g} s"
        raise select.MissingDataError(f"no change of the queue at or after {start:g} s{end}; {select.last(steps)}")
    points = thin(rows, POINTS)
    mark = style.SIMULATED
    with style.styled():
        figure, (axes,) = style.new(2.7, width=width)
        axes.step(points["x"], points["y"], where="post", color=mark.color, linewidth=0.8, label="simulated")
        if theory is not None:
            line = theory.filter(pl.col("t") >= start).sort("t", maintain_order=True)
            if until is not None:
                line = line.filter(pl.col("t") <= until)
            axes.step((line["t"] - start) * 1e3, line["value"], where="post", color=style.INK, linewidth=1.1,
                      linestyle=(0, (4, 1.6)), label="theory")  # fmt: skip
        for order, (value, label) in enumerate(sorted(lines)):
            axes.axhline(value, color=style.INK, linewidth=0.9, linestyle=(0, (4, 1.6)), zorder=4)
            # Two lines close to each other: the lower one's label goes below it.
            above = order == len(lines) - 1
            axes.annotate(label, (0.0, value), xycoords=axes.get_yaxis_transform(), fontsize=7.5, color=style.INK,
                          xytext=(4, 3 if above else -3), textcoords="offset points",
                          va="bottom" if above else "top")  # fmt: skip
        top = max([float(points["y"].max()), *(value for value, _ in lines)])  # type: ignore[arg-type]
        low = 0.0 if zero else min([float(points["y"].min()), *(value for value, _ in lines)])  # type: ignore[arg-type]
        room = (ROOM - 1) * top if zero else 0.9 * (top - low) + 1
        axes.set_ylim(low if zero else low - room, top + room)
        axes.set_xlim(0, float(points["x"].max()))  # type: ignore[arg-type]
        axes.set_xlabel("Time (ms)")
        axes.set_ylabel("Cells in the buffer")
        style.legend(figure, axes)
        return figure


def _one_queue(steps: held.Source | pl.DataFrame) -> pl.DataFrame:
    """Return the changes of a queue: of results, those of the only port that has them, at one point and lowest seed."""
    if not isinstance(steps, pl.DataFrame):
        rows = held.series_of(steps, "queue")
        rows = select.values(rows, "queue", select.subject_of(rows, "queue"))
        select.one_point(rows)
        steps = select.first_seed(rows)
    select.columns(steps, "t", "value")
    return steps


def deviations(
    rows: pl.DataFrame,
    *,
    names: tuple[str, str] = ("inside the domain", "outside the domain"),
    width: float = style.COLUMN,
) -> Figure:
    """Draw simulation minus theory in cells, a dot per point, in strips; hollow dots lie outside the theory's domain.

    Columns: `strip` (the compared quantity), `deviation` in cells, `inside` (bool: the point lies in the domain).
    `names` are the labels of dots inside and outside.
    """
    select.columns(rows, "strip", "deviation", "inside")
    if rows.is_empty():
        raise select.MissingDataError("the table has no row to draw")
    strips = select.in_order(rows, "strip")
    with style.styled():
        figure, (axes,) = style.new(0.95 + 0.52 * len(strips), width=width)
        style.table_rows(axes, [str(strip) for strip in strips])
        axes.axvline(0, color=style.INK, linewidth=0.8, zorder=1)
        for inside, label, color in ((True, names[0], style.BLUE), (False, names[1], style.RED)):
            some = rows.filter(pl.col("inside") == inside)
            if some.is_empty():
                continue
            axes.plot(
                some["deviation"],
                _spread(some, strips, 0.5 if inside else 0.75),
                linestyle="none",
                marker="o" if inside else "^",
                markersize=3.6,
                markerfacecolor=color if inside else "none",
                markeredgecolor=color,
                markeredgewidth=0.8,
                alpha=0.8,
                label=label,
                zorder=3,
            )
        # The scale is never so fine that rounding resembles an error.
        worst = float(rows["deviation"].abs().max())  # type: ignore[arg-type]
        for side in (-1, 1):
            axes.axvline(side, color=style.SOFT, linewidth=0.8, linestyle=(0, (1, 1.4)), zorder=1)
        if worst < 1.5:
            axes.set_xlim(-1.5, 1.5)
        axes.set_xlabel("Simulated − theory (cells)")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=2, borderaxespad=0.2)
        return figure


def _spread(rows: pl.DataFrame, strips: Sequence[object], first: float) -> list[float]:
    """Return a height for each dot: dots of one strip are fanned out in their order, so that equal ones all show."""
    seen: dict[object, int] = {}
    heights = []
    for strip in rows["strip"]:
        count = seen.get(strip, 0)
        seen[strip] = count + 1
        heights.append(strips.index(strip) + 0.36 * (2 * ((first + count * 0.618034) % 1.0) - 1))
    return heights
