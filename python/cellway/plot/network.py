"""The network of a scenario as a graph that can be drawn, and the rates that change while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cellway.plot import select
from cellway.plot.rates import RATES


@dataclass
class Vertex:
    """A node, or the hosts of some traffic groups at one node; `at` is its column and row."""

    name: str
    kind: str
    column: int = 0
    row: float = 0.0


@dataclass(frozen=True)
class Edge:
    """A line between two vertices."""

    ends: tuple[str, str]
    rate: str
    delay: str
    framing: str
    back: tuple[str, str] | None = None
    """Rate and delay from the second vertex to the first, if they may differ."""

    def written(self, *, reversed: bool) -> tuple[str, str]:
        """Return rate and delay as they are written, with arrows where the directions differ."""
        back = self.back or (self.rate, self.delay)
        ways = [(self.rate, back[0]), (self.delay, back[1])]
        rate, delay = (a if a == b else "→ {}\n← {}".format(*((b, a) if reversed else (a, b))) for a, b in ways)
        return rate, delay


@dataclass
class Network:
    """Vertices in columns from the senders to the receivers, and edges; `marks` are the controls at a line's start."""

    vertices: dict[str, Vertex] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    marks: list[tuple[str, str, str, str]] = field(default_factory=list)
    """at, towards, kind (`shaper` or `policer`), label."""

    @property
    def form(self) -> str:
        """Return the form of the picture, which two networks may share: kinds, places and lines, not rates."""
        nodes = sorted((vertex.kind, vertex.column, vertex.row) for vertex in self.vertices.values())
        lines = sorted((min(edge.ends), max(edge.ends), edge.framing) for edge in self.edges if "/" not in edge.ends[0])
        hosts = sorted((edge.ends[1], edge.framing) for edge in self.edges if "/" in edge.ends[0])
        return repr((nodes, lines, hosts))

    @property
    def groups(self) -> int:
        """Return the number of groups of traffic with their own hosts, counted at both ends."""
        return sum(1 + vertex.name.count("\n") for key, vertex in self.vertices.items() if "/" in key)

    @property
    def columns(self) -> int:
        """Return the number of columns."""
        return 1 + max((vertex.column for vertex in self.vertices.values()), default=-1)

    @property
    def rows(self) -> float:
        """Return the number of rows of the fullest column."""
        return 1 + max((vertex.row for vertex in self.vertices.values()), default=0.0)


def network(scenario: Mapping[str, Any]) -> Network:
    """Return the graph of a scenario file that has been read as TOML."""
    nodes = {str(node["name"]): str(node.get("kind", "router")) for node in scenario.get("node", ())}
    if not nodes:
        raise select.MissingDataError("the scenario has no node")
    drawn = Network({name: Vertex(name, kind) for name, kind in nodes.items()})
    for link in scenario.get("link", ()):
        ends = (str(link["between"][0]), str(link["between"][1]))
        drawn.edges.append(Edge(ends, *_way(link, "forward"), _framing(link, ends, nodes), _way(link, "back")))
    hosts = list(_hosts(scenario, nodes))
    _columns(drawn, scenario, hosts)
    _rows(drawn)
    _marks(drawn, scenario)
    return drawn


def _way(link: Mapping[str, Any], way: str) -> tuple[str, str]:
    """Return rate and delay of one direction of a link, as they are written."""
    keys = {**link, **(link.get("both") or {}), **(link.get(way) or {})}
    return rate_text(keys.get("rate", "")), delay_text(keys.get("delay"))


def rate_text(rate: object) -> str:
    """Return a rate as it is written next to a line."""
    named = RATES.get(str(rate))
    return str(rate) if named is None else named.written


def delay_text(delay: object) -> str:
    """Return a delay as it is written next to a line; an empty string for none."""
    return "" if delay is None or select.amount(delay) == 0 else str(delay)


def _framing(link: Mapping[str, Any], ends: tuple[str, str], nodes: Mapping[str, str]) -> str:
    """Return the framing of a link or an access link: the given one, else that of the named line.

    For a rate in figures it is cells at a switch and for cell/s, else packets.
    """
    if "framing" in link:
        return str(link["framing"])
    rate = str(link.get("rate"))
    if rate in RATES:
        return RATES[rate].framing
    at_switch = "switch" in (nodes.get(ends[0]), nodes.get(ends[1]))
    return "atm" if at_switch or rate.endswith("cell/s") else "packet"


def _hosts(scenario: Mapping[str, Any], nodes: Mapping[str, str]) -> Iterator[tuple[str, str, str, Edge]]:
    """Yield the hosts of groups: label, node, side (`from` or `to`) and line; one for groups that are alike."""
    found: dict[tuple[str, str, str, str, str], list[str]] = {}
    for group in scenario.get("traffic", ()):
        access = group.get("access") or {}
        count = group.get("count", 1)
        label = str(group.get("name", group.get("app", "?"))) + (f" ×{count}" if count != 1 else "")
        framing = _framing(access, (str(group.get("from", "")), str(group.get("to", ""))), nodes)
        access_line = (rate_text(access.get("rate", "")), delay_text(access.get("delay")), framing)
        for side in ("from", "to"):
            node = str(group.get(side, ""))
            if nodes.get(node) in ("router", "switch", "gateway"):
                found.setdefault((node, side, *access_line), []).append(label)
    for (node, side, rate, delay, framing), labels in found.items():
        name = f"{node}/{side}/{rate}/{delay}/{framing}"
        yield "\n".join(labels), node, side, Edge((name, node), rate, delay, framing)


def _columns(drawn: Network, scenario: Mapping[str, Any], hosts: list[tuple[str, str, str, Edge]]) -> None:
    """Set the columns by the number of links from the start of the first group; hosts outside of their nodes."""
    group = (scenario.get("traffic") or [{}])[0]
    start = str(group.get("from", ""))
    start = start if start in drawn.vertices else next(iter(drawn.vertices))
    reached, before = {start: 0}, {start: start}
    queue = [start]
    for name in queue:
        for other in _neighbours(drawn, name):
            if other not in reached:
                reached[other], before[other] = reached[name] + 1, name
                queue.append(other)
    end = str(group.get("to", ""))
    end = end if end in reached else queue[-1]
    route = _route(before, start, end)
    senders = {str(group.get("from")) for group in scenario.get("traffic", ())}
    for name, vertex in drawn.vertices.items():
        vertex.column = reached.get(name, 0)
        if vertex.kind == "host" and name in senders and name != start and before.get(name) in route:
            vertex.column -= 2  # A further sender to the same route is placed before the node that it is linked to.
    for label, node, side, edge in hosts:
        left = node == start or (side == "from" and node in route and node != end)
        drawn.vertices[edge.ends[0]] = Vertex(label, "host", drawn.vertices[node].column + (-1 if left else 1))
        drawn.edges.append(edge)
    first = min(vertex.column for vertex in drawn.vertices.values())
    for vertex in drawn.vertices.values():
        vertex.column -= first


def _neighbours(drawn: Network, name: str) -> Iterator[str]:
    for edge in drawn.edges:
        if name in edge.ends:
            other = edge.ends[1] if edge.ends[0] == name else edge.ends[0]
            if other in drawn.vertices:
                yield other


def _route(before: Mapping[str, str], start: str, end: str) -> set[str]:
    """Return the nodes from start to end."""
    route = {end}
    while end != start:
        end = before[end]
        route.add(end)
    return route


def _rows(drawn: Network) -> None:
    """Set the rows within each column in the order of the file, the columns centred on each other."""
    columns: dict[int, list[Vertex]] = {}
    for vertex in drawn.vertices.values():
        columns.setdefault(vertex.column, []).append(vertex)
    most = max(len(column) for column in columns.values())
    for column in columns.values():
        for index, vertex in enumerate(column):
            vertex.row = index + (most - len(column)) / 2


def _marks(drawn: Network, scenario: Mapping[str, Any]) -> None:
    """Add the shapers and policers at the start of their lines."""
    named = {str(link.get("name", "-".join(link["between"]))): link["between"] for link in scenario.get("link", ())}
    for kind, key in (("shaper", "rate"), ("policer", "pcr")):
        for entry in scenario.get(kind, ()):
            at, link = str(entry.get("at", "")), str(entry.get("link", ""))
            ends = named.get(link) or named.get("-".join(reversed(link.split("-"))))
            if at in drawn.vertices and ends:
                towards = str(ends[1] if str(ends[0]) == at else ends[0])
                drawn.marks.append((at, towards, kind, f"{entry.get('name', kind)} {rate_text(entry.get(key, ''))}"))


def changes(scenario: Mapping[str, Any]) -> pl.DataFrame:
    """Return the rates that the scenario changes: `what`, `t` in seconds and `rate` in bit/s, the first at 0."""
    rows: list[tuple[str, float, float]] = []
    for change in scenario.get("change", ()):
        kind = next((kind for kind in ("shaper", "link", "traffic") if kind in change), None)
        rate = change.get("rate", change.get("pcr"))
        if kind is None or rate is None:
            continue
        what = str(change[kind])
        if what not in {row[0] for row in rows} and (start := _initial(scenario, kind, what)) is not None:
            rows.append((what, 0.0, start))
        rows.append((what, select.amount(change["at"]), select.amount(rate)))
    schema = {"what": pl.String, "t": pl.Float64, "rate": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").sort("what", "t", maintain_order=True)


def _initial(scenario: Mapping[str, Any], kind: str, what: str) -> float | None:
    """Return the rate before the first change."""
    for entry in scenario.get(kind, ()):
        name = entry.get("name", "-".join(entry["between"]) if "between" in entry else None)
        if name == what:
            rate = entry.get("rate", (entry.get("service") or {}).get("pcr"))
            return None if rate is None else select.amount(rate)
    return None


def payload_rate(scenario: Mapping[str, Any]) -> float | None:
    """Return the rate that the slowest ATM link leaves for AAL5, 48 octets of each cell of 53, in bit/s, or None."""
    nodes = {str(node["name"]): str(node.get("kind", "router")) for node in scenario.get("node", ())}
    rates = [
        select.amount(link["rate"])
        for link in scenario.get("link", ())
        if _framing(link, (str(link["between"][0]), str(link["between"][1])), nodes) == "atm"
    ]
    return min(rates) * 48 / 53 if rates else None
