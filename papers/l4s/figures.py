"""Figures of the study `l4s`: the delay and the shares by rate and round trip, a change of the rate, and overload."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from cellway import plot
from cellway.plot import style
from cellway.report import Plate, Section, Studies, add

DELAY, RATE = "link.line.delay", "link.line.rate"
FLOWS = ("prague", "cubic")
FLOOD = "traffic.flood.udp.rate"


def _wait(studies: Studies) -> pl.DataFrame:
    """The wait of the probes: their one-way delay without the propagation."""
    rows = studies["beside"].summary.filter(metric="delay_p99", subject="probe")
    propagation = pl.col(DELAY).str.strip_suffix(" ms").cast(pl.Float64) / 1e3
    return rows.with_columns(pl.col("value") - propagation, metric=pl.lit("Wait, 99th percentile"))


def delay(studies: Studies) -> Plate:
    """The delay of the low-latency queue."""
    figure = plot.metric(_wait(studies), "Wait, 99th percentile", at="probe", x=DELAY, by=RATE)
    caption = "99th percentile of the time that a packet of L4S takes on the path, without propagation, beside CUBIC. "
    caption += "A packet of 1500 B takes 1.2 ms at 10 Mbit/s, and the aim is one millisecond."
    return Plate("delay", "Delay of L4S", caption, figure)


def shares(studies: Studies) -> Plate:
    """The rates of both flows."""
    figure = plot.metric(studies["beside"].summary, "goodput_total", at=FLOWS, x=DELAY, by="subject", width=style.WIDE)
    caption = "Goodput of one flow of each, in the two queues of one line."
    return Plate("shares", "Prague and CUBIC", caption, figure, wide=True)


def steps(studies: Studies) -> Plate:
    """The rates over time."""
    figure = plot.timeline(studies["steps"], "goodput", at=[f"{name}-1" for name in FLOWS], by="subject")
    caption = "Goodput in the run of the first seed, as the rate of the line falls and returns."
    return Plate("steps", "Changes of the rate", caption, figure, wide=True)


def overload(studies: Studies) -> Plate:
    """The delay of datagrams that do not react."""
    figure = plot.metric(studies["overload"].summary, "delay_p99", x=FLOOD)
    caption = "99th percentile of the delay of datagrams with ECT(1), by the rate of those that do not react."
    return Plate("overload", "Overload", caption, figure)


Maker = Callable[[Studies], Plate]
SECTIONS: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, Maker] | None], ...] = (
    ("delay", "Delay of the low-latency queue", "Packets of L4S beside CUBIC, by rate and round trip.", ("delay-",),
     ("beside", delay)),
    ("shares", "Shares", "Prague and CUBIC get about the same rate.", ("ratio-",), ("beside", shares)),
    ("line", "The line", "It is full, and one queue for all waits long.", ("line-", "classic-"), None),
    ("steps", "Changes of the rate", "The rate falls to a quarter and returns.", ("steps-",), ("steps", steps)),
    ("overload", "Overload", "Datagrams with ECT(1) that do not react.", ("overload-",), ("overload", overload)),
)  # fmt: skip
"""Name, title, text, beginnings of the ids of its rows; the set of runs that its figure needs, and the figure."""


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, those that have rows."""
    ids = [claim.id for claim in studies.claims]
    return [
        _section(studies, Section(name, title, text, ids=prefixes), figure)
        for name, title, text, prefixes, figure in SECTIONS
        if any(found.startswith(prefixes) for found in ids)
    ]


def _section(studies: Studies, section: Section, figure: tuple[str, Maker] | None) -> Section:
    if figure is None or figure[0] not in studies.present:
        return section
    return add(section, lambda: figure[1](studies))
