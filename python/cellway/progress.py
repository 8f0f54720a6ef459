"""A one-line progress display: on standard error of a terminal, or below the cell of a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

Tick = Callable[[int, int], None]
"""Called with how many runs are done, and out of how many."""

BAR = 24
REFRESH = 0.1
PATIENCE = 0.5
"""Time before a notebook shows anything: a short run leaves no line in it (s)."""


@contextmanager
def reporter(label: str, *, enabled: bool = True, stream: TextIO | None = None) -> Iterator[Tick | None]:
    """Yield a function to call after each run, or None where it would not be seen."""
    out = stream if stream is not None else sys.stderr
    started = time.monotonic()
    drawn = [-REFRESH]

    def due(done: int, total: int) -> bool:
        elapsed = time.monotonic() - started
        if done < total and elapsed - drawn[0] < REFRESH:
            return False
        drawn[0] = elapsed
        return True

    if enabled and out is not None and out.isatty():

        def tick(done: int, total: int) -> None:
            if due(done, total):
                out.write("\r" + line(label, done, total, time.monotonic() - started) + "\x1b[K")
                out.flush()

        try:
            yield tick
        finally:
            # Leave the line empty, whatever happened: results and errors follow it.
            out.write("\r\x1b[K")
            out.flush()
    elif enabled and stream is None and (display := _display()) is not None:
        shown: list[Any] = []

        def show(done: int, total: int) -> None:
            elapsed = time.monotonic() - started
            if elapsed < PATIENCE or not due(done, total):
                return
            data = {"text/plain": line(label, done, total, elapsed)}
            if shown:
                shown[0].update(data, raw=True)
            else:
                shown.append(display(data, raw=True, display_id=True))

        yield show
    else:
        yield None


def _display() -> Callable[..., Any] | None:
    """Return the function that shows an output below a cell, in a notebook."""
    shell = sys.modules.get("IPython")
    if shell is None or "ipykernel" not in sys.modules:
        return None
    running = shell.get_ipython()
    if getattr(running, "kernel", None) is None:
        return None
    from IPython.display import display

    return display  # type: ignore[no-any-return,unused-ignore]


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
