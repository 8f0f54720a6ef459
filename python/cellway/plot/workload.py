"""The distributions of a workload file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from cellway.plot import files, style

COLUMNS = 4
"""Panels beside each other."""


def write(classes: str, path: Path) -> Path:
    """Draw the classes of a JSON document of `cellway workload show` to a file, whose ending is the format."""
    if path.suffix.lower() not in files.ENDINGS:
        raise ValueError(f"{path}: a figure is written as {', '.join(files.ENDINGS)}, by the ending of the name")
    return files.write_figure(workload(json.loads(classes)), path)


def workload(classes: list[dict[str, Any]]) -> Figure:
    """Draw a panel for each distribution of each class: the share of values up to the one on a logarithmic axis."""
    drawn = [(one["name"], distribution) for one in classes for distribution in one["distributions"]]
    columns = min(COLUMNS, len(drawn))
    rows = -(-len(drawn) // columns)
    with style.styled():
        figure, grid = style.panels(0.4 + 1.35 * rows, rows, columns, style.WIDE, sharey=True)
        for axes, (name, distribution) in zip(grid, drawn, strict=False):
            _panel(axes, name, distribution)
        for axes in grid[len(drawn) :]:
            axes.set_axis_off()
        figure.supylabel("share of values up to this", fontsize=8.5)
    return figure


def _panel(axes: Axes, name: str, distribution: dict[str, Any]) -> None:
    knots = [(float(value), float(share)) for share, value in distribution["knots"]]
    # The first value has its whole share; a logarithmic axis has no place for 0.
    points = [(knots[0][0], 0.0), *knots]
    positive = [value for value, _ in points if value > 0]
    unit = f" [{distribution['unit']}]" if distribution["unit"] else ""
    axes.set_title(f"{name}: {distribution['name']}{unit}", loc="left", color=style.SOFT, fontsize=7.5)
    axes.plot([value for value, _ in points], [share for _, share in points], color=style.BLUE)
    axes.set_ylim(0, 1.02)
    if not positive:
        axes.set_xlim(-1, 1)
        return
    if max(positive) > 20 * min(positive):
        axes.set_xscale("symlog", linthresh=min(positive))
        style.plain_log(axes.xaxis, (1,))
        # A panel has room for few numbers.
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=4))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
        axes.set_xlim(0 if points[0][0] == 0 else min(positive) / 1.5, max(positive) * 1.5)
    else:
        axes.set_xlim(0, 1.1 * max(positive))


def _short(value: float) -> str:
    """Return a number with a prefix where zeros would take the room of its neighbours."""
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= factor:
            return f"{value / factor:g}{prefix}"
    return f"{value / 1e-6:g}µ" if 0 < abs(value) < 0.9e-3 else f"{value:g}"
