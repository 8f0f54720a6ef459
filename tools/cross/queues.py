"""Queue disciplines against ns-2: datagrams at exponential distances into one queue, by discipline and load.

`make cross` writes the page; `python -m cross.queues --page FILE` writes it alone.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from cross.judge import half_width
from cross.red import Line, Red, adaptive, run
from cross.runs import simulate

SCRIPT = Path(__file__).with_name("queue.tcl")
RATE = 10_000_000
"""The rate of the line (bit/s)."""
PACKET = 1000
"""The length of a datagram (B)."""
DURATION, WARMUP = 60, 10
"""The length of a run and of its warm-up (s)."""
SEEDS = 20
"""The runs of each setting in each simulator."""
CLOSE = 0.02
"""The largest share by which a figure may differ if the intervals do not overlap."""
LOADS = (0.8, 0.95, 1.05, 1.2, 2.0)


@dataclass(frozen=True)
class Setting:
    """A discipline at a load, in both simulators."""

    name: str
    load: float
    buffer: int
    """Packets that may wait."""
    ours: str
    """The keys of `[buffer]`."""
    theirs: tuple[str, ...]
    """The settings of `queue.tcl`."""
    red: Red | None = None
    """The parameters of RED in `red.py`, if it is RED."""


@dataclass(frozen=True)
class Figures:
    """The figures of a run after its warm-up."""

    loss: float
    """The share of datagrams that the queue dropped."""
    queue: float
    """The mean number of packets that wait."""


@dataclass(frozen=True)
class Interval:
    """A mean over runs, with its 95 % confidence interval."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Return that of these runs."""
        return cls(fmean(values), half_width(values))

    def agrees(self, other: Interval) -> bool:
        """Whether the intervals overlap or the means are within 2 %."""
        difference = abs(self.mean - other.mean)
        return difference <= max(self.half + other.half, CLOSE * other.mean)

    def shown(self, figure: str) -> str:
        """Return it with its unit."""
        scale, unit = (100, "%") if figure == "loss" else (1, "packets")
        return f"{self.mean * scale:.3f} ± {self.half * scale:.3f} {unit}"


@dataclass(frozen=True)
class Compared:
    """A figure of a setting, over all runs."""

    setting: Setting
    figure: str
    ours: Interval
    theirs: Interval

    @property
    def deviation(self) -> float:
        """The difference of the means, as a share of that of ns-2; 0 if both are 0."""
        return (self.ours.mean - self.theirs.mean) / self.theirs.mean if self.theirs.mean else self.ours.mean

    @property
    def agrees(self) -> bool:
        """Whether the two agree."""
        return self.ours.agrees(self.theirs)


@dataclass(frozen=True)
class Explained:
    """A figure that differs, by a third implementation: as in the papers of RED, and with the habits of ns-2."""

    compared: Compared
    papers: Interval
    habits: Interval

    @property
    def is_explained(self) -> bool:
        """Whether the papers give Cellway's figure, and the habits that of ns-2."""
        return self.compared.ours.agrees(self.papers) and self.compared.theirs.agrees(self.habits)


def settings() -> list[Setting]:
    """Return all settings."""
    found = []
    for load in LOADS:
        found += [
            Setting("drop tail, 20 packets", load, 20, "", ("discipline=DropTail",)),
            Setting("RED", load, 1000, 'queue = "red"\n', ("discipline=RED",), Red()),
            Setting(
                "RED, 20 to 60 packets, 10 %",
                load,
                1000,
                'queue = "red"\nred = { min = "20 packet", max = "60 packet", max-p = "10 %" }\n',
                ("discipline=RED", "min=20", "max=60", "maxp=0.1"),
                Red(20, 60, 0.1),
            ),
            Setting(
                "adaptive RED",
                load,
                1000,
                'queue = "ared"\n',
                ("discipline=RED", "adaptive=1"),
                adaptive(RATE),
            ),
        ]
    return found


def scenario(setting: Setting, seed: int) -> str:
    """Return the setting as a scenario file."""
    return f"""version = 1
name = "queues"
node = [{{ name = "left", kind = "router" }}, {{ name = "right", kind = "router" }}]

[run]
duration = "{DURATION} s"
warmup = "{WARMUP} s"
seed = {seed}

[buffer]
size = "{setting.buffer * PACKET} B"
per = "port"
count = "packet"
{setting.ours}
[[link]]
between = ["left", "right"]
rate = "{RATE} bit/s"
delay = "1 ms"
framing = "packet"

[[traffic]]
name = "flow"
from = "left"
to = "right"
access = {{ rate = "1000 Gbit/s", delay = "0 s", framing = "packet" }}
udp = {{ packet = "{PACKET} B", rate = "{RATE * setting.load:.0f} bit/s", source = "poisson" }}
"""


def in_cellway(command: str, setting: Setting, seed: int) -> Figures:
    """Run the setting in Cellway."""
    figures = simulate(command, scenario(setting, seed))
    sent, dropped = figures["left>right", "packets"], figures["left>right", "dropped_packets"]
    return Figures(dropped / (sent + dropped), figures["left>right", "queue_mean"])


def in_ns2(command: str, setting: Setting, seed: int) -> Figures:
    """Run the setting in ns-2."""
    words = [
        *setting.theirs,
        f"rate={RATE}",
        f"load={setting.load}",
        f"packet={PACKET}",
        f"buffer={setting.buffer}",
        f"duration={DURATION}",
        f"warmup={WARMUP}",
        f"seed={seed}",
    ]
    done = subprocess.run([command, str(SCRIPT), *words], capture_output=True, text=True, check=True)
    figures = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
    return Figures(figures["dropped"] / (figures["sent"] + figures["dropped"]), figures["queue"])


def compare(command: str, ns2: str, chosen: Sequence[Setting], seeds: int, threads: int) -> list[Compared]:
    """Run the settings in both simulators and compare their figures."""

    def one(setting: Setting) -> list[Compared]:
        runs = range(1, seeds + 1)
        ours = [in_cellway(command, setting, seed) for seed in runs]
        theirs = [in_ns2(ns2, setting, seed) for seed in runs]
        return [
            Compared(
                setting,
                figure,
                Interval.of([getattr(run, figure) for run in ours]),
                Interval.of([getattr(run, figure) for run in theirs]),
            )
            for figure in ("loss", "queue")
        ]

    with ThreadPoolExecutor(threads) as pool:
        return [compared for both in pool.map(one, chosen) for compared in both]


def explain(compared: Compared, seeds: int) -> Explained | None:
    """Return the figure of the third implementation; `None` for a discipline that it does not have."""
    setting, red = compared.setting, compared.setting.red
    if red is None:
        return None

    def of(red: Red) -> Interval:
        line = Line(RATE, setting.load, PACKET, DURATION, WARMUP)
        runs = [run(red, seed, line) for seed in range(1, seeds + 1)]
        figures = [Figures(dropped / (dropped + sent), queue) for dropped, sent, queue in runs]
        return Interval.of([getattr(figure, compared.figure) for figure in figures])

    return Explained(compared, of(red), of(replace(red, spares_few=True, is_gentle_fixed=True)))


def page(found: Sequence[Compared], explained: Sequence[Explained | None], seeds: int) -> str:
    """Return the page."""
    agreeing = sum(compared.agrees for compared in found)
    causes = [cause for cause in explained if cause is not None and cause.is_explained]
    lines = [
        "# Queue disciplines against ns-2",
        "",
        "Made by `make cross`; do not edit. The settings are in `tools/cross/queues.py`, those of ns-2 in",
        "`tools/cross/queue.tcl`.",
        "",
        f"Datagrams of {PACKET} B at exponential distances enter one queue before a line of {RATE // 10**6} Mbit/s.",
        f"Each setting has {seeds} runs of {DURATION} s in each simulator, each with its own random numbers. The",
        f"share of datagrams that are dropped and the mean queue are those after {WARMUP} s, with their 95 %",
        f"confidence intervals. They agree if the intervals overlap or the means are within {CLOSE:.0%}.",
        "",
        f"**{agreeing} of {len(found)} agree**; {len(causes)} of the others are explained below.",
        "",
        "In ns-2 `wait_` is false, so that gaps between drops are as in figure 2 of the paper of RED, and",
        "`gentle_` is true. The parameters are the defaults of `red` and `ared` unless the row says others.",
        "",
        "| queue | load | figure | Cellway | ns-2 | deviation | agrees |",
        "|---|---|---|---|---|---|---|",
    ]
    for compared in found:
        deviation = f"{compared.deviation:+.1%}" if compared.theirs.mean else "-"
        lines.append(
            _row(compared, [compared.ours, compared.theirs], [deviation, "yes" if compared.agrees else "**no**"])
        )
    lines += [
        "",
        "## Causes",
        "",
        "`tools/cross/red.py` has RED and adaptive RED a third time, in a page of Python from their papers, and",
        "with two habits of ns-2.35 (`red.cc`):",
        "",
        "- A packet that finds fewer than two others is not dropped early, whatever the average, and the count of",
        "  the spread begins again. With thresholds of a few packets the queue of the papers runs empty more often,",
        "  and loses more.",
        "- Above `maxthresh_` the gentle line starts from the `max_p` of the start, not from the adapted one. At",
        "  twice the rate of the line the average stays above `maxthresh_` for good, where that line gives the",
        "  probability that is needed.",
        "",
        "A difference is explained if the papers give Cellway's figure and the two habits that of ns-2.",
        "",
        "| queue | load | figure | Cellway | papers | ns-2 | with its habits | explained |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cause in explained:
        if cause is not None:
            compared = cause.compared
            four = [compared.ours, cause.papers, compared.theirs, cause.habits]
            lines.append(_row(compared, four, ["yes" if cause.is_explained else "**no**"]))
    return "\n".join(lines) + "\n"


def _row(compared: Compared, intervals: Sequence[Interval], last: Sequence[str]) -> str:
    figure = "dropped" if compared.figure == "loss" else "mean queue"
    shown = [interval.shown(compared.figure) for interval in intervals]
    return f"| {' | '.join([compared.setting.name, f'{compared.setting.load:g}', figure, *shown, *last])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare all settings and write the page; 1 if any does not agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="the page to write")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--command", default=str(Path(sys.executable).with_name("cellway")), help="the program cellway")
    options = parser.parse_args(arguments)
    ns2 = shutil.which("ns")
    if ns2 is None:
        print("ns is not installed (Debian: ns2): no comparison of queues")
        return 0
    found = compare(options.command, ns2, settings(), options.seeds, options.threads)
    different = [compared for compared in found if not compared.agrees]
    with ProcessPoolExecutor(options.threads) as pool:
        explained = list(pool.map(explain, different, [options.seeds] * len(different)))
    text = page(found, explained, options.seeds)
    if options.page:
        options.page.write_text(text, encoding="utf-8")
    else:
        print(text)
    unexplained = [
        compared
        for compared, cause in zip(different, explained, strict=True)
        if cause is None or not cause.is_explained
    ]
    for compared in unexplained:
        deviation = f"{compared.deviation:+.1%}"
        print(f"{compared.setting.name}, load {compared.setting.load}, {compared.figure}: {deviation}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
