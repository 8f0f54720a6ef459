"""The load that each kind of traffic puts on a link."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway import stats
from cellway.plot import held, labels, select, style
from cellway.plot.load import Summary


def offered_load(
    summary: Summary,
    *,
    port: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
) -> Figure:
    """Draw the utilisation of a port against the axis `x`, one line per value of the axis `lines`.

    Each may be left out where the table has only one; else `ChoiceError` lists what there is.
    """
    summary = held.summary_of(summary)
    table = offered_load_table(summary, port=port, x=x, lines=lines)
    lines, x = table.columns[:2]
    with style.styled():
        figure, (axes,) = style.new(2.6)
        ends = []
        for order, kind in enumerate(select.in_order(table, lines)):
            one = table.filter(pl.col(lines) == kind).sort(x)
            mark = style.traffic(str(kind), order)
            style.band(axes, one, x, mark.color)
            axes.plot(
                one[x],
                one["mean"],
                color=mark.color,
                linestyle=mark.dashes,
                marker=mark.marker,
                markerfacecolor="white",
                markeredgewidth=1.1,
            )
            ends.append((one[x][-1], one["mean"][-1], mark.label, mark.color))
        axes.set_ylim(0, 1.05)
        axes.set_xlabel(xlabel or x)
        axes.set_ylabel(labels.of(summary, "utilisation"))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        style.label_ends(axes, ends)
        return figure


def offered_load_table(
    summary: Summary, *, port: str | None = None, x: str | None = None, lines: str | None = None
) -> pl.DataFrame:
    """Return what `offered_load` draws: mean utilisation and interval by `lines` and `x`."""
    summary = held.summary_of(summary)
    rows = select.values(summary, "utilisation", select.subject_of(summary, "utilisation", port))
    x = select.axis_of(rows, x, () if lines is None else (lines,))
    lines = select.lines_of(rows, lines, (x,))
    if lines is None:
        known = select.listed(select.axes(rows))
        raise select.MissingDataError(f"the table has no axis beside {x} for the kinds of traffic; its axes: {known}")
    return stats.summarise(rows, [lines, x])
