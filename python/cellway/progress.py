"""A one-line progress display on standard error, only on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Tick = Callable[[int, int], None]
"""Called with how many runs are done, and out of how many."""

BAR = 24
REFRESH = 0.1


@contextmanager
def reporter(label: str, *, enabled: bool = True, stream: TextIO | None = None) -> Iterator[Tick | None]:
    """Yield a function to call after each run, or None without a terminal."""
    out = stream if stream is not None else sys.stderr
    if not enabled or out is None or not out.isatty():
        yield None
        return
    started = time.monotonic()
    drawn = [-REFRESH]

    def tick(done: int, total: int) -> None:
        elapsed = time.monotonic() - started
        if done < total and elapsed - drawn[0] < REFRESH:
            return
        drawn[0] = elapsed
        out.write("\r" + line(label, done, total, elapsed) + "\x1b[K")
        out.flush()

    try:
        yield tick
    finally:
        # Leave the line empty, whatever happened: results and errors follow it.
        out.write("\r\x1b[K")
        out.flush()


def line(label: str, done: int, total: int, elapsed: float) -> str:
    """Return the text after `done` of `total` runs and `elapsed` seconds."""
    share = done / total if total else 1.0
    filled = round(BAR * share)
    left = f", {clock(elapsed * (total - done) / done)} left" if 0 < done < total else ""
    return f"{label} [{'#' * filled}{'.' * (BAR - filled)}] {done}/{total} runs, {clock(elapsed)}{left}"


def clock(seconds: float) -> str:
    """Format a time for reading: `7 s`, `2 min 05 s`, `1 h 03 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min"
