"""The report on `spacing`: a TCP connection behind a cell spacer, beside the theorems on its buffer."""

from __future__ import annotations

import polars as pl

from cellway.plot import select, style
from cellway.plot.compare import compare
from cellway.plot.spacer import content, deviations
from cellway.plot.steps import Panel, over_time
from cellway.report.claims import with_prefix
from cellway.report.nasa import contract
from cellway.report.plates import Plate, Section, Studies, add
from cellway.report.sources import MEGA, THEORY, busiest, compare_table, series, simulated

# What the figures read: studies, series, axes, and the claims that hold what theory predicts.
MODULATED, RATE = "modulated", "goodput"
BUFFER, QUEUE = "buffer", "queue"
LINES = ("figure3-low", "figure3-high")
SLOW_START, PEAKS = "slow-start", "slow-start-"
"""A study, with rows of source `theory` for the trajectory; and claims about the peak of each round."""
GRIDS = (("Theorem 2", "theorem2"), ("Theorem 3", "theorem3"))
"""Title, and the study of that name; or claims whose ids begin with it."""
ENDS = (("queue_min", "low"), ("queue_max", "high"))
"""Metric of the spacer's port, simulated and (source `theory`) predicted; and what it is called."""
SPACED, LINE, CONDITION = "shaper.spacer.rate", "link.rate", "c1"
"""Axes: the spacing rate c, the rate h of the line, and whether condition C1 holds."""
NARROW, OUTSIDE = "-2c>h", "-outside"
"""In ids of claims: the case 2c > h, and a point outside condition C1."""

TAIL = 0.02
"""Length of the closer look at the end of a run, in seconds."""


def modulation(studies: Studies) -> Section:
    """Section 6, Figure 2."""

    def rate() -> Plate:
        rows = series(studies, MODULATED, RATE, {}, scale=MEGA).drop("line").with_columns(line=pl.lit("goodput"))
        panel = Panel("Bit rate (Mbit/s)", rows, contract=True)
        figure = over_time(
            [panel], contract=contract(studies[MODULATED]), contract_label="spacing rate (cells)", width=style.WIDE
        )
        caption = "Bit rate of the animation while the spacing rate is changed."
        return Plate("figure-2", "Figure 2", caption, figure, wide=True)

    text = "TCP takes on whatever rate the spacer allows, without loss. The spacing rate counts whole cells."
    return add(Section("modulation", "Changing the spacing rate", text, (2,), (), ("figure2-",)), rate)


def buffer(studies: Studies) -> Section:
    """Section 6, Figure 3, and equation (24)."""

    def whole() -> Plate:
        steps = _queue(studies, BUFFER)
        figure = content(steps, lines=_lines(studies), start=steps["t"][0], until=_settled(steps))
        return Plate("figure-3", "Figure 3", "Cells in the spacer from the first one on.", figure, wide=True)

    def end() -> Plate:
        steps = _queue(studies, BUFFER)
        figure = content(steps, lines=_lines(studies), start=steps["t"][-1] - TAIL, zero=False)
        caption = f"The last {1e3 * TAIL:g} ms of the same run, at the maximum window."
        return Plate("figure-3-end", "Figure 3, closer", caption, figure, wide=True)

    text = (
        "One acknowledgement for two segments, a window of 1312 cells, a spacing rate of 15.264 Mbit/s. The dashed "
        "lines are what theory gives. For the lower one the paper prints 118 in equation (24); its own parameters give "
        "1182."
    )
    return add(Section("buffer", "The buffer of the spacer", text, (3,), ("6",), ("figure3-",)), whole, end)


def theorems(studies: Studies) -> Section:
    """Theorems 2 and 3 over a grid of parameters."""

    def errors() -> Plate:
        rows = deviation_table(studies)
        caption = "Simulated content of the buffer minus the theorem's, over a grid of parameters."
        return Plate("theorem-errors", "Error of the theorems", caption, deviations(rows), rows)

    text = (
        "At the maximum window the content of the buffer swings between two values that the theorems give. Theorem 2 "
        "has an acknowledgement for each segment, Theorem 3 one for two."
    )
    ids = ("theorem1", "theorem2", "theorem3")
    return add(Section("theorems", "Theorems", text, (), ("3", "4", "5"), ids), errors)


def slow_start(studies: Studies) -> Section:
    """Section 3: the trajectory."""

    def trajectory() -> Plate:
        theory = _theory(studies)
        steps = _queue(studies, SLOW_START)
        figure = content(steps, theory=theory, start=steps["t"][0], until=_settled(steps))
        caption = "Cells in the spacer during slow start"
        caption += (
            ", beside theory (dashed)." if theory is not None else "; the tables hold no theory to draw beside it."
        )
        return Plate("trajectory", "Slow start", caption, figure, wide=True)

    def peaks() -> Plate:
        table = compare_table(studies, (PEAKS,))
        caption = "The most cells in the spacer in each of the first round trips."
        return Plate("peaks", "Peaks", caption, compare(table, "Cells in the buffer"), table)

    text = "In each round trip the window doubles; as long as the buffer empties between the rounds each has its peak."
    return add(Section("slow-start", "Slow start", text, ids=(SLOW_START,)), trajectory, peaks)


def _settled(steps: pl.DataFrame) -> float:
    """A time by which the queue has been at its fullest for a while, in seconds."""
    first, top = float(steps["t"][0]), float(steps["value"].max())  # type: ignore[arg-type]
    full = float(steps.filter(pl.col("value") >= 0.98 * top)["t"][0])
    return first + 1.6 * max(full - first, 1e-3)


def deviation_table(studies: Studies) -> pl.DataFrame:
    """Simulation minus theory in cells: `strip`, `deviation`, `inside`; from the studies, else from claims."""
    parts = []
    for title, name in GRIDS:
        if name in studies.present and THEORY in studies[name].summary["source"]:
            parts.append(_from_tables(studies, title, name))
            continue
        rows = [
            (f"{title}, {'2c > h' if NARROW in claim.id else '2c < h'}", claim.simulated - claim.predicted, claim.id)
            for claim in with_prefix(studies.claims, name)
            if claim.simulated is not None and claim.predicted is not None
        ]
        table = pl.DataFrame(rows, schema={"strip": pl.String, "deviation": pl.Float64, "id": pl.String}, orient="row")
        parts.append(table.select("strip", "deviation", inside=~pl.col("id").str.contains(OUTSIDE, literal=True)))
    whole = pl.concat(parts)
    if whole.is_empty():
        raise select.MissingDataError("neither tables nor claims hold what the theorems predict")
    return whole.sort("strip", maintain_order=True)


def _from_tables(studies: Studies, title: str, name: str) -> pl.DataFrame:
    summary = studies[name].summary
    axes = [axis for axis in (SPACED, LINE) if axis in summary.columns]
    keys = ["run", "subject", *axes, *([CONDITION] if CONDITION in summary.columns else [])]
    parts = []
    for metric, end in ENDS:
        rows = select.values(summary, metric)
        theory = rows.filter(pl.col("source") == THEORY).select("run", "subject", predicted=pl.col("value"))
        both = simulated(rows).select(*keys, "value").join(theory, on=["run", "subject"], how="inner")
        narrow = [_narrow(row) for row in both.iter_rows(named=True)]
        inside = pl.col(CONDITION).cast(pl.String).is_in(["true", "1", "1.0", "inside"])
        parts.append(
            both.with_columns(case=pl.Series(narrow, dtype=pl.String)).select(
                strip=pl.format("{}, {}{}", pl.lit(title), "case", pl.lit(end)),
                deviation=pl.col("value") - pl.col("predicted"),
                inside=inside if CONDITION in summary.columns else pl.lit(value=True),
            )
        )
    return pl.concat(parts)


def _narrow(row: dict[str, object]) -> str:
    """The case of a point, if both of its rates are axes."""
    if SPACED not in row or LINE not in row:
        return ""
    return "2c > h, " if 2 * select.amount(row[SPACED]) > select.amount(row[LINE]) else "2c < h, "


def _queue(studies: Studies, study: str) -> pl.DataFrame:
    """The queue of the watched port at each change."""
    return busiest(series(studies, study, QUEUE, {}))


def _lines(studies: Studies) -> list[tuple[float, str]]:
    """The values that theory gives, from the claims about them."""
    found = (studies.claim(name) for name in LINES)
    return [
        (claim.predicted, f"theory {claim.predicted:.0f}") for claim in found if claim and claim.predicted is not None
    ]


def _theory(studies: Studies) -> pl.DataFrame | None:
    rows = studies[SLOW_START].series()
    rows = select.first_seed(rows).filter((pl.col("source") == THEORY) & (pl.col("metric") == QUEUE))
    return None if rows.is_empty() else rows.select("t", "value")


ORDER = (modulation, buffer, theorems, slow_start)
"""The sections on this paper."""
