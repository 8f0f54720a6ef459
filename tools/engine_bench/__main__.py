"""`make bench` ends with this table: the engine with a calendar, the default one, and the targets.

    PYTHONPATH=tools .venv/bin/python -m engine_bench [--quick] [--only PART,...] [--turns N] [--page FILE]

Nothing else should run on the machine. Where a run has one thread, its processor time counts, and the engines take
turns; studies, sweeps and emulation are measured by the clock. The studies take up to eight minutes on two cores, all
else as long again.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from engine_bench.measure import PARTS
from engine_bench.programs import Programs, SkippedError
from engine_bench.table import WORKS, Figures, as_text, into_page, row

QUIET = 0.1
"""The processors that others may keep busy."""


def busy(seconds: float = 2.0) -> float | None:
    """Return the processors that other programs keep busy, if Linux says so."""

    def read() -> tuple[int, int]:
        line = Path("/proc/stat").read_text(encoding="utf-8").splitlines()[0]
        times = [int(word) for word in line.split()[1:9]]
        return sum(times), sum(times[3:5])

    try:
        total, idle = read()
        time.sleep(seconds)
        total_then, idle_then = read()
    except OSError:
        return None
    return (os.cpu_count() or 1) * (1 - (idle_then - idle) / max(total_then - total, 1))


def machine() -> list[str]:
    """Return notes on where and when this is measured, before the first program runs."""
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        model = next(line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name"))
    except (OSError, StopIteration):
        model = "an unknown processor"
    notes = [f"{os.cpu_count()} cores of {model}, {datetime.datetime.now(tz=datetime.UTC).date()}"]
    others = busy()
    if others is not None and others > QUIET:
        notes.append(f"other programs keep {others:.1f} processors busy: what the clock measures says nothing")
    return notes


def parts(words: str) -> list[str]:
    """Return the names of parts that commas separate."""
    chosen = words.split(",")
    if unknown := set(chosen) - set(PARTS):
        raise argparse.ArgumentTypeError(f"{sorted(unknown)[0]!r} is no part; accepted: {', '.join(PARTS)}")
    return chosen


def main() -> None:
    """Measure, print the table, and write it into a page."""
    parser = argparse.ArgumentParser(prog="engine_bench", description="Cellway's two engines and their targets.")
    parser.add_argument("--quick", action="store_true", help="leave out the whole studies")
    parser.add_argument("--only", type=parts, help=f"some parts, with commas: {', '.join(PARTS)}")
    parser.add_argument("--turns", type=int, default=5, help="repetitions where a run is short (default 5)")
    parser.add_argument("--page", type=Path, help="a page to write the table into, such as performance.md")
    options = parser.parse_args()
    if options.page and options.only:
        parser.error("--page goes without --only: the page has the whole table")
    programs = Programs(Path(sysconfig.get_path("scripts"), "cellway"))
    notes = [*machine(), f"short runs: the median of {options.turns} turns"]
    measured: dict[str, list[Figures]] = {}
    for name, measure in PARTS.items():
        if name not in (options.only or PARTS):
            continue
        if name == "studies" and options.quick:
            notes.append("studies: skipped: --quick")
            continue
        print(f"measuring: {name}", file=sys.stderr, flush=True)
        measured[name] = []
        try:
            measured[name].extend(measure(programs, options.turns))
        except SkippedError as reason:
            notes.append(f"{name}: skipped: {reason}")
        except (subprocess.CalledProcessError, OSError) as error:
            notes.append(f"{name}: failed: {error}")
    rows = []
    for name, works in WORKS.items():
        if options.only and name not in options.only:
            continue
        figures = measured.get(name, [])
        rows += [row(work, figures[place] if place < len(figures) else None) for place, work in enumerate(works)]
    print(as_text(rows), *notes, sep="\n")
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(into_page(page, rows, notes), encoding="utf-8")
    sys.exit(any(": failed: " in note for note in notes))


if __name__ == "__main__":
    main()
