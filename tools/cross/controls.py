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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, isnan, nan
from pathlib import Path
from statistics import fmean

from cross.runs import GOLDEN, HAIR, by_name
from cross.words import percent, signed, wrapped

WARMUP = 0.25
"""The share of a run that is its warm-up."""
AT_ONCE = 2
"""Paths that run side by side: an emulation takes a fifth of a processor, and a late one is found by its lateness."""
LATE = 0.1
"""The largest lateness of a valid run, as a share of the round trip."""
CLOSE = 0.1
"""A larger deviation needs an explanation."""
RUNS = 3
"""The kernel's runs of a path whose first is not close. Each has its own round trip and losses."""
OURS = 8
"""The simulator's runs of a path, of which the first are those of the kernel."""
FEW = 20
"""Drops and marks of fewer packets are compared by their difference: a share of them says little."""
STEPS = {"cubic, 10 Mbit/s, 10 ms, 1 BDP", "cubic, 20 Mbit/s, 40 ms, 1 BDP, 4 flows"}
"""Paths that come close in a copy of the simulator whose CUBIC counts as that of Linux does."""
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
    def burst(self) -> float:
        """The packets that Linux sends together: those of 1 ms at the pacing rate, and at least two."""
        return max(2.0, self.rate / 8 / 1.5)

    @property
    def duration(self) -> int:
        """The length of a run (s): a window of the longest round trip takes 10 s from one loss to the next."""
        return 60 if self.rtt > 100 else 20

    @property
    def warmup(self) -> float:
        """The length of the warm-up (s)."""
        return WARMUP * self.duration

    def scenario(self, number: int) -> str:
        """Return the path as the scenario file of a run, which sets its round trip and its losses."""
        delay = self.rtt / 2 * (1 + HAIR * (number * GOLDEN % 1))
        buffer = max(6, round(self.share * self.rate * 1e3 * self.rtt / 8 / 1500)) * 1500
        flows = ", ".join(f'"flow-{i + 1}"' for i in range(self.flows))
        return f"""version = 1
name = "controls"
node = [{{ name = "left", kind = "router" }}, {{ name = "right", kind = "router" }}]
[run]
seed = {number + 1}
duration = "{self.duration} s"
warmup = "{self.warmup:g} s"
emulate = {{ lateness-limit = "{LATE * self.rtt:g} ms" }}
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
delay = "{delay * 1e6:.0f} ns"
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
    ours: list[dict[str, float]]
    kernel: list[dict[str, float]]
    valid: bool = True

    def means(self, figure: str) -> tuple[float, float]:
        """Return the mean of the simulator's runs and that of the kernel's."""
        return fmean(run[figure] for run in self.ours), fmean(run[figure] for run in self.kernel)

    def deviation(self, figure: str) -> float:
        """The simulator's figure over the kernel's, less 1; not a number if they count few packets."""
        ours, theirs = self.means(figure)
        if figure in {"drops", "marks"} and max(ours, theirs) < FEW:
            return nan
        return ours / theirs - 1 if theirs else (0.0 if ours == theirs else inf)

    @property
    def far(self) -> list[str]:
        """The figures that deviate by more than is close."""
        return [figure for figure in FIGURES if abs(self.deviation(figure)) > CLOSE]

    def cause(self, figure: str) -> str:
        """Return the cause of a figure that is far, or an empty text."""
        ours = [run[figure] for run in self.ours]
        theirs = [run[figure] for run in self.kernel]
        if max(min(ours), min(theirs)) <= min(max(ours), max(theirs)):
            return "spread"
        if self.path.control == "bbr":
            return "version"
        if self.path.name in STEPS:
            return "steps"
        difference = abs(fmean(ours) - fmean(theirs))
        return "bursts" if figure == "queue" and difference < self.path.burst else ""

    @property
    def note(self) -> str:
        """The causes of the figures that are far, and a late run."""
        causes = {self.cause(figure) or "**unexplained**" for figure in self.far}
        return ", ".join([*sorted(causes), *([] if self.valid else ["late"])])


def paths() -> list[Line]:
    """Return the 40 paths."""
    found = []
    for control in CONTROLS:
        found += [Line(control, rate, rtt, 1.0) for rate in (2, 10, 50) for rtt in (10, 40, 150)]
        found += [Line(control, 10, 40, share) for share in (0.5, 4.0)]
        found += [Line(control, 20, 40, 1.0, flows=4), Line(control, 20, 40, 1.0, loss=0.1)]
    return [*found, Line("cubic", 100, 20, 1.0)]


def run(command: str, mode: str, path: Line, number: int) -> tuple[dict[str, float], bool]:
    """Return the figures of one run of a path, and true if the run is valid."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "path.toml")
        file.write_text(path.scenario(number), encoding="utf-8")
        done = subprocess.run([command, mode, str(file), "--json"], capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(f"{path.name}: cellway {mode} ended with status {done.returncode}: {done.stderr.strip()}")
    document = json.loads(done.stdout)
    rows = by_name(document)
    flows, port = [f"flow-{i + 1}" for i in range(path.flows)], "left>right"
    figures = {
        "goodput": sum(rows[flow, "goodput"] for flow in flows),
        "srtt": fmean(rows[flow, "srtt_mean"] for flow in flows),
        "queue": rows[port, "queue_mean"],
        "drops": rows.get((port, "dropped_packets"), 0.0),
        "marks": rows.get((port, "marked"), 0.0),
    }
    return figures, bool(document.get("valid", True))


def compare(command: str, path: Line) -> Compared:
    """Return a path in both; the kernel runs again where its first run is not close."""
    ours = [run(command, "simulate", path, number)[0] for number in range(OURS)]
    first, valid = emulated(command, path, 0)
    if not Compared(path, ours[:1], [first]).far and not Compared(path, ours, [first]).far:
        return Compared(path, ours, [first], valid)
    more = [emulated(command, path, number) for number in range(1, RUNS)]
    return Compared(path, ours, [first, *(figures for figures, _ in more)], valid and all(ok for _, ok in more))


def emulated(command: str, path: Line, number: int) -> tuple[dict[str, float], bool]:
    """Return the figures of a run with the kernel; a late one is repeated once."""
    figures, valid = run(command, "emulate", path, number)
    return (figures, True) if valid else run(command, "emulate", path, number)


def kernel_version() -> str:
    """Return the release of the running kernel."""
    return Path("/proc/sys/kernel/osrelease").read_text(encoding="utf-8").strip()


def page(all_compared: Sequence[Compared]) -> str:
    """Return the page."""
    close = [one for one in all_compared if not one.far]
    nearer = [one for one in close if not any(abs(one.deviation(figure)) > CLOSE / 2 for figure in FIGURES)]
    cubic = [one for one in all_compared if one.path.control == "cubic"]
    unexplained = sum(not one.cause(figure) for one in all_compared for figure in one.far)
    paragraphs = [
        "Made by `make cross`; do not edit. The paths are in `tools/cross/controls.py`.",
        f"CUBIC, Reno with ECN before CoDel, and BBR over {len(all_compared)} paths: the simulator beside the TCP of a "
        f"kernel ({kernel_version()}) over the same path in real time. A run takes 20 s, or 60 s where the round trip "
        f"is 150 ms; the first quarter is warm-up. The simulator runs a path {OURS} times, with round trips that "
        f"differ by up to {percent(HAIR)} and with other random losses. The kernel runs it once, and {RUNS} times "
        f"where a figure of the first is not within {percent(CLOSE, 0)}. Drops and marks of fewer than {FEW} packets "
        "are not compared (-).",
        f"**{len(close)} of {len(all_compared)} are within {percent(CLOSE, 0)} in all five figures**, {len(nearer)} of "
        f"them within {percent(CLOSE / 2, 0)}; of the {len(cubic)} of CUBIC, {sum(one in close for one in cubic)} and "
        f"{sum(one in nearer for one in cubic)}. A deviation is the simulator's mean over the kernel's, less 1.",
        "Larger deviations have these causes:",
        "- **spread**: the runs of the simulator and those of the kernel overlap. Which packets are lost at random, or "
        "the instant at which a queue fills, decides the figure more than the program does.",
        "- **steps**: the CUBIC of Linux has a window of whole segments, rounds ssthresh down to them, and computes "
        "its pace anew at most 32 times a second while the window stays (`bictcp_update`); RFC 9438 has none of these, "
        "nor has the simulator. In a copy of it that counts so, the mean queue over 10 Mbit/s and 10 ms fell from 5.4 "
        "to 4.8 packets and the drops from 67 to 57, and with four flows the drops from 64 to 50: the kernel's, within "
        "10 %. That was measured once; the copy was not kept.",
        "- **bursts**: the mean queues differ by fewer packets than Linux sends together, which is 1 ms at its pacing "
        "rate and at least two (`tcp_tso_autosize`); in the simulator each acknowledgement sends what it allows. The "
        "queue of a line that is not full is little more than such bursts. The windows are the same.",
        "- **version**: the kernel's `bbr` is version 1, and the simulator has version 3. Version 1 takes no bound "
        "from losses and leaves no headroom, so that it fills a buffer of one product; it probes in cycles of eight "
        "round trips, and enters ProbeRTT each 10 s with four segments, version 3 each 5 s with half a product. "
        "Probes of version 3 last three round trips at least, so that over 150 ms its mean queue is the larger one. "
        "These rows show how far apart the versions are, and not that one of them is wrong.",
        f"- **unexplained**: none of these. {unexplained} figures of all.",
    ]
    lines = ["# Congestion controls against the kernel", ""]
    for text, after in zip(paragraphs, [*paragraphs[1:], ""], strict=True):
        lines += [wrapped(text), *([] if text.startswith("- ") and after.startswith("- ") else [""])]
    lines += ["| path | " + " | ".join(FIGURES.values()) + " | |", "|---|" + "---|" * (len(FIGURES) + 1)]
    for one in all_compared:
        deviations = [one.deviation(figure) for figure in FIGURES]
        cells = ["-" if isnan(value) else "from 0" if value == inf else signed(value) for value in deviations]
        lines.append(f"| {one.path.name} | {' | '.join(cells)} | {one.note} |")
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
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for one in pool.map(lambda path: compare(options.command, path), wanted):
            found.append(one)
            figures = ", ".join(f"{figure} {signed(one.deviation(figure))}" for figure in FIGURES)
            print(f"{one.path.name}: {figures}", flush=True)
    if options.page:
        options.page.write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
