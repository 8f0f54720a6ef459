"""How far the conclusions move when a choice that the paper leaves open is made differently."""

from __future__ import annotations

import textwrap

import polars as pl
from matplotlib.figure import Figure

from cellway import stats
from cellway.plot import select, style

VARIANT = "variant"


def choices(rows: pl.DataFrame, xlabel: str, *, limits: tuple[float | None, float | None] | None = None) -> Figure:
    """A dot with its confidence interval per variant and policy; `rows` holds one value per run.

    The first variant is the reference: a thin line continues its values downwards.
    """
    table = choices_table(rows)
    variants, policies = select.in_order(table, VARIANT), select.in_order(table, select.POLICY)
    with style.styled():
        figure, (axes,) = style.new(0.95 + 0.27 * len(variants))
        step = 0.22
        for order, name in enumerate(policies):
            mark = style.policy(name)
            one = table.filter(pl.col(select.POLICY) == name)
            places = [variants.index(v) + (order - (len(policies) - 1) / 2) * step for v in one[VARIANT]]
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
        for index in range(0, len(variants), 2):
            axes.axhspan(index - 0.5, index + 0.5, color="#f3f5f7", zorder=0, linewidth=0)
        axes.set_yticks(range(len(variants)), [textwrap.fill(str(name), 22) for name in variants], fontsize=7.5)
        axes.set_ylim(len(variants) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.set_xlabel(xlabel)
        if limits is not None:
            axes.set_xlim(*limits)
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3, handlelength=1.2, borderaxespad=0.2)
        return figure


def choices_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean and confidence interval by variant and policy."""
    select.need(rows, VARIANT, select.POLICY)
    table = stats.summarise(rows, [VARIANT, select.POLICY])
    if table.is_empty():
        raise select.MissingDataError("no value for any variant")
    return table
