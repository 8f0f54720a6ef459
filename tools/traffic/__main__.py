"""Compares real traffic with its simulation and writes the page: `make traffic`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from traffic import compared, page, runs
from traffic.classes import CLASSES, Class, missing, unable

NOTES = Path(__file__).with_name("notes.txt")
"""Remarks for the page, one a line, which somebody has written who looked into a deviation."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all figures agree, or differ within their error, or if this machine can run none of the programs."""
    beside = Path(sys.executable).with_name("cellway")
    parser = argparse.ArgumentParser(prog="traffic", description="Compares real traffic with its simulation.")
    parser.add_argument("--page", type=Path, help="where to write the page")
    parser.add_argument("--figure", type=Path, help="where to write the figure")
    parser.add_argument("--seconds", type=float, default=180, help="the time in which programs start (default: 180)")
    parser.add_argument("--seeds", type=int, default=40, help="simulated runs (default: 40)")
    parser.add_argument("--threads", type=int, default=2, help="simulated runs at once (default: 2)")
    parser.add_argument("--only", default="", help="classes, with commas (default: all)")
    parser.add_argument("--keep", type=Path, help="an empty folder for captures and the workload")
    parser.add_argument("--again", type=Path, help="the folder that --keep has filled: no program runs")
    parser.add_argument("--cellway", default=str(beside) if beside.is_file() else "cellway", help="the program")
    options = parser.parse_args(arguments)

    if lacking := unable():
        print(f"skipped: {lacking}")
        return 0
    wanted = [one for one in CLASSES if not options.only or one.name in options.only.split(",")]
    lacking_of = {one.name: missing(one) for one in wanted if missing(one)}
    classes = [one for one in wanted if one.name not in lacking_of]
    for name, what in lacking_of.items():
        print(f"skipped: {name}: not installed: {what}")
    folder = options.again or options.keep or Path(tempfile.mkdtemp(prefix="traffic-"))
    try:
        run = measure(options, classes, lacking_of, folder)
    except runs.CannotRunError as error:
        print(f"not compared: {error}", file=sys.stderr)
        return 1
    finally:
        if not (options.keep or options.again):
            shutil.rmtree(folder, ignore_errors=True)
    for one in run.compared:
        print(
            f"{one.name}: {one.figure}: {one.real:.3f}, simulated {one.simulated:.3f} ± {one.error:.3f}: {one.verdict}"
        )
    if options.page:
        options.page.write_text(page.page(run), encoding="utf-8")
        print(f"written: {options.page}")
    if options.figure:
        from cellway.plot import style

        options.figure.write_text(style.svg(page.draw(run)), encoding="utf-8")
        print(f"written: {options.figure}")
    return 1 if any(one.verdict == "**no**" for one in run.compared) else 0


def measure(options: argparse.Namespace, classes: Sequence[Class], lacking: dict[str, str], folder: Path) -> page.Run:
    """Run the programs, derive the workload, and simulate it in both ways."""
    command, seconds = options.cellway, options.seconds
    real = runs.read(folder, classes) if options.again else runs.real(command, folder, classes, seconds)
    counts = {name: len(all_of) for name, all_of in real.conversations.items()}
    print(f"conversations: {counts}", flush=True)
    both, derived = [], ""
    for messages in (True, False):
        file = folder / ("whole.toml" if messages else "exchanges.toml")
        table = runs.derive(command, real.capture, classes, file, messages=messages)
        derived = derived or table
        text = file.read_text(encoding="utf-8")
        played = [one for one in classes if f'name = "{one.name}"' in text]
        seeds = range(1, options.seeds + 1)
        both.append(runs.simulated(command, file, played, runs.times(real.conversations), seeds, options.threads))
    names = [one.name for one in classes]
    whole, drawn = both
    notes = NOTES.read_text(encoding="utf-8").splitlines() if NOTES.is_file() else []
    return page.Run(
        classes, lacking, seconds, real, derived, whole, drawn,
        compared.compare(names, real.conversations, whole), compared.compare(names, real.conversations, drawn), notes,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
