"""Figures of the study `nasa`: windows over long round trips, one and three streams, and contracts that change."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from cellway import stats
from cellway.plot import Panel, compare, curve, over_time, payload_rate, select, style
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
    busiest,
    compare_table,
    contract,
    curve_table,
    plain_label,
    sensitivity,
    series,
    simulated,
)

KIB = 1024.0

# What the figures read: beginnings of claims, studies, axes, metrics.
SINGLE = "single-"
THREE = "three-"
TABLE_THREE = ("three-fddi-atm", "three-atm-")
SUMMARY = ("ds3-91", "sim-vbr", "sim-abr", "three-102", "cti-abr")
WINDOWS = Curve((Line("simulated", "ds3", {}, {256.0: "ds3-91"}),), "tcp.window", "goodput", scale=MEGA,
                x_scale=1 / KIB)  # fmt: skip
POLICED_WINDOWS = Curve(
    (Line("VBR, policed", "vbr-window"), Line("ABR", "abr-window")),
    "tcp.window",
    "goodput",
    scale=MEGA,
    x_scale=1 / KIB,
)
SUSTAINED = 10 * 8192 / (172 * 53)
"""The rate of TCP over 10 Mbit/s of cells, in Mbit/s: segments of 8192 octets in 172 cells."""
BURSTS = ("as contracted", "round trip 30 ms", "round trip 120 ms", "5 Mbit/s sustained")
CONTRACTS: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("VBR", "vbr-changes", {"variant": "vbr"}),
    ("ABR", "abr-changes", {"variant": "abr"}),
)
"""Service, study, values of its axes."""
RATE, ALLOWED, QUEUE = "goodput", "acr", "queue_mean"
"""Series: of conversations in bit/s (the first two), and of ports, in cells."""


TOLERANCE = Sensitivity(
    "vbr-tolerance", "Tolerance of the policer", "VBR under the contract, a fitting window and twice that, against the "
    "tolerance (CDVT) of the policer, which the paper does not give.", "CDVT (ms)", 1e3, RATE,
)  # fmt: skip
BUFFER = Sensitivity(
    "vc-buffer", "Buffer of each VC", "ABR at 20 Mbit/s, window 262144 B, against what each VC may fill at the switch "
    "before the carrier.", "Buffer (cells)", 1.0, RATE, "cti-abr",
)  # fmt: skip
FITTED = (
    Sensitivity("host-cost", "Time per segment in the host", "Three streams, window 524250 B, against the time that "
                "the sender needs for a segment beside copying it. Published: writes of 4096 B, to which 0.368 ms is "
                "fitted.", "Time (ms)", 1e3, RATE, "three-atm-524k-4096"),
    Sensitivity("vbr-rate", "Contract of the DS-3", "VBR over a DS-3 of 60 ms, against its cell rate; 33 Mbit/s is "
                "fitted.", "PCR and SCR (Mbit/s)", MEGA, RATE, "sim-vbr"),
    Sensitivity("segments", "Segment size", "One stream, ATM, window 262144 B, against the size of segments: whole "
                "segments of a window, and the host's time for each.", "Segment (B)", 1.0, RATE,
                "single-atm-262k-8192"),
    Sensitivity("router", "A slow router behind FDDI", "One stream, FDDI-ATM, against the rate at which the first "
                "router sends cells from a buffer of 250. Published: window 524250 B, writes of 4096 B.",
                "Cell rate (Mbit/s)", MEGA, RATE, "single-fddi-atm-524k-4096"),
    Sensitivity("router-three", "The same with three streams", "Three streams, FDDI-ATM, window 524250 B, against the "
                "rate at which the first router sends cells.", "Cell rate (Mbit/s)", MEGA, RATE,
                "three-fddi-atm-524k-4096"),
)  # fmt: skip


def summary(studies: Studies) -> Section:
    """The summary's numbers, and the services over a DS-3."""
    text = "What the slides sum up: one stream over a DS-3 and three over an OC-3, and ABR and VBR services."
    parts = ("Performance summary", "CTI results", "Performance summary; CTI results")
    section = Section("summary", "Summary", text, (), parts, (*SUMMARY, "three-34", "oc3", "cti-90", "ds3"))

    def dots() -> Plate:
        table = compare_table(studies, SUMMARY, lambda claim, _: claim.label)
        figure = compare(table, "Throughput (Mbit/s)", width=style.WIDE)
        caption = "Throughput of TCP, all streams together."
        return Plate("summary-dots", "Links and services", caption, figure, table, wide=True)

    return add(section, dots)


def windows(studies: Studies) -> Section:
    """The bandwidth-delay product."""
    text = (
        "A window below the product of bandwidth and round trip leaves the line idle; a larger one fills buffers. The "
        "dotted line is the window over the propagation round trip, the dashed one what 48 of 53 octets leave of the "
        "slowest ATM line."
    )
    section = Section("windows", "Windows", text, (), ("Baseline in lab tests",), ("bdp",))
    return add(section, lambda: _product(studies))


def three(studies: Studies) -> Section:
    """Three streams in the laboratory."""
    text = "One sender, three receivers, a virtual circuit for each, round trip 60 ms."
    section = Section("three", "Three streams", text, (), ("In lab multiple TCP stream test",), (THREE, "epd"))
    return add(section, lambda: _dots(studies, TABLE_THREE, "Three streams", "Throughput of each receiver and of all."),
               lambda: _discard(studies))  # fmt: skip


def contracts(studies: Studies) -> Section:
    """VBR and ABR while the contract changes, and what windows, bursts and buffers do."""
    text = (
        "TCP does not know the contract. Under VBR it learns of a lower rate only by loss; under ABR the sources are "
        "told, and the queue moves to the edge of the network. Dotted lines mark the changes."
    )
    parts = ("CTI test, comments", "Conclusion")
    section = Section("contracts", "Changing contracts", text, (), parts, ("cti-", "vbr-", "burst-", "abr-", "vc-"))
    return add(
        section,
        *(_contract(studies, *contract) for contract in CONTRACTS),
        lambda: _policed(studies),
        sensitivity(studies, TOLERANCE),
        lambda: _bursts(studies),
        sensitivity(studies, BUFFER),
    )


def single(studies: Studies) -> Section:
    """One stream across the NREN."""
    text = "350 Mbyte over one connection, with hosts on ATM or on FDDI rings at both ends; here the steady state."
    parts = ("Single TCP stream test", "NREN TCP test")
    section = Section("single", "One stream", text, (), parts, (SINGLE,))
    return add(section, lambda: _dots(studies, (SINGLE,), "One stream", "Throughput of one stream, round trip 66 ms."))


def fitted(studies: Studies) -> Section:
    """Draw the effect of the fitted and inferred parameters on their numbers."""
    text = "The paper does not give these parameters. The curves show their effect."
    return add(Section("fitted", "Fitted parameters", text), *(sensitivity(studies, one) for one in FITTED))


def _dots(studies: Studies, prefixes: Sequence[str], title: str, caption: str) -> Plate:
    table = compare_table(studies, prefixes, lambda claim, _: _label(claim))
    figure = compare(table, "Throughput (Mbit/s)", width=style.WIDE)
    return Plate(f"{prefixes[0].split('-')[0]}-dots", title, caption, figure, table, wide=True)


def _label(claim: Claim) -> str:
    """A row's own label, or `FDDI-ATM, window 262k, writes of 4096 B, receiver 1` of `fddi-atm-262k-4096-r1`."""
    found = re.fullmatch(r"(?:single|three)-((?:fddi-)?atm)-(\d+k)-(\d+)(?:-r(\d))?", claim.id)
    if claim.label or found is None:
        return plain_label(claim, "")
    of = f", receiver {found[4]}" if found[4] else (", together" if claim.id.startswith(THREE) else "")
    return f"{found[1].upper()}, window {found[2]}, writes of {found[3]} B{of}"


def _product(studies: Studies) -> Plate:
    table = curve_table(studies, WINDOWS)
    results = studies[WINDOWS.lines[0].study]
    options: dict[str, Any] = {}
    ceiling = payload_rate(results.scenario) if results.scenario else None
    if results.rtt:
        top = 1.25 * (ceiling * MEGA if ceiling else float(table["mean"].max()))  # type: ignore[arg-type]
        per_kib = KIB * 8 * MEGA / results.rtt
        last = min(float(table["x"].max()), top / per_kib)  # type: ignore[arg-type]
        options["guide"] = (pl.DataFrame({"x": [0.0, last], "y": [0.0, last * per_kib]}), "window / round trip")
    if ceiling:
        options["level"] = (ceiling * MEGA, "payload of the line")
        if results.rtt:
            options["chosen"] = (ceiling * results.rtt / 8 / KIB, "bandwidth × delay")
    figure = curve(table, "TCP window (KiB)", "Throughput (Mbit/s)", **options)
    return Plate("window-product", "Window and throughput", "Throughput against the TCP window.", figure, table)


def _policed(studies: Studies) -> Plate:
    table = curve_table(studies, POLICED_WINDOWS)
    rtt = studies[POLICED_WINDOWS.lines[0].study].rtt
    options: dict[str, Any] = {"chosen": (SUSTAINED / MEGA * rtt / 8 / KIB, "bandwidth × delay")} if rtt else {}
    options |= {"level": (SUSTAINED, "sustained rate"), "limits": (0, 1.1 * SUSTAINED)}
    figure = curve(table, "TCP window (KiB)", "Throughput (Mbit/s)", **options)
    caption = (
        "VBR with PCR 20 and SCR 10 Mbit/s, policed at the switch, and ABR that is allowed 10 Mbit/s, against the "
        "window, round trip 60 ms."
    )
    return Plate("vbr-window", "Window under a contract", caption, figure, table)


def _bursts(studies: Studies) -> Plate:
    lines = tuple(Line(name, "vbr-burst", {"variant": name}) for name in BURSTS)
    table = curve_table(studies, Curve(lines, "policer.upc.mbs", RATE, scale=MEGA))
    figure = curve(table, "Maximum burst size (cells)", "Throughput (Mbit/s)")
    caption = "VBR with a window of 64 KiB that fits 10 Mbit/s and 60 ms, and after either changed, against the burst."
    return Plate("vbr-burst", "Larger bursts", caption, figure, table)


def _discard(studies: Studies) -> Plate:
    rows = select.values(simulated(studies["epd"].summary), RATE, slots_of="stream")
    named = rows.with_columns(
        pl.col("value") * MEGA,
        label=pl.format("{}, {}", "variant", pl.col("subject").str.replace("-", " ")),
    )
    none = pl.lit(None, dtype=pl.Float64)
    table = stats.summarise(named, ["label"]).sort("label").select(
        "label", published=none, predicted=none, simulated="mean", low="low", high="high"
    )  # fmt: skip
    figure = compare(table, "Throughput (Mbit/s)")
    caption = (
        "Three streams that meet at a DS-3 of 60 ms with a buffer of 2000 cells, with and without early packet discard."
    )
    return Plate("epd", "Early packet discard", caption, figure, table.select("label", "simulated", "low", "high"))


def _contract(studies: Studies, service: str, study: str, chosen: Mapping[str, object]) -> Callable[[], Plate]:
    def make() -> Plate:
        results = studies[study]
        rates = series(studies, study, RATE, chosen, scale=MEGA)
        panels = [Panel("Goodput (Mbit/s)", rates, contract=True)]
        for metric, label, scale in (
            (ALLOWED, "ACR (Mbit/s)", MEGA),
            (QUEUE, "Queue (cells)", 1.0),
        ):
            try:
                rows = series(studies, study, metric, chosen, scale=scale)
            except select.MissingDataError:
                continue
            if metric != ALLOWED:
                rows = busiest(rows).drop("line")
            panels.append(Panel(label, rows, contract=metric == ALLOWED, changes=metric == ALLOWED))
        left = "what the carrier leaves"
        figure = over_time(panels, contract=contract(results), contract_label=left, width=style.WIDE)
        caption = (
            f"{service} while the carrier leaves it half, a tenth of that, and all again: what the application gets, "
            "and the fullest port's queue."
        )
        return Plate(f"contract-{service.lower()}", f"{service} over time", caption, figure, wide=True)

    return make


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, in the order of the paper."""
    order = (summary, windows, three, contracts, single, fitted)
    return [make(studies) for make in order]
