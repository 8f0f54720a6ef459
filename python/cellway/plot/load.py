"""Performance against one axis, one line per value of another, with confidence bands over the seeds."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway import stats
from cellway.plot import held, labels, select, style

Summary = held.Source | pl.DataFrame
"""Results, their folder, or a summary."""

Limits = tuple[float | None, float | None] | None
"""Ends of a scale; None where the data decide."""


def delay(
    summary: Summary,
    *,
    subject: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
) -> Figure:
    """Draw the mean delay of an interactive conversation (`delay_mean_rtt`), in round trips; see `per_load`."""
    ends = limits or (0, None)
    return per_load(summary, "delay_mean_rtt", subject, "Delay (RTT)", x=x, lines=lines, xlabel=xlabel, limits=ends)


def delay_deviation(
    summary: Summary,
    *,
    subject: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
) -> Figure:
    """Draw the standard deviation of that delay (`delay_sd_rtt`), in round trips; see `per_load`."""
    ends = limits or (0, None)
    return per_load(
        summary, "delay_sd_rtt", subject, "Deviation of delay (RTT)", x=x, lines=lines, xlabel=xlabel, limits=ends
    )


def throughput(
    summary: Summary,
    *,
    subject: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
) -> Figure:
    """Draw the mean throughput of a group (`throughput_mean`), as a share of the bottleneck rate; see `per_load`."""
    ends = limits or (0, None)
    return per_load(
        summary, "throughput_mean", subject, "Throughput (share of link)", x=x, lines=lines, xlabel=xlabel, limits=ends
    )


def fairness(
    summary: Summary,
    *,
    subject: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
    start: float | None = None,
) -> Figure:
    """Draw Jain's index of a group (`jain`): 1 when all its conversations get the same; see `per_load`.

    One conversation alone always has an index of 1: `start=2` leaves it out where `x` is their number.
    """
    ends = limits or (None, 1.0)
    return per_load(
        summary, "jain", subject, "Jain's fairness index", x=x, lines=lines, xlabel=xlabel, limits=ends, start=start
    )


def utilisation(
    summary: Summary,
    *,
    port: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
) -> Figure:
    """Draw the utilisation of a port, from 0 to 1; see `per_load`."""
    ends = limits or (0, 1.05)
    return per_load(summary, "utilisation", port, x=x, lines=lines, xlabel=xlabel, limits=ends)


def per_load(
    summary: Summary,
    metric: str,
    subject: str | None = None,
    ylabel: str | None = None,
    *,
    x: str | None = None,
    lines: str | None = None,
    xlabel: str | None = None,
    limits: Limits = None,
    start: float | None = None,
) -> Figure:
    """Draw a metric of one subject against the axis `x`, from `start` on, one line per value of the axis `lines`.

    `subject`, `x` and `lines` may be left out where the table has only one: a subject with that metric, an axis of
    several numbers or quantities, another axis that varies. Else `ChoiceError` lists what there is. `ylabel` is by
    default the label of the metric and its unit.
    """
    summary = held.summary_of(summary)
    table = per_load_table(summary, metric, subject, x=x, lines=lines, start=start)
    x, series = _columns(table)
    at = "x" if "x" in table.columns else x
    with style.styled():
        figure, (axes,) = style.new()
        value_lines(axes, table, at, series)
        axes.set_xlabel(xlabel or x)
        axes.set_ylabel(ylabel or labels.of(summary, metric))
        if at == x:
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        else:
            places = table.select(at, x).unique(maintain_order=True).sort(at)
            axes.set_xticks(places[at].to_list(), places[x].cast(pl.String).to_list())
        if limits is not None:
            # First the bands decide, then the fixed ends do: a limit set at once stops autoscaling at the other end.
            axes.autoscale_view()
            axes.set_ylim(*limits)
        style.legend(figure, axes)
        return figure


def per_load_table(
    summary: Summary,
    metric: str,
    subject: str | None = None,
    *,
    x: str | None = None,
    lines: str | None = None,
    start: float | None = None,
) -> pl.DataFrame:
    """Return what `per_load` draws: mean and confidence interval by `lines`, if there is such an axis, and `x`.

    If the values of `x` are quantities such as `"64 KiB"`, the column `x` has them as numbers in base units.
    """
    summary = held.summary_of(summary)
    subject = select.subject_of(summary, metric, subject)
    rows = select.values(summary, metric, subject)
    x = select.axis_of(rows, x, () if lines is None else (lines,))
    lines = select.lines_of(rows, lines, (x,))
    by = [x] if lines is None else [lines, x]
    known, at = select.in_order(rows, x), x
    if not rows.schema[x].is_numeric():
        rows, at = select.amounts(rows, x), "x"
    if start is not None:
        rows = rows.filter(pl.col(at) >= start)
    table = stats.summarise(rows, by)
    if table.is_empty():
        raise select.MissingDataError(
            f"the table has no value of {metric} of {subject} where {x} is {start} or more; its values of {x}: "
            f"{select.listed(known)}"
        )
    return table if at == x else select.amounts(table, x)


def _columns(table: pl.DataFrame) -> tuple[str, str | None]:
    """Return the axes of a table made by `per_load_table`: `x`, which is the last, and `lines`."""
    names = table.columns[: table.columns.index("mean")]
    return names[-1], names[0] if len(names) > 1 else None


def value_lines(axes: Axes, table: pl.DataFrame, x: str, lines: str | None) -> None:
    """Draw one line with a band per value of `lines`, wide ones below, so that lines that coincide all show."""
    for order, name in enumerate([None] if lines is None else select.in_order(table, lines)):
        one = (table if lines is None else table.filter(pl.col(lines) == name)).sort(x)
        mark = style.numbered(0) if lines is None else style.of_value(lines, name, order)
        style.band(axes, one, x, mark.color)
        axes.plot(
            one[x],
            one["mean"],
            color=mark.color,
            linestyle=mark.dashes,
            marker=mark.marker,
            label=mark.label,
            markerfacecolor="white" if order % 2 == 0 else mark.color,
            markeredgewidth=1.1,
            markersize=6.0 - 1.2 * min(order, 2),
            linewidth=2.0 - 0.3 * min(order, 2),
        )
