"""The checks of a point, by comparison with ns-2 and on its own."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations, pairwise
from statistics import fmean, stdev

from cross.grid import Point
from cross.runs import Figures, in_cellway, in_ns2

TOLERANCE = 0.05
"""A deviation of goodput above this needs a cause."""
FEWEST, MOST, STEP = 4, 32, 4
"""Runs of a point in either simulator: the fewest, the most, and the step while the verdict is undecided."""
NARROW = 0.015
"""The half width of the 95 % interval below which no more runs are made."""
FINE = 0.001
"""A tick that makes no difference (s)."""
_T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def t_95(freedom: int) -> float:
    """Return the two-sided quantile of Student's t for these degrees of freedom."""
    # Beyond the table to 0.1 %, by the first term of Cornish and Fisher.
    return _T_95[freedom - 1] if freedom <= len(_T_95) else 1.96 + 2.372 / freedom + 2.8 / freedom**2


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
    """The cause of a deviation: a key of `CAUSES`, or `unexplained`; empty without a deviation."""
    tried: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The deviation that remained with each cause removed, and half the width of its interval."""

    @property
    def deviation(self) -> float:
        """Our goodput over that of the peer, less 1."""
        return deviation(self.ours, self.peer)[0]


def deviation(ours: Sequence[Figures], peer: Sequence[Figures]) -> tuple[float, float]:
    """The mean goodput of one over that of the other, less 1, and half the width of its 95 % interval.

    Runs are taken in pairs, which have the same losses: what both have in common is no spread of the ratio.
    """
    a, b = [run.goodput for run in ours], [run.goodput for run in peer]
    if not fmean(b):
        return math.inf, 0.0
    ratio = fmean(a) / fmean(b)
    rest = [(x - ratio * y) / fmean(b) for x, y in zip(a, b, strict=True)]
    return ratio - 1, t_95(len(rest) - 1) * stdev(rest) / math.sqrt(len(rest))


def agrees(ours: Sequence[Figures], peer: Sequence[Figures]) -> bool:
    """Returns true if the deviation is at most 5 %."""
    return abs(deviation(ours, peer)[0]) <= TOLERANCE


def is_decided(ours: Sequence[Figures], peer: Sequence[Figures]) -> bool:
    """Returns true if more runs would hardly change the verdict: 5 % lies outside the interval, or that is narrow."""
    middle, half = deviation(ours, peer)
    return half <= max(NARROW, abs(abs(middle) - TOLERANCE))


Runs = Callable[[range], tuple[list[Figures], list[Figures]]]


def decide(
    runs: Runs, ours: Sequence[Figures] = (), peer: Sequence[Figures] = ()
) -> tuple[list[Figures], list[Figures]]:
    """Add runs until the deviation is decided, or there are `MOST` runs."""
    ours, peer = list(ours), list(peer)
    while len(ours) < FEWEST or (len(ours) < MOST and not is_decided(ours, peer)):
        more = runs(range(len(ours), len(ours) + STEP))
        ours += more[0]
        peer += more[1]
    return ours, peer


@dataclass(frozen=True)
class Cause:
    """A known difference between the two simulators, and the settings that remove it."""

    title: str
    text: str
    applies: Callable[[Point], bool]
    change: Callable[[Point], Point] = lambda point: point
    options: Mapping[str, object] = field(default_factory=dict)
    """Further settings of ns-2."""


CAUSES = {
    "ticks": Cause(
        "Timers on ticks",
        "Here the retransmission timer fires on a tick of its clock, up to one early, as in BSD; in ns-2 ticks round "
        "what is measured, to at least one, and the timer runs continuously (`tcp.cc`, `rtt_update` and "
        "`rtt_timeout`). Taken away by a tick of 1 ms in both.",
        lambda point: point.tick > FINE,
        lambda point: dataclasses.replace(point, tick=FINE),
    ),
    "start": Cause(
        "The first slow start",
        "It overruns the buffer by up to a window, and the repair can end in a timeout in recovery: ns-2 then halves "
        "ssthresh again, and this simulator does not ([TCP](../models/tcp.md#variants)), which counts for long after. "
        "Taken away by an initial ssthresh, in both, of half of what line and buffer hold for each flow.",
        lambda point: point.ssthresh is None,
        lambda point: dataclasses.replace(point, ssthresh=max(2, int((point.bdp + point.buffer) / point.flows / 2))),
    ),
    "acks": Cause(
        "Delayed acknowledgements",
        "By the rules both acknowledge every second segment, at once what is out of order or fills a gap, and else "
        "after 100 ms. Which segment is the second differs after each loss. Taken away by acknowledging every segment, "
        "in both.",
        lambda point: point.delayed,
        lambda point: dataclasses.replace(point, delayed=False),
    ),
    "bugfix": Cause(
        "Duplicates of segments that were sent before the last loss",
        "Jacobson's Tahoe and RFC 5681's Reno take three of them for a loss, and so does this simulator; ns-2 does "
        "with `bugFix_` off, which is how it is compared, and does not with it on, its default. Going back N makes "
        "many of them, so a run turns on single duplicates. Taken away by `bugFix_` on.",
        lambda point: point.variant in ("tahoe", "reno"),
        options={"bugfix": 1},
    ),
}
UNEXPLAINED = "unexplained"
TOGETHER = " + "
"""Between causes that explain a deviation together only."""


def both(point: Point, cellway: str, ns2: str, options: Mapping[str, object]) -> Runs:
    """Return a function that makes the runs of a point with these numbers in both; `options` are settings of ns-2."""
    return lambda numbers: (in_cellway(cellway, point, numbers), in_ns2(ns2, point, numbers, **options))


def compare(point: Point, ours: Sequence[Figures], cellway: str, ns2: str) -> Compared:
    """Compare a point in both, and find the cause of a deviation; `ours` are its first runs in Cellway."""
    peer = in_ns2(ns2, point, range(len(ours)))
    found = Compared(point, *decide(both(point, cellway, ns2, {}), ours, peer))
    if not agrees(found.ours, found.peer):
        explain(found, cellway, ns2)
    return found


def explain(compared: Compared, cellway: str, ns2: str) -> None:
    """Find the cause of a deviation by removing one difference after the other, then two at a time, then all."""
    names = [name for name, cause in CAUSES.items() if cause.applies(compared.point)]
    for count in sorted({1, 2, len(names)}):
        for chosen in combinations(names, count):
            causes = [CAUSES[name] for name in chosen]
            point = reduce(lambda point, cause: cause.change(point), causes, compared.point)
            options = {key: value for cause in causes for key, value in cause.options.items()}
            ours, peer = decide(both(point, cellway, ns2, options))
            compared.tried[TOGETHER.join(chosen)] = deviation(ours, peer)
            if agrees(ours, peer):
                compared.cause = TOGETHER.join(chosen)
                return
    compared.cause = UNEXPLAINED


def alone(point: Point) -> bool:
    """Return true for one flow without random loss, of a variant that recovers from a full buffer without a timeout."""
    return point.flows == 1 and not point.loss and point.variant in ("newreno", "sack")


def bounds(family: Sequence[tuple[Point, Sequence[Figures]]]) -> list[str]:
    """Describe the bounds that the points of a family, in the order of their buffers, violate."""
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
