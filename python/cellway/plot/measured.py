"""Measures the ticks of a figure once for each layout, where matplotlib measures them eleven times.

For each spine, for the label of an axis, for the title of the panel and for the box of the axis itself matplotlib sets
the ticks anew and measures their labels, a tenth of the time of a figure. While a figure is laid out or drawn, the
ticks of an axis depend on nothing but the size and the limits of its panel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from matplotlib.axis import Axis
from matplotlib.figure import Figure

REPEATED = ("_update_ticks", "_get_ticklabel_bboxes")
"""The methods of an axis that set its ticks and measure their labels. They are private: a version of matplotlib without
them draws the same figures in more time."""


@contextmanager
def measured_once(figure: Figure) -> Iterator[None]:
    """Within the `with` statement, compute the ticks of an axis only if its panel has another size or other limits."""
    every = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)]
    try:
        for axis in every:
            for name in REPEATED:
                if hasattr(axis, name):
                    setattr(axis, name, _remembering(axis, getattr(axis, name)))
        yield
    finally:
        for axis in every:
            for name in REPEATED:
                vars(axis).pop(name, None)


def _remembering(axis: Axis, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method with a memory of its last call."""
    before: tuple[Any, tuple[object, ...], Any] | None = None

    def call(*arguments: object) -> Any:
        nonlocal before
        state = _state(axis)
        if before is not None and before[0] == state and _same(before[1], arguments):
            return before[2]
        returned = method(*arguments)
        before = state, arguments, returned
        return returned

    return call


def _state(axis: Axis) -> tuple[object, ...]:
    """Return what the ticks depend on: place and size of the panel, its dots per inch, and the limits of the axis."""
    return axis.axes.bbox.bounds, axis.axes.figure.dpi, tuple(axis.get_view_interval())


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
