"""A value against one swept parameter, next to published and predicted values."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from cellway.plot import select, style

Level = tuple[float, str]
"""A reference value and what it is."""

FEW_TICKS = 9


def curve(
    table: pl.DataFrame,
    xlabel: str,
    ylabel: str,
    *,
    logx: bool = False,
    logy: bool = False,
    ticks: bool = False,
    level: Level | None = None,
    chosen: Level | None = None,
    guide: tuple[pl.DataFrame, str] | None = None,
    limits: tuple[float | None, float | None] = (0, None),
    width: float = style.COLUMN,
) -> Figure:
    """Draw one line per value of `line`, with its confidence band, over the columns `x`, `mean`, `low`, `high`.

    Columns `published` and `predicted`, where they are there and not null, are drawn as diamonds and crosses. `ticks`
    puts a tick at every x. `level` is a horizontal reference, `chosen` a vertical one; `guide` a dotted line given by
    columns `x` and `y`.
    """
    select.columns(table, "line", "x", "mean", "low", "high")
    if table.is_empty():
        raise select.MissingDataError("the table has no row to draw")
    names = select.in_order(table, "line")
    with style.styled():
        figure, (axes,) = style.new(2.65, width=width)
        if guide is not None:
            dots = (0, (1, 1.4))
            axes.plot(guide[0]["x"], guide[0]["y"], color=style.SOFT, linestyle=dots, linewidth=1.1, label=guide[1])
        for order, name in enumerate(names):
            _line(axes, table.filter(pl.col("line") == name).sort("x"), str(name), style.numbered(order))
        _others(axes, table)
        _scales(axes, table, logx=logx, logy=logy, ticks=ticks)
        if not logy:
            axes.autoscale_view()
            axes.set_ylim(*limits)
        _references(axes, level, chosen)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(ylabel)
        entries = len(axes.get_legend_handles_labels()[0])
        style.legend(figure, axes, columns=2 if len(names) > 1 or entries > 3 else 3)
        return figure


def _line(axes: Axes, one: pl.DataFrame, name: str, mark: style.Mark) -> None:
    style.band(axes, one, "x", mark.color)
    axes.plot(
        one["x"],
        one["mean"],
        color=mark.color,
        linestyle=mark.dashes,
        marker=mark.marker,
        markersize=3.8 if one.height <= 24 else 2.2,
        label=name,
        zorder=3,
    )


def _others(axes: Axes, table: pl.DataFrame) -> None:
    """Draw published and predicted values, each named once in the legend."""
    for column, mark, size in (("predicted", style.PREDICTED, 5.0), ("published", style.PUBLISHED, 6.4)):
        if column not in table.columns:
            continue
        known = table.filter(pl.col(column).is_not_null())
        if not known.is_empty():
            axes.plot(
                known["x"],
                known[column],
                color=mark.color,
                linestyle="none",
                marker=mark.marker,
                markersize=size,
                markerfacecolor="none",
                markeredgewidth=1.0,
                label=mark.label,
                zorder=4,
            )


def _scales(axes: Axes, table: pl.DataFrame, *, logx: bool, logy: bool, ticks: bool) -> None:
    places = sorted(table["x"].unique())
    if logx:
        axes.set_xscale("log")
        # Over few decades powers of ten are too few to read by.
        style.plain_log(axes.xaxis, (1.0,) if places[-1] >= 1000 * places[0] else (1.0, 2.0, 5.0))
    if logy:
        axes.set_yscale("log")
        style.plain_log(axes.yaxis, (1.0,))
    if ticks:
        few = places if len(places) <= FEW_TICKS else places[:: -(-len(places) // FEW_TICKS)]
        axes.xaxis.set_major_locator(FixedLocator(few))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    elif not logx:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))


def _references(axes: Axes, level: Level | None, chosen: Level | None) -> None:
    """Draw reference lines, named in the legend, where no curve can cross their names."""
    if level is not None:
        axes.axhline(level[0], color=style.INK, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1, label=level[1])
    if chosen is not None:
        axes.axvline(
            chosen[0], color=style.SOFT, linewidth=0.9, linestyle=(0, (5, 1.2, 1, 1.2)), zorder=1, label=chosen[1]
        )
