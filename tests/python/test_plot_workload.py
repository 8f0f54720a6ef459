"""Figures of workload files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cellway.plot import workload
from matplotlib.axes import Axes
from matplotlib.text import Text


def _distribution(name: str, unit: str, knots: list[tuple[float, float]]) -> dict[str, Any]:
    return {"name": name, "unit": unit, "knots": knots}


CLASSES = [
    {"name": "web", "distributions": [
        _distribution("request", "B", [(0, 40), (0.4, 512), (0.7, 512), (1, 90_000)]),
        _distribution("think", "s", [(0.5, 0), (1, 30)]),
        _distribution("pause", "s", [(1, 0)]),
    ]},
    {"name": "voice", "distributions": [
        _distribution("size", "B", [(0, 172), (1, 172)]),
        _distribution("packets", "", [(0, 10), (1, 5_000)]),
    ]},
]  # fmt: skip


def test_each_distribution_has_a_panel_with_its_knots() -> None:
    figure = workload.workload(CLASSES)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.lines]
    assert titles == ["web: request [B]", "web: think [s]", "web: pause [s]", "voice: size [B]", "voice: packets"]
    line = figure.axes[0].lines[0]
    assert list(line.get_xdata()) == [40, 40, 512, 512, 90_000]
    assert list(line.get_ydata()) == [0, 0, 0.4, 0.7, 1]
    # Half of the times are 0, which a line from there shows.
    assert list(figure.axes[1].lines[0].get_ydata()) == [0, 0.5, 1]


def test_numbers_of_a_logarithmic_axis_do_not_touch() -> None:
    knots = [(0.1, 1_300), (0.5, 20_000), (1, 4_000_000)]
    classes = [{"name": "web", "distributions": [_distribution(name, "B", knots) for name in "abcd"]}]
    figure = workload.workload(classes)
    figure.canvas.draw()
    for axes in figure.axes:
        shown = [label for label in axes.get_xticklabels() if label.get_text() and _is_inside(axes, label)]
        assert len(shown) > 1
        boxes = sorted((label.get_window_extent() for label in shown), key=lambda box: box.x0)
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes)), [label.get_text() for label in shown]


def _is_inside(axes: Axes, label: Text) -> bool:
    low, high = axes.get_xlim()
    return low <= label.get_position()[0] <= high


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_a_figure_is_written_with_the_same_bytes(tmp_path: Path, ending: str) -> None:
    document = json.dumps(CLASSES)
    written = [workload.write(document, tmp_path / f"{n}.{ending}").read_bytes() for n in range(2)]
    assert written[0] == written[1]
    assert len(written[0]) > 1000


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a figure is written as \.svg, \.pdf, \.png, by the ending of the name"):
        workload.write(json.dumps(CLASSES), tmp_path / "a.gif")
