"""Programs in the hosts of a running emulation: their output, their end, and when they are ready."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from cellway import arguments

if TYPE_CHECKING:
    from cellway import _native

TICK = 0.005
"""Interval of checks (s)."""

LAST = 200
"""Characters of a program's output that an error quotes."""


class Program:
    """A program in a host. At the end of a `with` statement it is stopped."""

    def __init__(
        self, native: _native.Emulation, host: str, args: list[str], env: Mapping[str, str], input: str | None
    ) -> None:
        if shutil.which(args[0]) is None:
            raise FileNotFoundError(f"host {host}: there is no program {args[0]!r} on this machine")
        self.args = args
        self._process = os.getpid()
        self._emulation = native
        self._host = host
        # Files, not pipes: a program whose output is not read runs on.
        self._out, self._errors = _File(), _File()
        given = None if input is None else _File(input)
        files = (None if given is None else given.path, self._out.path, self._errors.path)
        self._native = native.spawn(host, args, [*env.items()], files)

    @property
    def output(self) -> str:
        """The standard output so far."""
        return self._out.read()

    @property
    def errors(self) -> str:
        """The standard error so far."""
        return self._errors.read()

    @property
    def pid(self) -> int:
        """Its process number."""
        return self._native.id()

    def poll(self) -> int | None:
        """Return its exit status, or None while it runs; minus the number of the signal if one ended it."""
        return self._native.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it ends, and return its exit status. Raises `subprocess.TimeoutExpired`."""
        until = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout, self.output.encode(), self.errors.encode())
            self._check_run()
            time.sleep(TICK)
        if status < 0:
            # The end of the run may be what has ended it.
            self._check_run()
        return status

    def wait_ready(self, ready: int | str, timeout: float = 30.0) -> None:
        """Wait until the host listens on a port, or a line of the output matches; see `Host.start`."""
        wanted = when_ready(ready)
        until = time.monotonic() + timeout
        # The places in its output and its errors up to which no line has matched.
        seen = [0, 0]
        while not self._is_ready(wanted, seen):
            status = self.poll()
            if status is not None and not self._is_ready(wanted, seen):
                raise self._failed(f"ended with exit status {status} before it was ready")
            if time.monotonic() >= until:
                raise self._failed(f"is not ready after {timeout:g} s ({ready!r})")
            self._check_run()
            time.sleep(TICK)

    def stop(self) -> int:
        """End it and its children, with SIGTERM and after 2 s with SIGKILL, and return its exit status."""
        in_process(self._process)
        return self._native.end()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        status = self.poll()
        state = "running" if status is None else f"ended with {status}"
        return f"<cellway program {' '.join(self.args)!r} in {self._host}: {state}>"

    def _is_ready(self, wanted: int | re.Pattern[str], seen: list[int]) -> bool:
        if isinstance(wanted, int):
            return self._emulation.is_listening(self._host, wanted)
        for place, file in enumerate((self._out, self._errors)):
            # A program may have emptied its output.
            seen[place] = min(seen[place], file.size)
            # The last one may be the beginning of a line, or a prompt.
            lines = file.content(seen[place]).split(b"\n")
            if any(wanted.search(line.decode(errors="replace")) for line in lines):
                return True
            seen[place] += sum(len(line) + 1 for line in lines[:-1])
        return False

    def _check_run(self) -> None:
        from cellway import _native

        over = self._emulation.over()
        if over is not None:
            raise _native.EmulationError(f"host {self._host}: {self.args[0]} was ended: {over}")

    def _failed(self, what: str) -> Exception:
        from cellway import _native

        said = (self.errors.strip() or self.output.strip() or "it printed nothing")[-LAST:]
        return _native.EmulationError(f"host {self._host}: {self.args[0]} {what}: {said}")


def in_process(process: int) -> None:
    """Raise an error in another process than that which began the emulation, whose threads it lacks."""
    if os.getpid() != process:
        raise ValueError("the emulation belongs to another process; accepted: calls from the one that began it")


def when_ready(ready: int | str) -> int | re.Pattern[str]:
    """Return what makes a program ready: a port, or a pattern."""
    accepted = 'the number of a port, 1 to 65535, or a regular expression, like "listening"'
    if isinstance(ready, str):
        try:
            return re.compile(ready)
        except re.error as error:
            raise ValueError(f"ready is {ready!r}: {error}; accepted: {accepted}") from None
    if isinstance(ready, bool) or not isinstance(ready, int):
        raise arguments.wrong("ready", ready, accepted)
    if not 1 <= ready <= 65535:
        raise ValueError(f"ready is {ready}; accepted: {accepted}")
    return ready


class _File:
    """A file without a name, open as long as an object refers to it."""

    def __init__(self, content: str = "") -> None:
        self._descriptor, name = tempfile.mkstemp(prefix="cellway-")
        Path(name).unlink()
        weakref.finalize(self, os.close, self._descriptor)
        os.pwrite(self._descriptor, content.encode(), 0)
        self.path = f"/proc/self/fd/{self._descriptor}"

    def read(self) -> str:
        return self.content(0).decode(errors="replace")

    @property
    def size(self) -> int:
        """The number of bytes that it holds."""
        return os.fstat(self._descriptor).st_size

    def content(self, start: int) -> bytes:
        """Return what it holds from a place on."""
        return os.pread(self._descriptor, max(0, self.size - start), start)
