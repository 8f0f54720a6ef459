"""The figures of a study of one's own, chosen from what its tables hold."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from cellway.plot import held, labels, main, select, style
from cellway.plot.distribution import distribution
from cellway.plot.metric import Layout, draw, is_scale, layout
from cellway.results import Results

MOST = 10
"""The most figures of metrics."""

STACKED = 3
"""The most panels above each other: such a figure fits a narrow screen."""

APART = ("emulation",)
"""Subjects whose values are about the run itself, and not about the network."""

PERCENTILES = ("delay", "fct", "rtt", "response_time", "page_time", "one_way_delay", "sojourn")
SAMPLES = ("item_time", "srtt")
"""The distributions to show, of percentiles and of values, in this order."""

LEAST = 0.001
"""The share of the largest value of a metric up to which a line is left out."""

DISTRIBUTIONS = 4
"""The most figures of distributions."""


@dataclass(frozen=True)
class Drawn:
    """One figure: its name, title, caption, and the numbers behind it."""

    name: str
    title: str
    caption: str
    figure: Figure
    data: pl.DataFrame | None
    wide: bool


def figures(results: Results) -> tuple[list[Drawn], list[str]]:
    """Return a figure for each main metric, and why others could not be drawn."""
    summary = held.summary_of(results).filter(~pl.col("subject").is_in(APART))
    drawn: list[Drawn] = []
    missing: list[str] = []
    sets = {str(one.get("name")) for one in results.scenario.get("observe", {}).get("set", ())}
    idle = main.idle_lines(summary)
    for name in _main(summary):
        if len(drawn) == MOST:
            break
        kinds = _kinds(summary.filter(pl.col("metric") == name), idle)
        for kind, subjects in kinds:
            try:
                drawn.append(_metric(summary, name, kind if len(kinds) > 1 else "", subjects, sets))
            except (select.ChoiceError, select.MissingDataError) as error:
                missing.append(f"{labels.label(name)}: {error}")
    return drawn, missing


def _main(summary: pl.DataFrame) -> list[str]:
    """Return the metrics to draw: the main ones, those that only a program defines, and others that vary."""
    known = [str(name) for name in select.in_order(summary.filter(pl.col("value") != 0), "metric")]
    listed = set(labels.registry()["metric"])
    own = [name for name in known if name not in listed]
    return [*own, *main.metrics(known)] or known[:4]


def _kinds(rows: pl.DataFrame, idle: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the subjects of one metric by their kind, so that lines and traffic are in figures of their own."""
    present = [str(name) for name in select.in_order(rows, "subject")]
    size, line = pl.col("value").abs(), pl.col("subject").str.contains(">")
    # A line whose value is nothing beside that of another has no panel.
    least = pl.when(line).then(LEAST * size.filter(line).max()).otherwise(0.0)
    nonzero = set(rows.filter(size > least)["subject"])
    subjects = [name for name in main.subjects(present, idle) if name in nonzero]
    kinds: dict[str, list[str]] = {}
    for name in subjects:
        kinds.setdefault("lines" if ">" in name else "traffic", []).append(name)
    return list(kinds.items())


def _metric(summary: pl.DataFrame, name: str, kind: str, subjects: Sequence[str], sets: Collection[str]) -> Drawn:
    rows = summary.filter((pl.col("metric") == name) & pl.col("subject").is_in(subjects))
    where = _room(rows)
    what = layout(summary, name, at=list(subjects), where=where)
    title = labels.label(name) + (f", {kind}" if kind else "")
    figure = draw(what, None if _wide(what) else style.COLUMN)
    plate = f"{name}-{kind}" if kind else name
    return Drawn(
        plate, title, _caption(what, subjects, sets, some=bool(where)), figure, what.table.drop("sd"), _wide(what)
    )


def _wide(what: Layout) -> bool:
    """Return true if the panels would be too high above each other."""
    return what.panels is not None and what.table[what.panels].n_unique() > STACKED


def _caption(what: Layout, subjects: Sequence[str], sets: Collection[str], *, some: bool) -> str:
    numbers = what.table["n"].to_numpy()
    # Points of a sweep with --until have as many as they need.
    least, most = int(numbers.min()), int(numbers.max())
    seeds = f"{least} to {most}" if least < most else f"{most}"
    how = f"Means of {seeds} seeds with 95 % intervals" if most > 1 else "One seed"
    of = f", of {subjects[0]}" if len(subjects) == 1 else ""
    part = ", at some points of the sweep; the table has all" if some else ""
    return f"{meaning(what.metric, subjects[0], sets)}. {how}{of}{part}."


def _room(rows: pl.DataFrame) -> dict[str, object]:
    """Return the values of axes for which a figure has room: of three axes at most, and of the others the first."""
    axes = held.axes_of(rows)
    across = next((axis for axis in axes if axis != "subject" and is_scale(rows, axis)), axes[0] if axes else "")
    others = [axis for axis in axes if axis != across]
    # The values of the sweep are compared, for each subject.
    kept = [*others[:1], *(["subject"] if "subject" in others[2:] else others[1:2])]
    where: dict[str, object] = {}
    for axis in others:
        values = select.in_order(rows, axis)
        if axis not in kept:
            where[axis] = values[0]
        elif len(values) > held.MOST:
            where[axis] = values[: held.MOST]
    return where


LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def meaning(name: str, subject: str, sets: Collection[str] = ()) -> str:
    """Return the first sentence of the definition of a metric; its name if only a program defines it.

    `sets` are the subjects that are sets of flows.
    """
    found = labels.registry().filter(metric=name)
    kinds = ["port"] if ">" in subject else ["set"] if subject in sets else ["group", "slot"]
    kind = found.filter(pl.any_horizontal(pl.col("subjects").list.contains(of) for of in kinds))
    rows = (kind if kind.height else found)["meaning"]
    if rows.is_empty():
        return f"{name}, as a program of the scenario defines it"
    return LINK.sub(r"\1", str(rows[0])).split(". ")[0].replace("`", "").rstrip(".")


def distributions(results: Results) -> list[Drawn]:
    """Return the distributions of times of the traffic: those of percentiles, and of items and round trips."""
    known = held.drawable(results).filter(form=held.SHARES)
    summarised = set(results.arrow()["metric"].unique().cast(pl.String))
    families = [str(name) for name in known["metric"] if f"{name}_p50" in summarised]
    chosen = [name for name in PERCENTILES if name in families]
    chosen += [name for name in SAMPLES if name in set(known["metric"])]
    drawn = []
    for name in chosen[:DISTRIBUTIONS]:
        try:
            figure = distribution(results, name, width=style.COLUMN)
        except (select.ChoiceError, select.MissingDataError):
            continue
        title = f"Distribution: {labels.label(name).lower()}"
        words = "The percentiles of the tables, means over the seeds."
        if name not in families:
            words = "The share of all values after the warm-up, over all seeds."
        drawn.append(Drawn(f"cdf-{name}", title, words, figure, None, False))
    return drawn
