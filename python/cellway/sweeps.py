"""Sweeps over a store of finished runs, by threads or by a cluster, and the frame over their tables."""

from __future__ import annotations

import os
import warnings as messages
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cellway import _native, arguments
from cellway.progress import reporter

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client

RESULTS = "results"
"""The folder of the tables in that of a store."""


def sweep(
    source: str | tuple[str, str, str],
    changes: list[tuple[str, str]],
    store: str,
    *,
    seeds: int | None,
    until: Sequence[str],
    max_seeds: int,
    budget: float | None,
    threads: int | None,
    client: Client | str | None,
    fail_fast: bool,
    progress: bool,
) -> pl.LazyFrame:
    """See `cellway.sweep`."""
    for name, count in (("seeds", seeds), ("max_seeds", max_seeds), ("threads", threads)):
        arguments.count(name, count)
    if until and client is not None:
        raise ValueError("until and client: replications cannot be added on a cluster; accepted: one of them")
    made = _native.Sweep.plan(source, changes, seeds, store)
    if client is not None:
        from cellway import cluster

        cluster.run(made, store, client, fail_fast=fail_fast, progress=progress)
    else:
        with reporter("sweep", enabled=progress) as tick:
            if until:
                made.until(list(until), max_seeds, budget, threads, fail_fast, tick)
            else:
                made.run(None, None, threads, fail_fast, tick)
    # The warnings of the tables are in their manifest.
    made.merge(str(Path(store, RESULTS)), False)
    if failures := made.failures():
        run, seed, message = failures[0]
        messages.warn(
            f"{len(failures)} of {made.runs} runs failed and have no rows; the first is run {run}, seed {seed}: "
            f"{message}",
            stacklevel=4,
        )
    return frame(store)


def frame(store: str | os.PathLike[str]) -> pl.LazyFrame:
    """Return a lazy frame over the merged tables of a store: the columns of `runs`, then those of `summary`."""
    import polars as pl

    tables = Path(store, RESULTS)
    runs, summary = (pl.scan_parquet(tables / f"{name}.parquet") for name in ("runs", "summary"))
    values = [name for name in summary.collect_schema() if name != "run"]
    return runs.join(summary, on="run", maintain_order="right").select([*runs.collect_schema(), *values])
