"""Emulations that need a user namespace: the command line enters one, a Python process cannot."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from cellway import _native

T = TypeVar("T")

WRONG_INPUT = 2
"""Exit status of a command whose input is wrong."""


def run(
    command: str,
    scenario: _native.Source,
    changes: Sequence[tuple[str, str]],
    options: Sequence[str],
    out: str | os.PathLike[str] | None,
    read: Callable[[Path], T],
    *,
    force: bool,
) -> T:
    """Run `cellway COMMAND` in a separate process and read the folder that it wrote.

    A scenario given as text is put into a file of its folder meanwhile, at which its relative paths start.
    """
    from cellway import _native

    with tempfile.TemporaryDirectory(prefix="cellway-") as temporary, _file(scenario) as file:
        target = Path(temporary, "out") if out is None else Path(out)
        sets = [word for key, value in changes for word in ("--set", f"{key}={value}")]
        manifest = target / "manifest.json"
        before = _stamp(manifest)
        words = [command, file, *options, *sets, "--out", str(target)]
        ran = subprocess.run(
            [sys.executable, "-m", "cellway", *words, *(["--force"] if force else [])],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        messages = [line.removeprefix("cellway: ") for line in ran.stderr.splitlines() if line.startswith("cellway: ")]
        # A run that was late is written, and has a status all the same.
        if ran.returncode != 0 and _stamp(manifest) == before:
            message = "\n".join(messages) or ran.stderr.strip() or f"cellway {command} ended with {ran.returncode}"
            raise (_native.Error if ran.returncode == WRONG_INPUT else _native.EmulationError)(message)
        return read(target)


@contextmanager
def _file(scenario: _native.Source) -> Iterator[str]:
    """Yield the path of a scenario file, made for a scenario that has none."""
    if isinstance(scenario, str):
        yield scenario
        return
    text, folder, _ = scenario
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, prefix=".cellway-", suffix=".toml") as file:
        file.write(text)
        file.flush()
        yield file.name


def _stamp(path: Path) -> tuple[int, int] | None:
    """Return a value that distinguishes a file of this name from an earlier one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
