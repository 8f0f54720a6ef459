"""The report on `magic`: windows, rate mismatches, and pacing by the host's card."""

from __future__ import annotations

from cellway.plot.compare import compare
from cellway.plot.curve import curve
from cellway.report.plates import Plate, Section, Studies, add
from cellway.report.sensitivity import Sensitivity, sensitivity
from cellway.report.sources import MEGA, Curve, Line, compare_table, curve_table

RATE = "goodput"

# What the figures read: studies, axes, metrics, and the claims that hold the published values.
KIBS = (0.5, 1, 2, 4, 8, 16, 32, 64, 128)
WINDOWS = Curve(
    (Line("simulated", "windows", {}, {kib: f"table1-{kib:g}k" for kib in KIBS}),),
    x="tcp.window",
    metric=RATE,
    scale=MEGA,
    x_scale=1 / 1024,
)
PACING = "table2-"
BUFFER, TAXI = (
    "Scenario 1 without pacing, against the buffer of the port.",
    "Scenario 1 without pacing, against its rate.",
)
PCR, HOST = "Scenario 1, the card paced at this rate.", "Scenario 3a, against the sender's time for a packet."
EDGES = (
    Sensitivity("buffer", "Switch buffer", BUFFER, "Buffer (cells)", 1.0, RATE, "table2-1-unpaced"),
    Sensitivity("taxi", "Rate of the TAXI link", TAXI, "Rate for cells (Mbit/s)", MEGA, RATE, "table2-1-unpaced"),
    Sensitivity("pcr", "Paced rate", PCR, "Peak cell rate (Mbit/s)", MEGA, RATE, "table2-1-paced"),
    Sensitivity("host-time", "Host transmit time", HOST, "Time per packet (ms)", 1e3, RATE, "table2-3a"),
)


def windows(studies: Studies) -> Section:
    """Table 1."""

    def table_1() -> Plate:
        table = curve_table(studies, WINDOWS)
        figure = curve(table, "TCP window (KiB)", "Throughput (Mbit/s)", logx=True, logy=True, ticks=True)
        return Plate("table-1", "Table 1", "Throughput against the TCP window; both axes logarithmic.", figure, table)

    text = "No rate differs from another on this path, so that only the window over the round trip counts."
    return add(Section("windows", "Windows", text, (), ("Table 1",), ("table1-",)), table_1)


def pacing(studies: Studies) -> Section:
    """Table 2."""

    def table_2() -> Plate:
        table = compare_table(studies, (PACING,))
        figure = compare(table, "Throughput (Mbit/s)", bars=True)
        return Plate("table-2", "Table 2", "Throughput at the receiver, with and without pacing.", figure, table)

    text = (
        "Senders faster than the last link fill the buffer of the switch before it. A card that paces its cells leaves "
        "nothing to fill."
    )
    return add(Section("pacing", "Pacing", text, (), ("Table 2",), (PACING,)), table_2)


def edges(studies: Studies) -> Section:
    """Parameters that the paper does not give and on which its numbers hang."""
    text = (
        "The paper gives neither the buffer of the switch nor the times of the hosts. Where a curve is steep, the "
        "number in the paper is a fact about that one machine; where it is flat, it is a fact about the network."
    )
    return add(Section("edges", "Knife-edges", text), *(sensitivity(studies, edge) for edge in EDGES))


ORDER = (windows, pacing, edges)
"""The sections on this paper."""
