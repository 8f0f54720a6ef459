"""An estimate beside the path that was emulated."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path as File
from typing import Any

from paths.draw import Path

LIMITS = {"rate": 0.10, "rtt": 0.10, "buffer": 0.25}
"""The largest error of a value that is given, as a share of the true one."""


@dataclass(frozen=True)
class Judged:
    """The estimate from the capture of one end of a path."""

    path: Path
    end: str
    found: dict[str, Any] | None
    """The document of `cellway path from-pcap --json`; None if it refused the capture."""
    late: float = 0.0
    """The 99th percentile of the lateness of the emulation (ms)."""

    def truth(self, name: str) -> float:
        """The true value, in the unit of the document."""
        return {"rate": self.path.rate * 1e6, "rtt": self.path.rtt / 1e3, "buffer": float(self.path.buffer)}[name]

    def interval(self, name: str) -> tuple[float, float, float] | None:
        """Value, lower and upper end; None if the value is withheld."""
        of = self.found and self.found[name]
        return None if of is None else (of["value"], of["low"], inf if of["high"] is None else of["high"])

    def is_bound(self, name: str) -> bool:
        """True if the estimate is declared as the lower or the upper end of what is possible."""
        found = self.interval(name)
        return found is not None and (found[1] == 0.0 or found[2] == inf)

    def error(self, name: str) -> float | None:
        """The error of the value as a share of the true one."""
        found = self.interval(name)
        return None if found is None else found[0] / self.truth(name) - 1

    def covers(self, name: str) -> bool | None:
        """True if the interval has the true value."""
        found = self.interval(name)
        return None if found is None else found[1] <= self.truth(name) <= found[2]

    def is_close(self, name: str) -> bool | None:
        """True if the error is within the limit; None if the value is withheld, or declared as a bound."""
        error = self.error(name)
        return None if error is None or self.is_bound(name) else abs(error) <= LIMITS[name]

    @property
    def outside(self) -> list[str]:
        """The values that are neither close nor declared as bounds, or whose interval lacks the true one."""
        return [name for name in LIMITS if self.is_close(name) is False or self.covers(name) is False]

    @property
    def warnings(self) -> list[str]:
        """The warnings of the estimate."""
        return list(self.found["warnings"]) if self.found else ["no bulk transfer in the capture"]


def judge(path: Path, end: str, file: File, command: Sequence[str], late: float = 0.0) -> Judged:
    """Estimates the path from a capture."""
    done = subprocess.run([*command, "path", "from-pcap", str(file), "--json"], capture_output=True, text=True)
    if done.returncode != 0 and "bulk transfer" not in done.stderr:
        raise RuntimeError(f"{file}: {done.stderr.strip()}")
    return Judged(path, end, json.loads(done.stdout) if done.returncode == 0 else None, late)
