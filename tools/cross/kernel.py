"""CUBIC in the simulator and with the TCP of the kernel, over the same line by `cellway emulate`, in real time."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cross.grid import Point
from cross.runs import scenario, simulate

DURATION = 20.0  # s
LATE = 0.1
"""The most lateness of a valid run, as a share of the round trip: it adds to that."""
TCP = 'profile = "linux-6"\n'
BUSY = 2
"""An emulation is tried so often until it is valid."""


@dataclass(frozen=True)
class Emulated:
    """A point with the kernel's TCP."""

    point: Point
    simulated: float
    """Goodput in the simulator (bit/s)."""
    goodput: float
    """With the kernel (bit/s)."""
    valid: bool
    lateness: float
    """The 99th percentile (s)."""

    @property
    def deviation(self) -> float:
        """The simulator's goodput over the kernel's, less 1."""
        return self.simulated / self.goodput - 1 if self.goodput else 0.0


def points() -> list[Point]:
    """Eight: 1 to 100 Mbit/s, 20 and 100 ms, half a bandwidth-delay product of buffer and a whole one."""
    corners = [(1, 0.1), (5, 0.02), (20, 0.1), (100, 0.02)]
    return [_point(rate * 1_000_000, rtt, share) for rate, rtt in corners for share in (0.5, 1.0)]


def _point(rate: int, rtt: float, share: float) -> Point:
    buffer = max(4, round(share * rate * rtt / 8 / 1500))
    return Point(0, share, "cubic", rate, rtt, buffer, 1, 0.0, 0.001, 0.2, 10, True, True, 1460, DURATION)


def run(command: str) -> list[Emulated] | str:
    """All points, or why this machine cannot emulate."""
    done = []
    for point in points():
        text = scenario(point, tcp=TCP, extra=f'\n[run.emulate]\nlateness-limit = "{LATE * point.rtt * 1e6:.0f} us"\n')
        figures = simulate(command, text, 1)[0]
        for _ in range(BUSY):
            found = emulate(command, text)
            if isinstance(found, str) or found["emulation", "valid"]:
                break
        if isinstance(found, str):
            return found
        goodput = figures["flow-1", "goodput"]
        valid, lateness = bool(found["emulation", "valid"]), found["emulation", "lateness_p99"]
        done.append(Emulated(point, goodput, found["flow-1", "goodput"], valid, lateness))
    return done


def emulate(command: str, text: str) -> dict[tuple[str, str], float] | str:
    """The figures of an emulation by subject and metric, or why it cannot be."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "point.toml")
        file.write_text(text, encoding="utf-8")
        done = subprocess.run([command, "emulate", str(file), "--json"], capture_output=True, text=True, check=False)
    # A run that was late ends with status 1, and its document.
    if not done.stdout.strip():
        return done.stderr.strip().removeprefix("cellway: ")
    rows = json.loads(done.stdout)["points"][0]["figures"]
    return {(row["subject"], row["metric"]): row["mean"] for row in rows}
