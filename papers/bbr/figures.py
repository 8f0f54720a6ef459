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
MILLI = 1e3
START = 1.5
"""End of the enlarged start of the run, in seconds."""
OUTSIDE = (("outside", "simulator, version 3"), ("emulated", "kernel"))
"""Sets of runs of the same transfer, seen from outside, with the names of their lines."""
SENDER = "endless-1"


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


def outside(studies: Studies) -> Section:
    """What a kernel reports of the same transfer."""

    def transfer() -> Plate:
        caption = "Pace, window and round trip of the simulator and of the first run of the kernel, over 20 Mbit/s and "
        caption += "200 ms, each 100 ms. Version 1 of BBR has ProbeRTT each 10 s, with four segments."
        return Plate("kernel", "The simulator and the kernel", caption, _outside(studies), wide=True)

    text = "Rows whose id begins with `out-` (simulated) and `emu-` (the kernel of the machine, in real time) have the "
    text += "same scenario, and use what both report: TCP_INFO, queues and rates."
    return add(Section("outside", "Seen from outside", text), transfer)


def cases(studies: Studies) -> list[Section]:
    """A section for the rows of each case."""
    titles: dict[int, str] = {}
    for claim in studies.claims:
        number, _, title = claim.section.partition(". ")
        titles.setdefault(int(number), title)
    ids = {n: (f"c{n:02}-", f"out-c{n:02}-", f"emu-c{n:02}-") for n in titles}
    return [Section(f"case-{n:02}", f"{n}. {titles[n]}", "", ids=ids[n]) for n in sorted(titles)]


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


def _outside(studies: Studies) -> Figure:
    """Pace, window and round trip, above each other; a run that did not take place has no line."""

    def both(metric: str, scale: float) -> pl.DataFrame:
        simulated, *rest = OUTSIDE
        lines = [simulated, *((study, name) for study, name in rest if study in studies.present)]
        rows = (series(studies, study, metric, {}, SENDER, scale) for study, _ in lines)
        return pl.concat(part.with_columns(line=pl.lit(name)) for part, (_, name) in zip(rows, lines, strict=True))

    panels = [
        Panel("Pace (Mbit/s)", both("pacing_rate", MEGA), changes=True),
        Panel("Window (kB)", both("cwnd", KILO), changes=True),
        Panel("Round trip (ms)", both("srtt", MILLI), changes=True),
    ]
    return over_time(panels, width=style.WIDE, until=float(panels[0].rows["t"].max()))  # type: ignore[arg-type]


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
    """Return the sections of the report: a course, the kernel, then the cases in the order of the draft."""
    return [course(studies), outside(studies), *cases(studies)]
