"""The figures of a study without a recipe: its numbers next to the published ones, and its metrics along its sweeps."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from cellway import stats
from cellway.plot import select, style
from cellway.plot.compare import compare
from cellway.plot.curve import curve
from cellway.report.claims import Claim
from cellway.report.plates import Plate, Section, Studies, add
from cellway.report.sources import claim_table, simulated

MOST = 6
"""Figures of one study; further metrics are in its tables."""

PREFERRED = ("goodput", "throughput", "throughput_mean", "utilisation", "delay_mean", "item_time_mean")
"""Metrics of a study that no claim is about, in the order in which they are shown."""


def general(studies: Studies) -> list[Section]:
    """Return a section with every claim that has a number, and one for each study that was run."""
    made = [_numbers(studies)] if any(claim.published is not None for claim in studies.claims) else []
    return made + [_study(studies, name) for name in studies.entries if name in studies.present]


def _numbers(studies: Studies) -> Section:
    """Return published, predicted and measured numbers, one figure per unit."""

    def of(unit: str) -> Callable[[], Plate]:
        def make() -> Plate:
            table = claim_table((claim.label or claim.id, claim) for claim in studies.claims if claim.unit == unit)
            words = unit or "ratio"
            figure = compare(table, words, width=style.WIDE)
            name = f"numbers-{units.index(unit) + 1}"
            return Plate(name, f"Numbers in {words}", "Published beside predicted and measured.", figure, table, True)

        return make

    known = (claim.unit for claim in studies.claims if claim.published is not None or claim.predicted is not None)
    units = list(dict.fromkeys(known))
    return add(Section("numbers", "Published numbers", ""), *(of(unit) for unit in units))


def _study(studies: Studies, name: str) -> Section:
    claims = [claim for claim in studies.claims if claim.study == name]
    section = Section(f"study-{name}", studies.title(name), "", ids=tuple(claim.id for claim in claims))
    summary = simulated(studies[name].summary)
    figures = _figures(summary, claims)
    plates = (_swept(summary, name, subject, metric) for subject, metric in figures)
    add(section, *(plate for plate in plates if plate is not None))
    keys = ["subject", "metric", "unit"]
    drawn = pl.DataFrame(figures, schema={"subject": pl.String, "metric": pl.String}, orient="row")
    chosen = summary.join(drawn, on=["subject", "metric"], how="semi")
    if not chosen.is_empty():
        section.tables.append(("Values", stats.summarise(chosen, [*select.axes(summary), *keys])))
    return section


def _figures(summary: pl.DataFrame, claims: list[Claim]) -> list[tuple[str, str]]:
    """Return subject and metric of each figure: those of the claims, or else of one metric that most studies have."""
    present = set(summary.select("subject", "metric").unique().iter_rows())
    claimed = dict.fromkeys((claim.subject, claim.metric) for claim in claims)
    found = [pair for pair in claimed if pair in present]
    if not found:
        metrics = {metric for _, metric in present}
        order = [*(metric for metric in PREFERRED if metric in metrics), *select.in_order(summary, "metric")]
        found = [(subject, metric) for subject, metric in sorted(present) if order and metric == order[0]]
    return found[:MOST]


def _swept(summary: pl.DataFrame, study: str, subject: str, metric: str) -> Callable[[], Plate] | None:
    """Return a function that draws a metric along the axis that has amounts; None without such an axis."""
    rows = select.values(summary, metric, subject)
    axes = select.varying(rows)
    numeric = [name for name in axes if select.are_amounts(select.in_order(rows, name))]
    if not numeric:
        return None

    def make() -> Plate:
        x, rest = numeric[0], [name for name in axes if name != numeric[0]]
        line = (
            pl.concat_str([pl.col(name).cast(pl.String) for name in rest], separator=", ") if rest else pl.lit(subject)
        )
        table = stats.summarise(select.amounts(rows, x).with_columns(line=line), ["line", "x"])
        unit = str(rows["unit"][0])
        words = f"{metric} of {subject}" + (f" ({unit})" if unit != "1" else "")
        caption = f"{metric} of {subject} against {x}" + (f", for each {', '.join(rest)}." if rest else ".")
        plain = "".join(letter if letter.isalnum() else "-" for letter in f"{study}-{subject}-{metric}")
        return Plate(plain, metric, caption, curve(table, x, words), table)

    return make
