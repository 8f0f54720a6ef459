"""The behaviour of a connection while the rate at which it may send is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway.plot import labels, select, style
from cellway.plot.window import thin

POINTS = 700
"""Columns of the plot that keep their extremes when a series is long."""


@dataclass(frozen=True)
class Panel:
    """One quantity over time: columns `t`, `value` and, for several lines, `line`."""

    label: str
    rows: pl.DataFrame
    changes: bool = False
    """True if a value holds until the next row, and not over the bin that ends at `t`."""
    contract: bool = False
    """The contract is drawn in this panel: it has the same unit."""
    limits: tuple[float | None, float | None] = (0, None)


def over_time(
    panels: Sequence[Panel],
    *,
    contract: pl.DataFrame | None = None,
    contract_label: str = "contract",
    width: float = style.COLUMN,
    until: float | None = None,
    start: float = 0.0,
    heading: str = "",
    legend: str | None = None,
) -> Figure:
    """Draw panels above each other on one time axis in seconds; `contract` has the columns `t` and `value`.

    `heading` is written above, and `legend` names the lines.
    """
    for panel in panels:
        select.columns(panel.rows, "t", "value")
    given, panels = panels, [panel for panel in panels if not panel.rows.is_empty()]
    if not panels:
        empty = select.listed(panel.label for panel in given) or "none"
        raise select.MissingDataError(f"no panel has a row to draw; the panels: {empty}")
    end = until or max(float(panel.rows["t"].max()) for panel in panels)  # type: ignore[arg-type]
    with style.styled():
        names = {name for panel in panels for name in _names(panel) if name != ""}
        above = (0.17 if heading else 0.0) + (0.17 if legend else 0.0) + 0.15 * max(0, -(-len(names) // 3) - 1)
        figure, grid = style.new(0.75 + above + 1.3 * len(panels), rows=len(panels), width=width, sharex=True)
        # A name has one look in all panels, and another name another one.
        looks = {name: at for at, name in enumerate(dict.fromkeys(name for panel in panels for name in _names(panel)))}
        for axes, panel in zip(grid, panels, strict=True):
            _series(axes, panel, end, looks)
            if contract is not None and panel.contract:
                steps = held_to(contract, end)
                axes.step(steps["t"], steps["value"], where="post", color=style.INK, linewidth=1.0,
                          linestyle=(0, (4, 1.6)), label=contract_label)  # fmt: skip
            if contract is not None:
                for t in contract.filter(pl.col("t") > 0)["t"]:
                    axes.axvline(t, color=style.SOFT, linewidth=0.6, linestyle=(0, (1, 1.6)), zorder=1)
            axes.autoscale_view()
            axes.set_ylim(*panel.limits)
            axes.set_ylabel(style.wrapped(panel.label, 1.3))
            axes.margins(x=0.005)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
        style.heading(figure, heading)
        grid[-1].set_xlim(start, end)
        grid[-1].set_xlabel("Time (s)")
        entries: dict[str, Artist] = {}
        for axes in grid:
            handles, words = axes.get_legend_handles_labels()
            entries |= {label: handle for handle, label in zip(handles, words, strict=True) if label[:1] != "_"}
        if len(entries) > 1:
            style.above(figure, list(entries.values()), list(entries), 3, legend)
        figure.align_ylabels(grid)
        return figure


def held_to(steps: pl.DataFrame, end: float) -> pl.DataFrame:
    """Return the steps up to `end`, the last value held to it."""
    kept = steps.select("t", "value").filter(pl.col("t") <= end)
    return pl.concat([kept, kept.tail(1).with_columns(t=pl.lit(end))])


def _names(panel: Panel) -> list[Any]:
    """Return the names of the lines of a panel; one without a name is called ""."""
    return select.in_order(panel.rows, "line") if "line" in panel.rows.columns else [""]


def _series(axes: Axes, panel: Panel, end: float, looks: Mapping[Any, int]) -> None:
    rows = panel.rows if "line" in panel.rows.columns else panel.rows.with_columns(line=pl.lit(""))
    for name in _names(panel):
        order = looks[name]
        one = rows.filter((pl.col("line") == name) & (pl.col("t") <= end)).sort("t", maintain_order=True)
        points = thin(one.select(x=pl.col("t"), y=pl.col("value")), POINTS)
        mark = style.numbered(order)
        # One value alone has no line, and matplotlib leaves out a label that is "_".
        alone, label = mark.marker if points.height == 1 else None, labels.drawn(name) if name != "" else "_"
        axes.step(points["x"], points["y"], marker=alone, where="post" if panel.changes else "pre", color=mark.color,
                  linestyle="-" if order == 0 else mark.dashes, linewidth=1.0, label=label)  # fmt: skip
