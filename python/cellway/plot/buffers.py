"""Performance against the size and the sharing of the buffer."""

from __future__ import annotations

from typing import Any

import polars as pl
from matplotlib.figure import Figure

from cellway import stats
from cellway.plot import select, style
from cellway.plot.load import value_lines

SIZE = "buffer.size"
SHARING = "buffer.sharing"

SHARED = {
    "pool": "one pool for all",
    "channel": "split by channel",
    "conversation": "split by conversation",
}

UNITS = {"bdp": "bandwidth × delay", "cell": "cells"}


def buffers(
    rows: pl.DataFrame,
    ylabel: str,
    *,
    lines: str | None = None,
    limits: tuple[float | None, float | None] | None = None,
) -> Figure:
    """Draw a value against `buffer.size`, one panel per value of `buffer.sharing`, one line per value of `lines`.

    `rows` holds one value per run. `lines` may be left out where only one other axis varies.
    """
    table, unit = buffers_table(rows, lines)
    lines = table.columns[1] if table.columns[1] != SIZE else None
    panels = select.in_order(table, SHARING)
    with style.styled():
        figure, grid = style.new(0.9 + 1.3 * len(panels), rows=len(panels), sharex=True, sharey=True)
        for axes, name in zip(grid, panels, strict=True):
            value_lines(axes, table.filter(pl.col(SHARING) == name), "x", lines)
            axes.set_title(SHARED.get(str(name), str(name)), loc="left", color=style.SOFT)
        if limits is not None:
            grid[0].autoscale_view()
            grid[0].set_ylim(*limits)
        if unit is None:
            sizes = select.in_order(table, SIZE)
            grid[-1].set_xticks(range(len(sizes)), [str(size) for size in sizes], rotation=30, ha="right")
        elif table["x"].max() >= 8 * table["x"].min():  # type: ignore[operator]
            # Sizes that are multiples of each other: equal steps for equal factors.
            places = sorted(table["x"].unique())
            grid[-1].set_xscale("log", base=2)
            grid[-1].set_xticks(places, [f"{place:g}" for place in places])
            grid[-1].minorticks_off()
        grid[-1].set_xlabel("Buffer size" + (f" ({UNITS.get(unit, unit)})" if unit else ""))
        figure.supylabel(ylabel, fontsize=8.5)
        style.legend(figure, grid[0])
        return figure


def buffers_table(rows: pl.DataFrame, lines: str | None = None) -> tuple[pl.DataFrame, str | None]:
    """Return mean and interval by sharing, `lines` and size, with a column `x` to plot against, and its unit.

    Sizes in one unit are placed by their numbers; sizes in several units by their order in the sweep, with no unit.
    """
    select.need(rows, SIZE, SHARING)
    select.columns(rows, "value")
    lines = select.lines_of(rows, lines, (SIZE, SHARING))
    table = stats.summarise(rows, [SHARING, SIZE] if lines is None else [SHARING, lines, SIZE])
    if table.is_empty():
        raise select.MissingDataError("no value for any buffer size")
    sizes: list[Any] = select.in_order(table, SIZE)
    read = [select.quantity(str(size)) for size in sizes]
    known = [pair for pair in read if pair is not None]
    units = {pair[1] for pair in known}
    numeric = len(known) == len(sizes) and len(units) == 1
    places = [pair[0] for pair in known] if numeric else [float(index) for index in range(len(sizes))]
    placed = pl.DataFrame({SIZE: sizes, "x": places})
    return table.join(placed, on=SIZE, how="left", maintain_order="left"), units.pop() if numeric else None
