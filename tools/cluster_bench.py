"""Measure the cost of a cluster of Dask on this machine: the same short runs by threads, and by worker processes.

    .venv/bin/python tools/cluster_bench.py [RUNS] [ROUNDS]

Both write into a store; the cluster is started before. Rounds are in turns, so that the speed of the machine counts for
both alike: one round of 10,000 runs takes about two minutes on two cores. Starting a cluster takes seconds, once.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from cellway import Scenario
from distributed import Client, LocalCluster

RUN = 10e-3
"""The processor time of a run, as near as a duration gives it (s)."""


def study(duration: str) -> Scenario:
    """Return four transfers over one line, for so long."""
    made = Scenario("short", duration=duration, buffer="64 KiB").node("a").node("b")
    made = made.link("a", "b", rate="100 Mbit/s", delay="5 ms", framing="packet")
    return made.traffic("t", "a", "b", count=4)


def seconds(scenario: Scenario, runs: int, **how: object) -> float:
    """Return the time of a sweep into an empty store."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        scenario.run(Path(folder, "store"), seeds=runs, progress=False, **how)  # type: ignore[arg-type]
        return time.monotonic() - begun


def main() -> None:
    """Print the ratio of both."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    cores = os.cpu_count() or 1
    # The same runs on one thread, without what a sweep takes once.
    few, many = (seconds(study("1 s"), n, threads=1) for n in (20, 120))
    duration = f"{max(1, round(RUN / ((many - few) / 100) * 1000))} ms"
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=cores, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        seconds(study(duration), 50, client=client)
        ratios = []
        for _ in range(rounds):
            here = seconds(study(duration), runs, threads=cores)
            there = seconds(study(duration), runs, client=client)
            ratios.append(there / here)
    low, middle, high = min(ratios), statistics.median(ratios), max(ratios)
    print(f"{runs} runs of {duration} simulated, about {RUN * 1e3:.0f} ms each, {cores} threads and {cores} workers:")
    print(f"  time on the cluster, of that of threads: {middle:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
