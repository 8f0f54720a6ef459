"""The report on `nasa`: windows over long round trips, one and three streams, and contracts that change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from cellway.plot import select, style
from cellway.plot.compare import compare
from cellway.plot.curve import curve
from cellway.plot.network import changes, payload_rate
from cellway.plot.steps import Panel, over_time
from cellway.report.plates import Plate, Section, Studies, add
from cellway.report.sources import MEGA, Curve, Line, busiest, compare_table, curve_table, series
from cellway.results import Results

KIB = 1024.0

# What the figures read: beginnings of claims, studies, axes, metrics.
SINGLE = "single-"
THREE = "three-"
WINDOWS = Curve((Line("simulated", "windows"),), "tcp.window", "goodput", scale=MEGA, x_scale=1 / KIB)
CONTRACTS: tuple[tuple[str, str, Mapping[str, object]], ...] = (
    ("VBR", "contract-vbr", {}),
    ("ABR", "contract-abr", {}),
)
"""Service, study, values of its axes."""
RATE, ALLOWED, QUEUE, DROPS = "goodput", "acr", "queue_mean", "dropped_cells"
"""Series: of conversations (bit/s), of conversations (bit/s), of ports (cells), of ports (cells in the bin)."""


def single(studies: Studies) -> Section:
    """One stream across the NREN."""
    text = "350 Mbyte over one connection, with hosts on ATM at both ends or with one of them behind an FDDI ring."
    section = Section("single", "One stream", text, ids=(SINGLE,))
    return add(section, lambda: _dots(studies, SINGLE, "One stream", "Throughput of one connection, round trip 66 ms."))


def three(studies: Studies) -> Section:
    """Three streams in the laboratory."""
    text = "One sender, three receivers, a virtual circuit for each, round trip 60 ms."
    section = Section("three", "Three streams", text, ids=(THREE,))
    return add(section, lambda: _dots(studies, THREE, "Three streams", "Throughput of each receiver and of all."))


def windows(studies: Studies) -> Section:
    """The bandwidth-delay product."""
    text = (
        "A window below the product of bandwidth and round trip leaves the line idle; a larger one fills buffers. The "
        "dotted line is the window over the propagation round trip, the dashed one what 48 of 53 octets leave of the "
        "slowest ATM line."
    )
    return add(Section("windows", "Windows", text, ids=("window", "tuning")), lambda: _product(studies))


def contracts(studies: Studies) -> Section:
    """VBR and ABR while the contract changes."""
    text = (
        "TCP does not know the contract. Under VBR it learns of a lower rate only by loss; under ABR the sources are "
        "told, and the queue moves to the edge of the network. Dotted lines mark the changes."
    )
    section = Section("contracts", "Changing contracts", text, ids=("vbr", "abr", "cti", "contract"))
    return add(section, *(_contract(studies, *contract) for contract in CONTRACTS))


def _dots(studies: Studies, prefix: str, title: str, caption: str) -> Plate:
    table = compare_table(studies, (prefix,))
    figure = compare(table, "Throughput (Mbit/s)", width=style.WIDE)
    return Plate(f"{prefix}dots", title, caption, figure, table, wide=True)


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


def _contract(studies: Studies, service: str, study: str, chosen: Mapping[str, object]) -> Callable[[], Plate]:
    def make() -> Plate:
        results = studies[study]
        rates = series(studies, study, RATE, chosen, scale=MEGA)
        panels = [Panel("Goodput (Mbit/s)", rates, contract=True)]
        for metric, label, scale in (
            (ALLOWED, "ACR (Mbit/s)", MEGA),
            (QUEUE, "Queue (cells)", 1.0),
            (DROPS, "Drops (cells)", 1.0),
        ):
            try:
                rows = series(studies, study, metric, chosen, scale=scale)
            except select.MissingDataError:
                continue
            if metric != ALLOWED:
                rows = busiest(rows).drop("line")
            panels.append(Panel(label, rows, contract=metric == ALLOWED, changes=metric == ALLOWED))
        figure = over_time(panels, contract=contract(results), width=style.WIDE)
        caption = f"{service} while its contract changes: what the applications get, and the fullest port's queue."
        return Plate(f"contract-{service.lower()}", f"{service} over time", caption, figure, wide=True)

    return make


def contract(results: Results) -> pl.DataFrame | None:
    """The rate that the scenario changes, as `t` and `value` in Mbit/s; of several the first."""
    rows = changes(results.scenario)
    if rows.is_empty():
        return None
    return rows.filter(pl.col("what") == rows["what"][0]).select("t", value=pl.col("rate") * MEGA)


ORDER = (single, three, windows, contracts)
"""The sections on this paper."""
