"""The command line: `cellway` and `python -m cellway`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

INTERRUPTED = 130
"""Exit status of a command that the user stopped: 128 + SIGINT, as shells count."""


@contextmanager
def _plain() -> Iterator[None]:
    """Turn an error about data or arguments into one whose text is the whole message."""
    from cellway import _native
    from cellway.plot.files import NotWrittenError

    try:
        yield
    except (ValueError, OSError) as error:
        if isinstance(error, _native.Error | NotWrittenError):
            raise
        raise _native.Error(str(error)) from None


class Face:
    """The functions of the command line that are written in Python; Rust calls them."""

    @staticmethod
    def report(folder: str, seed: int | None) -> str:
        """Draw the report of a folder; return its path."""
        from cellway.report import build

        with _plain():
            return str(build(folder, seed=seed))

    @staticmethod
    def figure(
        folder: str,
        metric: str,
        form: str | None,
        at: list[str],
        x: str | None,
        by: str | None,
        chosen: list[tuple[str, str]],
        seed: int | None,
        words: list[str | None],
        width: float | None,
        out: str | None,
    ) -> str:
        """Draw one figure to a file; return its path."""
        from cellway.plot import files

        with _plain():
            given: dict[str, Any] = {"form": form, "at": at, "x": x, "by": by, "seed": seed, "out": out, "width": width}
            given |= dict(zip(("title", "xlabel", "ylabel"), words, strict=True))
            where: dict[str, list[str]] = {}
            for axis, value in chosen:
                where.setdefault(axis, []).append(value)
            return str(files.write(folder, metric, where=where, **given))

    @staticmethod
    def workload(classes: str, out: str) -> str:
        """Draw the distributions of a workload file, from the document of `workload show --json`; return the path."""
        from cellway.plot import workload

        with _plain():
            return str(workload.write(classes, Path(out)))

    @staticmethod
    def figures(folder: str) -> list[list[str]]:
        """Return what can be drawn of a folder: rows of metric, form, unit and subjects."""
        from cellway.plot import drawable

        return [[m, form, unit, ", ".join(subjects)] for m, form, unit, subjects, _ in drawable(folder).iter_rows()]

    @staticmethod
    def open(page: str) -> bool:
        """Open a page with the browser of the desktop; return false if there is none."""
        from cellway import browser

        return browser.show(Path(page))

    @staticmethod
    def lab(text: str | None, name: str | None, out: str | None, force: bool) -> tuple[str, str]:
        """Find the pages of the lab, or copy them; return the address, and a page to open that leads to it."""
        from cellway import browser

        try:
            folder = None if out is None else browser.copy(Path(out), force=force)
            address = browser.address(text, name or "", folder)
            page = folder / "index.html" if folder else browser.page(text, address)
        except browser.NoPagesError as error:
            # No fault of the options.
            raise OSError(str(error)) from None
        return address, str(page)

    @staticmethod
    def cluster(store: str, scheduler: str, fail_fast: bool, retry: bool) -> None:
        """Run what a store does not have on a cluster."""
        from cellway import _native, cluster

        cluster.run(_native.Sweep.open(store), store, scheduler, fail_fast=fail_fast, retry=retry)

    @staticmethod
    def flent(folder: str, path: str, run: int | None, node: str | None, force: bool) -> list[str]:
        """Write data files of flent; return their paths."""
        from cellway import load

        return [str(file) for file in load(folder).to_flent(path, run=run, node=node, force=force)]


def draws_soon(arguments: Sequence[str]) -> bool:
    """Return true for a command that surely draws reports and measures nothing before that: a quick look at papers."""
    return {"reproduce", "--quick", "--out"} <= set(arguments) and "--emulate" not in arguments


def import_reports() -> None:
    """Import what draws reports; an error is left to the import by the function that draws them."""
    # Each core has a process that draws: threads of polars on all of them would wait for each other.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    with suppress(Exception):
        import_module("cellway.report")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Every command is Rust; only figures, reports and files of flent are written in Python, by functions that Rust calls.
    """
    from cellway import _native

    arguments = list(sys.argv[1:] if argv is None else argv)
    if draws_soon(arguments):
        # Half a second, in which Rust reads stored runs and merges tables on one core, without the interpreter.
        Thread(target=import_reports).start()
    try:
        return _native.cli_main(arguments, Face())
    except KeyboardInterrupt:
        # The command has printed its result.
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
