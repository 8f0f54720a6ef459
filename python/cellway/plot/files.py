"""Figures as files: SVG, PDF or PNG by the ending of the name."""

from __future__ import annotations

import io
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from cellway.plot import held, labels, select, style
from cellway.plot.distribution import distribution
from cellway.plot.metric import metric
from cellway.plot.timeline import timeline

NARROWEST, WIDEST = 2.0, 20.0
"""Widths of a figure (inches)."""

ENDINGS = (".svg", ".pdf", ".png")
"""The formats that a figure is written in."""


class NotWrittenError(OSError):
    """A figure that was drawn and could not be written."""


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
    title: str | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    width: float | None = None,
) -> Path:
    """Draw one figure of a result folder and return the path of its file, by default `FOLDER/METRIC.svg`.

    `form` is one of those that `drawable` lists for the metric, by default the first. Raises `ChoiceError` for an
    option that the form does not have. `title`, `xlabel` and `ylabel` replace the words of the figure; `width` is in
    inches.
    """
    path = Path(folder) / f"{name}.svg" if out is None else Path(out)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{path}: a figure is written as {', '.join(ENDINGS)}, by the ending of the name")
    results = held.read(folder)
    known = held.drawable(results).filter(metric=name)["form"].to_list()
    form = form or (known[0] if known else held.SWEEP)
    some: Any = list(at) or None
    if width is not None and not NARROWEST <= width <= WIDEST:
        raise ValueError(f"width is {width:g} inches; accepted: {NARROWEST:g} to {WIDEST:g}")
    size: dict[str, float] = {} if width is None else {"width": width}
    if form not in (held.SWEEP, held.TIME, held.SHARES):
        raise select.ChoiceError(f"{form} is no form; accepted: {held.SWEEP}, {held.TIME}, {held.SHARES}")
    if seed is not None and form != held.TIME:
        raise select.ChoiceError(f"seed is for series over time; this figure ({form}) is of all seeds")
    if form == held.SWEEP:
        drawn = metric(results, name, at=some, x=x, by=by, where=where, **size)
    else:
        if x is not None:
            raise select.ChoiceError(f"x is for figures along the sweep; this one is {form}")
        if form == held.TIME:
            drawn = timeline(results, name, at=some, by=by, where=where, seed=seed, **size)
        else:
            drawn = distribution(results, name, at=some, by=by, where=where, **size)
    reword(drawn, title, xlabel, ylabel)
    return write_figure(drawn, path)


def reword(figure: Figure, title: str | None, xlabel: str | None, ylabel: str | None) -> None:
    """Replace the title of a figure, which says what was chosen, and the labels of its axes."""
    title, xlabel, ylabel = (None if text is None else labels.written(text) for text in (title, xlabel, ylabel))
    if title is not None:
        style.heading(figure, title, style.INK)
    if xlabel is not None and figure.get_supxlabel():
        figure.supxlabel(xlabel, fontsize=8.5)
    elif xlabel is not None:
        figure.axes[-1].set_xlabel(xlabel, fontsize=8.5)
    if ylabel is not None and figure.get_supylabel():
        figure.supylabel(ylabel, fontsize=8.5)
    elif ylabel is not None:
        figure.axes[0].set_ylabel(ylabel, fontsize=8.5)


def write_figure(figure: Figure, path: Path) -> Path:
    """Write a figure, whole or not at all; the same figure gives the same bytes."""
    ending = path.suffix.lower()
    if ending == ".svg":
        content = style.svg(figure).encode()
    else:
        with style.styled():
            dated = {"CreationDate": None} if ending == ".pdf" else {}
            drawn = io.BytesIO()
            figure.savefig(drawn, format=ending.removeprefix("."), dpi=200, metadata=dated)
            content = drawn.getvalue()
    # No other process or thread has this name, and the mask of the user decides about its permissions.
    partial = path.with_name(f".{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
        partial.replace(path)
    except OSError as error:
        raise NotWrittenError(f"{path}: cannot write the figure: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink()
    return path
