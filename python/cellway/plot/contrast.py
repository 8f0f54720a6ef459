"""One metric under two settings, one panel per value of an axis."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway.plot import held, labels, select, style
from cellway.plot.load import Limits, Summary, per_load_table


def contrast(
    before: Summary,
    after: Summary,
    metric: str,
    subject: str | None = None,
    ylabel: str | None = None,
    *,
    names: tuple[str, str],
    x: str | None = None,
    panels: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
    start: float | None = None,
) -> Figure:
    """Draw a metric against `x` under two settings, one panel per value of the axis `panels`.

    The first setting is grey, the second coloured; `names` are their labels. `subject`, `x` and `panels` may be left
    out where the tables have only one, as with `per_load`.
    """
    tables = [per_load_table(summary, metric, subject, x=x, lines=panels, start=start) for summary in (before, after)]
    panels, x = tables[0].columns[:2]
    if x == "mean":
        raise select.MissingDataError(f"the tables have no axis beside {panels} for the panels")
    select.need(tables[1], panels, x)
    at = "x" if "x" in tables[0].columns else x
    first, second = (select.in_order(table, panels) for table in tables)
    shown = [name for name in first if name in second]
    if not shown:
        raise select.MissingDataError(
            f"the tables have no value of {panels} in common: {select.listed(first)} and {select.listed(second)}"
        )
    with style.styled():
        figure, grid = style.new(0.9 + 1.25 * len(shown), rows=len(shown), sharex=True, sharey=True)
        for order, (axes, name) in enumerate(zip(grid, shown, strict=True)):
            mark = style.of_value(panels, name, order)
            styles = ((style.SOFT, (0, (3, 1.6)), "white"), (mark.color, "-", mark.color))
            for table, label, (color, dashes, face) in zip(tables, names, styles, strict=True):
                one = table.filter(pl.col(panels) == name).sort(at)
                style.band(axes, one, at, color)
                axes.plot(
                    one[at],
                    one["mean"],
                    color=color,
                    linestyle=dashes,
                    marker=mark.marker,
                    markerfacecolor=face,
                    markeredgewidth=1.0,
                    markersize=4,
                    label=label,
                )
            axes.set_title(mark.label, loc="left", color=mark.color)
        if limits is not None:
            grid[0].autoscale_view()
            grid[0].set_ylim(*limits)
        grid[-1].set_xlabel(xlabel or x)
        grid[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.supylabel(ylabel or labels.of(held.summary_of(before), metric), fontsize=8.5)
        # The colour differs from panel to panel, so the legend shows the dashes and describes the rest in words.
        handles, texts = grid[0].get_legend_handles_labels()
        figure.legend(
            handles, [texts[0], f"{texts[1]} (colour)"], loc="outside upper center", ncols=2, borderaxespad=0.2
        )
        return figure
