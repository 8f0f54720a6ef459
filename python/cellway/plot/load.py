"""Performance against load, one line per multiplexing policy, with confidence bands over the seeds."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway import stats
from cellway.plot import select, style
from cellway.plot.traffic import PORT

Limits = tuple[float | None, float | None] | None


def delay(summary: pl.DataFrame, *, subject: str = "telnet-1", limits: Limits = None) -> Figure:
    """Mean delay of an interactive conversation, in round trips."""
    return per_load(summary, "delay_mean_rtt", subject, "Delay (RTT)", limits=limits or (0, None))


def delay_deviation(summary: pl.DataFrame, *, subject: str = "telnet-1", limits: Limits = None) -> Figure:
    """Standard deviation of that delay, in round trips."""
    return per_load(summary, "delay_sd_rtt", subject, "Deviation of delay (RTT)", limits=limits or (0, None))


def throughput(summary: pl.DataFrame, *, subject: str = "ftp", limits: Limits = None) -> Figure:
    """Mean throughput of the bulk conversations, as a share of the bottleneck rate."""
    return per_load(summary, "throughput_mean", subject, "Throughput (share of link)", limits=limits or (0, None))


def fairness(summary: pl.DataFrame, *, subject: str = "ftp", limits: Limits = None) -> Figure:
    """Jain's index over the bulk conversations: 1 when all get the same."""
    return per_load(summary, "jain", subject, "Jain's fairness index", limits=limits or (None, 1.0), start=2)


def utilisation(summary: pl.DataFrame, *, port: str = PORT, limits: Limits = None) -> Figure:
    """Utilisation of the bottleneck."""
    return per_load(summary, "utilisation", port, "Bottleneck utilisation", limits=limits or (0, 1.05))


def per_load(
    summary: pl.DataFrame,
    metric: str,
    subject: str,
    ylabel: str,
    *,
    limits: Limits = None,
    count: str = select.COUNT,
    start: int = 0,
) -> Figure:
    """Any metric of one subject against the number of bulk conversations, from `start` of them on."""
    table = per_load_table(summary, metric, subject, count=count, start=start)
    with style.styled():
        figure, (axes,) = style.new()
        policy_lines(axes, table, count)
        axes.set_xlabel("Concurrent FTP conversations" if count == select.COUNT else count)
        axes.set_ylabel(ylabel)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if limits is not None:
            # First the bands decide, then the fixed ends do: a limit set at once stops autoscaling at the other end.
            axes.autoscale_view()
            axes.set_ylim(*limits)
        style.legend(figure, axes)
        return figure


def per_load_table(
    summary: pl.DataFrame, metric: str, subject: str, *, count: str = select.COUNT, start: int = 0
) -> pl.DataFrame:
    """Mean and confidence interval by policy and load: what `per_load` draws."""
    select.need(summary, select.POLICY, count)
    rows = select.values(summary, metric, subject).filter(pl.col(count) >= start)
    table = stats.summarise(rows, [select.POLICY, count])
    if table.is_empty():
        raise select.MissingDataError(f"the table has no value of {metric} of {subject} from a load of {start} on")
    return table


def policy_lines(axes: Axes, table: pl.DataFrame, x: str) -> None:
    """One line with a band per policy, wide ones below, so that lines that coincide all show."""
    for order, name in enumerate(select.in_order(table, select.POLICY)):
        one = table.filter(pl.col(select.POLICY) == name).sort(x)
        mark = style.policy(name)
        banded = one.filter(pl.col("low").is_not_null())
        axes.fill_between(banded[x], banded["low"], banded["high"], color=mark.color, alpha=0.16, linewidth=0)
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
