"""One series of any results over time, in one run of each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from matplotlib.figure import Figure

from cellway.plot import held, labels, select, style
from cellway.plot.scale import scale
from cellway.plot.steps import Panel, over_time
from cellway.results import Results


def timeline(
    source: held.Source,
    name: str,
    *,
    at: str | Sequence[str] | None = None,
    by: str | None = None,
    where: Mapping[str, object] | None = None,
    seed: int | None = None,
    start: float = 0.0,
    until: float | None = None,
    width: float = style.WIDE,
) -> Figure:
    """Draw a series over time, from `start` to `until` (s), in the run of one seed at each point of the sweep.

    `at` is a subject, or several; by default all with the series but idle lines. There is one line for each value of
    `by`, an axis or `subject`, and a panel for each value of a second axis; `where` fixes the others. `seed` is the
    lowest by default.

    Raises `MissingDataError` and `ChoiceError`, which list what the results hold.
    """
    results = held.read(source)
    everything = of_series(results, name, seed)
    rows = held.restricted(everything, held.summary_of(results), at, where)
    rows = rows.filter(pl.col("t") >= start) if until is None else rows.filter(pl.col("t").is_between(start, until))
    if rows.is_empty():
        span = f"from {start:g} s on" if until is None else f"from {start:g} s to {until:g} s"
        raise select.MissingDataError(f"the results have no value of {name} {span}")
    lines, panels = arranged(rows, by)
    divisor, unit = scale(rows["value"].abs().max(), str(rows["unit"][0]))  # type: ignore[arg-type]
    rows = rows.with_columns(pl.col("value") / divisor)
    label = labels.label(name, unit)
    drawn = []
    top = None if panels is None or not held.alike(rows, panels) else 1.05 * float(rows["value"].max())  # type: ignore[arg-type]
    for value in [None] if panels is None else select.in_order(rows, panels):
        one = rows if panels is None else rows.filter(pl.col(panels) == value)
        line = pl.lit("") if lines is None else pl.col(lines)
        drawn.append(
            Panel(
                label if panels is None else labels.drawn(value),
                one.select("t", "value", line=line),
                changes=name in labels.changing(),
                limits=(None, None) if float(one["value"].min()) < 0 else (0, top),  # type: ignore[arg-type]
            )
        )
    figure = over_time(
        drawn,
        width=width,
        until=until,
        start=start,
        heading=held.heading(rows, everything, (lines, panels)),
        legend=None if lines in (None, "subject") else labels.axis(lines),
    )
    if panels is not None:
        figure.supylabel(label, fontsize=8.5)
    return figure


def of_series(results: Results, name: str, seed: int | None = None) -> pl.DataFrame:
    """Return the rows of a series in the runs of one seed, joined with the axes, in the order of time."""
    runs = of_seed(results, seed)
    series = results.arrow("series")
    known = [str(metric) for metric in series["metric"].unique(maintain_order=True)]
    others = [str(metric) for metric in results.arrow("summary")["metric"].unique()]
    if name not in known:
        empty = pl.DataFrame({"metric": known})
        held.of_metric(empty, name, held.TIME, others)
    rows = series.filter((pl.col("metric").cast(pl.String) == name) & pl.col("run").is_in(runs["run"].implode()))
    rows = rows.with_columns(pl.col("source", "subject", "metric", "unit").cast(pl.String))
    if rows.is_empty():
        raise select.MissingDataError(f"no run of seed {runs['seed'][0]} has the series {name}")
    joined: pl.DataFrame = rows.join(runs, on="run", how="left", maintain_order="left")
    return joined.sort("run", "t", maintain_order=True)


def of_seed(results: Results, seed: int | None = None) -> pl.DataFrame:
    """Return the runs of a seed, by default the lowest."""
    runs = results.runs
    if seed is None:
        return select.first_seed(runs)
    found = runs.filter(pl.col("seed") == seed)
    if found.is_empty():
        known = select.listed(runs["seed"].unique().sort())
        raise select.MissingDataError(f"the results have no run of seed {seed}; their seeds: {known}")
    return found


def arranged(rows: pl.DataFrame, by: str | None) -> tuple[str | None, str | None]:
    """Return the columns of lines and panels: `by`, else the first axis that varies, and the next one."""
    free = held.axes_of(rows)
    given = None if by is None else select.axis_named(rows, by)
    free = [axis for axis in free if axis != given]
    lines = given if given is not None else free.pop(0) if free else None
    panels = free.pop(0) if free else None
    return held.settled(rows, free, lines, panels, ways="two")
