"""The figures of a study of one's own, chosen from what its tables hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from cellway.api import metrics
from cellway.plot import held, labels, select, style
from cellway.plot.distribution import distribution
from cellway.plot.metric import Layout, draw, layout
from cellway.results import Results

MOST = 10
"""The most figures of metrics."""

MAIN = (
    "goodput_total",
    "utilisation",
    "queue_mean",
    "sojourn_p95",
    "delay_mean",
    "delay_p95",
    "loss_ratio",
    "fct_p50",
    "fct_p99",
    "item_time_mean",
    "page_time_p50",
    "response_time_p50",
    "rtt_p95",
    "jain",
    "frames_late",
    "goodput",
    "srtt_mean",
    "retransmissions",
    "timeouts_mean",
)
"""The metrics that a reader asks for first, in the order in which they are shown."""

APART = ("emulation",)
"""Subjects whose values are about the run itself, and not about the network."""

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
    for name in _main(summary):
        if len(drawn) == MOST:
            break
        kinds = _kinds(results, summary.filter(pl.col("metric") == name))
        for kind, subjects in kinds:
            try:
                drawn.append(_metric(summary, name, kind if len(kinds) > 1 else "", subjects))
            except (select.ChoiceError, select.MissingDataError) as error:
                missing.append(f"{labels.label(name)}: {error}")
    return drawn, missing


def _main(summary: pl.DataFrame) -> list[str]:
    """Return the metrics to draw: the main ones, those that only a program defines, and others that vary."""
    known = [str(name) for name in select.in_order(summary.filter(pl.col("value") != 0), "metric")]
    listed = set(metrics()["metric"])
    own = [name for name in known if name not in listed]
    main = [name for name in MAIN if name in known]
    # A group's sum is a slot's goodput, too.
    if "goodput_total" in main and "goodput" in main:
        main.remove("goodput")
    if main or own:
        return [*own, *main]
    return known[:4]


def _kinds(results: Results, rows: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """Return the subjects of one metric by their kind, so that lines and traffic are in figures of their own."""
    subjects = held.telling([str(name) for name in select.in_order(rows, "subject")], held.idle_lines(results.summary))
    kinds: dict[str, list[str]] = {}
    for name in subjects:
        kinds.setdefault("lines" if ">" in name else "traffic", []).append(name)
    return list(kinds.items())


def _metric(summary: pl.DataFrame, name: str, kind: str, subjects: Sequence[str]) -> Drawn:
    what = layout(summary, name, at=list(subjects))
    title = labels.label(name) + (f", {kind}" if kind else "")
    return Drawn(
        f"{name}-{kind}" if kind else name, title, _caption(what, subjects), draw(what), what.table.drop("sd"),
        what.panels is not None,
    )  # fmt: skip


def _caption(what: Layout, subjects: Sequence[str]) -> str:
    of = f" of {subjects[0]}" if len(subjects) == 1 else ""
    seeds = int(what.table["n"].max() or 1)  # type: ignore[call-overload]
    how = f"means of {seeds} seeds with 95 % intervals" if seeds > 1 else "one seed"
    return f"{meaning(what.metric)}{of}; {how}."


def meaning(name: str) -> str:
    """Return the first part of the definition of a metric; its name if only a program defines it."""
    found = metrics().filter(metric=name)["meaning"]
    return str(found[0]).split(";")[0].split("; ")[0].replace("`", "") if len(found) else f"`{name}`".replace("`", "")


def distributions(results: Results) -> list[Drawn]:
    """Return the distributions of times of the traffic: those of percentiles, and of items and round trips."""
    known = held.drawable(results).filter(form=held.SHARES)
    families = [str(name) for name in known["metric"] if f"{name}_p50" in set(results.summary["metric"])]
    chosen = [name for name in ("delay", "fct", "rtt", "response_time", "page_time", "one_way_delay", "sojourn")
              if name in families]  # fmt: skip
    chosen += [name for name in ("item_time", "srtt") if name in set(known["metric"])]
    drawn = []
    for name in chosen[:DISTRIBUTIONS]:
        try:
            figure = distribution(results, name)
        except (select.ChoiceError, select.MissingDataError):
            continue
        words = "The percentiles of the tables, means over the seeds" if name in families else (
            "The share of all values after the warm-up, over all seeds")  # fmt: skip
        wide = figure.get_figwidth() > style.COLUMN
        drawn.append(Drawn(f"cdf-{name}", f"Distribution: {labels.label(name).lower()}", f"{words}.", figure, None, wide))
    return drawn
