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
from cross.runs import by_name, scenario, simulate

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
CANNOT = "this machine cannot emulate"
"""The start of the message of `cellway emulate` that names what the machine lacks (`crates/sys/src/error.rs`)."""
LONG = 17
"""A round trip of so many packet times: within a quarter of it the third duplicate follows the lost segment."""


class CannotEmulateError(Exception):
    """The machine lacks what emulations need, which the message names."""


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
        """Return true if the deviation is at most 5 %."""
        return abs(self.deviation) <= TOLERANCE


@dataclass(frozen=True)
class Judged:
    """A point, and its deviation with the kernel's RACK timer removed."""

    emulated: Emulated
    without: Emulated | None = None
    """Over a longer round trip; where a point is not near, and its kernel resent before the third duplicate."""


@dataclass(frozen=True)
class Ran:
    """The emulations of all points."""

    judged: list[Judged]
    failed: list[str]
    """The points whose emulation failed, with its message."""


def points() -> list[Point]:
    """Return eight points: 1 to 100 Mbit/s, 20 and 100 ms, half a bandwidth-delay product of buffer and a whole one."""
    corners = [(1, 0.1), (5, 0.02), (20, 0.1), (100, 0.02)]
    return [_point(rate * 1_000_000, rtt, share) for rate, rtt in corners for share in (0.5, 1.0)]


def _point(rate: int, rtt: float, share: float) -> Point:
    buffer = max(4, round(share * rate * rtt / 8 / 1500))
    return Point(0, share, "cubic", rate, rtt, buffer, 1, 0.0, 0.001, 0.2, 10, True, True, 1460, DURATION)


def run(command: str) -> Ran | str:
    """Emulate all points, or return the reason why this machine cannot."""
    judged: list[Judged] = []
    failed: list[str] = []
    for point in points():
        try:
            judged.append(judge(command, point))
        except CannotEmulateError as lacking:
            # What the machine lacks, it lacks from the first point on.
            if not judged and not failed:
                return str(lacking)
            failed.append(f"{point.name}: {lacking}")
        except RuntimeError as error:
            failed.append(f"{point.name}: {error}")
    return Ran(judged, failed)


def judge(command: str, point: Point) -> Judged:
    """Emulate a point; if it is not near, make more runs, and some without RACK's timer."""
    one = emulate(command, point, 1)
    if abs(one.deviation) <= NEAR or not one.valid:
        return Judged(one)
    more = emulate(command, point, 1 + AGAIN)
    if abs(more.deviation) <= NEAR or not more.valid or not more.resent.early:
        return Judged(more)
    packet = point.packet * 8 / point.rate
    return Judged(more, emulate(command, dataclasses.replace(point, rtt=round(LONG * packet, 3)), 1 + AGAIN))


def emulate(command: str, point: Point, runs: int) -> Emulated:
    """Emulate a point this often."""
    text = scenario(point, tcp=TCP, extra=f'\n[run.emulate]\nlateness-limit = "{LATE * point.rtt * 1e6:.0f} us"\n')
    goodputs, lateness, valid, losses = [], 0.0, True, Resent(0, 0)
    for _ in range(runs):
        for _ in range(BUSY):
            figures, seen = _emulate(command, text, point.warmup)
            if figures["emulation", "valid"]:
                break
        goodputs.append(figures["flow-1", "goodput"])
        lateness = max(lateness, figures["emulation", "lateness_p99"])
        valid = valid and bool(figures["emulation", "valid"])
        losses = Resent(losses.events + seen.events, losses.early + seen.early)
    simulated = simulate(command, text)["flow-1", "goodput"]
    return Emulated(point, simulated, tuple(goodputs), valid, lateness, losses)


def _emulate(command: str, text: str, warmup: float) -> tuple[dict[tuple[str, str], float], Resent]:
    """Return the figures of an emulation by subject and metric, and its loss events."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "point.toml")
        file.write_text(text, encoding="utf-8")
        arguments = [command, "emulate", str(file), "--json", "--pcap", "flow-1"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        message = done.stderr.strip().removeprefix("cellway: ")
        if done.returncode and not done.stdout.strip():
            if message.startswith(CANNOT):
                raise CannotEmulateError(message)
            raise RuntimeError(f"cellway emulate ended with status {done.returncode}: {message or 'no message'}")
        try:
            document = json.loads(done.stdout)
        except json.JSONDecodeError as error:
            raise RuntimeError(
                f"cellway emulate ended with status {done.returncode} and no document: {error}"
            ) from None
        # A run that was late ends with status 1, and its document.
        if done.returncode != (0 if document["valid"] else 1):
            raise RuntimeError(f"cellway emulate ended with status {done.returncode}: {message or 'no message'}")
        return by_name(document), resent(Path(folder, "flow-1.pcap"), warmup)
