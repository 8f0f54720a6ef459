"""What must hold of a point, with ns-2 beside it and without."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, stdev

from cross.grid import Point
from cross.runs import Figures, in_cellway, in_ns2

TOLERANCE = 0.05
"""A deviation of goodput above this needs a cause."""
T_95 = {2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}
"""Student's t, two-sided, by degrees of freedom."""
FILLED = 0.9
"""The least share of the line that one flow uses over half a bandwidth-delay product of buffer."""
MOST_TIMEOUTS = 6.0
"""Of one flow without random loss, a minute: the first slow start may end in some, a full buffer does not."""


@dataclass
class Compared:
    """A point in both simulators."""

    point: Point
    ours: Sequence[Figures]
    peer: Sequence[Figures]
    cause: str = ""
    """Why it deviates: a key of `CAUSES`, or `unexplained`; empty where it does not."""
    tried: dict[str, float] = field(default_factory=dict)
    """The deviation that was left with each cause taken away."""

    @property
    def deviation(self) -> float:
        """Our goodput over that of the peer, less 1."""
        return deviation(self.ours, self.peer)[0]


def deviation(ours: Sequence[Figures], peer: Sequence[Figures]) -> tuple[float, float]:
    """The mean goodput of one over that of the other, less 1, and half the width of its 95 % interval."""
    a, b = [run.goodput for run in ours], [run.goodput for run in peer]
    if not fmean(b):
        return math.inf, 0.0
    spread = (stdev(a) / fmean(a)) ** 2 / len(a) + (stdev(b) / fmean(b)) ** 2 / len(b) if fmean(a) else 0.0
    ratio = fmean(a) / fmean(b)
    return ratio - 1, T_95[min(len(a) + len(b) - 2, 8)] * ratio * math.sqrt(spread)


def agrees(ours: Sequence[Figures], peer: Sequence[Figures]) -> bool:
    """Whether the deviation is at most 5 %."""
    return abs(deviation(ours, peer)[0]) <= TOLERANCE


def within_spread(ours: Sequence[Figures], peer: Sequence[Figures]) -> bool:
    """Whether the 95 % interval of the deviation reaches into the tolerated 5 %."""
    middle, half = deviation(ours, peer)
    return abs(middle) - half <= TOLERANCE


@dataclass(frozen=True)
class Cause:
    """A known difference between the two, and the runs in which it is taken away."""

    title: str
    text: str
    applies: Callable[[Point], bool]
    change: Callable[[Point], Point] = lambda point: point
    options: Callable[[Point], dict[str, object]] = lambda _: {}
    """Further settings of ns-2."""


CAUSES = {
    "ticks": Cause(
        "Timers on ticks",
        "Here the retransmission timer fires on a tick of its clock, up to one early, as in BSD; in ns-2 ticks round "
        "what is measured, to at least one, and the timer runs continuously (`tcp.cc`, `rtt_update` and "
        "`rtt_timeout`). With a tick of 1 ms in both the deviation is gone.",
        lambda point: point.tick > 0.001,
        lambda point: dataclasses.replace(point, tick=0.001),
    ),
    "bugfix": Cause(
        "Duplicates of segments that were sent before the last loss",
        "Jacobson's Tahoe and RFC 5681's Reno take three of them for a loss, and so does this simulator; ns-2 does "
        "with `bugFix_` off, which is how it is compared, and does not with it on, its default. Going back N makes "
        "many of them, so a run turns on single duplicates. With `bugFix_` on the deviation is gone.",
        lambda point: point.variant in ("tahoe", "reno"),
        options=lambda _: {"bugfix": 1},
    ),
    "acks": Cause(
        "Delayed acknowledgements",
        "By the rules both acknowledge every second segment, at once what is out of order or fills a gap, and else "
        "after 100 ms. Which segment is the second differs after each loss. Without delays in both the deviation is "
        "gone.",
        lambda point: point.delayed,
        lambda point: dataclasses.replace(point, delayed=False),
    ),
    "start": Cause(
        "The first slow start",
        "It overruns the buffer by up to a window, and a single segment decides whether the repair ends in a "
        "timeout. In runs four times as long, measured over the last three quarters, the deviation is gone.",
        lambda _: True,
        lambda point: dataclasses.replace(point, duration=4 * point.duration),
    ),
}
SPREAD = "spread"
UNEXPLAINED = "unexplained"


def explain(compared: Compared, cellway: str, ns2: str) -> None:
    """Finds why a point deviates, by taking away one difference after the other."""
    if agrees(compared.ours, compared.peer):
        return
    if within_spread(compared.ours, compared.peer):
        compared.cause = SPREAD
        return
    for name, cause in CAUSES.items():
        if not cause.applies(compared.point):
            continue
        point = cause.change(compared.point)
        ours = in_cellway(cellway, point) if point != compared.point else compared.ours
        peer = in_ns2(ns2, point, **cause.options(point))
        compared.tried[name] = deviation(ours, peer)[0]
        if agrees(ours, peer):
            compared.cause = name
            return
    compared.cause = UNEXPLAINED


def alone(point: Point) -> bool:
    """Whether a point is one flow without random loss, of a variant that repairs a full buffer without a timeout."""
    return point.flows == 1 and not point.loss and point.variant in ("newreno", "sack")


def bounds(family: Sequence[tuple[Point, Sequence[Figures]]]) -> list[str]:
    """What the points of a family violate, in words; in the order of their buffers."""
    wrong = []
    for point, runs in family:
        used = fmean(run.utilisation or 0.0 for run in runs)
        if alone(point) and point.share >= 0.5 and used < FILLED:
            wrong.append(f"{point.name}: uses {used:.1%} of the line, not {FILLED:.0%}")
        minutes = (point.duration - point.warmup) / 60
        timeouts = fmean(run.timeouts for run in runs)
        if alone(point) and timeouts > 1 + MOST_TIMEOUTS * minutes:
            wrong.append(f"{point.name}: {timeouts / minutes:.1f} timeouts a minute, not {MOST_TIMEOUTS:g} at most")
        for run in runs:
            # Packets lost before the warm-up may time out after it: a window of them, once for each flow.
            excess = run.timeouts > run.lost + point.flows
            wrong += [f"{point.name}: {run.timeouts:.0f} timeouts for {run.lost:.0f} lost packets"] * excess
    for (_, smaller), (point, larger) in pairwise(family):
        grown, half = deviation(larger, smaller)
        if alone(point) and grown + half < -TOLERANCE:
            wrong.append(f"{point.name}: {-grown:.1%} less goodput than with the next smaller buffer")
    return wrong
