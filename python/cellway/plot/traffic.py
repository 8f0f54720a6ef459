"""The load that each kind of traffic puts on the bottleneck."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway import stats
from cellway.plot import select, style

PORT = "r1>s1"


def offered_load(summary: pl.DataFrame, *, port: str = PORT) -> Figure:
    """Utilisation of the bottleneck against the number of conversations, one line per traffic type."""
    rows = select.values(summary, "utilisation", port)
    if select.POLICY in rows.columns and "per-conversation" in rows[select.POLICY].to_list():
        rows = rows.filter(pl.col(select.POLICY) == "per-conversation")
    table = offered_load_table(rows)
    with style.styled():
        figure, (axes,) = style.new(2.6)
        ends = []
        for kind in select.in_order(table, "traffic"):
            one = table.filter(pl.col("traffic") == kind).sort("count")
            mark = style.traffic(kind)
            axes.fill_between(
                one["count"],
                one["low"].fill_null(strategy="zero"),
                one["high"].fill_null(strategy="zero"),
                where=one["low"].is_not_null().to_list(),
                color=mark.color,
                alpha=0.15,
                linewidth=0,
            )
            axes.plot(
                one["count"],
                one["mean"],
                color=mark.color,
                linestyle=mark.dashes,
                marker=mark.marker,
                markerfacecolor="white",
                markeredgewidth=1.1,
            )
            ends.append((one["count"][-1], one["mean"][-1], mark.label, mark.color))
        axes.set_ylim(0, 1.05)
        axes.set_xlabel("Concurrent conversations")
        axes.set_ylabel("Bottleneck utilisation")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        style.label_ends(axes, ends)
        return figure


def offered_load_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean utilisation and interval by `traffic` and `count`."""
    kind = axis(rows, ("traffic", "variant"), ".app")
    count = axis(rows, ("count",), ".count")
    named = rows.with_columns(traffic=pl.col(kind).cast(pl.String).str.to_lowercase(), count=pl.col(count))
    return stats.summarise(named, ["traffic", "count"])


def axis(rows: pl.DataFrame, names: tuple[str, ...], ending: str) -> str:
    """The axis that has one of these names, or the only one with this ending."""
    found = [name for name in rows.columns if name in names] or [name for name in rows.columns if name.endswith(ending)]
    if len(found) != 1:
        raise select.MissingDataError(
            f"the table has {len(found)} axes like {names[0]}, not one: {', '.join(found) or 'none'}"
        )
    return found[0]
