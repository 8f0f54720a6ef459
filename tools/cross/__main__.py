"""Runs the grid, judges it and writes the page: `make cross`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from cross import grid, judge, kernel
from cross.judge import FEWEST, UNEXPLAINED, Compared, bounds
from cross.page import kernel_verdict, left_over, page
from cross.runs import Figures, in_cellway
from cross.words import signed

KNOWN = Path(__file__).with_name("unexplained.txt")
"""The settings with an unexplained deviation, that deviation in %, and what remained with each cause removed. A new
setting, or a larger deviation, fails."""
SLACK = 0.1
"""The tolerated growth of a known deviation: goodputs move with any change of either end."""
NO_NS2 = "ns is not installed (Debian: ns2): no comparison, only the bounds that need no peer"


def known() -> dict[str, float]:
    """Read the unexplained deviations, by setting."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines() if KNOWN.is_file() else []
    return {name: float(deviation) / 100 for deviation, name, _ in (line.split("\t") for line in lines)}


def check_alone(command: str, points: Sequence[grid.Point], threads: int) -> tuple[list[Sequence[Figures]], list[str]]:
    """Return the runs of all points in Cellway, and the violations of the bounds that need no peer."""
    with ThreadPoolExecutor(threads) as pool:
        ours: list[Sequence[Figures]] = list(pool.map(lambda point: in_cellway(command, point, range(FEWEST)), points))

    def run(point: grid.Point, numbers: range) -> Sequence[Figures]:
        return in_cellway(command, point, numbers)

    families = groupby(zip(points, ours, strict=True), key=lambda pair: pair[0].family)
    return ours, [text for _, family in families for text in bounds(list(family), run)]


def compare(
    command: str, points: Sequence[grid.Point], ours: Sequence[Sequence[Figures]], threads: int
) -> list[Compared]:
    """Compare all points with ns-2, and find the cause of each deviation."""

    def one(pair: tuple[grid.Point, Sequence[Figures]]) -> Compared:
        return judge.compare(pair[0], pair[1], command, "ns")

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, zip(points, ours, strict=True)))


@dataclass(frozen=True)
class Unexplained:
    """A deviation without a cause."""

    name: str
    deviation: float
    peer: str
    tried: str


def without_cause(compared: Sequence[Compared], emulated: kernel.Ran | str) -> list[Unexplained]:
    """Return the unexplained deviations from ns-2 and from the kernel."""
    found = [
        Unexplained(one.point.name, one.deviation, "ns-2", left_over(one.tried))
        for one in compared
        if one.cause == UNEXPLAINED
    ]
    judged = [] if isinstance(emulated, str) else emulated.judged
    return found + [
        Unexplained(
            one.emulated.point.name, one.emulated.deviation, "the kernel", "RACK's timer" if one.without else ""
        )
        for one in judged
        if kernel_verdict(one) == UNEXPLAINED
    ]


def news(found: Sequence[Unexplained]) -> list[str]:
    """Return the unexplained deviations that are new or have grown."""
    listed = known()
    return [
        f"{one.name}: {signed(one.deviation)} against {one.peer}, unexplained"
        for one in found
        if one.name not in listed or abs(one.deviation) > abs(listed[one.name]) + SLACK
    ]


def accept(found: Sequence[Unexplained]) -> None:
    """Write the list of known deviations."""
    lines = [f"{100 * one.deviation:.1f}\t{one.name}\t{one.tried}\n" for one in found]
    KNOWN.write_text("".join(lines), encoding="utf-8")


def counts(compared: Sequence[Compared]) -> str:
    """Return the number of points that agree, and the causes of the others."""
    causes = Counter(one.cause for one in compared)
    words = [f"{causes.pop('', 0)} of {len(compared)} settings agree with ns-2 within 5 %"]
    return "; ".join(words + [f"{count} {cause}" for cause, count in sorted(causes.items())])


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all bounds hold and no unexplained deviation is new."""
    beside = Path(sys.executable).with_name("cellway")
    parser = argparse.ArgumentParser(prog="cross", description="Cross-checks TCP against ns-2 and the kernel.")
    parser.add_argument("--sixth", action="store_true", help="every sixth family of settings, no emulation, no page")
    parser.add_argument("--no-kernel", action="store_true", help="leaves out the emulations, which take real time")
    parser.add_argument("--page", type=Path, help="where to write the page")
    parser.add_argument("--accept", action="store_true", help="lists the unexplained deviations found as known")
    parser.add_argument("--threads", type=int, default=2, help="runs at once (default: 2)")
    parser.add_argument("--cellway", default=str(beside) if beside.is_file() else "cellway", help="the program")
    options = parser.parse_args(arguments)

    points = grid.sixth() if options.sixth else grid.points()
    ours, violated = check_alone(options.cellway, points, options.threads)
    print(f"{len(points)} settings in Cellway; bounds violated: {len(violated)}", flush=True)
    if shutil.which("ns") is None:
        print(f"skipped: {NO_NS2}")
        compared = []
    else:
        compared = compare(options.cellway, points, ours, options.threads)
        print(counts(compared), flush=True)
    left_out = options.sixth or options.no_kernel
    emulated = "left out" if left_out else kernel.run(options.cellway)
    if isinstance(emulated, str):
        print(f"skipped: CUBIC against the kernel: {emulated}")
    else:
        verdicts = Counter(kernel_verdict(one) for one in emulated.judged)
        print("CUBIC against the kernel: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())))
    unexplained = without_cause(compared, emulated)
    if options.accept:
        accept(unexplained)
    wrong = violated + news(unexplained) + ([] if isinstance(emulated, str) else emulated.failed)
    for text in wrong:
        print(f"wrong: {text}")
    if options.page and compared:
        options.page.write_text(page(compared, emulated, violated), encoding="utf-8")
        print(f"written: {options.page}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
