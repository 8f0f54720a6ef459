"""Controls against the kernel: CUBIC, Reno with ECN and BBR over 40 paths, by `cellway emulate` in real time.

`python -m cross.controls --page FILE` writes the page; `make cross` does, too. It needs a machine that can emulate, and
about half an hour of it alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import cellway

from cross.runs import by_name
from cross.words import signed

DURATION, WARMUP = 20, 5
"""The length of a run and of its warm-up (s)."""
LATE = 0.1
"""The largest lateness of a valid run, as a share of the round trip."""
CLOSE = 0.1
"""A larger deviation needs an explanation."""
RUNS = 3
"""The kernel's runs of a path whose first is not close."""
FEW = 20
"""Drops and marks of fewer packets are compared by their difference: a share of them says little."""
CONTROLS = {
    "cubic": 'control = "cubic"\nrecovery = "rack"\n',
    "reno-ecn": 'control = "reno"\nrecovery = "rack"\necn = true\n',
    "bbr": 'control = "bbr"\nrecovery = "rack"\n',
}
QUEUES = {"cubic": "", "reno-ecn": 'queue = "codel"\ncodel = { ecn = true }\n', "bbr": ""}
FIGURES = {"goodput": "goodput", "srtt": "round trip", "queue": "mean queue", "drops": "drops", "marks": "marks"}


@dataclass(frozen=True)
class Line:
    """One path. Rate in Mbit/s, round trip in ms, the buffer in bandwidth-delay products."""

    control: str
    rate: float
    rtt: float
    share: float
    flows: int = 1
    loss: float = 0.0

    @property
    def name(self) -> str:
        """A short description of the path."""
        loss = f", loss {self.loss:g} %" if self.loss else ""
        flows = f", {self.flows} flows" if self.flows > 1 else ""
        return f"{self.control}, {self.rate:g} Mbit/s, {self.rtt:g} ms, {self.share:g} BDP{flows}{loss}"

    @property
    def scenario(self) -> str:
        """The path as a scenario file."""
        buffer = max(6, round(self.share * self.rate * 1e3 * self.rtt / 8 / 1500)) * 1500
        flows = ", ".join(f'"flow-{i + 1}"' for i in range(self.flows))
        return f"""version = 1
name = "controls"
node = [{{ name = "left", kind = "router" }}, {{ name = "right", kind = "router" }}]
run = {{ duration = "{DURATION} s", warmup = "{WARMUP} s", emulate = {{ lateness-limit = "{LATE * self.rtt:g} ms" }} }}
[buffer]
size = "{buffer} B"
per = "port"
count = "packet"
{QUEUES[self.control]}
[tcp]
window = "32 MiB"
{CONTROLS[self.control]}
[[link]]
between = ["left", "right"]
rate = "{self.rate:g} Mbit/s"
delay = "{self.rtt / 2:g} ms"
framing = "packet"
forward = {{ loss = "{self.loss:g} %" }}
[[traffic]]
name = "flow"
app = "bulk"
count = {self.flows}
from = "left"
to = "right"
stagger = "37 ms"
access = {{ rate = "1 Gbit/s", delay = "0 s", framing = "packet" }}
[observe]
interval = "100 ms"
flows = [{flows}]
"""


@dataclass(frozen=True)
class Compared:
    """The figures of a path in both."""

    path: Line
    ours: dict[str, float]
    kernel: list[dict[str, float]] = field(default_factory=list)
    valid: bool = True

    def theirs(self, figure: str) -> float:
        """The mean of the kernel's runs."""
        return fmean(run[figure] for run in self.kernel)

    def deviation(self, figure: str) -> float:
        """The simulator's figure over the kernel's, less 1; of few packets, 0 if the difference is small, too."""
        ours, theirs = self.ours[figure], self.theirs(figure)
        if figure in {"drops", "marks"} and max(ours, theirs) < FEW:
            return 0.0
        return ours / theirs - 1 if theirs else (0.0 if ours == theirs else 1.0)

    @property
    def far(self) -> list[str]:
        """The figures that deviate by more than is close."""
        return [figure for figure in FIGURES if abs(self.deviation(figure)) > CLOSE]


def paths() -> list[Line]:
    """Return the 40 paths."""
    found = []
    for control in CONTROLS:
        found += [Line(control, rate, rtt, 1.0) for rate in (2, 10, 50) for rtt in (10, 40, 150)]
        found += [Line(control, 10, 40, share) for share in (0.5, 4.0)]
        found += [Line(control, 20, 40, 1.0, flows=4), Line(control, 20, 40, 1.0, loss=0.1)]
    return [*found, Line("cubic", 100, 20, 1.0)]


def run(command: str, mode: str, path: Line) -> tuple[dict[str, float], bool]:
    """Return the figures of a path in one run, and whether the run is valid."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, "path.toml"), Path(folder, "out")
        file.write_text(path.scenario, encoding="utf-8")
        done = subprocess.run(
            [command, mode, str(file), "--json", "--out", str(out)], capture_output=True, text=True, check=False
        )
        if not done.stdout.strip():
            raise RuntimeError(
                f"{path.name}: cellway {mode} ended with status {done.returncode}: {done.stderr.strip()}"
            )
        document = json.loads(done.stdout)
        rows = by_name(document)
        series = cellway.load(out).series("srtt")
        trips = series.filter((series["t"] > WARMUP) & series["subject"].str.starts_with("flow-"))["value"].to_list()
        port = "left>right"
        figures = {
            "goodput": sum(rows[f"flow-{i + 1}", "goodput"] for i in range(path.flows)),
            "srtt": fmean(trips),
            "queue": rows[port, "queue_mean"],
            "drops": rows.get((port, "dropped_packets"), 0.0),
            "marks": rows.get((port, "marked"), 0.0),
        }
        return figures, bool(document.get("valid", True))


def compare(command: str, path: Line) -> Compared:
    """Return a path in both; the kernel runs again where its first run is not close."""
    ours, _ = run(command, "simulate", path)
    first, valid = run(command, "emulate", path)
    compared = Compared(path, ours, [first], valid)
    if not compared.far:
        return compared
    more = [run(command, "emulate", path) for _ in range(RUNS - 1)]
    return Compared(path, ours, [first, *(figures for figures, _ in more)], valid and all(ok for _, ok in more))


def kernel_version() -> str:
    """Return the release of the running kernel."""
    return Path("/proc/sys/kernel/osrelease").read_text(encoding="utf-8").strip()


def page(all_compared: Sequence[Compared]) -> str:
    """Return the page."""
    close = [one for one in all_compared if not one.far]
    lines = [
        "# Congestion controls against the kernel",
        "",
        "Made by `make cross`; do not edit. The paths are in `tools/cross/controls.py`.",
        "",
        f"CUBIC, Reno with ECN before CoDel, and BBR over {len(all_compared)} paths: the simulator beside the TCP of a",
        f"kernel ({kernel_version()}) over the same path in real time. Runs of {DURATION} s, of which {WARMUP} s are",
        f"warm-up; a path whose first run of the kernel is not within {CLOSE:.0%} in each figure has {RUNS} of them.",
        "",
        f"**{len(close)} of {len(all_compared)} are within {CLOSE:.0%} in all five figures.** A deviation is the",
        "simulator's figure over the kernel's, less 1.",
        "",
        "The kernel's `bbr` is version 1 unless it was built with version 3: it has neither the bounds from losses nor",
        "the headroom, cruises with probes in eight phases, and enters ProbeRTT each 10 s with four segments. Its rows",
        "say how far the two versions are apart, not that one of them is wrong.",
        "",
        "| path | " + " | ".join(FIGURES.values()) + " | |",
        "|---|" + "---|" * (len(FIGURES) + 1),
    ]
    for one in all_compared:
        cells = [signed(one.deviation(figure)) for figure in FIGURES]
        note = "" if one.valid else "late"
        lines.append(f"| {one.path.name} | {' | '.join(cells)} | {note} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Compare all paths and write the page."""
    parser = argparse.ArgumentParser(prog="python -m cross.controls", description=__doc__)
    parser.add_argument("--command", default="cellway", help="the program (default: that on the PATH)")
    parser.add_argument("--page", type=Path, help="the file to write")
    parser.add_argument("--only", default="", help="the beginning of the names of paths")
    options = parser.parse_args(arguments)
    wanted = [path for path in paths() if path.name.startswith(options.only)]
    found = []
    for path in wanted:
        one = compare(options.command, path)
        found.append(one)
        print(
            f"{path.name}: " + ", ".join(f"{figure} {signed(one.deviation(figure))}" for figure in FIGURES), flush=True
        )
    if options.page:
        options.page.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
