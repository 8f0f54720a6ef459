"""The sections that follow the paper: its figures, and its two studies of sensitivity."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl
from matplotlib.figure import Figure

from cellway import plot
from cellway.plot import select
from cellway.plot.load import per_load_table
from cellway.plot.traffic import PORT, offered_load_table
from cellway.report import beyond
from cellway.report.plates import Plate, Section, Studies, add, add_paired, by_load


def load(studies: Studies) -> Section:
    """Section 3, Figure 2."""

    def utilisation() -> Plate:
        summary = studies["load"].summary
        return Plate(
            "figure-2",
            "Figure 2",
            "Load that each traffic type puts on the bottleneck when it is alone, under per-conversation channels.",
            plot.offered_load(summary),
            offered_load_table(select.values(summary, "utilisation", PORT)),
        )

    return add(
        Section(
            "load",
            "Network load",
            "Each traffic type alone, from one to ten concurrent conversations. The sooner a line reaches the top, "
            "the fewer conversations of its kind fill the link.",
            (2,),
            ("3",),
        ),
        utilisation,
    )


def delay(studies: Studies) -> Section:
    """Section 4, Figures 3 and 4."""
    section = add(
        Section(
            "delay",
            "Interactive delay",
            "One TELNET conversation beside zero to five FTP conversations. Delay is what the typist sees, in round "
            "trips of propagation, so that 1 is the least possible.",
            (3, 4),
            ("4",),
        ),
        by_load(
            studies,
            "policies",
            "figure-3",
            "Figure 3",
            "Interactive delay against load.",
            plot.delay,
            "delay_mean_rtt",
            "telnet-1",
        ),
        by_load(
            studies,
            "policies",
            "figure-4",
            "Figure 4",
            "Variability of interactive delay against load.",
            plot.delay_deviation,
            "delay_sd_rtt",
            "telnet-1",
        ),
    )
    add_paired(
        studies,
        section,
        [("delay_mean_rtt", "telnet-1", "Mean delay (RTT)"), ("delay_sd_rtt", "telnet-1", "Deviation of delay (RTT)")],
    )
    return section


def average(studies: Studies) -> Section:
    """Section 5.1, Figure 5."""
    section = add(
        Section(
            "throughput",
            "Average bulk throughput",
            "Throughput of one FTP conversation, averaged over those that run, as a share of the bottleneck rate.",
            (5,),
            ("5", "5.1"),
        ),
        by_load(
            studies,
            "policies",
            "figure-5",
            "Figure 5",
            "Bulk throughput against load.",
            plot.throughput,
            "throughput_mean",
            "ftp",
        ),
        by_load(
            studies,
            "policies",
            "utilisation",
            "Utilisation",
            "Bottleneck utilisation in the same runs.",
            plot.utilisation,
            "utilisation",
            PORT,
        ),
    )
    add_paired(
        studies,
        section,
        [("throughput_mean", "ftp", "Throughput per conversation"), ("utilisation", PORT, "Utilisation")],
    )
    return section


def fairness(studies: Studies) -> Section:
    """Section 5.2, Figures 6 and 7."""

    def limits() -> float:
        rows = select.highest(
            select.values(studies["policies"].series("throughput"), "throughput", slots_of="ftp"), select.COUNT
        )
        warmup = studies.times("policies")[1] or 0.0
        top = select.first_seed(rows).filter(pl.col("t") > warmup)["value"].max()
        return 1.08 * float(top) if top else 1.0  # type: ignore[arg-type]

    def over_time(name: str, title: str, policy: str) -> Callable[[], Plate]:
        def make() -> Plate:
            rtt, warmup = studies.times("policies")
            series = studies["policies"].series("throughput")
            figure = plot.throughput_over_time(series, policy=policy, rtt=rtt, warmup=warmup or 0.0, limit=limits())
            words = policy.replace("per-", "per ")
            return Plate(
                name,
                title,
                "Throughput over time of the FTP conversations at the highest load, first seed, with one channel "
                f"{words}. The thin line is their mean.",
                figure,
            )

        return make

    section = add(
        Section(
            "fairness",
            "Fairness of bulk throughput",
            "Equal conversations should get equal shares. Jain's index is 1 when they do and 1/n when one of n takes "
            "all; it is taken over windows of 100 round trips, so that winners and losers who change places count.",
            (6, 7),
            ("5.2",),
        ),
        over_time("figure-6", "Figure 6", "per-conversation"),
        over_time("figure-7", "Figure 7", "per-destination"),
        over_time("throughput-per-type", "Per type", "per-type"),
        by_load(
            studies,
            "policies",
            "jain",
            "Jain's index",
            "Fairness against load; one conversation alone is always fair and is left out.",
            plot.fairness,
            "jain",
            "ftp",
        ),
    )
    add_paired(studies, section, [("jain", "ftp", "Jain's index")])
    return section


def windows(studies: Studies) -> Section:
    """Section 5.3, Figures 8 and 9."""

    def trace(name: str, title: str, policy: str) -> Callable[[], Plate]:
        def make() -> Plate:
            rtt, warmup = studies.times("windows")
            series = studies["windows"].series("window", at="ftp-1")
            top = series["value"].max()
            limit = 1.08 * float(top) / 1024 if top else None  # type: ignore[arg-type]
            figure = plot.window(series, policy=policy, rtt=rtt, warmup=warmup or 0.0, limit=limit)
            return Plate(
                name,
                title,
                f"Window of the first FTP conversation, one channel {policy.replace('per-', 'per ')}, first seed. "
                "A new conversation begins when one ends, and its window starts small again.",
                figure,
            )

        return make

    return add(
        Section(
            "windows",
            "Windows",
            "What TCP may have under way: the smaller of the congestion window and the receiver's.",
            (8, 9),
            ("5.3",),
        ),
        trace("figure-8", "Figure 8", "per-conversation"),
        trace("figure-9", "Figure 9", "per-destination"),
        trace("window-per-type", "Per type", "per-type"),
    )


def faster(studies: Studies) -> Section:
    """Section 6: links of 3 Mbit/s."""

    def pair(
        key: str, title: str, draw: Callable[..., Figure], metric: str, subject: str, floor: float | None = 0.0
    ) -> Iterator[Callable[[], Plate]]:
        for study, speed in (("policies", "1.5 Mbit/s"), ("faster", "3 Mbit/s")):

            def make(study: str = study, speed: str = speed) -> Plate:
                limits = _shared([studies["policies"].summary, studies["faster"].summary], metric, subject, floor)
                return by_load(
                    studies,
                    study,
                    f"speed-{key}-{study}",
                    speed,
                    f"{title}, links of {speed}.",
                    draw,
                    metric,
                    subject,
                    limits=limits,
                )()

            yield make

    return add(
        Section(
            "speed",
            "Twice the network speed",
            "The same experiments with links of 3 Mbit/s and up to ten FTP conversations, each beside its 1.5 Mbit/s "
            "twin on the same scale.",
            (),
            ("6",),
        ),
        *pair("delay", "Interactive delay", plot.delay, "delay_mean_rtt", "telnet-1"),
        *pair("deviation", "Variability of delay", plot.delay_deviation, "delay_sd_rtt", "telnet-1"),
        *pair("throughput", "Bulk throughput", plot.throughput, "throughput_mean", "ftp"),
        *pair("jain", "Jain's index", plot.fairness, "jain", "ftp", None),
        *pair("utilisation", "Utilisation", plot.utilisation, "utilisation", PORT),
    )


def _shared(
    tables: list[pl.DataFrame], metric: str, subject: str, floor: float | None
) -> tuple[float | None, float | None]:
    """A scale that holds the intervals of both tables."""
    start = 2 if metric == "jain" else 0
    rows = pl.concat([per_load_table(t, metric, subject, start=start).select("mean", "low", "high") for t in tables])
    low = float(rows.min_horizontal().min())  # type: ignore[arg-type]
    high = float(rows.max_horizontal().max())  # type: ignore[arg-type]
    margin = 0.06 * ((high - low) or abs(high) or 1.0)
    if metric == "jain":
        return max(0.0, low - margin), 1.0 + margin / 6
    return (low - margin if floor is None else floor), high + margin


def sizes(studies: Studies) -> Section:
    """Section 7: FTP items without the anomaly."""
    names = ("with the 74-byte items", "corrected")

    def make(
        key: str,
        title: str,
        metric: str,
        subject: str,
        ylabel: str,
        limits: tuple[float | None, float | None],
        start: int = 0,
    ) -> Callable[[], Plate]:
        def draw() -> Plate:
            before, after = studies["policies"].summary, studies["corrected"].summary
            figure = plot.contrast(before, after, metric, subject, ylabel, names=names, limits=limits, start=start)
            data = pl.concat(
                [
                    per_load_table(table, metric, subject, start=start).select(
                        pl.lit(name).alias("item sizes"), pl.all()
                    )
                    for table, name in zip((before, after), names, strict=True)
                ]
            )
            return Plate(
                f"sizes-{key}",
                title,
                "Before and after the correction of the FTP item sizes, policy by policy.",
                figure,
                data,
            )

        return draw

    return add(
        Section(
            "sizes",
            "Larger bulk transfers",
            "The first model of FTP held an anomaly, many transfers of 74 bytes between two hosts. "
            "Without it, items are larger.",
            (),
            ("7",),
        ),
        make("jain", "Fairness", "jain", "ftp", "Jain's fairness index", (None, 1.0), 2),
        make("delay", "Interactive delay", "delay_mean_rtt", "telnet-1", "Delay (RTT)", (0, None)),
    )


ORDER = (
    load,
    delay,
    average,
    fairness,
    windows,
    faster,
    sizes,
    beyond.choices,
    beyond.buffers,
    beyond.transient,
)
"""The sections on this paper."""
