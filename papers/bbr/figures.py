"""Figures of the study `bbr`: the states and variables of a connection over time."""

from __future__ import annotations

import polars as pl
from cellway.plot import Panel, over_time, style
from cellway.report import MEGA, Plate, Section, Studies, add, series
from matplotlib.figure import Figure

STATES = ("Startup", "Drain", "DOWN", "CRUISE", "REFILL", "UP", "ProbeRTT")
"""Names by the numbers of the metric `bbr_state`; those in capitals are of ProbeBW."""
COURSE = "course"
RATES = (("bbr_max_bw", "max_bw"), ("bbr_delivery_rate", "delivery rate"))
VOLUMES = (("bbr_cwnd", "window"), ("bbr_inflight", "in flight"), ("bbr_bdp", "bandwidth × round trip"))
KILO = 1e-3
START = 1.5
"""End of the enlarged start of the run, in seconds."""


def course(studies: Studies) -> Section:
    """The whole of a run, and its start."""

    def whole() -> Plate:
        caption = "State, rates and data in flight over 50 Mbit/s and 40 ms. ProbeRTT comes 5 s after the shortest "
        caption += "round trip; a delivery rate of an idle moment or of a short sample is left out."
        return Plate("course", "A bulk transfer", caption, _figure(studies, None), wide=True)

    def start() -> Plate:
        caption = f"The first {START:g} s: Startup ends three rounds after the rate has stopped growing, and "
        caption += "Drain as what is in flight is down to the product of bandwidth and round trip."
        return Plate("start", "Startup and Drain", caption, _figure(studies, START), wide=True)

    text = "Each case of the draft is a part of this course, or of one with losses, pauses or changes of the rate."
    return add(Section("course", "The course of a connection", text), whole, start)


def cases(studies: Studies) -> list[Section]:
    """A section for the rows of each case."""
    titles: dict[int, str] = {}
    for claim in studies.claims:
        number, _, title = claim.section.partition(". ")
        titles.setdefault(int(number), title)
    return [Section(f"case-{n:02}", f"{n}. {titles[n]}", "", ids=(f"c{n:02}-",)) for n in sorted(titles)]


def _figure(studies: Studies, until: float | None) -> Figure:
    """State, rates and volumes above each other, up to a time or the end of the run."""
    end = until or float(series(studies, COURSE, "bbr_inflight", {})["t"].max())  # type: ignore[arg-type]
    state = _lines(studies, (("bbr_state", "_state"),), 1.0, end)
    panels = [
        Panel("State", state, changes=True, limits=(-0.5, 6.5)),
        Panel("Rate (Mbit/s)", _lines(studies, RATES, MEGA, end), changes=True),
        Panel("Data (kB)", _lines(studies, VOLUMES, KILO, end), changes=True),
    ]
    figure = over_time(panels, width=style.WIDE, until=end)
    figure.axes[0].set_yticks(range(len(STATES)), STATES)
    return figure


def _lines(studies: Studies, metrics: tuple[tuple[str, str], ...], scale: float, end: float) -> pl.DataFrame:
    """Metrics at their changes, each with its last value held to the end."""
    parts = []
    for metric, name in metrics:
        rows = series(studies, COURSE, metric, {}, scale=scale).with_columns(line=pl.lit(name))
        rows = rows.filter(pl.col("t") <= end)
        if metric == "bbr_delivery_rate":
            rows = rows.filter(pl.col("value") > 0)
        parts += [rows, rows.tail(1).with_columns(t=pl.lit(end))]
    return pl.concat(parts)


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report: a course, then the cases in the order of the draft."""
    return [course(studies), *cases(studies)]
