"""Sweeps on a cluster of Dask: workers run shards and write them into the store; nothing but numbers of runs passes the
scheduler.

A worker that is lost costs its shard, which is run elsewhere. A scheduler that is lost costs the shards at work: the
sweep waits for it, and gives out what is still missing. So does the next sweep, if the client is lost.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellway import _native, objects
from cellway.progress import reporter

if TYPE_CHECKING:
    from distributed import Client

SHARD_SECONDS = 3.0
"""The aim for the time of one shard: long beside the cost of a task, short beside the time between two failures."""

MOST_RUNS = 2000
"""The most runs of a shard."""

PATIENCE = 600.0
"""The longest wait for a scheduler that does not answer (s)."""

RETRY = 1.0
"""The time between two tries to reach a scheduler (s)."""

_plans: dict[tuple[str, bytes], _native.Sweep] = {}
"""The plan that this worker has read last."""

_copies: dict[str, tuple[objects.Objects, _native.Sweep]] = {}
"""The object stores whose plans this worker has."""


class ClusterError(_native.Error):
    """A cluster that cannot be used."""


def run(
    sweep: _native.Sweep,
    store: str,
    client: Client | str,
    *,
    remote: objects.Objects | None = None,
    fail_fast: bool = False,
    retry: bool = False,
    progress: bool = True,
) -> None:
    """Run what a store does not have on a cluster; of an object store `remote` has the copy of this machine.

    With `retry` runs that had failed are run again, once. Raises `ClusterError` if the cluster cannot be used, and
    `Error` for a store that its workers cannot write.
    """
    folder = str(Path(store).absolute()) if remote is None else store
    missing = sweep.missing(retry)
    total = len(missing)
    if not missing:
        return
    failed = set(missing).difference(sweep.missing()) if retry else set[int]()
    begun = time.monotonic()
    # One run here gives the time of a run, and finds what would fail everywhere.
    first, *missing = missing
    if remote is None:
        sweep.run([first], "client", 1, fail_fast, None)
    else:
        remote.run(sweep, [first], 1, fail_fast=fail_fast)
    failed.discard(first)
    size = max(1, min(MOST_RUNS, int(SHARD_SECONDS / max(time.monotonic() - begun, 1e-6))))
    with _connected(client) as connect, reporter("sweep", enabled=progress) as tick:
        tell = tick or _quiet
        while missing:
            tell(total - len(missing), total)
            before, lost = len(missing), False
            said = partial(_tell, tell, total - before, total)
            try:
                for done in _given_out(connect(), folder, missing, size, fail_fast, said):
                    failed.difference_update(done)
            except _lost() as error:
                lost = True
                connect(error)
            finally:
                if remote is not None:
                    remote.pull()
            # A run that failed again has been tried.
            missing = sorted(failed.union(sweep.missing()))
            if len(missing) >= before and not lost:
                raise ClusterError(
                    f"the workers have run {before} runs and {folder} has none of them; accepted: a folder that the "
                    "client and all workers see under the same path"
                )


def _quiet(done: int, total: int) -> None:
    """Show no progress."""


def _tell(tell: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    tell(before + done, total)


def _given_out(
    client: Any, store: str, missing: list[int], size: int, fail_fast: bool, tell: Callable[[int], None]
) -> Iterator[list[int]]:
    """Run shards on the workers, until each has been run; yield the runs of each that ends."""
    as_completed: Any = _dask("distributed", "as_completed")
    version = (_native.version, _native.result_version)
    # Enough shards for all workers, and again for those that are faster.
    workers = sum(client.nthreads().values()) or 1
    size = max(1, min(size, len(missing) // (4 * workers)))
    shards = [missing[at : at + size] for at in range(0, len(missing), size)]
    futures = {client.submit(shard, store, part, fail_fast, version, pure=False): part for part in shards}
    done = 0
    try:
        for future in as_completed(list(futures), loop=client.loop):
            done += future.result()
            tell(done)
            yield futures[future]
    finally:
        for future in futures:
            future.release()


def shard(store: str, runs: list[int], fail_fast: bool, version: tuple[str, int]) -> int:
    """Run some runs of the plan in a store, on a worker. Returns their number."""
    own = (_native.version, _native.result_version)
    if own != tuple(version):
        raise ClusterError(
            f"the worker at {socket.gethostname()} has Cellway {own[0]} with results of version {own[1]}, the client "
            f"{version[0]} with {version[1]}; accepted: the same on all machines"
        )
    if objects.is_address(store):
        remote, sweep = _copies.get(store) or _copy(store)
        if remote.plan() != (remote.folder / objects.PLAN).read_bytes():
            remote, sweep = _copy(store)
        remote.run(sweep, runs, 1, fail_fast=fail_fast)
        return len(runs)
    plan = Path(store, objects.PLAN)
    try:
        # The text rather than its time: clocks of machines differ.
        key = (store, plan.read_bytes())
    except OSError as error:
        raise ClusterError(
            f"the worker at {socket.gethostname()} cannot read {plan}: {error.strerror}; accepted: a folder that all "
            "workers see under the same path"
        ) from None
    known = _plans.get(key)
    if known is None:
        _plans.clear()
        known = _plans[key] = _native.Sweep.open(store)
    name = "".join(c if c.isalnum() else "-" for c in socket.gethostname().lower())
    known.run(runs, f"dask-{name}-{os.getpid()}-{threading.get_ident()}", 1, fail_fast, None)
    return len(runs)


def _copy(store: str) -> tuple[objects.Objects, _native.Sweep]:
    """Fetch the plan of an object store into a folder of this worker, which lives as long as the worker."""
    remote = objects.Objects(store, Path(tempfile.mkdtemp(prefix="cellway-worker-")))
    atexit.register(shutil.rmtree, remote.folder, ignore_errors=True)
    (remote.folder / objects.RUNS).mkdir()
    (remote.folder / objects.PLAN).write_bytes(remote.plan())
    _copies[store] = (remote, _native.Sweep.open(str(remote.folder)))
    return _copies[store]


def _lost() -> tuple[type[BaseException], ...]:
    """Return the errors of a scheduler, or of its connection, that is lost."""
    from asyncio import CancelledError
    from concurrent import futures

    return (
        _dask("distributed.comm", "CommClosedError"),
        _dask("distributed.client", "FutureCancelledError"),
        CancelledError,
        futures.CancelledError,
        TimeoutError,
        ConnectionError,
    )


def _dask(module: str, name: str) -> Any:
    """Return a part of Dask, whose functions have no types."""
    try:
        return getattr(import_module(module), name)
    except ImportError:
        raise ClusterError("the package distributed is missing; accepted: pip install 'cellway[dask]'") from None


@contextmanager
def _connected(client: Client | str) -> Iterator[Callable[..., Any]]:
    """Yield a function that returns a client that is connected. With the error of a lost one it connects again."""
    connection = _dask("distributed", "Client")
    cluster = _cluster(client) if isinstance(client, str) else None
    given: Any = client
    address = cluster if cluster is not None else given if isinstance(client, str) else given.scheduler.address
    own: list[Any] = []

    def connect(error: BaseException | None = None) -> Any:
        if error is None and own:
            return own[0]
        if error is None and not isinstance(client, str):
            own.append(client)
            return client
        while own:
            if (old := own.pop()) is not client:
                # Its scheduler may not answer.
                with suppress(TimeoutError):
                    old.close(timeout=0)
        last = time.monotonic() + (PATIENCE if error is not None else 10.0)
        while True:
            try:
                if isinstance(address, str):
                    # A client that cannot read its address leaves a trace of its own behind.
                    _dask("distributed.comm", "resolve_address")(address)
                own.append(connection(address, timeout=5, set_as_default=False))
            except (OSError, TimeoutError, ValueError) as refused:
                if isinstance(refused, ValueError) or time.monotonic() > last:
                    raise ClusterError(
                        f"the scheduler {address} cannot be reached: {refused}; accepted: the address of a scheduler "
                        'of Dask that runs, such as tcp://host:8786, or "local:4"'
                    ) from None
                time.sleep(RETRY)
            else:
                return own[0]

    try:
        yield connect
    finally:
        for one in own:
            if one is not client:
                one.close()
        if cluster is not None:
            cluster.close()


def _cluster(name: str) -> Any:
    """Return the cluster that a text names, or None for the address of a scheduler."""
    kind, colon, count = name.rpartition(":")
    if not colon or not kind.isidentifier():
        return None
    if not count.isdecimal() or int(count) < 1:
        raise ClusterError(f"{name!r}: {count!r} is no number of workers; accepted: {kind}:4")
    if kind == "local":
        return _dask("distributed", "LocalCluster")(
            n_workers=int(count), threads_per_worker=1, processes=True, dashboard_address=None
        )
    for package in ("dask_jobqueue", "dask_kubernetes.operator"):
        try:
            module = import_module(package)
        except ImportError:
            continue
        if hasattr(module, kind):
            return _started(getattr(module, kind), kind, int(count))
    raise ClusterError(
        f"no package has a cluster {kind}; accepted: the address of a scheduler, local:N, or a class of dask_jobqueue "
        "or dask_kubernetes.operator with N workers, such as SLURMCluster:16"
    )


def _started(make: Callable[[], Any], kind: str, workers: int) -> Any:
    """Return a cluster that has asked for so many workers; they may start much later."""
    cluster = None
    try:
        # Queues, images and memory are those of Dask's configuration files.
        cluster = make()
        cluster.scale(workers)
        # Jobs are submitted in the background; one that cannot be would only be logged, and no worker would ever start.
        if hasattr(cluster, "_correct_state"):
            cluster.sync(cluster._correct_state)
            for job in list(cluster.workers.values()):
                if job.status.name == "created":
                    cluster.sync(job.start)
    except Exception as error:
        if cluster is not None:
            with suppress(Exception):
                cluster.close()
        what = str(error) or type(error).__name__
        raise ClusterError(
            f"the cluster {kind} cannot be started: {what}; accepted: one that starts with the settings of Dask's "
            f"configuration files, as {kind}() does in Python"
        ) from error
    return cluster
