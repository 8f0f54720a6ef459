"""Published, predicted and simulated numbers side by side, row by row."""

from __future__ import annotations

import textwrap

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cellway.plot import select, style

LABEL = 30
"""Characters of a row's label before it is wrapped, in one column."""


def compare(
    rows: pl.DataFrame, xlabel: str, *, log: bool = False, bars: bool = False, width: float = style.COLUMN
) -> Figure:
    """Draw a dot with its interval per row for the simulation, a diamond for the published value, a cross for theory.

    Columns: `label`, `published`, `predicted`, `simulated`, `low`, `high`, each but the first may be null. With `bars`
    the simulated values are bars and are written at their ends.
    """
    select.columns(rows, "label", "published", "predicted", "simulated", "low", "high")
    known = rows.filter(pl.any_horizontal(pl.col("published", "predicted", "simulated").is_not_null()))
    if known.is_empty():
        raise select.MissingDataError(f"none of {rows.height} rows has a number: published, predicted or simulated")
    letters = LABEL if width < style.WIDE else 64
    labels = [textwrap.fill(str(label), letters) for label in known["label"]]
    lines = sum(max(1.0, 0.62 * (label.count("\n") + 1)) for label in labels)
    with style.styled():
        figure, (axes,) = style.new(0.85 + 0.27 * lines, width=width)
        style.table_rows(axes, labels)
        _simulated(axes, known, bars=bars)
        for column, mark, size in (("predicted", style.PREDICTED, 5.4), ("published", style.PUBLISHED, 6.2)):
            some = known.with_row_index("row").filter(pl.col(column).is_not_null())
            if not some.is_empty():
                axes.plot(
                    some[column],
                    some["row"],
                    linestyle="none",
                    marker=mark.marker,
                    color=mark.color,
                    markersize=size,
                    markerfacecolor="none",
                    markeredgewidth=1.0,
                    label=mark.label,
                    zorder=4,
                )
        axes.set_xlabel(xlabel)
        if log:
            axes.set_xscale("log")
            style.plain_log(axes.xaxis, (1.0, 2.0, 5.0))
        else:
            axes.set_xlim(0, None)
        if bars:
            low, high = axes.get_xlim()
            axes.set_xlim(low, high * (1.6 if log else 1.13))
        style.legend(figure, axes)
        return figure


def _simulated(axes: Axes, known: pl.DataFrame, *, bars: bool) -> None:
    some = known.with_row_index("row").filter(pl.col("simulated").is_not_null())
    if some.is_empty():
        return
    mark = style.SIMULATED
    # Intervals need not be symmetric, and rounding must not turn an arm negative.
    arms = [
        (pl.Series(some["simulated"] - some["low"]).fill_null(0.0).clip(0.0)).to_list(),
        (pl.Series(some["high"] - some["simulated"]).fill_null(0.0).clip(0.0)).to_list(),
    ]
    if not bars:
        axes.errorbar(
            some["simulated"],
            some["row"],
            xerr=arms,
            fmt=mark.marker,
            color=mark.color,
            markersize=4.2,
            linewidth=1.2,
            label=mark.label,
            zorder=3,
        )
        return
    axes.barh(some["row"], some["simulated"], height=0.56, color="#9CC7E4", xerr=arms, label=mark.label, zorder=2,
              error_kw={"elinewidth": 1.0, "ecolor": mark.color})  # fmt: skip
    for row, simulated, published, high in some.select("row", "simulated", "published", "high").iter_rows():
        end = max(value for value in (simulated, published, high) if value is not None)
        axes.annotate(
            f"{simulated:.3g}", (end, row), xytext=(6, 0), textcoords="offset points", va="center", fontsize=7.5
        )
