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
from cross.words import interval, percent

TOLERANCE = 0.05
"""A deviation of goodput above this needs a cause."""
FEWEST, MOST, STEP = 4, 32, 4
"""Runs of a point in either simulator: the fewest, the most, and the step while the verdict is undecided."""
NARROW = 0.015
"""The half width of the 95 % interval below which no more runs are made."""
BEYOND = TOLERANCE + NARROW
"""The limit of the 95 % interval of a fall of goodput, and of the deviation that remains with its cause removed."""
MOST_LEFT = 96
"""The most runs of a point, with a cause and with it removed, while its verdict is undecided."""
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


@dataclass(frozen=True)
class Left:
    """The deviation that remains with a cause removed, in separate runs. Each `half` is that of a 95 % interval."""

    deviation: float
    half: float
    removed: float
    """The decrease of the deviation, over pairs with the same losses and round trips."""
    removed_half: float
    pairs: int

    @property
    def reach(self) -> float:
        """The largest absolute deviation in the interval."""
        return abs(self.deviation) + self.half

    @property
    def removes(self) -> bool:
        """Return true if the decrease is significant."""
        return self.removed > self.removed_half

    @property
    def suffices(self) -> bool:
        """Return true if the cause explains the deviation."""
        return self.removes and abs(self.deviation) <= TOLERANCE and self.reach <= BEYOND

    @property
    def is_decided(self) -> bool:
        """Return true if more pairs would hardly change the verdict."""
        if self.suffices or abs(self.deviation) - self.half > TOLERANCE or self.pairs >= MOST_LEFT:
            return True
        # An interval shrinks with the root of the pairs.
        narrowest = math.sqrt(self.pairs / MOST_LEFT)
        half = narrowest * self.half
        too_large = abs(self.deviation) - half > TOLERANCE or abs(self.deviation) + half > BEYOND
        return self.pairs >= MOST and (too_large or self.removed < narrowest * self.removed_half)


@dataclass
class Compared:
    """A point in both simulators."""

    point: Point
    ours: Sequence[Figures]
    peer: Sequence[Figures]
    cause: str = ""
    """The cause of a deviation: a key of `CAUSES`, or `unexplained`; empty without a deviation."""
    tried: dict[str, Left] = field(default_factory=dict)
    """The deviation that remained with each cause removed."""

    @property
    def part(self) -> str:
        """The causes of the largest part of an unexplained deviation; empty if none removes a significant part."""
        parts = [name for name, left in self.tried.items() if left.removes]
        return min(parts, key=lambda name: self.tried[name].reach, default="") if self.cause == UNEXPLAINED else ""

    @property
    def deviation(self) -> float:
        """Our goodput over that of the peer, less 1."""
        return deviation(self.ours, self.peer)[0]


def deviation(ours: Sequence[Figures], peer: Sequence[Figures]) -> tuple[float, float]:
    """Return the mean goodput of one over that of the other, less 1, and half the width of its 95 % interval.

    Runs are taken in pairs, which have the same losses: what both have in common is no spread of the ratio.
    """
    ratio, rest = _residuals(ours, peer)
    return ratio - 1, half_width(rest)


def _residuals(ours: Sequence[Figures], peer: Sequence[Figures]) -> tuple[float, list[float]]:
    """Return the ratio of the mean goodputs, and the error of each pair."""
    a, b = [run.goodput for run in ours], [run.goodput for run in peer]
    if not fmean(b):
        return math.inf, [0.0] * len(b)
    ratio = fmean(a) / fmean(b)
    return ratio, [(x - ratio * y) / fmean(b) for x, y in zip(a, b, strict=True)]


def half_width(values: Sequence[float]) -> float:
    """Return half the width of the 95 % interval of the mean."""
    return t_95(len(values) - 1) * stdev(values) / math.sqrt(len(values))


def left(compared: Compared, ours: Sequence[Figures], peer: Sequence[Figures]) -> Left:
    """Compare the runs with a cause removed with those of the same numbers that have it."""
    middle, half = deviation(ours, peer)
    common = min(len(ours), len(compared.ours))
    with_it, first = _residuals(compared.ours[:common], compared.peer[:common])
    without, second = _residuals(ours[:common], peer[:common])
    towards = math.copysign(1, compared.deviation)
    spread = half_width([x - y for x, y in zip(first, second, strict=True)])
    return Left(middle, half, towards * (with_it - without), spread, len(ours))


def agrees(ours: Sequence[Figures], peer: Sequence[Figures]) -> bool:
    """Return true if the deviation is at most 5 %."""
    return abs(deviation(ours, peer)[0]) <= TOLERANCE


def is_decided(ours: Sequence[Figures], peer: Sequence[Figures]) -> bool:
    """Return true if more runs would hardly change the verdict: 5 % lies outside the interval, or that is narrow."""
    middle, half = deviation(ours, peer)
    return half <= max(NARROW, abs(abs(middle) - TOLERANCE))


Run = Callable[[Point, range], Sequence[Figures]]
"""A function that makes the runs of a point with these numbers in Cellway."""
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


Runner = Callable[[Point, range, Mapping[str, object]], tuple[list[Figures], list[Figures]]]
"""A function that makes the runs of a point with these numbers in both; the mapping is of settings of ns-2."""


def runner(cellway: str, ns2: str) -> Runner:
    """Return a function that runs these programs."""
    return lambda point, numbers, options: (
        in_cellway(cellway, point, numbers),
        in_ns2(ns2, point, numbers, **options),
    )


def compare(point: Point, ours: Sequence[Figures], cellway: str, ns2: str) -> Compared:
    """Compare a point in both, and find the cause of a deviation; `ours` are its first runs in Cellway."""
    run = runner(cellway, ns2)
    peer = in_ns2(ns2, point, range(len(ours)))
    found = Compared(point, *decide(lambda numbers: run(point, numbers, {}), ours, peer))
    if not agrees(found.ours, found.peer):
        explain(found, run)
    return found


def explain(compared: Compared, run: Runner) -> None:
    """Find the cause of a deviation by removing one difference after the other, then two at a time, then all."""
    names = [name for name, cause in CAUSES.items() if cause.applies(compared.point)]
    compared.cause = UNEXPLAINED
    for count in sorted({1, 2, len(names)}):
        for chosen in combinations(names, count):
            name = TOGETHER.join(chosen)
            compared.tried[name] = _without(compared, [CAUSES[one] for one in chosen], run)
            # The further pairs can show that there is nothing to explain.
            if agrees(compared.ours, compared.peer):
                compared.cause = ""
                return
            if compared.tried[name].suffices:
                compared.cause = name
                return


def _without(compared: Compared, causes: Sequence[Cause], run: Runner) -> Left:
    """Run pairs with the causes removed, and with them, until they decide."""
    point = reduce(lambda point, cause: cause.change(point), causes, compared.point)
    options = {key: value for cause in causes for key, value in cause.options.items()}
    ours: list[Figures] = []
    peer: list[Figures] = []
    while True:
        numbers = range(len(ours), len(ours) + STEP)
        more = run(point, numbers, options)
        ours, peer = ours + more[0], peer + more[1]
        missing = range(len(compared.ours), len(ours))
        if missing:
            more = run(compared.point, missing, {})
            compared.ours, compared.peer = [*compared.ours, *more[0]], [*compared.peer, *more[1]]
        found = left(compared, ours, peer)
        if found.is_decided:
            return found


def alone(point: Point) -> bool:
    """Return true for one flow without random loss, of a variant that recovers from a full buffer without a timeout."""
    return point.flows == 1 and not point.loss and point.variant in ("newreno", "sack")


def is_no_fall(middle: float, half: float) -> bool:
    """Return true if a change of goodput, with half the width of its interval, is within the bound."""
    return middle >= -TOLERANCE and middle - half >= -BEYOND


def fall(
    smaller: tuple[Point, Sequence[Figures]], larger: tuple[Point, Sequence[Figures]], run: Run
) -> tuple[float, float]:
    """Return the ratio of goodput with the larger buffer to the smaller, less 1, and half the width of its interval.

    Runs until the interval shows that it falls by more than the tolerance or that it does not, or there are `MOST`.
    """
    (small, below), (large, above) = smaller, larger
    while True:
        middle, half = deviation(above, below)
        if is_no_fall(middle, half) or middle + half < -TOLERANCE or len(below) >= MOST:
            return middle, half
        numbers = range(len(below), len(below) + STEP)
        below, above = [*below, *run(small, numbers)], [*above, *run(large, numbers)]


def bounds(family: Sequence[tuple[Point, Sequence[Figures]]], run: Run) -> list[str]:
    """Describe the bounds that a family, in the order of its buffers, violates; `run` makes more runs."""
    wrong = []
    for point, runs in family:
        used = fmean(figures.utilisation or 0.0 for figures in runs)
        if alone(point) and point.share >= 0.5 and used < FILLED:
            wrong.append(f"{point.name}: uses {percent(used)} of the line, not {percent(FILLED, 0)}")
        minutes = (point.duration - point.warmup) / 60
        timeouts = fmean(figures.timeouts for figures in runs)
        if alone(point) and timeouts > 1 + MOST_TIMEOUTS * minutes:
            wrong.append(f"{point.name}: {timeouts / minutes:.1f} timeouts a minute, not {MOST_TIMEOUTS:g} at most")
        for figures in runs:
            # Packets lost before the warm-up may time out after it: a window of them, once for each flow.
            excess = figures.timeouts > figures.lost + point.flows
            wrong += [f"{point.name}: {figures.timeouts:.0f} timeouts for {figures.lost:.0f} lost packets"] * excess
    for smaller, larger in pairwise(family):
        if not alone(larger[0]):
            continue
        middle, half = fall(smaller, larger, run)
        if not is_no_fall(middle, half):
            wrong.append(f"{larger[0].name}: {interval(middle, half)} goodput against the next smaller buffer")
    return wrong
