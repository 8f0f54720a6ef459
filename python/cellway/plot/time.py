"""Performance over time: single conversations, and the transient at the start."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cellway import stats
from cellway.plot import held, select, style


def throughput_over_time(
    series: held.Source | pl.DataFrame,
    *,
    group: str | None = None,
    rtt: float | None = None,
    warmup: float = 0.0,
    limit: float | None = None,
) -> Figure:
    """Draw the throughput of each conversation of a group in each bin after the warm-up, for the lowest seed.

    `series` has bins of the metric `throughput`, or is results, at one point of the sweep. `rtt` and `warmup` are in
    seconds; time is drawn in round trips if `rtt` is given. `group` may be left out where only one has conversations.
    """
    series = held.series_of(series, "throughput")
    group = select.group_of(series, "throughput", group)
    rows = select.values(series, "throughput", slots_of=group)
    select.one_point(rows)
    last = select.last(rows)
    rows = select.first_seed(rows).filter(pl.col("t") > warmup).sort("t")
    if rows.is_empty():
        raise select.MissingDataError(f"no throughput of {group} after the warm-up of {warmup:g} s; {last}")
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
            [f"{style.traffic(group).label} {labels[0]}", *labels[1:]],
            loc="outside upper center",
            ncols=len(names),
            borderaxespad=0.2,
        )
        return figure


def transient(
    panels: Mapping[str, pl.DataFrame],
    *,
    lines: str | None = None,
    rtt: float | None = None,
    warmup: float | None = None,
) -> Figure:
    """Draw quantities from the start of the runs: means over the seeds, one panel each, a line per value of `lines`.

    `panels` maps the label of a panel to rows with one value per run and bin, such as
    `select.values(results.series(), "utilisation", "a>b")`. `rtt` and `warmup` are in seconds; a dashed line marks the
    end of the warm-up. `lines` may be left out where only one axis varies.
    """
    if not panels:
        raise select.MissingDataError("no panel to draw")
    for rows in panels.values():
        select.columns(rows, "t", "value")
    drawn = [(title, rows, select.lines_of(rows, lines)) for title, rows in panels.items()]
    with style.styled():
        figure, grid = style.new(round(0.5 + 1.4 * len(drawn), 2), rows=len(drawn), sharex=True)
        for axes, (title, rows, series) in zip(grid, drawn, strict=True):
            table = stats.summarise(rows, ["t"] if series is None else [series, "t"])
            for order, name in enumerate([None] if series is None else select.in_order(table, series)):
                one = (table if series is None else table.filter(pl.col(series) == name)).sort("t")
                mark = style.numbered(0) if series is None else style.of_value(series, name, order)
                one = one.with_columns(_scaled(one["t"], rtt))
                style.band(axes, one, "t", mark.color)
                axes.plot(
                    one["t"],
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


def _scaled(t: pl.Series, rtt: float | None) -> pl.Series:
    return t / rtt if rtt else t


def _time_axis(axes: Axes, rtt: float | None) -> None:
    axes.set_xlabel("Time (RTT)" if rtt else "Time (s)")
