"""Typed results of `predict`, `check`, `evaluate` and `equations`.

Rates are in bit/s, times in seconds, amounts of data in bytes unless a field says otherwise. The fields are those of
the JSON outputs of the command line, which docs/reference/json.md defines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


def rate(bits_per_second: float) -> str:
    """Format a rate for reading: `8.515 Mbit/s`."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if abs(bits_per_second) >= factor:
            return f"{bits_per_second / factor:.4g} {unit}"
    return f"{bits_per_second:.4g} bit/s"


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep."""

    name: str
    """The key that the sweep varies, such as `tcp.mss`; `variant` for named variants."""
    values: tuple[str, ...]
    """Its values, as text."""


@dataclass(frozen=True)
class Problem:
    """A location in a scenario with an error or a warning."""

    key: str
    """Path of the key."""
    message: str
    """The error or warning."""
    file: str
    """Name of the file; `<text>` for TOML text."""
    line: int | None
    """Line, from 1; None if the fault is in a setting."""
    column: int | None
    """Column, from 1; None if the fault is in a setting."""
    setting: str | None
    """The change by `set`, or the values of the sweep, at fault."""
    suggestion: str | None
    """The name that was probably meant."""
    accepted: str | None
    """The accepted values."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Problem:
        """Read an object of `cellway check --json`."""
        return cls(
            key=record["key"],
            message=record["message"],
            file=record["file"],
            line=record["line"],
            column=record["column"],
            setting=record["setting"],
            suggestion=record["suggestion"],
            accepted=record["accepted"],
        )

    def __str__(self) -> str:
        at = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{at}: {self.key}: {self.message}"


@dataclass(frozen=True)
class Checked:
    """A scenario without errors, and a description of its runs."""

    name: str
    """Name of the scenario."""
    points: int
    """Points of the sweep; 1 without one."""
    seeds: int
    """Replications of each point."""
    runs: int
    """Runs in all: `points` times `seeds`."""
    duration: float
    """Simulated time of a run, of the file without its sweep, in seconds."""
    warmup: float
    """Time before measurement starts, likewise, in seconds."""
    rtt: float
    """Propagation round trip, likewise, in seconds."""
    axes: tuple[Axis, ...]
    """Axes of the sweep."""
    warnings: tuple[Problem, ...]
    """Keys and axes without effect."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Checked:
        """Read the document of `cellway check --json`."""
        return cls(
            name=record["name"],
            points=record["points"],
            seeds=record["seeds"],
            runs=record["runs"],
            duration=record["duration_s"],
            warmup=record["warmup_s"],
            rtt=record["rtt_s"],
            axes=tuple(Axis(axis["name"], tuple(axis["values"])) for axis in record["axes"]),
            warnings=tuple(Problem.read(warning) for warning in record["warnings"]),
        )

    def __repr__(self) -> str:
        axes = ", ".join(axis.name for axis in self.axes) or "none"
        warnings = f", {len(self.warnings)} warnings" if self.warnings else ""
        return f"<cellway.Checked: {self.name}, {self.points} points x {self.seeds} seeds, axes: {axes}{warnings}>"


@dataclass(frozen=True)
class Amount:
    """A size in cells or bytes."""

    value: float
    unit: str
    """`cell` or `B`."""

    def __str__(self) -> str:
        return f"{self.value:.6g} {self.unit}"


@dataclass(frozen=True)
class Bound:
    """One upper bound of the goodput of a path."""

    limit: str
    """`line`, `framing`, `window`, `shaping`, `host`, `gateway` or `loss`."""
    at: str
    """Its domain; may be empty."""
    value: float
    """Goodput that it allows, in bit/s."""
    equation: str
    """The equation, as in `equations()`."""
    source: str
    """The source of the equation."""
    caveats: tuple[str, ...]
    """The reasons why the equation may not hold here."""

    def __repr__(self) -> str:
        return f"<cellway.Bound: {self.limit}, {rate(self.value)}>"


@dataclass(frozen=True)
class PathPrediction:
    """The prediction of TCP over one path."""

    goodput: float
    """The least bound: TCP payload of all connections together, in bit/s."""
    binding: str
    """The `limit` of the bound that sets it."""
    round_trip: float
    """Time of a full segment and its acknowledgement on an idle path, in seconds."""
    bandwidth_delay_product: float
    """TCP payload that the path holds in that time, in bytes."""
    window_needed: int
    """The least window of each connection with which it is not the limit, in bytes."""
    buffer_needed: Amount
    """The buffer before the slowest line with which the windows lose nothing."""
    spacer_buffer: Amount | None
    """The same of a shaper, for each of its channels; None without one."""
    advice: str
    """Advice for a higher goodput."""
    caveats: tuple[str, ...]
    """The effects that the prediction leaves out."""
    bounds: tuple[Bound, ...]
    """Every bound."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> PathPrediction:
        """Read the document of `cellway predict --json` for a path."""
        spacer = record["spacer_buffer"]
        return cls(
            goodput=record["goodput"],
            binding=record["binding"],
            round_trip=record["round_trip"],
            bandwidth_delay_product=record["bandwidth_delay_product"],
            window_needed=record["window_needed"],
            buffer_needed=Amount(record["buffer_needed"]["value"], record["buffer_needed"]["unit"]),
            spacer_buffer=None if spacer is None else Amount(spacer["value"], spacer["unit"]),
            advice=record["advice"],
            caveats=tuple(record["caveats"]),
            bounds=tuple(
                Bound(
                    limit=bound["limit"],
                    at=bound["at"],
                    value=bound["value"],
                    equation=bound["equation"],
                    source=bound["source"],
                    caveats=tuple(bound["caveats"]),
                )
                for bound in record["bounds"]
            ),
        )

    def __repr__(self) -> str:
        return (
            f"<cellway.PathPrediction: {rate(self.goodput)}, set by the {self.binding}, "
            f"round trip {1e3 * self.round_trip:.4g} ms>"
        )


@dataclass(frozen=True)
class Leg:
    """One control loop on the path of the data: a TCP connection, or the transport between two gateways."""

    start: str
    """The node at which data enter the loop; empty for an implicit host."""
    end: str
    """The node at which data leave it; empty for an implicit host."""
    transport: bool
    """True for the transport between gateways."""
    loss: float
    """The chance that its links lose a full packet, or one of its cells."""
    prediction: PathPrediction
    """The prediction of the loop as a path."""


@dataclass(frozen=True)
class GroupPrediction:
    """The prediction of one traffic group of a scenario, taken alone."""

    group: str
    """Name of the group."""
    connections: int
    """Its slots."""
    goodput: float
    """TCP payload of all of them together, in bit/s."""
    loss: float
    """The chance that the links lose one of its full packets on the way."""
    legs: tuple[Leg, ...]
    """The control loops in the direction of the data: one, or three where gateways split the connections."""
    binding: int
    """The number of the one of `legs` that sets the goodput, from 0."""
    caveats: tuple[str, ...]
    """The effects that the prediction leaves out."""

    def __repr__(self) -> str:
        limit = self.legs[self.binding].prediction.binding
        return f"<cellway.GroupPrediction: {self.group}, {rate(self.goodput)}, set by the {limit}>"


@dataclass(frozen=True)
class Answer:
    """A value, or the reason why theory has none."""

    value: float | None
    """The value; None without one."""
    reason: str | None
    """The reason; None with a value."""


@dataclass(frozen=True)
class UdpPrediction:
    """The prediction of one group of UDP datagrams, taken alone."""

    group: str
    """Name of the group."""
    sources: int
    """Its slots."""
    rate: float
    """Mean rate of all of them together, of IP packets, in bit/s."""
    path_delay: float
    """One-way delay of a packet that nothing delays, in seconds."""
    line: str
    """The line that the group fills most."""
    utilisation: float
    """The share of time in which the group keeps that line busy."""
    delay_mean: Answer
    """Mean one-way delay, in seconds."""
    loss_ratio: Answer
    """The share of the packets that are lost."""

    def __repr__(self) -> str:
        return f"<cellway.UdpPrediction: {self.group}, {rate(self.rate)}, {self.utilisation:.4g} of {self.line}>"


@dataclass(frozen=True)
class PointPrediction:
    """The predictions of one point of a sweep."""

    axes: dict[str, str | float]
    """Axis to value; empty without a sweep."""
    groups: tuple[GroupPrediction, ...]
    """The groups over TCP, each as if the others were not there."""
    udp: tuple[UdpPrediction, ...]
    """The groups of UDP datagrams, likewise."""


@dataclass(frozen=True)
class ScenarioPrediction:
    """The predictions of a scenario."""

    name: str
    """Name of the scenario."""
    points: tuple[PointPrediction, ...]
    """The points of its sweep, in its order."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> ScenarioPrediction:
        """Read the document of `cellway predict --json` for a scenario."""
        return cls(record["name"], tuple(_point(point) for point in record["points"]))

    def __repr__(self) -> str:
        names = [group.group for point in self.points for group in point.groups]
        names += [group.group for point in self.points for group in point.udp]
        groups = ", ".join(dict.fromkeys(names)) or "none"
        return f"<cellway.ScenarioPrediction: {self.name}, {len(self.points)} points, groups: {groups}>"


def _point(record: Mapping[str, Any]) -> PointPrediction:
    # The document has the key only at points with such groups.
    udp = tuple(_udp(group) for group in record.get("udp", ()))
    return PointPrediction(dict(record["axes"]), tuple(_group(group) for group in record["groups"]), udp)


def _udp(record: Mapping[str, Any]) -> UdpPrediction:
    def answer(given: Mapping[str, Any]) -> Answer:
        return Answer(given.get("value"), given.get("none"))

    return UdpPrediction(
        group=record["group"],
        sources=record["sources"],
        rate=record["rate"],
        path_delay=record["path_delay"],
        line=record["line"],
        utilisation=record["utilisation"],
        delay_mean=answer(record["delay_mean"]),
        loss_ratio=answer(record["loss_ratio"]),
    )


def _group(record: Mapping[str, Any]) -> GroupPrediction:
    return GroupPrediction(
        group=record["group"],
        connections=record["connections"],
        goodput=record["goodput"],
        loss=record["loss"],
        legs=tuple(
            Leg(leg["from"], leg["to"], leg["transport"], leg["loss"], PathPrediction.read(leg["prediction"]))
            for leg in record["legs"]
        ),
        binding=record["binding"],
        caveats=tuple(record["caveats"]),
    )


@dataclass(frozen=True)
class Evaluation:
    """The value of one equation."""

    equation: str
    """Id of the equation."""
    value: float
    """The result, in `unit`."""
    unit: str
    """`1` for a ratio or a plain count."""
    source: str
    """The source of the equation."""
    caveats: tuple[str, ...]
    """The reasons why the equation may not hold for these arguments."""

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Evaluation:
        """Read the document of `cellway predict --equation ID --json`."""
        return cls(record["equation"], record["value"], record["unit"], record["source"], tuple(record["caveats"]))

    def __repr__(self) -> str:
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"<cellway.Evaluation: {self.equation} = {self.value:.6g}{unit}>"


@dataclass(frozen=True)
class Argument:
    """An argument of an equation."""

    name: str
    """Its name on the command line; in Python with `_` for `-`."""
    help: str
    """Its meaning."""
    accepted: str
    """The accepted values."""
    required: bool
    """False if it has a default."""
    default: str | None
    """The default, as text; None without one."""


@dataclass(frozen=True)
class Equation:
    """An equation that `evaluate` computes."""

    id: str
    title: str
    source: str
    """Its source."""
    formula: str
    domain: str
    """Its domain."""
    arguments: tuple[Argument, ...]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Equation:
        """Read an object of `cellway predict --equations --json`."""
        return cls(
            id=record["id"],
            title=record["title"],
            source=record["source"],
            formula=record["formula"],
            domain=record["domain"],
            arguments=tuple(
                Argument(given["name"], given["help"], given["accepted"], given["required"], given["default"])
                for given in record["arguments"]
            ),
        )

    def __repr__(self) -> str:
        arguments = ", ".join(argument.name for argument in self.arguments)
        return f"<cellway.Equation: {self.id}({arguments}), {self.title}>"
