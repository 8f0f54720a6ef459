"""The parts of invented studies: sweeps, measures and rows of `claims.json`."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import polars as pl
from synthetic import Row, tables

Tables = dict[str, pl.DataFrame]
Axes = dict[str, Any]
Study = tuple[str, str, float, Tables]
"""id, scenario, round trip in seconds, tables"""

M = 1e6


def near(rng: random.Random, mean: float) -> float:
    return mean * (1 + rng.gauss(0, 0.01))


def sweep(points: Iterable[Axes], measure: Callable[[Axes, random.Random], Iterable[Row]], seeds: int = 3) -> Tables:
    return tables(points, seeds, measure)


def grid(**axes: Iterable[Any]) -> list[Axes]:
    """Return every combination; `__` in a name replaces a dot and `___` a dash."""
    names = [name.replace("___", "-").replace("__", ".") for name in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*axes.values())]


def flat(metric: str, value: Callable[[Axes], float], subject: str = "flow-1", unit: str = "bit/s") -> Any:
    """A measure of one slot's value, which is a function of the axes."""
    return lambda axes, rng: [(subject, metric, unit, None, near(rng, value(axes)))]


def row(
    name: str,
    place: str,
    text: str,
    published: float | None,
    predicted: float | None,
    simulated: float | None,
    verdict: str,
    unit: str = "Mbit/s",
    **more: Any,
) -> dict[str, Any]:
    """A row of `claims.json` with every new key."""
    measured = None if simulated is None else simulated
    return {
        "id": name,
        "paper": "",
        "section": "",
        "figure": place if place.startswith(("Figure", "Table")) else "",
        "place": place,
        "claim": text,
        "form": "number",
        "expected": "within 5 % of it",
        "measured": measured,
        "measured_text": ""
        if measured is None
        else f"{measured:.4g} [{0.99 * measured:.4g}, {1.01 * measured:.4g}] {unit}",
        "unit": unit,
        "ci_low": measured and 0.99 * measured,
        "ci_high": measured and 1.01 * measured,
        "seeds": 3,
        "of_seeds": 3,
        "verdict": verdict,
        "note": "",
        "published": published,
        "published_text": None if published is None else f"{published:g} {unit}",
        "predicted": predicted,
        "predicted_text": None if predicted is None else f"{predicted:.4g} {unit}",
        "equation": "window-limited" if predicted is not None else None,
        "caveats": ["the round trip counts serialisation"] if predicted is not None else [],
        "simulated": simulated,
        "deviation": (simulated or predicted) / published - 1 if published else None,
        "given": ["round trip 175 ms", "window 36 592 B"],
        "inferred": [],
        "fitted": [],
        "tried": "",
        "unexplained": "",
    } | more
