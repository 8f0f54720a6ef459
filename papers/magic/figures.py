"""Figures of the study `magic`: windows, rate mismatches, and pacing by the host's card."""

from __future__ import annotations

import polars as pl
from cellway.plot import compare, curve, select
from cellway.report import (
    MEGA,
    Claim,
    Curve,
    Line,
    Plate,
    Section,
    Sensitivity,
    Studies,
    add,
    compare_table,
    curve_table,
    sensitivity,
)

RATE = "goodput"

# What the figures read: studies, axes, metrics, and the claims that hold the published values.
KIBS = (0.5, 1, 2, 4, 8, 16, 32, 64, 128)
WINDOWS = Curve(
    (
        Line(
            "segments as fit the window", "table1", {}, {k: f"table1-{k}k" if k >= 1 else "table1-512b" for k in KIBS}
        ),
        Line("segments of 8192 B", "table1-large-segments"),
    ),
    x="tcp.window",
    metric=RATE,
    scale=MEGA,
    x_scale=1 / 1024,
)
PACING = "table2-"
BURST = Curve(
    (Line("simulated", "burst", {}, {4: "burst-4", 5: "burst-5"}),),
    x="tcp.initial-window",
    metric="queue_max",
    subject="asx>sparc",
    total=False,
)
SWITCH = 256.0
"""Cells of buffer that are inferred for the switch."""
CHOICES = ("choices", "table2-1-unpaced")
"""The study of one choice at a time, and the claim that holds the published value."""
BUFFER, TAXI = (
    "Scenario 1 without pacing. By the burst-loss equation 3, 4 and 5 segments back to back fit from 178, 237 and 297 "
    "cells on.",
    "Scenario 1 without pacing, against its rate.",
)
PCR, HOST = (
    "Scenario 1, the card paced at this rate.",
    "Scenario 3a, both hosts together, against their time for a packet.",
)
EDGES = (
    Sensitivity(
        "buffer", "Switch buffer", BUFFER, "Buffer (cells)", 1.0, RATE, "table2-1-unpaced", logx=True, logy=True
    ),
    Sensitivity(
        "taxi", "Rate of the TAXI link", TAXI, "Rate for cells (Mbit/s)", MEGA, RATE, "table2-1-unpaced", logy=True
    ),
    Sensitivity("pcr", "Paced rate", PCR, "Peak cell rate (Mbit/s)", MEGA, RATE, "table2-1-paced"),
    Sensitivity("host-time", "Host transmit time", HOST, "Time per packet (ms)", 1e3, RATE, "table2-3a"),
)


def windows(studies: Studies) -> Section:
    """Table 1."""

    def table_1() -> Plate:
        table = curve_table(studies, WINDOWS)
        figure = curve(table, "TCP window (KiB)", "Throughput (Mbit/s)", logx=True, logy=True, ticks=True)
        return Plate(
            "window-throughput", "Table 1", "Throughput against the TCP window; both axes logarithmic.", figure, table
        )

    text = "No rate differs from another on this path, so that only the window over the round trip counts."
    return add(Section("windows", "Windows", text, (), ("Table 1",), ("limit-", "table1-", "segments-")), table_1)


def bursts(studies: Studies) -> Section:
    """Segments back to back where the rate steps down, and short windows."""

    def burst() -> Plate:
        table = curve_table(studies, BURST)
        figure = curve(
            table, "Segments back to back", "Longest queue (cells)", ticks=True, level=(SWITCH, "buffer of the switch")
        )
        caption = "The queue that a burst from OC-3c leaves before the TAXI line; crosses are the burst-loss equation."
        return Plate("burst", "Burst and buffer", caption, figure, table)

    text = (
        "Of k segments of n cells back to back, k n (1 − c/h) cells have to wait where the rate falls from h to c. "
        "Windows so short that nothing piles up cost the wide area its throughput."
    )
    names = ("no-mismatch", "small-windows", "source-rate", "burst-", "large-buffer", "short-", "long-")
    return add(Section("bursts", "Bursts", text, (), ("Text",), names), burst)


def pacing(studies: Studies) -> Section:
    """Table 2."""

    def table_2() -> Plate:
        table = compare_table(studies, (PACING,), lambda claim, _: f"Scenario {claim.label or _words(claim)}")
        figure = compare(table, "Throughput (Mbit/s)", bars=True)
        return Plate(
            "pacing-throughput", "Table 2", "Throughput at the receiver, with and without pacing.", figure, table
        )

    text = (
        "Senders faster than the last link fill the buffer of the switch before it. A card that paces its cells leaves "
        "nothing to fill."
    )
    return add(
        Section(
            "pacing",
            "Pacing",
            text,
            (),
            ("Table 2", "Conclusions", "Abstract"),
            (PACING, "errors-", "losses-", "critical-", "onyx-", "full-", "too-"),
        ),
        table_2,
    )


def _choices(studies: Studies) -> Plate:
    """Scenario 1 unpaced with one choice changed at a time."""
    study, name = CHOICES
    summary = studies[study].summary
    claim = studies.claim(name)
    rows = []
    for variant in select.in_order(summary, "variant"):
        found = select.of_group(select.where(summary, {"variant": variant}), RATE, "one", total=True)
        value = float(found["value"].mean()) * MEGA  # type: ignore[arg-type]
        rows.append((str(variant), claim and claim.published, None, value, None, None))
    numbers = ("published", "predicted", "simulated", "low", "high")
    schema = {"label": pl.String(), **{number: pl.Float64() for number in numbers}}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    figure = compare(table, "Throughput (Mbit/s)", log=True)
    caption = "Scenario 1 without pacing, one choice changed at a time; logarithmic."
    return Plate("choices", "Habits of hosts", caption, figure, table)


def edges(studies: Studies) -> Section:
    """Draw the effect of parameters that the paper does not give and on which its numbers depend."""
    text = (
        "The paper gives neither the buffer of the switch nor the times of the hosts. Where a curve is steep, the "
        "number in the paper is a fact about that one machine; where it is flat, it is a fact about the network."
    )
    section = Section("edges", "Knife-edges", text)
    return add(section, *(sensitivity(studies, edge) for edge in EDGES), lambda: _choices(studies))


def _words(claim: Claim) -> str:
    """`2 unpaced` of `table2-2-unpaced`."""
    return claim.id.removeprefix(PACING).replace("-", " ")


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, in the order of the paper."""
    order = (windows, bursts, pacing, edges)
    return [make(studies) for make in order]
