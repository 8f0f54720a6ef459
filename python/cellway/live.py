"""An emulation with whose hosts Python works while it runs: starts programs in them, waits for them, changes links."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING

from cellway import arguments
from cellway.program import Program, in_process, when_ready
from cellway.source import Source, native, overrides

if TYPE_CHECKING:
    from cellway import _native
    from cellway.results import Results

Words = Sequence[str | os.PathLike[str]]
"""A program and its arguments."""


def emulation(
    source: Source,
    *,
    duration: str | None = "10 min",
    set: Mapping[str, object] | None = None,
    log: str | os.PathLike[str] | None = None,
) -> Emulation:
    """Emulate a scenario while the body of a `with` statement works with its hosts.

        with cellway.emulation(scenario) as net:
            with net["server"].start(["iperf3", "-s"], ready=5201):
                out = net["client"].run(["iperf3", "-c", "server", "-t", "3"]).stdout
        net.results.summary

    The hosts are network namespaces of this machine with its files. The run ends with the `with` statement, at the
    latest after `duration`, which takes the place of `run.duration` unless it is None; its metrics are from the start,
    without a warm-up. The traffic and the programs of the scenario, if it has any, run, too. `source` and `set` are
    those of `cellway.emulate`, without a sweep; `log` is a file for the output of the scenario's own programs.

    The `with` statement raises `EmulationError` if this machine or this process cannot emulate. It needs Linux, and
    root or a process in a user namespace (`unshare --user --map-root-user --net --mount python ...`).
    """
    return Emulation(source, duration=duration, set=set, log=log)


class Emulation:
    """A running network. `net["client"]` is a host of it, and iteration yields the names of all.

    After the `with` statement `results` has the tables, as `cellway.emulate` returns them.
    """

    def __init__(
        self,
        source: Source,
        *,
        duration: str | None = None,
        set: Mapping[str, object] | None = None,
        log: str | os.PathLike[str] | None = None,
    ) -> None:
        ends: dict[str, object] = {} if duration is None else {"run.duration": duration, "run.warmup": "0 s"}
        self._source = _with_program(source)
        self._set = {**ends, **arguments.changes("set", set)}
        self._log = None if log is None else os.fspath(log)
        self._native: _native.Emulation | None = None
        self._hosts: dict[str, Host] = {}
        self._results: Results | None = None
        self._process = os.getpid()

    def __enter__(self) -> Emulation:
        from cellway import _native

        if self._native is not None:
            raise ValueError("the emulation runs already; accepted: one `with` statement at a time")
        scenario, changes = native(self._source), overrides(self._set)
        _native.check(scenario, changes)
        if not _native.emulates_here():
            raise _native.EmulationError(
                "this process may not make network namespaces; accepted: root, or a user namespace: "
                "unshare --user --map-root-user --net --mount python ..."
            )
        self._results, self._process = None, os.getpid()
        self._native = _native.Emulation(scenario, changes, self._log)
        self._hosts = {name: Host(self._native, name, address) for name, address in self._native.hosts()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        from cellway import _native
        from cellway.results import Results

        if os.getpid() != self._process:
            # A forked process leaves the run to the one that began it.
            return
        native, self._native = self._running, None
        try:
            for host in self._hosts.values():
                host.close()
        except BaseException:
            native.end()
            raise
        try:
            self._results = Results.from_native(native.end())
        except _native.Error as failure:
            if error is None:
                raise
            # The failure of the run may be the reason for the error of the body, which goes on.
            if error.__cause__ is None:
                error.__cause__ = failure
            else:
                error.add_note(f"the emulation failed, too: {failure}")

    def __getitem__(self, host: str) -> Host:
        try:
            return self._hosts[host]
        except KeyError:
            known = ", ".join(self._hosts) or "none: the emulation runs only within its `with` statement"
            raise KeyError(f"no host {host!r}; there are: {known}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._hosts)

    def __len__(self) -> int:
        return len(self._hosts)

    @property
    def links(self) -> list[str]:
        """The names of the links."""
        return self._running.links()

    @property
    def results(self) -> Results:
        """The tables of the run, once it is over."""
        if self._results is None:
            raise ValueError(
                "there are no results before the end of the `with` statement, or after an error in the run"
            )
        return self._results

    def set_rate(self, link: str, rate: str, *, direction: str | None = None) -> None:
        """Change the rate of a link within some milliseconds: `net.set_rate("line", "2 Mbit/s")`.

        As at a change in a file, the rest of the packet on the line goes at the new rate; on an ATM link the cell on
        the line keeps the old one. Outages of the link go on, and later changes of the file are made. `direction` is
        `"forward"`, from the first node of `between` to the second, or `"back"`; without it both change. Raises
        `Error` for a link that does not exist, or whose rate follows a recording.
        """
        self._running.set_rate(link, direction, rate)

    def set_delay(self, link: str, delay: str, *, direction: str | None = None) -> None:
        """Change the propagation delay of a link of packets within some milliseconds: `net.set_delay("line", "40 ms")`.

        It is that of packets whose last bit leaves the line from then on, as in a recording: those behind the line keep
        theirs. With a smaller delay a packet arrives with the one before it, and overtakes it only if the link has
        `reorder`. `jitter` is added. Raises `Error` for an ATM link, whose cells have one delay, and for a link whose
        delay follows a recording; `direction` and other errors are those of `set_rate`.
        """
        self._running.set_delay(link, direction, delay)

    def set_loss(self, link: str, loss: float | str, *, direction: str | None = None) -> None:
        """Change the share of packets that a link loses, within some milliseconds: `net.set_loss("line", 0.01)`.

        `loss` is a probability below 1, or a text like `"1 %"`. Each packet, on an ATM link each cell, whose last bit
        leaves the line from then on is lost with it, independently of others; those behind the line arrive. Outages and
        the packets of `lost` are lost as before. Raises `Error` for a link whose losses follow a recording or come in
        bursts; `direction` and other errors are those of `set_rate`.
        """
        self._running.set_loss(link, direction, _per_cent(loss))

    def __repr__(self) -> str:
        state = "running" if self._native is not None else "not running"
        return f"<cellway.Emulation: {state}, hosts: {', '.join(self._hosts) or 'none yet'}>"

    @property
    def _running(self) -> _native.Emulation:
        if self._native is None:
            raise ValueError("the emulation runs only within its `with` statement")
        in_process(self._process)
        return self._native


class Host:
    """A host of a running network. `address` is its IPv4 address; programs in all hosts also know it by its name."""

    def __init__(self, native: _native.Emulation, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self._native = native
        self._programs: list[Program] = []
        self._process = os.getpid()

    def run(
        self,
        args: Words,
        *,
        check: bool = True,
        timeout: float | None = None,
        input: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program in the host, wait for it, and return its output, as `subprocess.run` does.

        `timeout` is in seconds. `env` adds to the environment, which has the address of each host as
        `CELLWAY_HOST_NAME`. Raises `subprocess.CalledProcessError` if the exit status is not 0 unless `check` is false,
        `subprocess.TimeoutExpired`, and `FileNotFoundError` if there is no such program.
        """
        with self.start(args, env=env, input=input) as program:
            status = program.wait(timeout)
            out, errors = program.output, program.errors
        # It has ended: its files are closed with it, not at the end of the emulation.
        self._programs.remove(program)
        if check and status != 0:
            raise subprocess.CalledProcessError(status, program.args, out, errors)
        return subprocess.CompletedProcess(program.args, status, out, errors)

    def start(
        self,
        args: Words,
        *,
        ready: int | str | None = None,
        timeout: float = 30.0,
        env: Mapping[str, str] | None = None,
        input: str | None = None,
    ) -> Program:
        """Start a program in the host and return it while it runs. It ends with the emulation, or with `stop`.

        With `ready`, return once it is: a port on which a process of the host listens, or a regular expression that a
        line of the output matches. Raises `EmulationError` if it ends before that, or is not ready after `timeout`
        seconds; and `FileNotFoundError` if there is no such program.
        """
        if isinstance(args, str | os.PathLike) or not args:
            raise arguments.wrong("args", args, 'a list of the program and its arguments, like ["ping", "server"]')
        if ready is not None:
            when_ready(ready)
        in_process(self._process)
        program = Program(self._native, self.name, [os.fspath(word) for word in args], dict(env or {}), input)
        self._programs.append(program)
        if ready is not None:
            program.wait_ready(ready, timeout)
        return program

    def close(self) -> None:
        """Stop all programs that were started here. Done at the end of the emulation."""
        for program in self._programs:
            program.stop()
        self._programs.clear()

    def __repr__(self) -> str:
        return f"<cellway host {self.name}, {self.address}>"


def _with_program(source: Source) -> Source:
    """Return the scenario, with a program that waits if it has neither traffic nor programs, which are required."""
    from cellway.scenario import Scenario

    if isinstance(source, Scenario):
        scenario = source
    else:
        given = native(source)
        scenario = (
            Scenario.from_file(given) if isinstance(given, str) else Scenario.from_toml(given[0], folder=given[1])
        )
    document = scenario.to_dict()
    hosts = [node.get("name") for node in document.get("node", ()) if node.get("kind") == "host"]
    if document.get("traffic") or document.get("run", {}).get("command") or not hosts:
        return source
    return scenario.set("run.command", [{"name": "wait", "host": hosts[0], "run": ["sleep", "infinity"]}])


def _per_cent(loss: float | str) -> str:
    """Return a probability as text, with the 13 decimals of a per cent that scenarios have."""
    if isinstance(loss, str):
        return loss
    share = arguments.share("loss", loss)
    if share is None:
        raise arguments.wrong("loss", loss, 'a number from 0 to below 1, like 0.01, or a text like "1 %"')
    text = f"{100 * Decimal(repr(share)):.13f} %"
    if share > 0 and Decimal(text.removesuffix(" %")) == 0:
        raise ValueError(f"loss is {share!r}; accepted: 0, or at least 1e-15")
    return text
