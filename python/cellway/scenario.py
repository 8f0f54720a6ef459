"""Scenarios that are built in Python, and changed from one run to the next."""

from __future__ import annotations

import copy
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cellway import arguments, paths, toml_text

if TYPE_CHECKING:
    import polars as pl
    from distributed import Client
    from matplotlib.figure import Figure

    from cellway.comparison import Comparison
    from cellway.controller import Controller
    from cellway.predicted import Checked, ScenarioPrediction
    from cellway.results import Results

NodeKind = Literal["router", "switch", "host", "gateway"]

ACCESS = {"rate": "10 Gbit/s", "delay": "0 s"}
"""The link between a router and the host of a conversation, where none is given: so fast that nothing waits for it."""

APART = "100 ms"
"""The time between the starts of the flows of a dumbbell, so that they do not lose the same packets."""

SHORT: dict[str, str] = {
    "rate": "link.line.rate",
    "buffer": "buffer.size",
    "queue": "buffer.queue",
    "window": "tcp.window",
    "control": "tcp.control",
    "flows": "traffic.flow.count",
}
"""Short names of axes -> keys of a dumbbell."""


class Scenario:
    """A scenario: a network, the traffic on it, and what to vary. The functions of `cellway` take it as `source`.

    It never changes: each method returns a new scenario, so a cell of a notebook can run again. `print` shows it as
    TOML, as a file has it.

        s = cellway.Scenario("two", duration="60 s", warmup="10 s")
        s = s.node("a").node("b").link("a", "b", rate="8 Mbit/s", delay="20 ms")
        s = s.traffic("bulk", "a", "b", count=2)
        s.sweep({"buffer.size": ["16 KiB", "64 KiB"]}).simulate(seeds=4)

    `buffer` is the size of the buffer of each output port, or the whole section. Other keyword arguments are sections,
    such as `tcp={"window": "1 MiB"}`, and keys of elements; `_` in their names stands for `-`.
    """

    def __init__(
        self,
        name: str = "scenario",
        *,
        duration: str = "60 s",
        warmup: str = "0 s",
        buffer: str | Mapping[str, object] = "64 KiB",
        **sections: Any,
    ) -> None:
        run = {"duration": duration, "warmup": warmup, **_mapping("run", sections.pop("run", {}))}
        port = {"size": buffer, "per": "port"} if isinstance(buffer, str) else _mapping("buffer", buffer)
        parts = {"run": run, "buffer": copy.deepcopy(dict(port)), **_keys(sections)}
        self._document: dict[str, Any] = {"version": 1, "name": name, **parts}
        self._folder = "."

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, folder: str | os.PathLike[str] = ".") -> Scenario:
        """Return the scenario of a dict, as `tomllib` reads it from a file. Relative paths in it start at `folder`."""
        made = cls.__new__(cls)
        made._document = {"version": 1, **copy.deepcopy(dict(_mapping("document", document)))}
        made._folder = os.fspath(folder)
        return made

    @classmethod
    def from_toml(cls, text: str, *, folder: str | os.PathLike[str] = ".") -> Scenario:
        """Return the scenario of TOML text. Comments are not kept. Raises `ScenarioError` if it is not TOML."""
        try:
            return cls.from_dict(tomllib.loads(text), folder=folder)
        except tomllib.TOMLDecodeError as error:
            raise paths.wrong(f"not TOML: {error}") from None

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Scenario:
        """Read a scenario file. Raises `FileNotFoundError` without one, `ScenarioError` if it is not TOML."""
        from cellway import documents

        file = Path(path)
        try:
            return cls.from_toml(documents.text_of(file, "a scenario file"), folder=file.parent)
        except ValueError as error:
            raise paths.wrong(f"{file}: {error}") from None

    @classmethod
    def dumbbell(
        cls,
        *,
        rate: str,
        rtt: str | Sequence[str],
        flows: int = 1,
        buffer: str = "1 bdp",
        control: str | Sequence[str] | None = None,
        queue: str | None = None,
        name: str = "dumbbell",
        duration: str = "30 s",
        warmup: str = "5 s",
        **sections: Any,
    ) -> Scenario:
        """Return senders and receivers on both sides of one slow line, "line", between the routers "left" and "right".

        The `flows` transfers of a group start 0.1 s apart and last to the end of the run. `rate` is that of the line in
        both directions, `rtt` the round trip without waiting, `buffer` the size of the buffer before the line, and
        `queue` its queue discipline. The group of the flows is called `flow`. With several values of `control`, or of
        `rtt`, there are `flows` flows of each, in groups with the names of the controls, or `rtt-20ms` and so on.

        The window, the round trip and the rate of each flow and the length of the queue are recorded over time.
        """
        from cellway import quantity

        arguments.count("flows", flows)
        trips = _several("rtt", rtt, "60 ms")
        controls: list[str | None] = [None] if control is None else [*_several("control", control, "cubic")]
        if min(len(trips), len(controls)) != 1:
            raise ValueError("one of rtt and control is a list; accepted: a single value of the other")
        picoseconds = [quantity.picoseconds("rtt", trip) for trip in trips]
        least = min(picoseconds)
        apart = {"stagger": APART} if flows > 1 else {}
        common = {"app": "bulk", "count": flows, **apart, "from": "left", "to": "right"}
        groups = []
        for trip, text in zip(picoseconds, trips, strict=True):
            # Each flow has an access link on either side, and crosses it in both directions.
            access = {**ACCESS, "delay": quantity.time_text(Fraction(trip - least, 4))}
            for chosen in controls:
                tcp = {} if chosen is None or len(controls) == 1 else {"tcp": {"control": chosen}}
                group = f"rtt-{_word(text)}" if len(trips) > 1 else str(chosen) if tcp else "flow"
                groups.append({"name": group, **common, "access": access, **tcp})
        whole = _keys(sections)
        single = {"control": controls[0]} if len(controls) == 1 and controls[0] is not None else {}
        # The recovery that every control works with.
        whole["tcp"] = {**single, "recovery": "rack", **_mapping("tcp", whole.get("tcp", {}))}
        port = {"size": buffer, "per": "port", **({} if queue is None else {"queue": queue})}
        observe = {"interval": "100 ms", "flows": ["all"], "queue": ["left>right"]}
        made = cls(name, duration=duration, warmup=warmup, buffer=port, observe=whole.pop("observe", observe), **whole)
        made = made.node("left").node("right")
        made = made.link("left", "right", name="line", rate=rate, delay=quantity.time_text(Fraction(least, 2)))
        return made._with({"traffic": groups})

    def node(self, name: str, kind: NodeKind = "router", **keys: Any) -> Scenario:
        """Return the scenario with another node."""
        return self.add("node", name=name, kind=kind, **keys)

    def link(self, a: str, b: str, *, rate: str, delay: str = "0 s", name: str | None = None, **keys: Any) -> Scenario:
        """Return the scenario with a link between two nodes; without a name it is called after its ends."""
        named = {} if name is None else {"name": name}
        return self.add("link", **named, between=[a, b], rate=rate, delay=delay, **keys)

    def traffic(self, name: str, sender: str, receiver: str, *, app: str | None = None, **keys: Any) -> Scenario:
        """Return the scenario with a traffic group from one node to another.

        The application is `bulk` unless `app`, `udp` or `flows` say otherwise. Where an end is no host, each
        conversation gets a host of its own there, over a fast link unless `access` describes it.
        """
        if app is None and not {"udp", "flows"} & keys.keys():
            app = "bulk"
        hosts = {node.get("name") for node in self._document.get("node", ()) if node.get("kind") == "host"}
        access = {} if {sender, receiver} <= hosts else {"access": ACCESS}
        group = {"name": name, **({} if app is None else {"app": app}), "from": sender, "to": receiver}
        return self.add("traffic", **(group | access | keys))

    def add(self, section: str, **keys: Any) -> Scenario:
        """Return the scenario with another element of a section that is a list, such as `shaper` or `change`."""
        elements = self._document.get(section, [])
        if not isinstance(elements, list):
            raise paths.wrong(f"{section}: it is no list of elements; accepted: set, as in .set({section!r}, ...)")
        return self._with({section: [*elements, _keys(keys)]})

    def set(self, path: str | Mapping[str, object], value: object = None) -> Scenario:
        """Return the scenario with another value of a key: `.set("tcp.window", "1 MiB")`, or a dict of several.

        Paths are those of sweeps: an element is called by its name, by its number from 1 if it has none, or by `*` for
        all.
        Raises `ScenarioError` for an element that does not exist.
        """
        changes = {path: value} if isinstance(path, str) else arguments.changes("path", path)
        made = self._copy()
        for at, item in changes.items():
            words = at.split(".")
            for table in paths.tables(made._document, words[:-1]):
                table[words[-1]] = copy.deepcopy(item)
        return made

    def sweep(self, axes: Mapping[str, Sequence[object]] | None = None, /, **short: Sequence[object]) -> Scenario:
        """Return the scenario with more axes: `.sweep({"link.line.rate": ["2 Mbit/s", "8 Mbit/s"]})`.

        For a dumbbell `rate`, `rtt`, `buffer`, `queue`, `window`, `control` and `flows` are short names:
        `.sweep(buffer=["0.5 bdp", "2 bdp"])`. In results the axis has the name of its key. Several `flows` start 0.1 s
        apart.
        """
        added: dict[str, list[object]] = {}
        for name, values in [*(axes or {}).items(), *(self._axis(*item) for item in short.items())]:
            if hasattr(values, "tolist"):
                # An array of numpy, or a column of pandas.
                values = values.tolist()
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise arguments.wrong(name, values, "a list of values")
            added[name] = list(values)
        sweep = _mapping("sweep", self._document.get("sweep", {}))
        made = self._with({"sweep": {**sweep, "axes": {**sweep.get("axes", {}), **added}}})
        groups = self._document.get("traffic", ())
        apart = any(group.get("name") == "flow" and "stagger" in group for group in groups)
        return made if "flows" not in short or apart else made.set("traffic.flow.stagger", APART)

    def variants(self, variants: Mapping[str, Mapping[str, object]]) -> Scenario:
        """Return the scenario with named variants, each with the keys that it sets: `{"as it is": {}, ...}`."""
        added = [{"name": name, "set": dict(changes)} for name, changes in variants.items()]
        sweep = _mapping("sweep", self._document.get("sweep", {}))
        return self._with({"sweep": {**sweep, "variant": [*sweep.get("variant", []), *added]}})

    @property
    def name(self) -> str:
        """The name of the scenario."""
        return str(self._document.get("name", ""))

    @property
    def folder(self) -> str:
        """The folder at which relative paths in the scenario start."""
        return self._folder

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as a dict of its own, as `tomllib` would read it from a file."""
        return copy.deepcopy(self._document)

    def to_toml(self) -> str:
        """Return the scenario as the text of a file."""
        return toml_text.document(self._document)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the scenario file and return its path. Raises `FileExistsError` unless `force`."""
        file = Path(path)
        with file.open("w" if force else "x", encoding="utf-8") as out:
            out.write(self.to_toml())
        return file

    def draw(self) -> Figure:
        """Draw the network."""
        from cellway.plot import topology

        return topology(self._document)

    def check(self) -> Checked:
        """Check the scenario without running it; see `cellway.check`."""
        from cellway import api

        return api.check(self)

    def predict(self) -> ScenarioPrediction:
        """Predict each traffic group from theory; see `cellway.predict`."""
        from cellway import api

        return api.predict(self)

    def simulate(
        self,
        *,
        seeds: int | None = None,
        threads: int | None = None,
        controllers: Mapping[str, Callable[[], Controller]] | None = None,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        cache: str | os.PathLike[str] | None = None,
        progress: bool = True,
    ) -> Results:
        """Simulate every point with every seed; see `cellway.simulate`."""
        from cellway import api

        return api.simulate(
            self,
            seeds=seeds,
            threads=threads,
            controllers=controllers,
            out=out,
            force=force,
            cache=cache,
            progress=progress,
        )

    def run(
        self,
        store: str | os.PathLike[str],
        *,
        seeds: int | None = None,
        until: str | Sequence[str] = (),
        max_seeds: int = 1000,
        budget: float | None = None,
        threads: int | None = None,
        client: Client | str | None = None,
        fail_fast: bool = False,
        retry: bool = False,
        progress: bool = True,
    ) -> pl.LazyFrame:
        """Simulate what a store does not have, on this machine or a cluster; see `cellway.sweep`."""
        from cellway import api

        return api.sweep(
            self,
            store,
            seeds=seeds,
            until=until,
            max_seeds=max_seeds,
            budget=budget,
            threads=threads,
            client=client,
            fail_fast=fail_fast,
            retry=retry,
            progress=progress,
        )

    def emulate(
        self,
        *,
        seeds: int | None = None,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        log: str | os.PathLike[str] | None = None,
        progress: bool = True,
    ) -> Results:
        """Emulate every point with every seed in real time; see `cellway.emulate`."""
        from cellway import api

        return api.emulate(self, seeds=seeds, out=out, force=force, log=log, progress=progress)

    def compare(
        self,
        *,
        seeds: int | None = None,
        repeat: int | None = None,
        emulate: bool | None = None,
        published: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        out: str | os.PathLike[str] | None = None,
        force: bool = False,
        cache: str | os.PathLike[str] | None = None,
        progress: bool = True,
    ) -> Comparison:
        """Predict, simulate and emulate, and compare the three; see `cellway.compare`."""
        from cellway import api

        return api.compare(
            self,
            seeds=seeds,
            repeat=repeat,
            emulate=emulate,
            published=published,
            threads=threads,
            out=out,
            force=force,
            cache=cache,
            progress=progress,
        )

    def lab(self, *, open: bool = False) -> str:
        """Return the address of the lab that shows this scenario; see `cellway.lab`."""
        from cellway import api

        return api.lab(self, open=open)

    def __str__(self) -> str:
        return self.to_toml()

    def __repr__(self) -> str:
        counts = {name: len(self._names(name)) for name in ("node", "link", "traffic")}
        parts = [f"{n} {what}{'' if n == 1 or what == 'traffic' else 's'}" for what, n in counts.items()]
        sweep = self._document.get("sweep", {})
        axes = sweep.get("axes", {}) if isinstance(sweep, Mapping) else {}
        return f"<cellway.Scenario: {self.name}, {', '.join(parts)}{', axes: ' + ', '.join(axes) if axes else ''}>"

    def _repr_html_(self) -> str:
        from cellway import notebook

        return notebook.scenario(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scenario):
            return NotImplemented
        return (self._document, self._folder) == (other._document, other._folder)

    def __hash__(self) -> int:
        return hash((self.name, self._folder))

    def _axis(self, name: str, values: Sequence[object]) -> tuple[str, Sequence[object]]:
        from cellway import quantity

        if name == "rtt" and self._has_groups_by_rtt():
            raise ValueError(
                "rtt: the groups of this dumbbell are named by their round trips; accepted: a dumbbell of one rtt"
            )
        if name == "rtt" and not isinstance(values, str):
            halves = [quantity.time_text(Fraction(quantity.picoseconds("rtt", value), 2)) for value in values]
            return "link.line.delay", halves
        if name not in SHORT:
            short = ", ".join(["rtt", *SHORT])
            raise TypeError(
                f'{name} is no short name of an axis; accepted: {short}, or a dict like {{"tcp.mss": [...]}}'
            )
        return SHORT[name], values

    def _names(self, section: str) -> list[object]:
        """Return the names of the elements of a section, as far as it has any."""
        elements = self._document.get(section, ())
        found = elements if isinstance(elements, list) else []
        return [element.get("name") for element in found if isinstance(element, Mapping)]

    def _has_groups_by_rtt(self) -> bool:
        """Return true for a dumbbell of several round trips: each has a group, and no group is called `flow`."""
        names = [str(name) for name in self._names("traffic")]
        return "flow" not in names and any(name.startswith("rtt-") for name in names)

    def _copy(self) -> Scenario:
        return Scenario.from_dict(self._document, folder=self._folder)

    def _with(self, changes: Mapping[str, Any]) -> Scenario:
        return Scenario.from_dict({**self._document, **changes}, folder=self._folder)


def _keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments with the names of keys."""
    return {name.replace("_", "-"): copy.deepcopy(value) for name, value in given.items()}


def _word(text: str) -> str:
    """Return a quantity as a part of a name."""
    return text.replace(" ", "").replace(".", "-").replace("µ", "u")


def _several(name: str, given: object, example: str) -> list[str]:
    """Return one text, or several, as a list."""
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
        raise arguments.wrong(name, given, f'a string like "{example}", or a list of them')
    return list(texts)


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise arguments.wrong(name, value, "a dict of keys and values")
    return value
