"""The change of a result when one choice is made differently."""

from __future__ import annotations

import textwrap

import polars as pl
from matplotlib.figure import Figure

from cellway import stats
from cellway.plot import select, style

VARIANT = "variant"


def choices(
    rows: pl.DataFrame,
    xlabel: str,
    *,
    lines: str | None = None,
    limits: tuple[float | None, float | None] | None = None,
) -> Figure:
    """Draw a dot with its confidence interval per `variant` and value of `lines`; `rows` holds one value per run.

    `lines` may be left out where only one other axis varies. The first variant is the reference: a thin line continues
    its values downwards.
    """
    table = choices_table(rows, lines)
    lines = table.columns[1] if table.columns[1] != "mean" else None
    variants, names = select.in_order(table, VARIANT), [None] if lines is None else select.in_order(table, lines)
    with style.styled():
        figure, (axes,) = style.new(0.95 + 0.27 * len(variants))
        step = 0.22
        for order, name in enumerate(names):
            mark = style.numbered(0) if lines is None else style.of_value(lines, name, order)
            one = table if lines is None else table.filter(pl.col(lines) == name)
            places = [variants.index(v) + (order - (len(names) - 1) / 2) * step for v in one[VARIANT]]
            half = (one["high"] - one["mean"]).fill_null(0.0)
            axes.errorbar(
                one["mean"],
                places,
                xerr=half,
                fmt=mark.marker,
                color=mark.color,
                markersize=3.8,
                linewidth=1.1,
                markerfacecolor="white" if order == 1 else mark.color,
                label=mark.label,
                zorder=3,
            )
            reference = one.filter(pl.col(VARIANT) == variants[0])["mean"]
            if len(reference):
                axes.axvline(reference[0], color=mark.color, linewidth=0.6, alpha=0.55, zorder=1)
        style.table_rows(axes, [textwrap.fill(str(name), 22) for name in variants])
        axes.grid(visible=False)
        axes.set_xlabel(xlabel)
        if limits is not None:
            axes.set_xlim(*limits)
        if lines is not None:
            handles, labels = axes.get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=3, handlelength=1.2, borderaxespad=0.2)
        return figure


def choices_table(rows: pl.DataFrame, lines: str | None = None) -> pl.DataFrame:
    """Return what `choices` draws: mean and confidence interval by `variant` and `lines`."""
    select.need(rows, VARIANT)
    select.columns(rows, "value")
    lines = select.lines_of(rows, lines, (VARIANT,))
    table = stats.summarise(rows, [VARIANT] if lines is None else [VARIANT, lines])
    if table.is_empty():
        raise select.MissingDataError("no value for any variant")
    return table
