"""Figures of the study `kdd`: WWW, ftp and ttcp across the Pacific, with and without TCP gateways."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
from cellway import stats
from cellway.plot import compare, curve, select
from cellway.report import (
    MEGA,
    Curve,
    Line,
    Plate,
    Section,
    Sensitivity,
    Studies,
    add,
    beside,
    compare_table,
    curve_table,
    sensitivity,
    simulated,
)

COUNT = "traffic.ttcp.count"
RATE = "goodput"
GIVEN, FITTED_TO = "as given", "fitted"

# What the figures read: studies, axes, metrics, and the claims that hold the published values.
WWW = (
    Line("without gateways", "direct-www", {}, {572.101: "www-direct"}),
    Line("with gateways", "gateway-www", {}, {572.101: "www-gateway"}),
)
SIZES = "traffic.www.workload.sizes"
"""An axis of one size each; or a list in the scenario, whose items are then timed one by one."""
FTP = "ftp-"
FTP_RATES = ("ftp-atm-direct", "ftp-atm-gateway")
"""The claims on ftp that are rates; the others are ratios."""
LANS = (("figure-7", "Figure 7", "ATM LANs", "atm"), ("figure-8", "Figure 8", "Ethernets", "ethernet"))
"""Plate, figure of the paper, what it is about, and what the studies and claims are called after."""
DOMESTIC = (("figure-9", "Figure 9", "ATM LANs", "atm"), ("figure-10", "Figure 10", "Ethernets", "ethernet"))
SHARES = ("gateway-atm", {"variant": FITTED_TO}, "table2-{count}-{connection}")
COMBINATIONS = (
    ("www", "item_time_mean", "www-1", ("workstation", "notebook client", "desktop client")),
    (
        "ftp",
        "item_rate_mean",
        "ftp-1",
        ("workstation", "notebook server", "desktop server", "notebook client", "desktop client"),
    ),
)
"""Applications over Ethernets: what is measured, of which conversation, between which computers."""
COST = (
    "The total of eight connections over Ethernets, against the time that a gateway takes for each packet in and out."
)
SEND = "The same, if only the time to send a packet differs; taking one in stays at 0.72 ms."
BETWEEN = "The total of two connections over ATM LANs, against the rate of whole cells between the gateways."
LATENCY = "One connection over {}, against the latency, each way, between the sender and its gateway."
LEG = (
    "One connection over {}, against the latency, each way, between the gateway in Japan and the receiver. Fitted: {}; "
    "hosts in Yokosuka are 1 ms further away. The paper says that this lowers the rate a little."
)
DISPLAY = "The largest file with gateways, against the rate at which the browser displays."
WINDOW = "The largest file without gateways, against the window of the browser."
ACKS = "One connection over ATM LANs without gateways, if receivers wait for a second full segment: the longest wait."
RESPONSE = "Response time (s)"
FITTED = (
    Sensitivity("gateway-cost", "Cost of a packet in a gateway", COST, "Time (ms)", 1e3, RATE, "total-ethernet"),
    Sensitivity("gateway-send", "Cost of sending alone", SEND, "Time to send (ms)", 1e3, RATE, "total-ethernet"),
    Sensitivity("gateway-rate", "Rate between the gateways", BETWEEN, "Rate (Mbit/s)", MEGA, RATE, "total-atm"),
    Sensitivity("lan-latency", "Latency of the ATM LAN", LATENCY.format("ATM LANs"), "Latency (ms)", 1e3, RATE,
                "one-atm-gateway"),
    Sensitivity("lan-latency-ethernet", "Latency of the Ethernet", LATENCY.format("Ethernets"), "Latency (ms)", 1e3,
                RATE, "one-ethernet-gateway"),
    Sensitivity("display-rate", "Rate of the display", DISPLAY, "Rate (Mbit/s)", MEGA, "item_time_mean", "www-gateway",
                ylabel=RESPONSE, scale=1.0, total=False),
    Sensitivity("browser-window", "Window of the browser", WINDOW, "Window (kB)", 1e-3, "item_time_mean", "www-direct",
                ylabel=RESPONSE, scale=1.0, total=False),
    Sensitivity("delayed-ack", "Acknowledgements that wait", ACKS, "Longest wait (ms)", 1e3, RATE, "one-atm-direct",
                logx=True),
)  # fmt: skip
LAST_LEG = (
    Sensitivity("last-leg", "The last leg, ATM LANs", LEG.format("ATM LANs", "2 ms"), "Latency (ms)", 1e3, RATE),
    Sensitivity("last-leg-ethernet", "The last leg, Ethernets", LEG.format("Ethernets", "3.4 ms"), "Latency (ms)", 1e3,
                RATE),
)  # fmt: skip


def limit(studies: Studies) -> Section:
    """Section 2.1, equation (1)."""
    text = "A sender stops when its window is out, until the first acknowledgement returns: equation (1)."
    return Section("limit", "What a window and a contract allow", text, (1,), ("2.1", "4.2"), ("eq",))


def www(studies: Studies) -> Section:
    """Section 4.3.1, Figure 5."""

    def response() -> Plate:
        table = pl.concat([_response(studies, line) for line in WWW])
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
        table = compare_table(studies, FTP_RATES, lambda claim, _: claim.label or claim.id)
        figure = compare(table, "Throughput (Mbit/s)", bars=True)
        return Plate("figure-6", "Figure 6", "A binary file over ATM LANs.", figure, table)

    def times() -> Plate:
        table = _combinations(studies)
        figure = compare(table, "Times faster with gateways", bars=True)
        caption = (
            "What gateways gain over Ethernets, for each combination of computers. The paper says: they improve it."
        )
        return Plate("table-1", "Table 1", caption, figure, table.select("label", "simulated"))

    text = "A client in Japan gets a file of 100 Mbyte from a server in the USA."
    return add(Section("ftp", "ftp", text, (6,), ("4.3.2",), (FTP,)), bars, times)


def ttcp(studies: Studies) -> Section:
    """Sections 4.4.1 and 4.4.2, Figures 7 and 8, Table 2."""
    text = (
        "Memory to memory, over one, two, four and eight connections at once. Without gateways each connection is held "
        "to its window over the round trip; with them all together are held by the gateways or by the contract."
    )
    plates = [_total(studies, *lan) for lan in LANS]
    section = Section("ttcp", "ttcp", text, (7, 8), ("4.4", "4.4.1", "4.4.2"), ("table2-",))
    return add(section, *plates, lambda: _shares(studies))


def domestic(studies: Studies) -> Section:
    """Section 4.4.3, Figures 9 and 10."""
    text = (
        "Hosts in Yokosuka are 2 ms of round trip away from the gateway in Shinjuku; those in Shinjuku are next to it."
    )
    section = Section("domestic", "Delay within Japan", text, (9, 10), ("4.4.3",), ("domestic-",))
    plates = [_domestic(studies, *lan) for lan in DOMESTIC]
    return add(section, *plates, *(sensitivity(studies, one) for one in LAST_LEG))


def fitted(studies: Studies) -> Section:
    """Draw the effect of the fitted parameters on the numbers that they were fitted to, and on others."""
    text = (
        "The paper does not give these parameters; they were tuned to numbers that it prints. The curves show their "
        "effect."
    )
    return add(Section("fitted", "Fitted parameters", text), *(sensitivity(studies, one) for one in FITTED))


def _response(studies: Studies, line: Line) -> pl.DataFrame:
    """Time against size: from a sweep over sizes, or from the items of runs that fetch a list of files in its order."""
    results = studies[line.study]
    if SIZES in results.axes:
        of = Curve((line,), SIZES, "item_time_mean", total=False, x_scale=1e-3)
        return curve_table(studies, of)
    sizes: list[object] = next(
        (t["workload"]["sizes"] for t in results.scenario.get("traffic", ()) if t.get("app") == "www"), []
    )
    items = select.values(simulated(select.where(results.series(), line.where)), "item_time").sort("run", "t")
    numbered = items.with_columns(item=pl.int_range(pl.len()).over("run"))
    places = pl.DataFrame({"item": list(range(len(sizes))), "x": [select.amount(size) * 1e-3 for size in sizes]})
    placed = numbered.join(places, on="item", how="inner").with_columns(line=pl.lit(line.label))
    return beside(studies, stats.summarise(placed, ["line", "x"]).sort("x"), line.claims)


def _combinations(studies: Studies) -> pl.DataFrame:
    """Return the gain by gateways of each application between each pair of computers."""
    rows: list[tuple[str, float]] = []
    for app, metric, subject, computers in COMBINATIONS:
        for name in computers:
            direct, split = (
                select.values(
                    select.where(simulated(studies[f"{way}-{app}-ethernet"].summary), {"variant": name}),
                    metric,
                    subject,
                )["value"].mean()
                for way in ("direct", "gateway")
            )
            if isinstance(direct, float) and isinstance(split, float):
                gain = split / direct if metric == "item_rate_mean" else direct / split
                rows.append((f"{app}, {name}", gain))
    if not rows:
        raise select.MissingDataError("no combination of computers was run")
    schema = {"label": pl.String(), "simulated": pl.Float64()}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    nothing = pl.lit(None, dtype=pl.Float64)
    return table.with_columns(published=nothing, predicted=nothing, low=pl.col("simulated"), high=pl.col("simulated"))


def _total(studies: Studies, name: str, title: str, lan: str, short: str) -> Callable[[], Plate]:
    def make() -> Plate:
        with_them = f"gateway-{short}"
        lines = [
            Line("with, fitted", with_them, {"variant": FITTED_TO}, {1: f"one-{short}-gateway"}),
            Line("with, as given", with_them, {"variant": GIVEN}),
            Line("without gateways", f"direct-{short}", {}, {1: f"one-{short}-direct"}),
        ]
        table = curve_table(studies, Curve(tuple(lines), COUNT, RATE, "ttcp", scale=MEGA))
        claim = studies.claim(f"total-{short}")
        level = None if claim is None or claim.published is None else (claim.published, "published: more than")
        figure = curve(table, "Connections", "Total throughput (Mbit/s)", ticks=True, level=level)
        caption = (
            f"Total TCP throughput over {lan}, with gateways as the paper gives them, with fitted costs, and without."
        )
        return Plate(name, title, caption, figure, table)

    return make


def _domestic(studies: Studies, name: str, title: str, lan: str, short: str) -> Callable[[], Plate]:
    def make() -> Plate:
        variants = (("none", "without domestic delay"), ("2 ms", "with 2 ms"))
        lines = tuple(Line(label, f"domestic-{short}", {"variant": variant}) for variant, label in variants)
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


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, in the order of the paper."""
    order = (limit, www, ftp, ttcp, domestic, fitted)
    return [make(studies) for make in order]
