"""A network as a line diagram: the kind of each node, the rate and delay of each line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Polygon, Rectangle

from cellway.plot import held, style
from cellway.plot.figure import Picture
from cellway.plot.network import Edge, Network, Vertex, network

STEP = 1.22
"""From column to column, in inches."""

DROP = 0.92
"""From row to row, in inches."""

LEAST = 7.4
"""Least width in inches: small networks keep the size of their signs."""

SIDE, ABOVE, BELOW = 0.62, 0.52, 0.74
OVER, MORE = 0.33, 0.15
"""From the middle of a node to the first name above it, and from that to the next."""
SIZE = 0.17
"""Half the height of a node, in inches."""

LINES: dict[str, tuple[str, str, Any, float]] = {
    "atm": ("ATM", style.BLUE, "-", 2.0),
    "packet": ("packets", style.SOFT, "-", 1.0),
    "ethernet": ("Ethernet", style.GREEN, (0, (6, 1.5)), 1.4),
    "fddi": ("FDDI", style.PURPLE, (0, (1.5, 1.2)), 1.6),
}
"""Framing -> words, colour, dashes, width."""

KINDS = ("host", "router", "switch", "gateway")


def topology(scenario: Mapping[str, Any] | held.Source) -> Figure:
    """Draw the network of a scenario that has been read as TOML, or of results, from its senders to its receivers."""
    drawn = network(scenario if isinstance(scenario, Mapping) else held.read(scenario).scenario)
    width = max(LEAST, 2 * SIDE + STEP * (drawn.columns - 1))
    most = max((sum(mark[0] == name for mark in drawn.marks) for name in drawn.vertices), default=0)
    above = ABOVE + MORE * max(0, most - 1)
    height = above + BELOW + DROP * (drawn.rows - 1) + _extra(drawn)
    # A long network is shown smaller, so its letters are larger.
    letters = min(1.25, width / LEAST)
    with style.styled():
        figure = Picture(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        # One unit is an inch, so that shapes keep their shape and their size.
        axes.set_xlim(0, width)
        axes.set_ylim(0, height)
        axes.axis("off")
        left = (width - STEP * (drawn.columns - 1)) / 2
        at = {
            key: (left + STEP * vertex.column, height - above - DROP * vertex.row)
            for key, vertex in drawn.vertices.items()
        }
        for edge in drawn.edges:
            if edge.ends[0] in at and edge.ends[1] in at:
                _edge(axes, edge, at[edge.ends[0]], at[edge.ends[1]], 7.5 * letters)
        for index, (start, towards, kind, words) in enumerate(drawn.marks):
            before = sum(mark[0] == start for mark in drawn.marks[:index])
            _mark(axes, kind, at[start], at[towards])
            # Above the node, and above the rates of its lines.
            x, y = at[start]
            axes.text(x, y + OVER + MORE * before, words, ha="center", va="bottom", fontsize=7.5 * letters, zorder=4,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip
        for key, vertex in drawn.vertices.items():
            _vertex(axes, vertex, *at[key], 8 * letters)
        _key(axes, drawn, width, letters)
        return figure


def _extra(drawn: Network) -> float:
    """Return room for names of several lines under the lowest row."""
    lowest = max(vertex.row for vertex in drawn.vertices.values())
    return 0.13 * max(vertex.name.count("\n") for vertex in drawn.vertices.values() if vertex.row == lowest)


def _edge(axes: Axes, edge: Edge, start: tuple[float, float], end: tuple[float, float], size: float) -> None:
    _, color, dashes, width = LINES.get(edge.framing, LINES["packet"])
    axes.plot([start[0], end[0]], [start[1], end[1]], color=color, linestyle=dashes, linewidth=width, zorder=1)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    # The unit belongs to the number, but a line of a hop has room for one of them only.
    rate, delay = edge.written(reversed=start[0] > end[0])
    if len(rate) > 10 and "\n" not in rate:
        rate = rate.replace(" ", "\n", 1)
    if abs(start[1] - end[1]) < 0.01:
        axes.text(x, y + 0.06, rate, ha="center", va="bottom", fontsize=size, linespacing=1.05)
        axes.text(x, y - 0.06, delay, ha="center", va="top", fontsize=size, color=style.SOFT, linespacing=1.05)
        return
    both = "\n".join(part for part in (rate, delay) if part)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
    axes.text(x, y, both, ha="center", va="center", fontsize=size, linespacing=1.1, bbox=box, zorder=2)


def _mark(axes: Axes, kind: str, start: tuple[float, float], end: tuple[float, float]) -> None:
    length = math.dist(start, end)
    dx, dy = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    x, y = start[0] + 0.27 * dx, start[1] + 0.27 * dy
    if kind == "shaper":
        # A funnel: wide at the input of cells, narrow at the output.
        points = [(-0.07, 0.1), (-0.07, -0.1), (0.07, -0.035), (0.07, 0.035)]
    else:
        points = [(-0.05, 0.1), (-0.05, -0.1), (0.05, -0.1), (0.05, 0.1)]
    turned = [(x + px * dx - py * dy, y + px * dy + py * dx) for px, py in points]
    axes.add_patch(Polygon(turned, facecolor="#F3C06B", edgecolor=style.INK, linewidth=0.8, zorder=4))


def _vertex(axes: Axes, vertex: Vertex, x: float, y: float, size: float) -> None:
    shape(axes, vertex.kind, x, y)
    axes.text(x, y - SIZE - 0.09, vertex.name, ha="center", va="top", fontsize=size, linespacing=1.1, zorder=5,
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip


def shape(axes: Axes, kind: str, x: float, y: float, scale: float = 1.0) -> None:
    """Draw the sign of one kind of node."""
    r = SIZE * scale
    outline: dict[str, Any] = {"facecolor": "white", "edgecolor": style.INK, "linewidth": 1.1, "zorder": 3}
    pen: dict[str, Any] = {"color": style.INK, "linewidth": 1.0, "zorder": 4, "solid_capstyle": "round"}
    if kind == "host":
        box = FancyBboxPatch((x - 1.15 * r, y - 0.55 * r), 2.3 * r, 1.45 * r, boxstyle="round,pad=0,rounding_size=0.03")
        box.set(**outline)
        axes.add_patch(box)
        axes.plot([x - 0.7 * r, x + 0.7 * r], [y - r, y - r], **pen)
        axes.plot([x, x], [y - r, y - 0.55 * r], **pen)
    elif kind == "router":
        axes.add_patch(Circle((x, y), 1.05 * r, **outline))
        for sign in (-1, 1):
            axes.plot([x - 0.5 * r, x + 0.5 * r], [y - sign * 0.5 * r, y + sign * 0.5 * r], **pen)
    elif kind == "gateway":
        axes.add_patch(Rectangle((x - 1.25 * r, y - r), 2.5 * r, 2 * r, **{**outline, "facecolor": "#E1EFF9"}))
        axes.plot([x, x], [y - r, y + r], **pen)
        for sign in (-1, 1):
            axes.plot([x + sign * 0.95 * r, x + sign * 0.3 * r], [y, y], **pen)
            axes.plot([x + sign * 0.62 * r, x + sign * 0.3 * r, x + sign * 0.62 * r], [y + 0.3 * r, y, y - 0.3 * r],
                      **pen)  # fmt: skip
    else:
        axes.add_patch(Rectangle((x - r, y - r), 2 * r, 2 * r, **outline))
        for sign in (-1, 1):
            height = y + sign * 0.38 * r
            axes.plot([x - 0.6 * r, x + 0.6 * r], [height, height], **pen)
            tip, back = x + sign * 0.6 * r, x + sign * 0.25 * r
            axes.plot([back, tip, back], [height + 0.26 * r, height, height - 0.26 * r], **pen)


def _key(axes: Axes, drawn: Network, width: float, letters: float) -> None:
    """Explain the shapes and lines that occur."""
    kinds = [kind for kind in KINDS if kind in {vertex.kind for vertex in drawn.vertices.values()}]
    framings = [name for name in LINES if name in {edge.framing for edge in drawn.edges}]
    entries = [("kind", name, name) for name in kinds] + [("line", name, LINES[name][0]) for name in framings]
    widths = [0.58 + 0.062 * letters * len(words) for _, _, words in entries]
    x = (width - sum(widths)) / 2
    for (what, name, words), wide in zip(entries, widths, strict=True):
        if what == "kind":
            shape(axes, name, x + 0.14, 0.15, 0.52)
        else:
            _, color, dashes, line = LINES[name]
            axes.plot([x, x + 0.28], [0.15, 0.15], color=color, linestyle=dashes, linewidth=line)
        axes.text(x + 0.36, 0.15, words, va="center", fontsize=7.5 * letters, color=style.SOFT)
        x += wide
