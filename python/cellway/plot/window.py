"""The TCP window over time."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway.plot import held, select, style

KIB = 1024.0
SLICE = 200.0
"""Length of the enlarged part, in round trips."""


def window(
    series: held.Source | pl.DataFrame,
    *,
    subject: str | None = None,
    rtt: float | None = None,
    warmup: float = 0.0,
    limit: float | None = None,
    mark: style.Mark | None = None,
) -> Figure:
    """Draw the window of one conversation step by step: the whole measured time, and its start enlarged.

    `series` is the metric `window`, or results, at one point of the sweep; the lowest seed is drawn. `rtt` and `warmup`
    are in seconds; `limit` is the top of the scale in KiB. `subject` may be left out where only one has a window.
    """
    series = held.series_of(series, "window")
    subject = select.subject_of(series, "window", subject)
    rows = select.values(series, "window", subject)
    select.one_point(rows)
    rows = select.first_seed(rows).sort("t", maintain_order=True)
    unit = rtt or 1.0
    start = warmup / unit
    steps = held_from(rows.select(x=pl.col("t") / unit, y=pl.col("value") / KIB), start)
    if steps.is_empty():
        raise select.MissingDataError(f"no window of {subject} after the warm-up of {warmup:g} s; {select.last(rows)}")
    whole = thin(steps, 900)
    exact = steps.filter(pl.col("x") <= start + SLICE)
    exact = pl.concat([exact, exact.tail(1).with_columns(x=pl.lit(start + SLICE))])
    mark = mark or style.numbered(0)
    with style.styled():
        figure, (above, below) = style.new(3.3, rows=2, sharey=True)
        for axes, table in ((above, whole), (below, exact)):
            axes.step(table["x"], table["y"], where="post", color=mark.color, linewidth=0.9)
            axes.set_ylim(0, limit)
            axes.margins(x=0.01)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 4, 8, 10]))
        below.set_xlim(start, start + SLICE)
        below.set_xlabel("Time (RTT)" if rtt else "Time (s)")
        figure.supylabel("Window (KiB)", fontsize=8.5)
        above.set_title("all of the measured time", loc="left", color=style.SOFT, fontsize=8)
        below.set_title(f"its first {SLICE:.0f} {'RTT' if rtt else 's'}", loc="left", color=style.SOFT, fontsize=8)
        return figure


def held_from(steps: pl.DataFrame, start: float) -> pl.DataFrame:
    """Return the steps from `start` on, beginning with the value at that time."""
    held = steps.filter(pl.col("x") < start).tail(1).with_columns(x=pl.lit(start))
    return pl.concat([held, steps.filter(pl.col("x") >= start)])


def thin(table: pl.DataFrame, columns: int) -> pl.DataFrame:
    """Return at most four points per column of the plot (first, lowest, highest, last): no peak or dip is lost."""
    if table.height <= 4 * columns:
        return table
    low, high = table["x"].min(), table["x"].max()
    width = (high - low) / columns or 1.0  # type: ignore[operator]
    binned = table.with_row_index("i").with_columns(bin=((pl.col("x") - low) / width).floor())
    kept = binned.group_by("bin").agg(
        pl.concat_list(
            pl.col("i").first(),
            pl.col("i").gather(pl.col("y").arg_min()).first(),
            pl.col("i").gather(pl.col("y").arg_max()).first(),
            pl.col("i").last(),
        )
        .first()
        .alias("keep")
    )
    keep = kept["keep"].explode().unique().sort()
    return binned.filter(pl.col("i").is_in(keep.implode())).select("x", "y")
