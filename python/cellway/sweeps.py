"""Sweeps over a store of finished runs, by threads or by a cluster, and the frame over their tables."""

from __future__ import annotations

import os
import warnings as messages
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cellway import _native, arguments, objects
from cellway.progress import Tick, reporter

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client

RESULTS = "results"
"""The folder of the tables in that of a store."""


@dataclass(frozen=True)
class Work:
    """The way to run what a store does not have; see `cellway.sweep`."""

    until: Sequence[str]
    max_seeds: int
    budget: float | None
    threads: int | None
    client: Client | str | None
    fail_fast: bool
    retry: bool
    progress: bool


def sweep(
    source: str | tuple[str, str, str], changes: list[tuple[str, str]], store: str, seeds: int | None, work: Work
) -> pl.LazyFrame:
    """See `cellway.sweep`."""
    for name, count in (("seeds", seeds), ("max_seeds", work.max_seeds), ("threads", work.threads)):
        arguments.count(name, count)
    if work.until and work.client is not None:
        raise ValueError("until and client: replications cannot be added on a cluster; accepted: one of them")
    if objects.is_address(store):
        with objects.opened(store) as remote:
            _remote(_native.Sweep.plan(source, changes, seeds, str(remote.folder)), remote, work)
            # The folder is removed; the object store has its tables.
            return frame(remote.folder).collect().lazy()
    made = _native.Sweep.plan(source, changes, seeds, store)
    if work.client is not None:
        from cellway import cluster

        cluster.run(made, store, work.client, fail_fast=work.fail_fast, retry=work.retry, progress=work.progress)
        _merge(made, store)
    else:
        with reporter("sweep", enabled=work.progress) as tick:
            if work.until:
                _until(made, work, tick)
                _merge(made, store)
            else:
                made.complete(str(Path(store, RESULTS)), work.threads, work.fail_fast, work.retry, tick)
    _warn(made)
    return frame(store)


def _until(made: _native.Sweep, work: Work, tick: Tick | None) -> None:
    made.until(list(work.until), work.max_seeds, work.budget, work.threads, work.fail_fast, work.retry, tick)


def _remote(made: _native.Sweep, remote: objects.Objects, work: Work) -> None:
    """Sweep in an object store: the work is in a folder, pieces of it are sent as they end."""
    remote.push(objects.PLAN)
    if work.client is not None:
        from cellway import cluster

        cluster.run(
            made,
            remote.address,
            work.client,
            remote=remote,
            fail_fast=work.fail_fast,
            retry=work.retry,
            progress=work.progress,
        )
    else:
        with reporter("sweep", enabled=work.progress) as tick:
            if work.until:
                try:
                    _until(made, work, tick)
                finally:
                    remote.push_part("sweep")
                remote.push(objects.PLAN)
            else:
                remote.run_missing(made, work.threads, fail_fast=work.fail_fast, retry=work.retry, tick=tick)
    _merge(made, str(remote.folder))
    _warn(made)
    remote.push(*(f"{RESULTS}/{path.name}" for path in sorted((remote.folder / RESULTS).iterdir())))


def _merge(made: _native.Sweep, store: str) -> None:
    # The warnings of the tables are in their manifest.
    made.merge(str(Path(store, RESULTS)), False)


def _warn(made: _native.Sweep) -> None:
    """Warn of failed runs."""
    if failures := made.failures():
        run, seed, message = failures[0]
        messages.warn(
            f"{len(failures)} of {made.runs} runs failed and have no rows, retry=True runs them again; "
            f"the first is run {run}, seed {seed}: {message}",
            stacklevel=5,
        )


def frame(store: str | os.PathLike[str]) -> pl.LazyFrame:
    """Return a lazy frame over the merged tables of a store: the columns of `runs`, then those of `summary`."""
    import polars as pl

    tables = Path(store, RESULTS)
    runs, summary = (pl.scan_parquet(tables / f"{name}.parquet") for name in ("runs", "summary"))
    values = [name for name in summary.collect_schema() if name != "run"]
    return runs.join(summary, on="run", maintain_order="right").select([*runs.collect_schema(), *values])
