"""Performance over time: single conversations, and the transient at the start."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cellway import stats
from cellway.plot import select, style
from cellway.plot.traffic import PORT


def throughput_over_time(
    series: pl.DataFrame,
    *,
    policy: str | None = None,
    group: str = "ftp",
    rtt: float | None = None,
    warmup: float = 0.0,
    limit: float | None = None,
) -> Figure:
    """Throughput of each bulk conversation in each bin, for the lowest seed at the highest load.

    `series` holds bins of the metric throughput; `rtt` and `warmup` are in seconds.
    """
    rows = select.highest(select.values(series, "throughput", slots_of=group), select.COUNT)
    if policy is not None:
        rows = rows.filter(pl.col(select.POLICY) == policy)
    rows = select.first_seed(rows).filter(pl.col("t") > warmup).sort("t")
    if rows.is_empty():
        raise select.MissingDataError(f"no throughput over time under {policy}")
    names = select.slots(rows)
    with style.styled():
        figure, (axes,) = style.new(2.45)
        axes.axhline(rows.select(pl.col("value").mean()).item(), color=style.SOFT, linewidth=0.7, zorder=1)
        for index, name in enumerate(names):
            one = rows.filter(pl.col("subject") == name)
            mark = style.numbered(index)
            axes.plot(
                _scaled(one["t"], rtt),
                one["value"],
                color=mark.color,
                linestyle=mark.dashes,
                linewidth=1.3,
                label=name.rsplit("-", 1)[1],
            )
        axes.set_ylim(0, limit)
        _time_axis(axes, rtt)
        axes.margins(x=0.01)
        axes.set_ylabel("Throughput (share of link)")
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(
            handles,
            [f"{group.upper()} {labels[0]}", *labels[1:]],
            loc="outside upper center",
            ncols=len(names),
            borderaxespad=0.2,
        )
        return figure


def transient(
    series: pl.DataFrame, *, port: str = PORT, rtt: float | None = None, warmup: float | None = None
) -> Figure:
    """Utilisation, bulk throughput and interactive delay from the start: means over the seeds at the highest load."""
    to_rtt = pl.col("value") / rtt if rtt else pl.col("value")
    at_top = select.highest(series, select.COUNT)
    panels = [
        ("Utilisation", select.values(at_top, "utilisation", port)),
        ("FTP throughput", _per_run_mean(select.values(at_top, "throughput", slots_of="ftp"))),
        (
            f"TELNET delay ({'RTT' if rtt else 's'})",
            select.values(at_top, "delay_mean", "telnet-1").with_columns(value=to_rtt),
        ),
    ]
    with style.styled():
        figure, grid = style.new(4.7, rows=len(panels), sharex=True)
        for axes, (title, rows) in zip(grid, panels, strict=True):
            table = stats.summarise(rows, [select.POLICY, "t"])
            for name in select.in_order(table, select.POLICY):
                one = table.filter(pl.col(select.POLICY) == name).sort("t")
                mark = style.policy(name)
                banded = one.filter(pl.col("low").is_not_null())
                axes.fill_between(
                    _scaled(banded["t"], rtt), banded["low"], banded["high"], color=mark.color, alpha=0.15, linewidth=0
                )
                axes.plot(
                    _scaled(one["t"], rtt),
                    one["mean"],
                    color=mark.color,
                    linestyle=mark.dashes,
                    label=mark.label,
                    linewidth=1.2,
                )
            axes.set_ylabel(title)
            axes.set_ylim(0, None)
            if warmup is not None:
                axes.axvline(warmup / rtt if rtt else warmup, color=style.INK, linewidth=0.8, linestyle=(0, (2, 2)))
        if warmup is not None:
            grid[0].annotate(
                "measured from here",
                (warmup / rtt if rtt else warmup, 0.0),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=7.5,
                color=style.SOFT,
            )
        _time_axis(grid[-1], rtt)
        grid[-1].set_xlim(0, None)
        style.legend(figure, grid[0])
        figure.align_ylabels(grid)
        return figure


def _per_run_mean(rows: pl.DataFrame) -> pl.DataFrame:
    rest = [name for name in rows.columns if name not in ("subject", "value")]
    return rows.group_by(*rest, maintain_order=True).agg(pl.col("value").mean())


def _scaled(t: pl.Series, rtt: float | None) -> pl.Series:
    return t / rtt if rtt else t


def _time_axis(axes: Axes, rtt: float | None) -> None:
    axes.set_xlabel("Time (RTT)" if rtt else "Time (s)")
