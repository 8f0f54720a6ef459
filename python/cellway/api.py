"""The functions of the package: `simulate`, `sweep`, `emulate`, `compare`, `check`, `predict`, `reproduce`, `load`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from cellway import arguments, documents
from cellway.progress import reporter
from cellway.source import Source, native, overrides

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client

    from cellway.comparison import Comparison
    from cellway.controller import Controller
    from cellway.predicted import Checked, Equation, Evaluation, PathPrediction, ScenarioPrediction
    from cellway.results import Reproduction, Results


def simulate(
    source: Source,
    *,
    seeds: int | None = None,
    set: Mapping[str, object] | None = None,
    threads: int | None = None,
    controllers: Mapping[str, Callable[[], Controller]] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Results:
    """Simulate every point of a scenario with every seed.

    `source` is a `Scenario`, a path, or TOML text: a string with a line break in it, or with an `=` unless it ends in
    `.toml` or there is a file of that name.
    `seeds` is the number of replications and `set` changes single keys, as `--set` does on the command line:
    `{"tcp.mss": "1460 B", "traffic.bulk.count": 3}`.
    `threads` bounds the parallel runs (default: all cores); it never changes a result.
    `controllers` names the traffic groups whose hosts use a congestion controller of your own: a subclass of
    `Controller`, or a function that returns one. These groups need `recovery = "rack"`.
    With `out`, the tables and the manifest are also written to that folder, which must not exist unless `force`.
    `cache` is a folder that keeps finished runs: none that is there is run again. It never changes a result.

    Raises `ScenarioError` for a scenario that is not valid, `Error` for any other failure, such as an exception in a
    controller.
    """
    from cellway import _native
    from cellway.results import Results

    arguments.count("seeds", seeds)
    arguments.count("threads", threads)
    own = arguments.controllers(controllers)
    target, store = (None if path is None else os.fspath(path) for path in (out, cache))
    with reporter("simulate", enabled=progress) as tick:
        done = _native.simulate(native(source), overrides(set), seeds, threads, own, target, force, store, tick)
    return Results.from_native(done)


def emulate(
    source: Source,
    *,
    seeds: int | None = None,
    set: Mapping[str, object] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    log: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Results:
    """Emulate every point of a scenario with every seed: in real time, with real hosts.

    Arguments are those of `simulate`. The results are valid only if their `valid` is true: a machine that is too busy
    gives numbers that are not those of the network. `log` names a file for the output of the scenario's programs,
    each line after the name of its program.

    Raises `EmulationError` if it cannot run, with what is missing: it needs Linux, and root or unprivileged
    user namespaces. With the latter it runs in a separate process.
    """
    from cellway import _native
    from cellway.results import Results

    arguments.count("seeds", seeds)
    scenario, changes = native(source), overrides(set)
    _native.check(scenario, changes)
    if not _native.emulates_here():
        from cellway import inside

        options = [] if seeds is None else ["--seeds", str(seeds)]
        options += [] if log is None else ["--log", os.fspath(log)]
        return inside.run("emulate", scenario, changes, options, out, Results.from_folder, force=force)
    with reporter("emulate", enabled=progress) as tick:
        target, file = (None if path is None else os.fspath(path) for path in (out, log))
        done = _native.emulate(scenario, changes, seeds, target, force, file, tick)
    return Results.from_native(done)


def compare(
    source: Source,
    *,
    seeds: int | None = None,
    repeat: int | None = None,
    emulate: bool | None = None,
    published: str | os.PathLike[str] | None = None,
    set: Mapping[str, object] | None = None,
    threads: int | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Comparison:
    """Predict, simulate and emulate a scenario, and compare the three.

    `source`, `seeds`, `set`, `threads` and `cache` are those of `simulate`; `repeat` is the number of emulations of
    each point (default: 3). With `emulate=True` a machine that cannot emulate raises `EmulationError`; by default the
    scenario is emulated if possible, and `emulation` of the result has the outcome. `published` is a CSV file with the
    header `subject,metric,unit,value` and columns for axes of the sweep.

    With `out`, tables, manifest and rows are written to that folder, with `compare.html` and `compare.svg`.
    """
    from cellway import _native
    from cellway.comparison import Comparison
    from cellway.results import Results

    for name, count in (("seeds", seeds), ("repeat", repeat), ("threads", threads)):
        arguments.count(name, count)
    scenario, changes = native(source), overrides(set)
    _native.check(scenario, changes)
    try:
        here = emulate is False or _native.emulates_here()
    except _native.EmulationError:
        if emulate:
            raise
        here = True
    if not here:
        from cellway import inside

        given: dict[str, object] = {
            "--seeds": seeds,
            "--repeat": repeat,
            "--published": published,
            "--threads": threads,
        }
        given["--cache"] = cache
        options = [word for key, value in given.items() if value is not None for word in (key, str(value))]
        return inside.run("compare", scenario, changes, options, out, Comparison.from_folder, force=force)
    with reporter("compare", enabled=progress) as tick:
        done, rows = _native.compare(
            scenario,
            changes,
            seeds,
            repeat,
            emulate is False,
            None if published is None else os.fspath(published),
            threads,
            None if out is None else os.fspath(out),
            force,
            None if cache is None else os.fspath(cache),
            tick,
        )
    about = documents.record(rows, "the rows of the comparison")
    if emulate and about["emulation"] == "impossible":
        # The fault is in the scenario, not in this machine.
        raise _native.EmulationError(about["reason"])
    if out is not None:
        from cellway.report import build

        build(out)
    return Comparison(Results.from_native(done), about)


def sweep(
    source: Source,
    store: str | os.PathLike[str],
    *,
    seeds: int | None = None,
    set: Mapping[str, object] | None = None,
    until: str | Sequence[str] = (),
    max_seeds: int = 1000,
    budget: float | None = None,
    threads: int | None = None,
    client: Client | str | None = None,
    fail_fast: bool = False,
    retry: bool = False,
    progress: bool = True,
) -> pl.LazyFrame:
    """Simulate what a store does not have, and return a lazy frame over all of it.

    The same call goes on where an earlier one was, whatever ended that.

    `store` is a folder, or an address of fsspec such as `"s3://bucket/name"`: the plan, the finished runs and, at the
    end, the tables, in its folder `results`. The frame has a row for each run, subject and metric, as `Results.summary`
    has it. `source`, `seeds`, `set` and `threads` are those of `simulate`, and the tables are the same.

    `until` adds replications to each point until this holds, or `max_seeds` or the `budget` (in seconds) is reached:
    `"ci95(goodput[subject=a-1]) < 2 %"`, `"ci95(goodput[subject=a-1] against tcp.variant=reno) < 5 %"`.

    `client` runs it on a cluster of Dask, whose workers see the folder: a `distributed.Client`, the address of a
    scheduler, `"local:4"` for four processes here, or the name of a cluster of `dask_jobqueue` or `dask_kubernetes`
    with the number of its workers, as `"SLURMCluster:16"`. It cannot be used with `until`.

    Runs that fail are left out with a warning, or raise `Error` with `fail_fast`; they are run again with `retry` only.
    Raises `ScenarioError` for a scenario that is not valid, `Error` for a store that cannot be used.
    """
    from cellway import sweeps

    wanted = [until] if isinstance(until, str) else list(until)
    work = sweeps.Work(wanted, max_seeds, budget, threads, client, fail_fast, retry, progress)
    return sweeps.sweep(native(source), overrides(set), os.fspath(store), seeds, work)


def check(source: Source, *, set: Mapping[str, object] | None = None) -> Checked:
    """Check a scenario without running it; return a description of its runs. Raises `ScenarioError`."""
    from cellway import _native
    from cellway.predicted import Checked

    return Checked.read(documents.record(_native.check(native(source), overrides(set)), "check"))


@overload
def predict(source: Source, *, set: Mapping[str, object] | None = None) -> ScenarioPrediction: ...
@overload
def predict(
    *,
    rate: str,
    rtt: str,
    window: str,
    mss: str | None = None,
    framing: str | None = None,
    loss: float | None = None,
    control: str | None = None,
    buffer: str | None = None,
    delayed_ack: bool | None = None,
    source_rate: str | None = None,
    shaping: str | None = None,
    connections: int | None = None,
) -> PathPrediction: ...
def predict(
    source: Source | None = None,
    *,
    set: Mapping[str, object] | None = None,
    rate: str | None = None,
    rtt: str | None = None,
    window: str | None = None,
    mss: str | None = None,
    framing: str | None = None,
    loss: float | None = None,
    control: str | None = None,
    buffer: str | None = None,
    delayed_ack: bool | None = None,
    source_rate: str | None = None,
    shaping: str | None = None,
    connections: int | None = None,
) -> ScenarioPrediction | PathPrediction:
    """Predict TCP from theory, without running anything.

    Of a scenario: `source` and `set` are those of `simulate`; each traffic group is predicted at each point of the
    sweep, as if the others were not there.

    Of a path: quantities are strings with units. `rate="40 Mbit/s"` is the rate of cells or frames on the slowest line,
    or its name, such as `"oc3c"`; `rtt="60 ms"` is without the time to send a packet; `window="64 KiB"`. These three
    are required. `mss="1460 B"`, `buffer="256 cell"`; `framing` is `"packet"`, `"ethernet"`, `"fddi"`, `"aal5-vc-mux"`,
    `"aal5-llc-snap"` or `"bare-cells"`, by default that of the line's name, `"aal5-llc-snap"` with a buffer in cells,
    else `"packet"`; `loss` is a share of the packets, and `control`, `"cubic"` by default, `"reno"` or `"tahoe"`, the
    congestion control, which decides what losses leave; `source_rate` is the rate of the line of the source, `shaping`
    the rate to which the source paces its cells or frames.

    Returns a `ScenarioPrediction` of a scenario and a `PathPrediction` of a path. Raises `ScenarioError` and `Error`.
    """
    from cellway import _native
    from cellway.predicted import PathPrediction, ScenarioPrediction

    if delayed_ack not in (None, True, False):
        raise arguments.wrong("delayed_ack", delayed_ack, "True, False or None")
    given = {
        "rate": arguments.quantity("rate", rate, "40 Mbit/s"),
        "rtt": arguments.quantity("rtt", rtt, "60 ms"),
        "window": arguments.quantity("window", window, "64 KiB"),
        "mss": arguments.quantity("mss", mss, "1460 B"),
        "framing": arguments.text("framing", framing, 'the name of a framing, like "packet"'),
        "loss": None if loss is None else repr(arguments.share("loss", loss)),
        "control": arguments.text("control", control, 'the name of a congestion control, like "cubic"'),
        "buffer": arguments.quantity("buffer", buffer, "256 cell"),
        "delayed-ack": None if delayed_ack is None else ("on" if delayed_ack else "off"),
        "source": arguments.quantity("source_rate", source_rate, "149.76 Mbit/s"),
        "shaping": arguments.quantity("shaping", shaping, "20 Mbit/s"),
        "connections": None if connections is None else str(arguments.count("connections", connections)),
    }
    path = {name: text for name, text in given.items() if text is not None}
    if source is None:
        if set is not None:
            raise ValueError("set changes keys of a scenario, and there is none")
        try:
            document = _native.predict_path(path)
        except _native.Error as error:
            # The compiled part calls it as the command line does.
            name, colon, rest = str(error).partition(":")
            if name != "source":
                raise
            raise _native.Error(f"source_rate{colon}{rest}") from None
        return PathPrediction.read(documents.record(document, "predict"))
    if path:
        raise ValueError(f"a scenario has its own {', '.join(path)}; use set to change its keys")
    return ScenarioPrediction.read(documents.record(_native.predict(native(source), overrides(set)), "predict"))


def evaluate(equation: str, **given: str) -> Evaluation:
    """Evaluate one equation: `evaluate("window-over-rtt", window="128 KiB", rtt="8.8 ms")`.

    Arguments are strings with units; `_` in a name replaces `-`. `equations()` lists all equations. Raises `Error`.
    """
    from cellway import _native
    from cellway.predicted import Evaluation

    accepted = 'a string, with a unit if it is a quantity, like "64 KiB"'
    for name, value in given.items():
        arguments.text(name, value, accepted)
    texts = {name.replace("_", "-"): value for name, value in given.items()}
    return Evaluation.read(documents.record(_native.evaluate(equation, texts), "evaluate"))


def equations() -> list[Equation]:
    """Return all equations that `evaluate` computes."""
    from cellway import _native
    from cellway.predicted import Equation

    return [Equation.read(record) for record in documents.records(_native.equations(), "equations")]


def metrics() -> pl.DataFrame:
    """Return all metrics of the tables, one row per metric and definition.

    Columns: `metric`, its `label` in figures, `unit`, and as lists `subjects` (`port`, `slot`, ...), `recorded`
    (`summary`, `bins`, `changes`) and `sources` (`simulate`, `emulate`, ...); and its `meaning`, in Markdown.
    """
    import polars as pl

    from cellway import _native

    return pl.DataFrame(documents.records(_native.metrics(), "metrics"))


@overload
def reproduce(
    paper: str,
    *,
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    emulate: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Reproduction: ...
@overload
def reproduce(
    paper: list[str] | tuple[str, ...] | None = None,
    *,
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    emulate: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> dict[str, Reproduction]: ...
def reproduce(
    paper: str | Sequence[str] | None = None,
    *,
    only: str | Sequence[str] | None = None,
    quick: bool = False,
    emulate: bool | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    threads: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Reproduction | dict[str, Reproduction]:
    """Run the studies of published papers, or of folders of your own, and judge their claims.

    A paper is the name of a built-in one, or the path of a folder, with a `/` in it, whose name is then that of the
    folder. With one paper, the result is its `Reproduction`, and the folder is `out/<name>` unless `out` is given
    otherwise.
    With a list, or none for all built-in papers, the result is a `Reproduction` by name, each in a folder of that name
    in `out` (default: `out/papers`).

    `only` selects claims by id, by the beginning of ids, or by a pattern with `*`, each optionally after
    `PAPER/`; only the studies that they need are run. `quick` runs few seeds; its confidence intervals
    are wide. `emulate` selects whether emulated studies run (Linux, as root); by default they do if the run is not
    quick. Rows of emulations that did not run have the verdict `not-run`. Call `.report()` on a `Reproduction` for the
    HTML page, or `cellway.report.build` on the folder of several. `cache` is that of `simulate`. Raises `Error`.
    """
    from cellway import _native

    single = isinstance(paper, str)
    names = [paper] if isinstance(paper, str) else list(paper or [])
    # No name means all papers to the compiled part; an empty list means none to a program.
    if not names and paper is not None:
        raise ValueError("no papers are named; leave the argument out for all of them")
    for name in names:
        if os.sep in name and not Path(name).exists():
            raise _native.MissingFileError(
                f"{name}: no such folder; accepted: a folder with study.toml and expected.toml"
            )
    claims = [only] if isinstance(only, str) else list(only or [])
    short = [Path(name).resolve().name if os.sep in name else name for name in names]
    default = Path("out", short[0]) if single else Path("out", "papers")
    folder = default if out is None else Path(out)
    label = f"reproduce {' '.join(names)}".strip()
    # A list of one name gets folders in a folder, as any list does.
    target = folder if single or len(names) != 1 else folder / short[0]
    store = None if cache is None else os.fspath(cache)
    with reporter(label, enabled=progress) as tick:
        _native.reproduce(names, claims, quick, emulate, str(target), force, threads, store, tick)
    if single:
        return load_reproduction(folder)
    found = sorted(path.parent for path in folder.glob("*/study.json"))
    return {path.name: load_reproduction(path) for path in found if not names or path.name in short}


def load(folder: str | os.PathLike[str]) -> Results:
    """Read a folder that `simulate`, `emulate` or `compare` wrote. Raises `Error`, which names the faulty file."""
    from cellway.results import Results

    return Results.from_folder(folder)


def load_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """Read a folder that `compare` wrote. Raises `Error`, as `load` does."""
    from cellway.comparison import Comparison

    return Comparison.from_folder(folder)


def load_reproduction(folder: str | os.PathLike[str]) -> Reproduction:
    """Read a folder that `reproduce` wrote. Raises `Error`, as `load` does."""
    from cellway.results import Reproduction

    return Reproduction(folder)


def lab(source: Source | None = None, *, open: bool = False) -> str:
    """Return the address of the lab, the simulator in a web page, which shows the scenario if there is one.

    With `open` the browser of this desktop shows it, if there is one. The address leads to the pages in this package,
    so only this machine can open it. Raises `Error` if the package was built without them.
    """
    from cellway import browser

    text, name = (None, "") if source is None else _text_of(source)
    address = browser.address(text, name)
    if open:
        browser.show(browser.page(text, address))
    return address


def _text_of(source: Source) -> tuple[str, str]:
    """Return the text of a scenario, and the name of that text in messages."""
    given = native(source)
    if isinstance(given, tuple):
        return given[0], given[2] or "the scenario"
    return documents.text_of(Path(given), "a scenario file"), given


def schema() -> dict[str, Any]:
    """Return the JSON schema of scenario files, for editors and validators."""
    from cellway import _native

    return documents.record(_native.schema(), "schema")
