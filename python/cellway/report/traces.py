"""The series of a page: queue, window, rate and delay over time, at each point of the sweep, for one seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from cellway.plot import held, labels, main, select
from cellway.plot.scale import scale
from cellway.plot.timeline import of_seed
from cellway.plot.window import thin
from cellway.results import Results

BUDGET = 45_000
"""The most values of a page: each takes about 15 B."""

FEWEST = 60
"""The fewest values of a line that is longer than that."""

LINES = 8
"""The most lines of a panel."""

ROLES = (
    ("Queue", ("queue", "queue_mean")),
    ("Window", ("cwnd", "window", "window_mean")),
    ("Rate", ("goodput", "throughput")),
    ("Delay", ("one_way_delay", "srtt", "delay_mean")),
    ("Response", ("response_time_mean", "page_time_mean", "item_time")),
)
"""The panels, and the metrics of which each shows the first that was recorded."""


@dataclass(frozen=True)
class Traces:
    """What a script draws: `data` is plain, for JSON; `left_out` counts lines for which there was no room."""

    data: dict[str, Any]
    seed: int
    left_out: int


def traces(results: Results, seed: int | None = None) -> Traces | None:
    """Return the series of a seed, the lowest by default; None if nothing was recorded."""
    runs = of_seed(results, seed)
    series = results.arrow("series").filter(pl.col("run").is_in(runs["run"].implode()))
    names = {str(name) for name in series["metric"].unique()}
    idle = main.idle_lines(held.summary_of(results))
    panels: list[dict[str, Any]] = []
    tables: list[dict[tuple[int, str], pl.DataFrame]] = []
    left_out = 0
    for _, candidates in ROLES:
        metric = next((name for name in candidates if name in names), None)
        if metric is None:
            continue
        rows = series.filter(pl.col("metric").cast(pl.String) == metric)
        unit = str(rows["unit"].cast(pl.String)[0])
        known = [str(name) for name in select.in_order(rows.with_columns(pl.col("subject").cast(pl.String)), "subject")]
        subjects = [name for name in known if name not in idle] or known
        left_out += max(0, len(subjects) - LINES)
        subjects = subjects[:LINES]
        divisor, short = scale(rows["value"].abs().max(), unit)  # type: ignore[arg-type]
        changes = metric in labels.changing()
        panels.append({"label": labels.label(metric, short), "changes": changes, "names": subjects})
        kept = rows.with_columns(pl.col("subject").cast(pl.String), pl.col("value") / divisor)
        kept = kept.filter(pl.col("subject").is_in(subjects)).select("run", "subject", x="t", y="value")
        parts = kept.partition_by("run", "subject", as_dict=True, maintain_order=True)
        tables.append({(int(run), str(subject)): part for (run, subject), part in parts.items()})
    if not panels:
        return None
    points = _most([part.height for table in tables for part in table.values()])
    axes = results.axes
    found = []
    for run in runs.iter_rows(named=True):
        drawn = [
            [_line(table.get((run["run"], name)), points) for name in panel["names"]]
            for panel, table in zip(panels, tables, strict=True)
        ]
        found.append({"at": [labels.value(run[axis]) for axis in axes], "panels": drawn})
    for panel, table in zip(panels, tables, strict=True):
        long = [part["x"].to_numpy() for part in table.values() if part.height > points]
        if long:
            # The longest line is thinned most.
            each = max(float(times[-1] - times[0]) for times in long) / max(1, points // 4)
            panel["thinned"] = f"first, least, most and last of each {_time(each)}"
    data = {"axes": [labels.axis(axis) for axis in axes], "panels": panels, "points": found, "from": results.warmup}
    return Traces(data, int(runs["seed"][0]), left_out)


def _most(lengths: list[int]) -> int:
    """Return the most values of a line with which all lines together are within the budget: short ones leave room."""
    room = BUDGET
    for done, length in enumerate(sorted(lengths)):
        share = room // (len(lengths) - done)
        if length > share:
            return max(FEWEST, share)
        room -= length
    return max(lengths, default=FEWEST)


def _time(seconds: float) -> str:
    divisor, unit = scale(seconds, "s")
    return f"{seconds / divisor:.2g} {unit}"


def _line(rows: pl.DataFrame | None, points: int) -> list[list[float]] | None:
    """Return times and values of a line: thinned so that no peak is lost."""
    if rows is None or rows.is_empty():
        return None
    kept = thin(rows.select("x", "y").sort("x", maintain_order=True), max(1, points // 4))
    return [_short(kept["x"]), _short(kept["y"])]


def _short(values: pl.Series) -> list[float]:
    """Return numbers short enough for a drawing: to a millionth of the unit or to seven digits."""
    return [int(v) if v == int(v) else v for v in (float(f"{value:.7g}") for value in values)]
