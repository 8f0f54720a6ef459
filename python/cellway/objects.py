"""Stores of runs in an object store, such as S3: objects that are written once, under names of their own.

A sweep works on a folder of this machine, and sends each piece of some seconds as an object; what another process has
sent is fetched. Two processes never write the same object: a piece is created only if there is none of its name.
"""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from cellway import _native
from cellway.progress import Tick

PIECE_SECONDS = 3.0
"""The aim for the time of one piece: a process that is killed loses the piece at work."""

MOST_RUNS = 2000
"""The most runs of a piece."""

PLAN = "plan.json"
RUNS = "runs"


class ObjectsError(_native.Error):
    """An object store that cannot be used."""


def is_address(store: str) -> bool:
    """Return true for the address of an object store, false for a folder."""
    return "://" in store


class Objects:
    """A store at an address of fsspec, such as `s3://bucket/name`, with a copy of its runs in a folder."""

    def __init__(self, address: str, folder: Path) -> None:
        self.address = address.rstrip("/")
        self.folder = folder
        with _told(self.address):
            self._files, self._root = _fsspec().core.url_to_fs(self.address)

    def pull(self) -> None:
        """Fetch the runs that the folder does not have."""
        runs = self.folder / RUNS
        runs.mkdir(parents=True, exist_ok=True)
        with _told(self.address):
            self._files.invalidate_cache()
            for path in sorted(self._files.glob(f"{self._root}/{RUNS}/*.runs")):
                local = runs / path.rsplit("/", 1)[1]
                if not local.exists():
                    # Whole or not there: another process may read the folder.
                    partial = local.with_suffix(".partial")
                    partial.write_bytes(self._files.cat_file(path))
                    partial.rename(local)

    def plan(self) -> bytes:
        """Return the plan of the sweep."""
        with _told(self.address):
            return bytes(self._files.cat_file(f"{self._root}/{PLAN}"))

    def push(self, *names: str) -> None:
        """Replace objects by the files of these names in the folder."""
        with _told(self.address):
            for name in names:
                self._files.pipe_file(f"{self._root}/{name}", (self.folder / name).read_bytes())

    def push_new(self, name: str) -> None:
        """Create an object from a file of the folder. One of that name is not replaced: that is an error."""
        with _told(self.address):
            self._files.pipe_file(f"{self._root}/{name}", (self.folder / name).read_bytes(), mode="create")

    def push_part(self, part: str) -> None:
        """Send a file of runs, if there is one, under a name of its own."""
        file = self.folder / RUNS / f"{part}.runs"
        if file.exists():
            piece = file.with_name(f"piece-{uuid.uuid4().hex}.runs")
            file.rename(piece)
            self.push_new(f"{RUNS}/{piece.name}")

    def run(self, sweep: _native.Sweep, runs: list[int], threads: int | None, *, fail_fast: bool) -> None:
        """Run some runs as one piece, and send it; also what had ended before an error."""
        part = f"work-{uuid.uuid4().hex}"
        try:
            sweep.run(runs, part, threads, fail_fast, None)
        finally:
            self.push_part(part)

    def run_missing(
        self, sweep: _native.Sweep, threads: int | None, *, fail_fast: bool, retry: bool, tick: Tick | None
    ) -> None:
        """Run what the store does not have, or with `retry` what had failed, in pieces of some seconds."""
        missing, done, size = sweep.missing(retry), 0, 1
        while done < len(missing):
            begun = time.monotonic()
            piece = missing[done : done + size]
            self.run(sweep, piece, threads, fail_fast=fail_fast)
            done += len(piece)
            if tick is not None:
                tick(done, len(missing))
            size = max(1, min(MOST_RUNS, int(len(piece) * PIECE_SECONDS / max(time.monotonic() - begun, 1e-6))))


@contextmanager
def opened(address: str) -> Iterator[Objects]:
    """Yield a store with a folder of its own, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="cellway-store-") as folder:
        store = Objects(address, Path(folder))
        store.pull()
        yield store


def _fsspec() -> Any:
    try:
        return import_module("fsspec")
    except ImportError:
        raise ObjectsError("the package fsspec is missing; accepted: pip install 'cellway[s3]'") from None


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn the errors of libraries for object stores, which have no common class, into one that names the store."""
    try:
        yield
    except _native.Error:
        raise
    except FileExistsError as error:
        raise ObjectsError(f"the store {address}: an object exists that is written once: {error}") from None
    except ImportError as error:
        raise ObjectsError(f"the store {address}: {error}; accepted: pip install 'cellway[s3]' for s3://") from None
    except Exception as error:
        what = str(error) or type(error).__name__
        raise ObjectsError(
            f"the store {address} cannot be used: {what}; accepted: an address that fsspec reads and writes here, such "
            "as s3://bucket/name"
        ) from error
