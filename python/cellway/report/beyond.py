"""The sections that go beyond the paper: what it leaves open, buffers, and the start of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from cellway import plot
from cellway.plot import select
from cellway.plot.buffers import buffers_table
from cellway.plot.choices import choices_table
from cellway.plot.traffic import PORT
from cellway.report.plates import Plate, Section, Studies, add

MEASURES: list[
    tuple[str, str, str, Callable[[pl.DataFrame], pl.DataFrame], tuple[float | None, float | None] | None]
] = [
    (
        "delay",
        "TELNET delay",
        "TELNET delay (RTT)",
        lambda t: select.values(t, "delay_mean_rtt", "telnet-1"),
        (0, None),
    ),
    ("jain", "Fairness", "Jain's fairness index", lambda t: select.values(t, "jain", "ftp"), (None, 1.005)),
    (
        "utilisation",
        "Utilisation",
        "Bottleneck utilisation",
        lambda t: select.values(t, "utilisation", PORT),
        (None, 1.005),
    ),
    ("lost", "Lost frames", "Lost frames per run", lambda t: select.values(t, "lost_frames", "network"), (0, None)),
    (
        "collapses",
        "Window collapses",
        "Window collapses per conversation",
        lambda t: select.values(t, "collapses_mean", "ftp"),
        (0, None),
    ),
]
"""What the two studies of open questions compare: key, title, axis label, one value per run, scale."""


def choices(studies: Studies) -> Section:
    """Each open choice made differently."""
    return _measured(
        Section(
            "choices",
            "What the paper leaves open",
            "The paper does not give every parameter. Each row changes one choice and nothing else, at five FTP "
            "conversations. Read each panel by itself: a conclusion holds whatever was chosen only if the order of the "
            "policies is the same in all rows of its panel. That one panel keeps its order says nothing about another; "
            "window collapses in particular can hang on who may fill the buffers.",
            (),
            (),
        ),
        studies,
        "choices",
        ("delay", "jain", "utilisation", "collapses"),
        "One choice changed per row; the thin lines continue the first row's values.",
        plot.choices,
        choices_table,
    )


def buffers(studies: Studies) -> Section:
    """Buffer size and sharing."""
    return _measured(
        Section(
            "buffers",
            "Buffers",
            "How much memory the bottleneck has, and who may use it, decides who loses packets, and so whose window "
            "collapses. Where two ways of sharing order the policies differently, that conclusion hangs on a choice "
            "that the paper leaves open. Sizes are for each of five FTP conversations and one of TELNET.",
            (),
            (),
        ),
        studies,
        "buffers",
        ("jain", "lost", "collapses"),
        "Against the size of the buffer, for each way of sharing it.",
        plot.buffers,
        lambda rows: buffers_table(rows)[0].drop("x"),
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
    def make(
        key: str, title: str, label: str, pick: Callable[[pl.DataFrame], pl.DataFrame], limits: Any
    ) -> Callable[[], Plate]:
        def plate() -> Plate:
            rows = pick(select.highest(studies[study].summary, select.COUNT))
            return Plate(f"{study}-{key}", title, caption, draw(rows, label, limits=limits), data(rows))

        return plate

    return add(section, *(make(*measure) for measure in MEASURES if measure[0] in chosen))


def transient(studies: Studies) -> Section:
    """The bins of the runs from their start, which section 2.3 speaks of."""

    def make() -> Plate:
        rtt, warmup = studies.times("policies")
        return Plate(
            "start-of-run",
            "Start of the runs",
            "Means over the seeds from the very start, at the highest load. What lies before "
            "the dashed line is not used.",
            plot.transient(studies["policies"].series(), rtt=rtt, warmup=warmup),
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
