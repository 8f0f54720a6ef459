"""The distribution of a time, as far as the tables hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from cellway import stats
from cellway.plot import held, labels, select, style
from cellway.plot.scale import scale
from cellway.plot.timeline import arranged
from cellway.results import Results

STEPS = 400
"""The most steps of a line."""


def distribution(
    source: held.Source,
    name: str,
    *,
    at: str | Sequence[str] | None = None,
    by: str | None = None,
    where: Mapping[str, object] | None = None,
    width: float | None = None,
) -> Figure:
    """Draw a cumulative distribution: of the values of a series, or through the percentiles of the summary.

    `name` is a series of times, such as `item_time`, or the beginning of percentiles, such as `delay` for `delay_p50`,
    `delay_p95`, `delay_p99`. Of a series, it is the share of its values, over all seeds: of items, or of bins. Of
    percentiles, it is the mean of each over the seeds with its 95 % confidence interval, and lines that join them; the
    scale of shares gives the tail room. `at`, `by` and `where` are those of `timeline`.

    Raises `MissingDataError` and `ChoiceError`, which list what the results hold.
    """
    results = held.read(source)
    rows, sampled = _rows(results, name)
    everything, rows = rows, held.restricted(rows, held.summary_of(results), at, where)
    lines, panels = arranged(rows, by)
    divisor, unit = scale(rows["value"].abs().max(), str(rows["unit"][0]))  # type: ignore[arg-type]
    rows = rows.with_columns(pl.col("value") / divisor)
    shares = [] if sampled else [held.quantile(str(metric)) or 0.0 for metric in select.in_order(rows, "metric")]
    names: list[Any] = [None] if lines is None else select.in_order(rows, lines)
    titles: list[Any] = [None] if panels is None else select.in_order(rows, panels)
    narrow = width is not None and width <= style.COLUMN
    columns = 1 if len(titles) == 1 or narrow else 2
    height = -(-len(titles) // columns)
    inches = 2.15 if len(titles) == 1 or not narrow else 1.3
    with style.styled():
        heading = held.heading(rows, everything, (lines, panels))
        figure, grid = style.panels(
            0.6 + (0.34 if heading or lines else 0.0) + inches * height,
            height,
            columns,
            width or (style.COLUMN if columns == 1 else style.WIDE),
            sharey=True,
            sharex=panels != "subject",
        )
        for axes, title in zip(grid, titles, strict=False):
            part = rows if panels is None else rows.filter(pl.col(panels) == title)
            for order, value in enumerate(names):
                one = part if lines is None else part.filter(pl.col(lines) == value)
                if not one.is_empty():
                    mark = style.numbered(order)
                    words = "" if lines is None else labels.drawn(value)
                    if sampled:
                        _samples(axes, one, mark, words)
                    else:
                        _percentiles(axes, one, mark, words, shares)
            if title is not None:
                axes.set_title(labels.drawn(title), loc="left", color=style.SOFT)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
            axes.set_xlim(0, 1.04 * float((part if panels == "subject" else rows)["value"].max() or 1.0))  # type: ignore[arg-type]
            _shares(axes, shares)
        style.heading(figure, heading)
        for axes in grid[len(titles) :]:
            axes.remove()
        figure.supxlabel(labels.label(name, unit), fontsize=8.5)
        figure.supylabel("Share at or below", fontsize=8.5)
        style.legend(figure, grid[0], title=None if lines in (None, "subject") else labels.axis(lines))
        return figure


def _rows(results: Results, name: str) -> tuple[pl.DataFrame, bool]:
    """Return the values with their axes, and true if they are samples."""
    series = results.arrow("series")
    summary = held.summary_of(results)
    found = series.filter(
        (pl.col("metric").cast(pl.String) == name) & pl.col("unit").cast(pl.String).is_in(held.SECONDS)
    )
    percentiles = summary.filter(pl.col("metric").str.contains(f"^{name}_p[0-9]+$")) if name.isidentifier() else found
    if percentiles["metric"].n_unique() > 1:
        return percentiles, False
    if not found.is_empty():
        found = found.with_columns(pl.col("source", "subject", "metric", "unit").cast(pl.String))
        warmup = results.warmup or 0.0
        found = found.filter(pl.col("t") > warmup)
        if found.is_empty():
            raise select.MissingDataError(f"the results have no value of {name} after the warm-up of {warmup:g} s")
        return found.join(results.runs, on="run", how="left", maintain_order="left"), True
    known = held.drawable(results).filter(form=held.SHARES)["metric"].to_list()
    raise select.MissingDataError(
        f"the results have no distribution of {name}; they have that of {held.listed(known) or 'nothing'}"
    )


def _samples(axes: Axes, rows: pl.DataFrame, mark: style.Mark, label: str) -> None:
    values = rows["value"].sort()
    every = max(1, len(values) // STEPS)
    shares = (pl.int_range(1, len(values) + 1, eager=True) / len(values)).gather_every(every)
    axes.step([values[0], *values.gather_every(every), values[-1]], [0.0, *shares, 1.0], where="post", color=mark.color,
              linestyle=mark.dashes, linewidth=1.3, label=label)  # fmt: skip


def _percentiles(axes: Axes, rows: pl.DataFrame, mark: style.Mark, label: str, known: Sequence[float]) -> None:
    table = stats.summarise(rows, ["metric"])
    shares = [held.quantile(str(name)) or 0.0 for name in table["metric"]]
    table = table.with_columns(y=pl.Series([_place(share, known) for share in shares])).sort("y")
    ends = table.with_columns(pl.col("low", "high").fill_null(pl.col("mean")))
    axes.fill_betweenx(ends["y"], ends["low"], ends["high"], color=mark.color, alpha=0.16, linewidth=0)
    axes.plot(table["mean"], table["y"], color=mark.color, linestyle=mark.dashes, marker=mark.marker, markersize=4.0,
              clip_on=False, zorder=3, label=label)  # fmt: skip


def _place(share: float, known: Sequence[float]) -> float:
    """Return the place of a share on a scale on which each nine of the tail has the same room; the end is a nine on."""
    if share < 1:
        return -math.log10(1 - share)
    return 1 + max((_place(other, known) for other in known if other < 1), default=0.0)


def _shares(axes: Axes, known: Sequence[float]) -> None:
    if not known:
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1.0]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        return
    places = {_place(share, known): f"{100 * share:g} %" for share in sorted(set(known))}
    axes.set_ylim(min(places) - 0.15, max(places) + 0.15)
    axes.yaxis.set_major_locator(FixedLocator(list(places)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: places.get(value, "")))
