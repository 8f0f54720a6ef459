"""Figures as files: SVG, PDF or PNG by the ending of the name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cellway.plot import held, select, style
from cellway.plot.distribution import distribution
from cellway.plot.metric import metric
from cellway.plot.timeline import timeline

ENDINGS = (".svg", ".pdf", ".png")
"""The formats that a figure is written in."""


def write(
    folder: str | os.PathLike[str],
    name: str,
    *,
    form: str | None = None,
    at: Sequence[str] = (),
    x: str | None = None,
    by: str | None = None,
    where: Mapping[str, object] | None = None,
    seed: int | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Path:
    """Draw one figure of a result folder and return the path of its file, by default `FOLDER/METRIC.svg`.

    `form` is one of those that `drawable` lists for the metric, by default the first. Raises `ChoiceError` for an
    option that the form does not have.
    """
    path = Path(folder) / f"{name}.svg" if out is None else Path(out)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path}: a figure is written as {', '.join(ENDINGS)}, by the ending of the name")
    results = held.read(folder)
    known = held.drawable(results).filter(metric=name)["form"].to_list()
    form = form or (known[0] if known else held.SWEEP)
    some: Any = list(at) or None
    if form not in (held.SWEEP, held.TIME, held.SHARES):
        raise select.ChoiceError(f"{form} is no form; accepted: {held.SWEEP}, {held.TIME}, {held.SHARES}")
    if seed is not None and form != held.TIME:
        raise select.ChoiceError(f"seed is for series over time; this figure ({form}) is of all seeds")
    if form == held.SWEEP:
        drawn = metric(results, name, at=some, x=x, by=by, where=where)
    else:
        if x is not None:
            raise select.ChoiceError(f"x is for figures along the sweep; this one is {form}")
        if form == held.TIME:
            drawn = timeline(results, name, at=some, by=by, where=where, seed=seed)
        else:
            drawn = distribution(results, name, at=some, by=by, where=where)
    save(drawn, path)
    return path


def save(figure: Figure, path: Path) -> None:
    """Write a figure; the same figure gives the same bytes."""
    if path.suffix.lower() == ".svg":
        path.write_text(style.svg(figure), encoding="utf-8")
        return
    with style.styled():
        dated = {"CreationDate": None} if path.suffix.lower() == ".pdf" else {}
        figure.savefig(path, dpi=200, metadata=dated)
