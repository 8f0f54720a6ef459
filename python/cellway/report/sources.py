"""The numbers of a figure: a study, its axes and its metric, and the published values next to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from cellway import stats
from cellway.plot import select
from cellway.plot.network import changes
from cellway.report.claims import Claim, with_prefix
from cellway.report.plates import Studies
from cellway.results import Results

MEGA = 1e-6

ONLY = ""
"""As an axis: the only one that is left."""

ALL = "*"
"""As a subject: every conversation."""

THEORY = "theory"
"""The source of rows that are computed and not simulated."""


@dataclass(frozen=True)
class Line:
    """One line of a figure: the rows of a study at some values of its axes.

    `claims` maps x, in the unit of the figure, to the id of the claim that holds the published value there.
    """

    label: str
    study: str
    where: Mapping[str, object] = field(default_factory=dict)
    claims: Mapping[float, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """A metric against an axis. Values are multiplied by `scale`, places on the axis by `x_scale`.

    `x` may be `ONLY`: the one axis of the study that `where` does not fix. `subject` is a group, or `ALL` for every
    conversation; with `total` the values of its conversations are added up, else averaged.
    """

    lines: tuple[Line, ...]
    x: str
    metric: str
    subject: str = ALL
    total: bool = True
    scale: float = 1.0
    x_scale: float = 1.0


def curve_table(studies: Studies, curve: Curve) -> pl.DataFrame:
    """Return mean and interval by `line` and `x`, with `published` and `predicted` where a claim has them."""
    parts = []
    for line in curve.lines:
        results = studies[line.study]
        summary = simulated(select.where(results.summary, line.where))
        axis = curve.x or only(results.axes, line)
        rows = of_subject(summary, curve.metric, curve.subject, total=curve.total)
        placed = select.amounts(rows, axis).with_columns(
            pl.lit(line.label).alias("line"), pl.col("x") * curve.x_scale, pl.col("value") * curve.scale
        )
        table = stats.summarise(placed, ["line", "x"])
        parts.append(beside(studies, table, line.claims))
    return pl.concat(parts)


def beside(studies: Studies, table: pl.DataFrame, claims: Mapping[float, str]) -> pl.DataFrame:
    """Return the table with the values that claims publish and predict at each `x`."""
    said = [_nearest(studies, claims, x) for x in table["x"]]
    return table.with_columns(
        published=pl.Series([claim and claim.published for claim in said], dtype=pl.Float64),
        predicted=pl.Series([claim and claim.predicted for claim in said], dtype=pl.Float64),
    )


def _nearest(studies: Studies, claims: Mapping[float, str], x: float) -> Claim | None:
    """Return the claim at this place; places are compared to a part in a thousand, as they are computed from units."""
    for place, name in claims.items():
        if abs(place - x) <= 1e-3 * max(abs(place), abs(x)):
            return studies.claim(name)
    return None


def plain_label(claim: Claim, prefix: str) -> str:
    """Return the claim's own label, or its id without the beginning."""
    return claim.label or claim.id.removeprefix(prefix).replace("-", " ")


def compare_table(
    studies: Studies, prefixes: Sequence[str], label: Callable[[Claim, str], str] = plain_label
) -> pl.DataFrame:
    """Return published, predicted and simulated values of the claims whose ids begin with it, a row for each."""
    table = claim_table(
        (label(claim, prefix), claim) for prefix in prefixes for claim in with_prefix(studies.claims, prefix)
    )
    if table.is_empty():
        known = select.listed(claim.id for claim in studies.claims) or "none"
        sought = " or ".join(f"“{prefix}”" for prefix in prefixes)
        raise select.MissingDataError(f"no claim with a number has an id that begins with {sought}; the ids: {known}")
    return table


def claim_table(claims: Iterable[tuple[str, Claim]]) -> pl.DataFrame:
    """Return the numbers of claims, a row for each that has a published or a predicted one, by `label`."""
    numbers = ("published", "predicted", "simulated", "low", "high")
    rows = [
        (label, *(getattr(claim, name) for name in numbers))
        for label, claim in claims
        if claim.published is not None or claim.predicted is not None
    ]
    schema = {"label": pl.String(), **{name: pl.Float64() for name in numbers}}
    return pl.DataFrame(rows, schema=schema, orient="row")


def only(axes: Sequence[str], line: Line) -> str:
    """Return the one axis that the line does not fix."""
    rest = [name for name in axes if name not in line.where]
    if len(rest) != 1:
        raise select.MissingDataError(
            f"the study “{line.study}” has {len(rest)} axes to draw against, not one: {', '.join(rest) or 'none'}"
        )
    return rest[0]


def simulated(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that a simulation made."""
    return table.filter(pl.col("source") != THEORY)


def of_subject(table: pl.DataFrame, metric: str, subject: str, *, total: bool) -> pl.DataFrame:
    """Return one value per run (and bin): of a group, or over every conversation."""
    if subject != ALL:
        return select.of_group(table, metric, subject, total=total)
    # Whatever the groups are called, their conversations are numbered.
    rows = select.values(table, metric).filter(pl.col("subject").str.contains("-[0-9]+$"))
    if rows.is_empty():
        having = select.listed(select.in_order(select.values(table, metric), "subject"))
        raise select.MissingDataError(f"the table has no {metric} of any conversation; it has that of {having}")
    return select.of_group(rows.with_columns(subject=pl.lit(f"{ALL}-1")), metric, ALL, total=total)


def series(
    studies: Studies, study: str, metric: str, chosen: Mapping[str, object], subject: str = ALL, scale: float = 1.0
) -> pl.DataFrame:
    """Return a metric over time in the run of the lowest seed, as `t`, `value` and `line`, a line for each subject."""
    rows = simulated(select.first_seed(select.where(studies[study].series(), chosen)))
    found = select.values(rows, metric, None if subject == ALL else subject)
    return found.select("t", pl.col("value") * scale, line=pl.col("subject"))


def busiest(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the line of a series with the largest mean, such as the port with the longest queue."""
    if rows.is_empty():
        return rows
    mean = rows.group_by("line", maintain_order=True).agg(pl.col("value").mean())
    return rows.filter(pl.col("line") == mean.sort("value", descending=True, maintain_order=True)["line"][0])


def contract(results: Results) -> pl.DataFrame | None:
    """Return the first rate that the scenario changes, as `t` and `value` in Mbit/s; None if it changes none."""
    rows = changes(results.scenario)
    if rows.is_empty():
        return None
    return rows.filter(pl.col("what") == rows["what"][0]).select("t", value=pl.col("rate") * MEGA)
