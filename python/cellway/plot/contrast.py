"""Two settings of one thing, policy by policy."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from cellway.plot import select, style
from cellway.plot.load import Limits, per_load_table


def contrast(
    before: pl.DataFrame,
    after: pl.DataFrame,
    metric: str,
    subject: str,
    ylabel: str,
    *,
    names: tuple[str, str],
    limits: Limits = None,
    start: int = 0,
) -> Figure:
    """A metric against load under two settings, one panel per policy: the first in grey and the second in colour."""
    tables = [per_load_table(summary, metric, subject, start=start) for summary in (before, after)]
    policies = [
        name for name in select.in_order(tables[0], select.POLICY) if name in select.in_order(tables[1], select.POLICY)
    ]
    if not policies:
        raise select.MissingDataError("the two tables have no policy in common")
    with style.styled():
        figure, grid = style.new(0.9 + 1.25 * len(policies), rows=len(policies), sharex=True, sharey=True)
        for axes, name in zip(grid, policies, strict=True):
            mark = style.policy(name)
            looks = ((style.SOFT, (0, (3, 1.6)), "white"), (mark.color, "-", mark.color))
            for table, label, (color, dashes, face) in zip(tables, names, looks, strict=True):
                one = table.filter(pl.col(select.POLICY) == name).sort(select.COUNT)
                banded = one.filter(pl.col("low").is_not_null())
                axes.fill_between(
                    banded[select.COUNT], banded["low"], banded["high"], color=color, alpha=0.16, linewidth=0
                )
                axes.plot(
                    one[select.COUNT],
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
        grid[-1].set_xlabel("Concurrent FTP conversations")
        grid[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
        figure.supylabel(ylabel, fontsize=8.5)
        # The colour differs from panel to panel, so the legend shows the dashes and says the rest in words.
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(
            handles, [labels[0], f"{labels[1]} (colour)"], loc="outside upper center", ncols=2, borderaxespad=0.2
        )
        return figure
