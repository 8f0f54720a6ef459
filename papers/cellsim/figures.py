"""Figures of the study `cellsim`: those of the paper, two studies of sensitivity, and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
from cellway import plot, stats
from cellway.plot import select, style
from cellway.report import Plate, Section, Studies, add
from matplotlib.figure import Figure

POLICY, COUNT = "multiplexing.channel", "traffic.ftp.count"
"""Axes: the policy that maps conversations to channels, and the load."""
LOAD = "Concurrent FTP conversations"
PORT, TYPIST, BULK = "r1>s1", "telnet-1", "ftp"
"""The bottleneck, the interactive conversation, and the group of bulk conversations."""
FIRST = "ftp-1"
PER_CONVERSATION = "per-conversation"

Limits = tuple[float | None, float | None]
DRAWN: dict[Callable[..., Figure], tuple[str, str]] = {
    plot.delay: ("delay_mean_rtt", TYPIST),
    plot.delay_deviation: ("delay_sd_rtt", TYPIST),
    plot.throughput: ("throughput_mean", BULK),
    plot.fairness: ("jain", BULK),
    plot.utilisation: ("utilisation", PORT),
}
"""The metric and the subject that each figure against load is drawn of."""


def times(studies: Studies, name: str) -> tuple[float | None, float | None]:
    """Return round trip and warm-up of a study in seconds; those of `policies` where it has no round trip."""
    rtt, warmup = studies.times(name)
    if rtt is None and "policies" in studies.present:
        return studies.times("policies")
    return rtt, warmup


def table_of(summary: pl.DataFrame, metric: str, subject: str, start: int = 0) -> pl.DataFrame:
    """Return mean and interval of a metric by policy and load."""
    return plot.per_load_table(summary, metric, subject, x=COUNT, lines=POLICY, start=start)


def by_load(
    studies: Studies,
    study: str,
    name: str,
    title: str,
    caption: str,
    draw: Callable[..., Figure],
    **options: Any,
) -> Callable[[], Plate]:
    """Return the maker of a plate of one metric against load, with `options` for the function that draws it."""

    def make() -> Plate:
        metric, subject = DRAWN[draw]
        summary = studies[study].summary
        start = 2 if metric == "jain" else 0
        if metric == "jain":
            options["start"] = start
        options["port" if metric == "utilisation" else "subject"] = subject
        figure = draw(summary, x=COUNT, lines=POLICY, xlabel=LOAD, **options)
        return Plate(name, title, caption, figure, table_of(summary, metric, subject, start))

    return make


def add_paired(studies: Studies, section: Section, metrics: list[tuple[str, str, str]]) -> None:
    """Add a table of differences from per-conversation channels, seed by seed, at the highest load."""
    parts = []
    for metric, subject, label in metrics:
        try:
            rows = select.highest(select.values(studies["policies"].summary, metric, subject), COUNT)
            names = select.in_order(rows, POLICY)
        except select.MissingDataError:
            continue
        for other in (name for name in names if name != PER_CONVERSATION and PER_CONVERSATION in names):
            difference = stats.paired(rows, POLICY, PER_CONVERSATION, other)
            parts.append(
                difference.select(
                    pl.lit(label).alias("measure"),
                    pl.lit(f"{other} − per-conversation").alias("difference"),
                    pl.col("mean"),
                    pl.col("low"),
                    pl.col("high"),
                    pl.col("n"),
                )
            )
    if parts:
        section.tables.append(("Differences between policies at the highest load, paired by seed", pl.concat(parts)))


def load(studies: Studies) -> Section:
    """Section 3, Figure 2."""

    def utilisation() -> Plate:
        summary = studies["load"].summary
        return Plate(
            "figure-2",
            "Figure 2",
            "Load that each traffic type puts on the bottleneck when it is alone, under per-conversation channels.",
            plot.offered_load(summary, port=PORT, xlabel="Concurrent conversations"),
            plot.offered_load_table(summary, port=PORT).rename(
                {"variant": "traffic", "traffic.source.count": "conversations"}
            ),
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
        by_load(studies, "policies", "figure-3", "Figure 3", "Interactive delay against load.", plot.delay),
        by_load(
            studies,
            "policies",
            "figure-4",
            "Figure 4",
            "Variability of interactive delay against load.",
            plot.delay_deviation,
        ),
    )
    add_paired(
        studies,
        section,
        [("delay_mean_rtt", TYPIST, "Mean delay (RTT)"), ("delay_sd_rtt", TYPIST, "Deviation of delay (RTT)")],
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
        by_load(studies, "policies", "figure-5", "Figure 5", "Bulk throughput against load.", plot.throughput),
        by_load(
            studies,
            "policies",
            "utilisation",
            "Utilisation",
            "Bottleneck utilisation in the same runs.",
            plot.utilisation,
        ),
    )
    add_paired(
        studies,
        section,
        [("throughput_mean", BULK, "Throughput per conversation"), ("utilisation", PORT, "Utilisation")],
    )
    return section


def fairness(studies: Studies) -> Section:
    """Section 5.2, Figures 6 and 7."""

    def limits() -> float:
        rows = select.highest(
            select.values(studies["policies"].series("throughput"), "throughput", slots_of=BULK), COUNT
        )
        warmup = times(studies, "policies")[1] or 0.0
        top = select.first_seed(rows).filter(pl.col("t") > warmup)["value"].max()
        return 1.08 * float(top) if top else 1.0  # type: ignore[arg-type]

    def over_time(name: str, title: str, policy: str) -> Callable[[], Plate]:
        def make() -> Plate:
            rtt, warmup = times(studies, "policies")
            series = select.where(studies["policies"].series("throughput"), {POLICY: policy})
            figure = plot.throughput_over_time(
                select.highest(series, COUNT), group=BULK, rtt=rtt, warmup=warmup or 0.0, limit=limits()
            )
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
        ),
    )
    add_paired(studies, section, [("jain", BULK, "Jain's index")])
    return section


def windows(studies: Studies) -> Section:
    """Section 5.3, Figures 8 and 9."""

    def trace(name: str, title: str, policy: str) -> Callable[[], Plate]:
        def make() -> Plate:
            rtt, warmup = times(studies, "windows")
            series = studies["windows"].series("window", at=FIRST)
            top = series["value"].max()
            limit = 1.08 * float(top) / 1024 if top else None  # type: ignore[arg-type]
            figure = plot.window(
                select.where(series, {POLICY: policy}),
                rtt=rtt,
                warmup=warmup or 0.0,
                limit=limit,
                mark=style.of_value(POLICY, policy, 0),
            )
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
        key: str, title: str, draw: Callable[..., Figure], floor: float | None = 0.0
    ) -> Iterator[Callable[[], Plate]]:
        metric, subject = DRAWN[draw]
        for study, speed in (("policies", "1.5 Mbit/s"), ("faster", "3 Mbit/s")):

            def make(study: str = study, speed: str = speed) -> Plate:
                limits = _shared([studies["policies"].summary, studies["faster"].summary], metric, subject, floor)
                name, caption = f"speed-{key}-{study}", f"{title}, links of {speed}."
                return by_load(studies, study, name, speed, caption, draw, limits=limits)()

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
        *pair("delay", "Interactive delay", plot.delay),
        *pair("deviation", "Variability of delay", plot.delay_deviation),
        *pair("throughput", "Bulk throughput", plot.throughput),
        *pair("jain", "Jain's index", plot.fairness, None),
        *pair("utilisation", "Utilisation", plot.utilisation),
    )


def _shared(tables: list[pl.DataFrame], metric: str, subject: str, floor: float | None) -> Limits:
    """A scale that holds the intervals of both tables."""
    start = 2 if metric == "jain" else 0
    rows = pl.concat([table_of(t, metric, subject, start).select("mean", "low", "high") for t in tables])
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
        limits: Limits,
        start: int = 0,
    ) -> Callable[[], Plate]:
        def draw() -> Plate:
            before, after = studies["policies"].summary, studies["corrected"].summary
            figure = plot.contrast(
                before,
                after,
                metric,
                subject,
                ylabel,
                names=names,
                x=COUNT,
                panels=POLICY,
                xlabel=LOAD,
                limits=limits,
                start=start,
            )
            data = pl.concat(
                [
                    table_of(table, metric, subject, start).select(pl.lit(name).alias("item sizes"), pl.all())
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
        make("jain", "Fairness", "jain", BULK, "Jain's fairness index", (None, 1.0), 2),
        make("delay", "Interactive delay", "delay_mean_rtt", TYPIST, "Delay (RTT)", (0, None)),
    )


MEASURES: list[tuple[str, str, str, tuple[str, str], Limits]] = [
    ("delay", "TELNET delay", "TELNET delay (RTT)", ("delay_mean_rtt", TYPIST), (0, None)),
    ("jain", "Fairness", "Jain's fairness index", ("jain", BULK), (None, 1.005)),
    ("utilisation", "Utilisation", "Bottleneck utilisation", ("utilisation", PORT), (None, 1.005)),
    ("lost", "Lost frames", "Lost frames per run", ("lost_frames", "network"), (0, None)),
    ("collapses", "Window collapses", "Window collapses per conversation", ("collapses_mean", BULK), (0, None)),
]
"""The comparisons of the two studies of open questions: key, title, axis label, metric and subject, scale."""


def choices(studies: Studies) -> Section:
    """Each open choice made differently."""
    return _measured(
        Section(
            "choices",
            "What the paper leaves open",
            "The paper does not give every parameter. Each row changes one choice and nothing else, at five FTP "
            "conversations. Read each panel by itself: a conclusion holds whatever was chosen only if the order of the "
            "policies is the same in all rows of its panel. That one panel keeps its order says nothing about another; "
            "window collapses in particular can depend on the sharing of the buffers.",
            (),
            (),
        ),
        studies,
        "choices",
        ("delay", "jain", "utilisation", "collapses"),
        "One choice changed per row; the thin lines continue the first row's values.",
        plot.choices,
        plot.choices_table,
    )


def buffers(studies: Studies) -> Section:
    """Buffer size and sharing."""
    return _measured(
        Section(
            "buffers",
            "Buffers",
            "How much memory the bottleneck has, and who may use it, decides who loses packets, and so whose window "
            "collapses. Where two ways of sharing order the policies differently, that conclusion depends on a choice "
            "that the paper leaves open. Sizes are for each of five FTP conversations and one of TELNET.",
            (),
            (),
        ),
        studies,
        "buffers",
        ("jain", "lost", "collapses"),
        "Against the size of the buffer, for each way of sharing it.",
        plot.buffers,
        lambda rows: plot.buffers_table(rows)[0].drop("x"),
    )


def _measured(
    section: Section,
    studies: Studies,
    study: str,
    chosen: tuple[str, ...],
    caption: str,
    draw: Callable[..., Figure],
    data: Callable[[pl.DataFrame], pl.DataFrame],
) -> Section:
    def make(key: str, title: str, label: str, of: tuple[str, str], limits: Limits) -> Callable[[], Plate]:
        def plate() -> Plate:
            rows = select.values(select.highest(studies[study].summary, COUNT), *of)
            return Plate(f"{study}-{key}", title, caption, draw(rows, label, limits=limits), data(rows))

        return plate

    return add(section, *(make(*measure) for measure in MEASURES if measure[0] in chosen))


def transient(studies: Studies) -> Section:
    """The bins of the runs from their start, which section 2.3 speaks of."""

    def make() -> Plate:
        rtt, warmup = times(studies, "policies")
        return Plate(
            "start-of-run",
            "Start of the runs",
            "Means over the seeds from the very start, at the highest load. The part before "
            "the dashed line is not used.",
            plot.transient(_panels(studies["policies"].series(), rtt), lines=POLICY, rtt=rtt, warmup=warmup),
        )

    return add(
        Section(
            "transient",
            "The start of a run",
            "Runs begin with an empty network. The figures above use only what comes after the dashed line.",
            (),
            ("2.3",),
        ),
        make,
    )


def _panels(series: pl.DataFrame, rtt: float | None) -> dict[str, pl.DataFrame]:
    """Return the three quantities of each run at the highest load, by the label of their panels."""
    top = select.highest(series, COUNT)
    bulk = select.values(top, "throughput", slots_of=BULK)
    rest = [name for name in bulk.columns if name not in ("subject", "value")]
    delay = select.values(top, "delay_mean", TYPIST)
    return {
        "Utilisation": select.values(top, "utilisation", PORT),
        "FTP throughput": bulk.group_by(*rest, maintain_order=True).agg(pl.col("value").mean()),
        f"TELNET delay ({'RTT' if rtt else 's'})": delay.with_columns(pl.col("value") / (rtt or 1.0)),
    }


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, in the order of the paper."""
    order = (load, delay, average, fairness, windows, faster, sizes, choices, buffers, transient)
    return [make(studies) for make in order]
