"""Figures of the study `spacing`: a TCP connection behind a cell spacer, beside the theorems on its buffer."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from cellway.plot import Panel, compare, content, curve, deviations, over_time, select, style
from cellway.report import (
    MEGA,
    THEORY,
    Curve,
    Line,
    Plate,
    Section,
    Studies,
    add,
    busiest,
    compare_table,
    contract,
    curve_table,
    series,
    simulated,
)

# What the figures read: studies, series, axes, and the claims that hold what theory predicts.
MODULATED, ALL_CHANGES, RATE = "animation", {"variant": "all"}, "goodput"
BUFFER, QUEUE = "spacer", "queue"
LINES = ("eq24-low", "eq24-high")
SLOW_START, PEAKS = "slow-start", "slow-start-"
"""A study, with rows of source `theory` for the most in each round; and claims about these."""
GRIDS = (("Theorem 2", "theorem2"), ("Theorem 3", "theorem3"))
"""Title and study."""
ENDS = (("queue_min", "low"), ("queue_max", "high"))
"""Metric of the spacer's port, simulated and (source `theory`) predicted; and what it is called."""
SPACED, LINE, CONDITION = "shaper.spacer.rate", "link.source-spacer.rate", "c1"
"""Axes: the spacing rate c, the rate h of the line; and the metric that is 1 where condition C1 holds."""
THRESHOLD = ("Theorem 1", "theorem1")
THRESHOLD_ENDS = (("threshold_queue_min", "low"), ("threshold_queue_max", "high"), ("oscillation_start", "begins"))
"""The same at the slow start threshold, with the time from which on it is so."""
PORT = "spacer>sink"
DOMAIN = ("inside C1", "outside C1")
"""Names of points for which condition C1 holds and does not hold."""
SWEPT = (
    ("by-rate", "By the spacing rate", "shaper.spacer.rate", "Spacing rate (Mbit/s)", 1e-6),
    ("by-round-trip", "By the round trip", "link.spacer-sink.delay", "Delay from the spacer on (ms)", 1e3),
)
"""Studies of one axis: title, axis, its label and scale."""
SIZE = ("size", "Loss by the size of the buffer", "buffer.size", "Buffer (cells)", 1.0)

TAIL = 0.02
"""Length of the enlarged end of a run, in seconds."""


def modulation(studies: Studies) -> Section:
    """Section 6, Figure 2."""

    def rate() -> Plate:
        rows = (
            series(studies, MODULATED, RATE, ALL_CHANGES, scale=MEGA).drop("line").with_columns(line=pl.lit("goodput"))
        )
        panel = Panel("Bit rate (Mbit/s)", rows, contract=True)
        figure = over_time(
            [panel], contract=contract(studies[MODULATED]), contract_label="spacing rate (cells)", width=style.WIDE
        )
        caption = "Bit rate of the animation while the spacing rate is changed."
        return Plate("figure-2", "Figure 2", caption, figure, wide=True)

    text = "TCP takes on whatever rate the spacer allows, without loss. The spacing rate counts whole cells."
    return add(Section("modulation", "Changing the spacing rate", text, (2,), (), ("fig2-",)), rate)


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
    return add(Section("buffer", "The buffer of the spacer", text, (3,), ("6",), ("eq24-", "fig3-")), whole, end)


def theorems(studies: Studies) -> Section:
    """Theorems 2 and 3 over a grid of parameters."""

    def errors() -> Plate:
        rows = deviation_table(studies)
        caption = "Simulated content of the buffer minus the theorem's, over a grid of parameters. Dotted: one cell."
        return Plate("theorem-errors", "Error of the theorems", caption, deviations(rows, names=DOMAIN), rows)

    text = (
        "At the maximum window the content of the buffer swings between two values that the theorems give. Theorem 2 "
        "has an acknowledgement for each segment, Theorem 3 one for two."
    )

    def start() -> Plate:
        rows = _deviations(studies, *THRESHOLD, THRESHOLD_ENDS).sort("strip", maintain_order=True)
        caption = "The same at the slow start threshold: the two levels, and when they begin (in cells at the spacing "
        caption += "rate). Outside condition C1 the window grows on before the content has settled."
        return Plate("theorem-1-errors", "Error of Theorem 1", caption, deviations(rows, names=DOMAIN), rows)

    ids = ("theorem1", "theorem2", "theorem3")
    return add(Section("theorems", "Theorems", text, (), ("3", "5"), ids), errors, start)


def swept(studies: Studies) -> Section:
    """Section 4, the remarks on Theorem 2; section 7."""

    def by(study: str, title: str, axis: str, label: str, scale: float) -> Callable[[], Plate]:
        def make() -> Plate:
            drawn = Curve((Line("simulated", study),), axis, "queue_max", PORT, total=False, x_scale=scale)
            theory = select.values(studies[study].summary.filter(pl.col("source") == THEORY), "queue_max", PORT)
            said = select.amounts(theory, axis).select(pl.col("x") * scale, predicted=pl.col("value"))
            table = curve_table(studies, drawn).drop("predicted").join(said, on="x", how="left", maintain_order="left")
            caption = "The most cells in the spacer at the largest window."
            top = 1.1 * float(table["mean"].max())  # type: ignore[arg-type]
            figure = curve(table, label, "Cells in the buffer", limits=(0, top))
            return Plate(study, title, caption, figure, table)

        return make

    def size() -> Plate:
        study, title, axis, label, scale = SIZE
        drawn = Curve((Line("simulated", study),), axis, "dropped_cells", PORT, total=False, x_scale=scale)
        table = curve_table(studies, drawn)
        caption = "Cells lost in the Figure 3 case. A whole window is 1312 cells."
        return Plate(study, title, caption, curve(table, label, "Cells lost"), table)

    text = "What is on its way does not wait: more of the window is there if the rate or the round trip is larger."
    section = Section("swept", "Rate, round trip and size", text, (), ("4", "7"), ("trend-", "size-"))
    return add(section, *(by(*study) for study in SWEPT), size)


def slow_start(studies: Studies) -> Section:
    """Section 3: the trajectory."""

    def trajectory() -> Plate:
        theory = _theory(studies)
        steps = _queue(studies, SLOW_START)
        figure = content(steps, theory=theory, start=steps["t"][0], until=_settled(steps))
        caption = "Cells in the spacer during slow start"
        caption += (
            "; dashed, the most that theory gives for each round."
            if theory is not None
            else "; the tables hold no theory to draw beside it."
        )
        return Plate("trajectory", "Slow start", caption, figure, wide=True)

    def peaks() -> Plate:
        table = compare_table(studies, (PEAKS,))
        caption = "The most cells in the spacer in each of the first round trips."
        return Plate("peaks", "Peaks", caption, compare(table, "Cells in the buffer"), table)

    text = (
        "As long as the buffer empties between the rounds, each has its peak. One acknowledgement for two segments: "
        "the window grows by half in each round. The round trip here is 21.6 ms, so that there are several rounds."
    )
    return add(Section("slow-start", "Slow start", text, ids=(SLOW_START,)), trajectory, peaks)


def _settled(steps: pl.DataFrame) -> float:
    """A time by which the queue has been at its fullest for a while, in seconds."""
    first, top = float(steps["t"][0]), float(steps["value"].max())  # type: ignore[arg-type]
    full = float(steps.filter(pl.col("value") >= 0.98 * top)["t"][0])
    return first + 1.6 * max(full - first, 1e-3)


def deviation_table(studies: Studies) -> pl.DataFrame:
    """Simulation minus theory in cells: `strip`, `deviation`, `inside` (true where condition C1 holds)."""
    parts = [_deviations(studies, *grid, ENDS) for grid in GRIDS if grid[1] in studies.present]
    whole = pl.concat(parts) if parts else pl.DataFrame()
    if whole.is_empty():
        raise select.MissingDataError("no table holds what the theorems predict")
    return whole.sort("strip", maintain_order=True)


def _deviations(studies: Studies, title: str, name: str, ends: tuple[tuple[str, str], ...]) -> pl.DataFrame:
    summary = studies[name].summary
    axes = [axis for axis in (SPACED, LINE) if axis in summary.columns]
    theory = summary.filter(pl.col("source") == THEORY)
    condition = select.values(theory, CONDITION).select("run", inside=pl.col("value") == 1)
    parts = []
    for metric, end in ends:
        predicted = select.values(theory, metric).select("run", "subject", predicted=pl.col("value"))
        rows = simulated(select.values(summary, metric)).select("run", "subject", *axes, "value")
        both = rows.join(predicted, on=["run", "subject"], how="inner").join(condition, on="run", how="inner")
        narrow = [_narrow(row) for row in both.iter_rows(named=True)]
        parts.append(
            both.with_columns(case=pl.Series(narrow, dtype=pl.String)).select(
                "inside",
                strip=pl.format("{}, {}{}", pl.lit(title), "case", pl.lit(end)),
                deviation=pl.col("value") - pl.col("predicted"),
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
        (claim.predicted, f"theory {claim.predicted:.1f}") for claim in found if claim and claim.predicted is not None
    ]


def _theory(studies: Studies) -> pl.DataFrame | None:
    rows = studies[SLOW_START].series()
    rows = select.first_seed(rows).filter((pl.col("source") == THEORY) & (pl.col("metric") == QUEUE))
    return None if rows.is_empty() else rows.select("t", "value")


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, in the order of the paper."""
    order = (modulation, buffer, slow_start, theorems, swept)
    return [make(studies) for make in order]
