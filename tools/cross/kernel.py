"""CUBIC in the simulator and with the TCP of the kernel, over the same line by `cellway emulate`, in real time."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from cross.grid import Point
from cross.judge import TOLERANCE
from cross.resent import Resent, resent
from cross.runs import scenario, simulate

DURATION = 20.0  # s
LATE = 0.1
"""The largest lateness of a valid run, as a share of the round trip, which lateness lengthens."""
TCP = 'profile = "linux-6"\n'
BUSY = 2
"""The most attempts at a valid emulation."""
AGAIN = 2
"""Further emulations of a point whose first is not near, since the kernel's runs differ."""
NEAR = 0.025
"""A deviation up to this needs no further runs: the spread of the kernel's runs hardly brings it to 5 %."""
LONG = 17
"""A round trip of so many packet times: within a quarter of it the third duplicate follows the lost segment."""


@dataclass(frozen=True)
class Emulated:
    """A point with the kernel's TCP."""

    point: Point
    simulated: float
    """Goodput in the simulator (bit/s)."""
    kernel: tuple[float, ...]
    """Goodput with the kernel, in each run (bit/s)."""
    valid: bool
    lateness: float
    """The 99th percentile of lateness, the largest of the runs (s)."""
    resent: Resent
    """The kernel's loss events in all runs, after the warm-up."""

    @property
    def goodput(self) -> float:
        """The mean of the kernel's runs (bit/s)."""
        return fmean(self.kernel)

    @property
    def deviation(self) -> float:
        """The simulator's goodput over the kernel's, less 1."""
        return self.simulated / self.goodput - 1 if self.goodput else 0.0

    @property
    def agrees(self) -> bool:
        """Returns true if the deviation is at most 5 %."""
        return abs(self.deviation) <= TOLERANCE


@dataclass(frozen=True)
class Judged:
    """A point, and its deviation with the kernel's RACK timer removed."""

    emulated: Emulated
    without: Emulated | None = None
    """Over a longer round trip; where a point is not near, and its kernel resent before the third duplicate."""


def points() -> list[Point]:
    """Eight: 1 to 100 Mbit/s, 20 and 100 ms, half a bandwidth-delay product of buffer and a whole one."""
    corners = [(1, 0.1), (5, 0.02), (20, 0.1), (100, 0.02)]
    return [_point(rate * 1_000_000, rtt, share) for rate, rtt in corners for share in (0.5, 1.0)]


def _point(rate: int, rtt: float, share: float) -> Point:
    buffer = max(4, round(share * rate * rtt / 8 / 1500))
    return Point(0, share, "cubic", rate, rtt, buffer, 1, 0.0, 0.001, 0.2, 10, True, True, 1460, DURATION)


def run(command: str) -> list[Judged] | str:
    """Emulate all points, or return the reason why this machine cannot."""
    done = []
    for point in points():
        found = judge(command, point)
        if isinstance(found, str):
            return found
        done.append(found)
    return done


def judge(command: str, point: Point) -> Judged | str:
    """Emulate a point; if it is not near, make more runs, and some without RACK's timer."""
    one = emulate(command, point, 1)
    if isinstance(one, str) or abs(one.deviation) <= NEAR or not one.valid:
        return one if isinstance(one, str) else Judged(one)
    more = emulate(command, point, 1 + AGAIN)
    if isinstance(more, str) or abs(more.deviation) <= NEAR or not more.valid or not more.resent.early:
        return more if isinstance(more, str) else Judged(more)
    packet = point.packet * 8 / point.rate
    longer = emulate(command, dataclasses.replace(point, rtt=round(LONG * packet, 3)), 1 + AGAIN)
    return longer if isinstance(longer, str) else Judged(more, longer)


def emulate(command: str, point: Point, runs: int) -> Emulated | str:
    """Emulate a point this often, or return the reason why this machine cannot."""
    text = scenario(point, tcp=TCP, extra=f'\n[run.emulate]\nlateness-limit = "{LATE * point.rtt * 1e6:.0f} us"\n')
    goodputs, lateness, valid, losses = [], 0.0, True, Resent(0, 0)
    for _ in range(runs):
        for _ in range(BUSY):
            found = _emulate(command, text, point.warmup)
            if isinstance(found, str):
                return found
            figures, seen = found
            if figures["emulation", "valid"]:
                break
        goodputs.append(figures["flow-1", "goodput"])
        lateness = max(lateness, figures["emulation", "lateness_p99"])
        valid = valid and bool(figures["emulation", "valid"])
        losses = Resent(losses.events + seen.events, losses.early + seen.early)
    simulated = simulate(command, text)["flow-1", "goodput"]
    return Emulated(point, simulated, tuple(goodputs), valid, lateness, losses)


def _emulate(command: str, text: str, warmup: float) -> tuple[dict[tuple[str, str], float], Resent] | str:
    """Return the figures of an emulation by subject and metric, and its loss events, or the reason for none."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "point.toml")
        file.write_text(text, encoding="utf-8")
        arguments = [command, "emulate", str(file), "--json", "--pcap", "flow-1"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        # A run that was late ends with status 1, and its document.
        if not done.stdout.strip():
            return done.stderr.strip().removeprefix("cellway: ")
        rows = json.loads(done.stdout)["points"][0]["figures"]
        figures = {(row["subject"], row["metric"]): row["mean"] for row in rows}
        return figures, resent(Path(folder, "flow-1.pcap"), warmup)
