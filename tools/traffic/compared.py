"""The figures of a class in both, and the judgement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, quantiles, stdev

from traffic.conversations import Conversation
from traffic.runs import Conversations

TOLERANCE = 0.1
"""The largest deviation that agrees."""
ERRORS = 2.0
"""Standard errors that a deviation may exceed the tolerance by: the error of some twenty runs and less."""

Figure = Callable[[Sequence[Conversation]], float]


def _p90(values: Sequence[float]) -> float:
    return quantiles(values, n=10, method="inclusive")[-1] if len(values) > 1 else values[0]


FIGURES: dict[str, tuple[str, Figure]] = {
    "conversations": ("", lambda all_of: float(len(all_of))),
    "octets there": ("kB", lambda all_of: sum(one.octets[0] for one in all_of) / 1e3),
    "octets back": ("kB", lambda all_of: sum(one.octets[1] for one in all_of) / 1e3),
    "time, mean": ("s", lambda all_of: fmean(one.took for one in all_of)),
    "time, median": ("s", lambda all_of: median(one.took for one in all_of)),
    "time, 90 %": ("s", lambda all_of: _p90([one.took for one in all_of])),
}
"""The figures of the conversations of a run, with their units."""
SUMS = 3
"""The first figures are sums over a run; the others are taken over the conversations of all runs."""


@dataclass(frozen=True)
class Compared:
    """A figure of a class, of real programs and simulated."""

    name: str
    """The class."""
    figure: str
    real: float
    simulated: float
    error: float
    """The standard error of the simulated value, over the seeds."""

    @property
    def deviation(self) -> float:
        """The simulated value over the real one, less 1."""
        return self.simulated / self.real - 1 if self.real else float(self.simulated != 0)

    @property
    def verdict(self) -> str:
        """Return `yes`, `within its error`, or `**no**`."""
        if abs(self.deviation) <= TOLERANCE:
            return "yes"
        beyond = abs(self.simulated - self.real) - TOLERANCE * self.real
        return "within its error" if beyond <= ERRORS * self.error else "**no**"


def compare(names: Sequence[str], real: Conversations, runs: Sequence[Conversations]) -> list[Compared]:
    """Compare all figures of all classes that the workload has."""
    found = []
    for name in names:
        each = [run[name] for run in runs if run.get(name)]
        if not real.get(name) or len(each) < 2:
            continue
        for number, (figure, (_, of)) in enumerate(FIGURES.items()):
            values = [of(run) for run in each]
            # A run without conversations of a class counts in its sums.
            values += [0.0] * (len(runs) - len(each)) if number < SUMS else []
            whole = fmean(values) if number < SUMS else of([one for run in each for one in run])
            found.append(Compared(name, figure, of(real[name]), whole, stdev(values) / len(values) ** 0.5))
    return found
