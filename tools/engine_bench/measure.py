"""What each part of the table measures: the two engines, and others beside them, in turns."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from engine_bench.programs import Programs, papers_with_engine, run
from engine_bench.table import OC12C, PAPERS, Figures

ENGINES = ("cells", "windows")
"""The calendar, and the default."""

PACKETS_UNTIL = (5, 105)
"""The ends of two runs whose difference is compared with htsim: neither set-up nor slow start counts (simulated s)."""


def over(a: list[float], b: list[float]) -> list[float]:
    """Return the ratios of two figures, turn by turn."""
    return [x / y for x, y in zip(a, b, strict=True)]


def case(name: str, programs: Programs, turns: int) -> tuple[list[list[float]], int]:
    """Return the seconds of a case of the bench `engines` by engine, and its cell-hops."""
    seconds: list[list[float]] = [[], []]
    hops = 0
    for _ in range(turns):
        for engine, taken in zip(ENGINES, seconds, strict=True):
            figures = run([programs.bench("engines"), "--once", engine, name, "1"]).figures()
            taken.append(figures["seconds"])
            hops = figures["cell_hops"]
    return seconds, hops


def bulk(programs: Programs, turns: int) -> Iterator[Figures]:
    """Million cell-hops per second."""
    (calendar, default), hops = case("bulk", programs, turns)
    rates = [[hops / 1e6 / second for second in taken] for taken in (calendar, default)]
    yield Figures(rates[0], rates[1], over(calendar, default))


def worst(programs: Programs, turns: int) -> Iterator[Figures]:
    """Seconds."""
    (calendar, default), _ = case("worst-mix", programs, turns)
    yield Figures(calendar, default, over(calendar, default))


def studies(programs: Programs, _: int) -> Iterator[Figures]:
    """Seconds of all simulated runs of each paper, once, and their sum."""
    sums = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        papers = [papers_with_engine(engine, Path(folder)) for engine in ENGINES]
        for paper in PAPERS:
            print(f"  {paper}", file=sys.stderr, flush=True)
            how = ["reproduce", "--no-emulate", "--threads", "2", "--quiet"]
            taken = [run([programs.command, *how, of_engine / paper]).wall for of_engine in papers]
            sums = [sum_ + second for sum_, second in zip(sums, taken, strict=True)]
            yield Figures(taken[:1], taken[1:], [taken[0] / taken[1]])
    yield Figures(sums[:1], sums[1:], [sums[0] / sums[1]])


def hops_per_second(before: list[str], after: list[str]) -> float:
    """Return the packet-hops in a second of processor time between two ends, put between `before` and `after`."""
    first, last = (run([*before, str(end), *after]) for end in PACKETS_UNTIL)
    return float(last.figures()["packet_hops"] - first.figures()["packet_hops"]) / (last.cpu - first.cpu)


def packets(programs: Programs, turns: int) -> Iterator[Figures]:
    """Packet-hops per second of processor time, in those of htsim."""
    calendar: list[float] = []
    default: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        htsim, ours = str(programs.htsim(Path(folder))), str(programs.bench("packets"))
        for _ in range(turns):
            theirs = hops_per_second([htsim, "5"], ["3"])
            for figures, engine in ((calendar, ["calendar"]), (default, [])):
                figures.append(hops_per_second([ours, "--once", "5"], ["3", "sack", *engine]) / theirs)
    yield Figures(calendar, default, over(default, calendar))


COUNTS = (100, 10_000, 60_000)
"""The numbers of conversations; the first is that to which the time of the others is compared."""


def conversations(programs: Programs, turns: int) -> Iterator[Figures]:
    """For each further number of conversations the memory in MB, and the time for an event in that of the first."""
    memory: dict[tuple[str, int], list[float]] = {(engine, count): [] for engine in ENGINES for count in COUNTS}
    time: dict[tuple[str, int], list[float]] = {key: [] for key in memory}
    # The longest runs of the table but for the studies.
    for _ in range(min(turns, 3)):
        for count in COUNTS:
            for engine in ENGINES:
                command = [str(programs.bench("conversations")), "--once", engine, str(count), "atm", "port"]
                figures = run(command).figures()
                memory[engine, count].append(figures["memory"] / 1e6)
                time[engine, count].append(figures["ns_per_event"])
    few, *many = COUNTS
    for count in many:
        calendar, default = (memory[engine, count] for engine in ENGINES)
        yield Figures(calendar, default, over(calendar, default))
        calendar, default = (over(time[engine, count], time[engine, few]) for engine in ENGINES)
        yield Figures(calendar, default, over(*(time[engine, count] for engine in ENGINES)))


def sweeps(programs: Programs, turns: int) -> Iterator[Figures]:
    """Time outside the engine, in % of the engine's."""
    calendar, default = (
        run([programs.bench("sweeps"), "--once", engine, str(turns)]).figures()["outside"] for engine in ENGINES
    )
    yield Figures(calendar, default)


def emulation(programs: Programs, turns: int) -> Iterator[Figures]:
    """Cores at 100 Mbit/s in both directions, and the lateness of 99 % of all packets at OC-12c in us."""
    held = [str(programs.bench("held")), "json", "atm"]
    for rate, name in ((100_000_000, "cores"), (OC12C, "p99_us")):
        figures: dict[str, list[dict[str, float]]] = {engine: [] for engine in ENGINES}
        for _ in range(turns):
            for engine in ENGINES:
                figures[engine].append(run([*held, str(rate), engine]).figures())
        calendar, default = ([turn[name] for turn in figures[engine]] for engine in ENGINES)
        full = all(min(turn["there"], turn["back"]) > FULL for turn in figures[ENGINES[1]])
        yield Figures(calendar, default, over(calendar, default), is_valid=full)


FULL = 0.97
"""The share of a line that counts as full, as in the bench `held`."""

PARTS: dict[str, Callable[[Programs, int], Iterator[Figures]]] = {
    "bulk": bulk,
    "worst": worst,
    "packets": packets,
    "conversations": conversations,
    "sweeps": sweeps,
    "emulation": emulation,
    "studies": studies,
}
"""The parts of the table, as they are measured."""
