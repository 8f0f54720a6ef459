"""The report on `kdd`: WWW, ftp and ttcp across the Pacific, with and without TCP gateways."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from cellway import stats
from cellway.plot import select
from cellway.plot.compare import compare
from cellway.plot.curve import curve
from cellway.report.plates import Plate, Section, Studies, add
from cellway.report.sensitivity import Sensitivity, sensitivity
from cellway.report.sources import MEGA, Curve, Line, compare_table, curve_table, simulated

COUNT = "traffic.ttcp.count"
RATE = "item_rate_mean"

# What the figures read: studies, axes, metrics, and the claims that hold the published values.
WWW = Curve(
    (
        Line("without gateways", "www", {"variant": "without"}, {572.101: "www-without"}),
        Line("with gateways", "www", {"variant": "with"}, {572.101: "www-with"}),
    ),
    x="traffic.www.workload.sizes",
    metric="item_time_mean",
    total=False,
    x_scale=1e-3,
)
FTP = "ftp-"
LANS = (
    ("figure-7", "Figure 7", "ATM LAN", "ttcp-atm", "atm"),
    ("figure-8", "Figure 8", "Ethernet", "ttcp-ethernet", "ethernet"),
)
"""Plate, figure of the paper, what it is about, study, and how the claims are called: `ttcp-LAN-WITHOUT-COUNT`."""
DOMESTIC = (
    ("figure-9", "Figure 9", "ATM LAN", "domestic-atm", "atm"),
    ("figure-10", "Figure 10", "Ethernet", "domestic-ethernet", "ethernet"),
)
SHARES = ("ttcp-atm", {"variant": "with"}, "table2-{count}-{connection}")
COST = "One connection over ATM, against the time that a gateway needs for a packet."
LATENCY = "One connection over ATM, against a latency within the loop of the host and its gateway."
DISPLAY = "The largest file with gateways, against the rate at which the browser displays."
FITTED = (
    Sensitivity("gateway-cost", "Cost of a packet in a gateway", COST, "Cost (ms)", 1e3, RATE, "ttcp-atm-with-1"),
    Sensitivity("lan-latency", "Latency of the local network", LATENCY, "Latency (ms)", 1e3, RATE, "ttcp-atm-with-1"),
    Sensitivity("display-rate", "Rate of the display", DISPLAY, "Rate (Mbit/s)", MEGA, "item_time_mean", "www-with",
                "Response time (s)", 1.0, total=False),
)  # fmt: skip


def limit(studies: Studies) -> Section:
    """Section 2.1, equation (1)."""
    text = "A sender stops when its window is out, until the first acknowledgement returns: equation (1)."
    return Section("limit", "What a window allows", text, (1,), ("2.1",), ("eq",))


def www(studies: Studies) -> Section:
    """Section 4.3.1, Figure 5."""

    def response() -> Plate:
        table = curve_table(studies, WWW)
        return Plate(
            "figure-5",
            "Figure 5",
            "Time from the request until the file is displayed, on ATM LANs.",
            curve(table, "File size (kB)", "Response time (s)"),
            table,
        )

    text = "Twelve image files are fetched one by one; the time runs until the browser has displayed the file."
    return add(Section("www", "WWW", text, (5,), ("4.3.1",), ("www-",)), response)


def ftp(studies: Studies) -> Section:
    """Section 4.3.2, Figure 6."""

    def bars() -> Plate:
        table = compare_table(studies, (FTP,))
        figure = compare(table, "Throughput (Mbit/s)", bars=True)
        return Plate("figure-6", "Figure 6", "A binary file of 100 Mbyte from a server's disk.", figure, table)

    text = "A client in Japan gets a file of 100 Mbyte from a server in the USA."
    return add(Section("ftp", "ftp", text, (6,), ("4.3.2",), (FTP,)), bars)


def ttcp(studies: Studies) -> Section:
    """Sections 4.4.1 and 4.4.2, Figures 7 and 8, Table 2."""
    text = (
        "Memory to memory, over one, two, four and eight connections at once. Without gateways each connection is held "
        "to its window over the round trip; with them all together are held by the gateways or by the contract."
    )
    plates = [_total(studies, *lan) for lan in LANS]
    section = Section("ttcp", "ttcp", text, (7, 8), ("4.4", "4.4.1", "4.4.2"), ("ttcp-", "table2-"))
    return add(section, *plates, lambda: _shares(studies))


def domestic(studies: Studies) -> Section:
    """Section 4.4.3, Figures 9 and 10."""
    text = (
        "Hosts in Yokosuka are 2 ms of round trip away from the gateway in Shinjuku; those in Shinjuku stand beside it."
    )
    section = Section("domestic", "Delay within Japan", text, (9, 10), ("4.4.3",), ("domestic-",))
    return add(section, *(_domestic(studies, *lan) for lan in DOMESTIC))


def fitted(studies: Studies) -> Section:
    """What the fitted parameters do to the numbers that they were fitted to, and to others."""
    text = (
        "The paper does not give these parameters; they were tuned to numbers that it prints. The curves show how much "
        "hangs on them."
    )
    return add(Section("fitted", "Fitted parameters", text), *(sensitivity(studies, one) for one in FITTED))


def _total(studies: Studies, name: str, title: str, lan: str, study: str, short: str) -> Callable[[], Plate]:
    def make() -> Plate:
        lines = tuple(
            Line(f"{way} gateways", study, {"variant": way}, {n: f"ttcp-{short}-{way}-{n}" for n in (1, 2, 4, 8)})
            for way in ("with", "without")
        )
        table = curve_table(studies, Curve(lines, COUNT, RATE, "ttcp", scale=MEGA))
        figure = curve(table, "Connections", "Total throughput (Mbit/s)", ticks=True)
        return Plate(name, title, f"Total TCP throughput over {lan}.", figure, table)

    return make


def _domestic(studies: Studies, name: str, title: str, lan: str, study: str, short: str) -> Callable[[], Plate]:
    def make() -> Plate:
        lines = tuple(
            Line(
                f"{way} domestic delay",
                study,
                {"variant": way},
                {n: f"domestic-{short}-{way}-{n}" for n in (1, 2, 4, 8)},
            )
            for way in ("without", "with")
        )
        table = curve_table(studies, Curve(lines, COUNT, RATE, "ttcp", scale=MEGA))
        figure = curve(table, "Connections", "Total throughput (Mbit/s)", ticks=True)
        return Plate(name, title, f"Total TCP throughput with gateways over {lan}.", figure, table)

    return make


def _shares(studies: Studies) -> Plate:
    study, chosen, pattern = SHARES
    summary = select.where(simulated(studies[study].summary), chosen)
    rows = select.values(summary, RATE, slots_of="ttcp").with_columns(
        pl.col("value") * MEGA,
        count=pl.col(COUNT).cast(pl.Float64).cast(pl.Int64),
        x=pl.col("subject").str.extract("([0-9]+)$").cast(pl.Float64),
    )
    table = stats.summarise(rows.filter(pl.col("count") > 1), ["count", "x"]).sort("count", "x")
    names = [pattern.format(count=count, connection=int(x)) for count, x in table.select("count", "x").iter_rows()]
    said = [studies.claim(name) for name in names]
    table = table.select(
        pl.format("{} connections", "count").alias("line"),
        pl.exclude("count"),
        published=pl.Series([claim and claim.published for claim in said], dtype=pl.Float64),
    )
    figure = curve(table, "Connection", "Throughput (Mbit/s)", ticks=True)
    return Plate("table-2", "Table 2", "What each of the connections gets, with gateways, on ATM LANs.", figure, table)


ORDER = (limit, www, ftp, ttcp, domestic, fitted)
"""The sections on this paper."""
