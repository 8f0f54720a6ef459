"""The values of theory, simulation, emulation and a paper for the same figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import ScaledTranslation, Transform

from cellway.comparison import SCHEMA, Comparison
from cellway.plot import labels, select, style
from cellway.plot.metric import is_scale, ticks
from cellway.plot.scale import scale

PANELS = 12
"""The most panels of a figure."""

Source = tuple[str, style.Mark]
SOURCES: tuple[Source, ...] = (
    ("predicted", style.PREDICTED),
    ("simulated", style.SIMULATED),
    ("emulated", style.EMULATED),
)
ASIDE = 4.5
"""The same in a panel over a swept value, in points."""
LANE = 0.2
"""The distance between the markers of one row, so that intervals do not hide each other."""


def sources(rows: pl.DataFrame | Comparison, *, width: float | None = None) -> Figure:
    """Draw dots with intervals for each subject and metric; for a sweep, lines over the swept value.

    `rows` is a `Comparison`, or has the columns of its `rows`. A cross is theory, where it is more than an upper bound;
    a dot the simulation and a square the emulation, each with the 95 % confidence interval over its repetitions; a long
    tick what was published.
    """
    known = _known(rows)
    if _varying(known):
        return _sweep(known, style.WIDE if width is None else width)
    return _dots(known, style.COLUMN if width is None else width)


def left_out(rows: pl.DataFrame | Comparison) -> int:
    """Return the number of panels for which `sources` has no room."""
    known = _known(rows)
    return _swept(known)[2] if _varying(known) else max(0, len(_scales(known)) - PANELS)


def _known(rows: pl.DataFrame | Comparison) -> pl.DataFrame:
    """Return the rows that have a number, without predictions that are upper bounds."""
    if isinstance(rows, Comparison):
        rows = rows.rows.filter("main")
    select.columns(rows, *SCHEMA)
    rows = rows.with_columns(
        predicted=pl.when(pl.col("bound").fill_null(value=False)).then(None).otherwise(pl.col("predicted"))
    )
    known = rows.filter(pl.any_horizontal(pl.col("predicted", "simulated", "emulated", "published").is_not_null()))
    if known.is_empty():
        raise select.MissingDataError(
            f"none of {rows.height} rows has a number: predicted, simulated, emulated or published"
        )
    return known


def _varying(rows: pl.DataFrame) -> list[str]:
    """Return the axes along which rows of a comparison differ."""
    return [name for name in rows.columns if name not in SCHEMA and rows[name].n_unique() > 1]


def _scales(rows: pl.DataFrame) -> list[tuple[str, float, str]]:
    """Return metric, divisor and unit of each panel of dots."""
    steps = [_unit(rows[row], unit) for row, unit in enumerate(rows["unit"])]
    return list(dict.fromkeys((metric, *step) for metric, step in zip(rows["metric"], steps, strict=True)))


def _unit(rows: pl.DataFrame, unit: str) -> tuple[float, str]:
    """Return the divisor of the values of all sources, and their unit after it."""
    top = rows.select(pl.max_horizontal(pl.col("simulated", "emulated", "published", "predicted").abs().max())).item()
    return scale(top, unit)


def _scaled(rows: pl.DataFrame, scale: float) -> pl.DataFrame:
    values = [name for name, kind in SCHEMA.items() if kind == pl.Float64 and name != "difference"]
    return rows.with_columns(pl.col(name).cast(pl.Float64) / scale for name in values)


def _errors(rows: pl.DataFrame, source: str) -> list[list[float]]:
    """Return the distances of each row's mean to the lower and the upper end of its interval."""
    low, high = f"{source}_low", f"{source}_high"
    if low not in rows.columns or high not in rows.columns:
        return [[0.0] * rows.height] * 2
    sides = rows.select((pl.col(source) - pl.col(low)).alias("below"), (pl.col(high) - pl.col(source)).alias("above"))
    return [sides[side].fill_null(0.0).to_list() for side in ("below", "above")]


def _dots(rows: pl.DataFrame, width: float) -> Figure:
    """Draw one panel for each metric, one line for each subject; values a factor of a thousand apart are separated."""
    keys = _scales(rows)[:PANELS]
    steps = [_unit(rows[row], unit) for row, unit in enumerate(rows["unit"])]
    rows = rows.with_columns(scale=pl.Series([s for s, _ in steps]), shown=pl.Series([name for _, name in steps]))
    tables = [
        _scaled(
            rows.filter((pl.col("metric") == metric) & (pl.col("scale") == scale) & (pl.col("shown") == name)), scale
        )
        for metric, scale, name in keys
    ]
    heights = [table.height for table in tables]
    with style.styled():
        inches = 0.45 + sum(0.3 * height + 0.46 for height in heights)
        figure, grid = style.new(inches, rows=len(tables), width=width, height_ratios=[h + 0.2 for h in heights])
        for axes, (metric, _, name), table in zip(grid, keys, tables, strict=True):
            for order, (source, mark) in enumerate(SOURCES):
                some = table.with_row_index("row").filter(pl.col(source).is_not_null())
                if some.is_empty():
                    continue
                places = [row + LANE * (order - 1) for row in some["row"]]
                _marks(axes, some[source].to_list(), places, mark, xerr=_errors(some, source))
            for row, value in enumerate(table["published"]):
                if value is not None:
                    axes.plot([value, value], [row - 0.42, row + 0.42], color=style.INK, linewidth=1.3, zorder=2,
                              solid_capstyle="butt", label=style.PUBLISHED.label)  # fmt: skip
            axes.set_yticks(range(table.height), table["subject"].to_list())
            axes.set_ylim(table.height - 0.5, -0.5)
            axes.tick_params(axis="y", length=0)
            axes.grid(visible=False, axis="y")
            axes.grid(visible=True, axis="x", color=style.GRID, linewidth=0.6)
            axes.set_xlim(0, _top(table) * 1.08)
            axes.xaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
            axes.set_xlabel(labels.label(metric, name), labelpad=1.5)
        _legend(figure, grid)
        return figure


def _marks(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    mark: style.Mark,
    *,
    xerr: list[list[float]] | None = None,
    yerr: list[list[float]] | None = None,
    transform: Transform | None = None,
) -> None:
    drawn = axes.errorbar(
        x,
        y,
        xerr=xerr if xerr and any(map(any, xerr)) else None,
        yerr=yerr if yerr and any(map(any, yerr)) else None,
        fmt=mark.marker,
        color=mark.color,
        markersize=4.0 if mark.marker != "x" else 4.8,
        markerfacecolor="white" if mark.marker == "s" else mark.color,
        markeredgewidth=1.0,
        elinewidth=1.1,
        label=mark.label,
        zorder=3,
        transform=axes.transData if transform is None else transform,
    )
    if drawn.lines[0] is not None:
        # A marker on an axis is seen whole.
        drawn.lines[0].set_clip_on(False)


def _top(table: pl.DataFrame) -> float:
    """Return the largest value or end of an interval; one counts to three times its mean, else it hides all others."""
    ends = [0.0]
    for source, _ in SOURCES:
        for value, above in zip(table[source], _errors(table, source)[1], strict=True):
            if value is not None:
                ends.append(value + min(above, 2.0 * abs(value)))
    ends += [value for value in table["published"] if value is not None]
    top = max(ends)
    return top if top > 0 and math.isfinite(top) else 1.0


def _legend(figure: Figure, grid: Sequence[Axes]) -> None:
    """Draw each source once in the legend, whichever panel has it."""
    found: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    order = [label for label in ("predicted", "simulated", "emulated", "published") if label in found]
    if len(order) > 1:
        figure.legend(
            [found[label] for label in order], order, loc="outside upper center", ncols=len(order), borderaxespad=0.2
        )


def _swept(rows: pl.DataFrame) -> tuple[str, pl.DataFrame, int]:
    """Return the swept axis, the panels over it that there is room for, and the number of those that are left out.

    There is a panel for each subject, metric, and choice of values of the other axes.
    """
    varying = _varying(rows)
    # The scale with most values leaves the fewest panels.
    scales = [name for name in varying if is_scale(rows, name)]
    across = max(scales, key=lambda name: rows[name].n_unique(), default=varying[0])
    everything = rows.select("metric", "unit", "subject", *(name for name in varying if name != across))
    everything = everything.unique(maintain_order=True)
    # Of each subject and metric as many values of the other axes as there is room for.
    most = max(1, PANELS // everything.select("metric", "unit", "subject").n_unique())
    place = pl.int_range(pl.len()).over("metric", "unit", "subject")
    panels = everything if everything.height <= PANELS else everything.filter(place < most).head(PANELS)
    return across, panels, everything.height - panels.height


def _sweep(rows: pl.DataFrame, width: float) -> Figure:
    """Draw small panels over the swept value."""
    across, panels, _ = _swept(rows)
    known = rows[across].unique(maintain_order=True).to_list()
    # A value that is missing, drawn as a dash, has no place on a scale.
    over_scale = None not in known and is_scale(rows, across)
    places = [select.amount(value) for value in known] if over_scale else [float(place) for place in range(len(known))]
    order = sorted(zip(places, known, strict=True), key=lambda of: of[0])
    placed = pl.DataFrame({across: known, "x": places}, schema_overrides={across: rows.schema[across]})
    rows = rows.join(placed, on=across, how="left", maintain_order="left", nulls_equal=True)
    columns = min(panels.height, 3 if width > style.COLUMN else 1)
    lines = -(-panels.height // columns)
    titles = [
        style.wrapped(", ".join([labels.label(metric), subject, *map(labels.drawn, at)]), width / columns - 0.4)
        for metric, _, subject, *at in panels.rows()
    ]
    tall = max(title.count("\n") for title in titles)
    with style.styled():
        figure, grid = style.panels(0.42 + (1.62 + 0.14 * tall) * lines, lines, columns, width=width)
        for axes, panel, title in zip(grid, panels.iter_rows(named=True), titles, strict=False):
            same = pl.all_horizontal(pl.col(key).eq_missing(pl.lit(value)) for key, value in panel.items())
            table = rows.filter(same).sort("x")
            divisor, name = _unit(table, panel["unit"])
            _lines(figure, axes, _scaled(table, divisor), joined=over_scale)
            axes.set_title(title, loc="left", pad=4)
            axes.set_ylabel(name)
            axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
            ticks(axes, [x for x, _ in order], [labels.drawn(value) for _, value in order], width / columns)
        for axes in grid[panels.height :]:
            axes.remove()
        figure.supxlabel(labels.axis(across), fontsize=8.5)
        _legend(figure, grid[: panels.height])
        return figure


def _lines(figure: Figure, axes: Axes, table: pl.DataFrame, *, joined: bool) -> None:
    for order, (source, mark) in enumerate(SOURCES):
        some = table.filter(pl.col(source).is_not_null())
        if some.is_empty():
            continue
        x, y = some["x"].to_list(), some[source].to_list()
        # Next to each other, so that equal values are all visible.
        aside = ScaledTranslation((order - 1) * ASIDE / 72, 0, figure.dpi_scale_trans)
        place = axes.transData + aside
        _marks(axes, x, y, mark, yerr=_errors(some, source), transform=place)
        dashes = (0, (1, 1.4)) if mark.dashes == "none" else mark.dashes
        if joined:
            axes.plot(x, y, color=mark.color, linestyle=dashes, linewidth=1.1, zorder=2, transform=place)
    some = table.filter(pl.col("published").is_not_null())
    if not some.is_empty():
        axes.plot(
            some["x"],
            some["published"],
            color=style.INK,
            linestyle="-" if joined else "none",
            linewidth=1.0,
            marker="_",
            markersize=11,
            markeredgewidth=1.3,
            zorder=2.5,
            label=style.PUBLISHED.label,
        )
    axes.set_ylim(0, _top(table) * 1.08)
