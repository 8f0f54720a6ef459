"""The content of results: the metrics that can be drawn, and the rows of those that are chosen."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from cellway.plot import labels, main, select
from cellway.results import KEYS, Results

Source = Results | str | os.PathLike[str]
"""Results, or the folder of results."""

SWEEP, TIME, SHARES = "sweep", "time", "cdf"
"""The forms of a figure: values of the summary, of a series, and the distribution of a value."""

QUANTILE = re.compile(r"(?P<family>.+)_p(?P<digits>[0-9]+)")

SECONDS = ("s", "rtt")
"""Units of times."""

LIKE = 4.0
"""The ratio up to which the largest values of two subjects are drawn on one scale."""

MOST = 12
"""The most lines of a panel, and the most panels of a figure: more cannot be told apart."""


def read(source: Source) -> Results:
    """Return results, read from their folder if that is given."""
    return source if isinstance(source, Results) else Results.from_folder(source)


def drawable(source: Source) -> pl.DataFrame:
    """Return what can be drawn of results, or of their folder: a row for each metric and form.

    Columns: `metric`, `form`, `unit`, `subjects` (a list), `label`. The forms are `sweep` (`metric`: means with
    intervals, against the axes of the sweep), `time` (`timeline`) and `cdf` (`distribution`).
    """
    results = read(source)
    rows = []
    summary, series = (of.filter(pl.col("value").is_not_null()) for of in (summary_of(results), _series_keys(results)))
    for form, table in ((SWEEP, summary), (TIME, series)):
        some = pl.col("unit", "subject").drop_nulls().unique(maintain_order=True)
        for name, units, subjects in table.group_by("metric", maintain_order=True).agg(some).iter_rows():
            rows.append((name, form, ", ".join(units), subjects, labels.label(name)))
    for family, table in distributions(summary, series).items():
        rows.append((family, SHARES, *_units_and_subjects(table), labels.label(family)))
    schema: dict[str, Any] = {"metric": pl.String, "form": pl.String, "unit": pl.String, "subjects": pl.List(pl.String),
              "label": pl.String}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _units_and_subjects(table: pl.DataFrame) -> tuple[str, list[str]]:
    units = ", ".join(str(unit) for unit in select.in_order(table, "unit"))
    return units, [str(name) for name in select.in_order(table, "subject")]


def summary_of(source: Source | pl.DataFrame) -> pl.DataFrame:
    """Return the summary of results, or a table that is one, without published values, which no run measured."""
    table = source if isinstance(source, pl.DataFrame) else read(source).summary
    select.columns(table, "subject", "metric", "value")
    return table.filter(pl.col("source") != "published") if "source" in table.columns else table


def series_of(source: Source | pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of a series of results, joined with the axes, or of a table of series."""
    if isinstance(source, pl.DataFrame):
        return source
    results = read(source)
    known = [str(metric) for metric in results.arrow("series")["metric"].unique()]
    if name not in known:
        of_metric(pl.DataFrame({"metric": known}), name, TIME, results.summary["metric"].unique())
    return results.series(name)


def _series_keys(results: Results) -> pl.DataFrame:
    """Return subject, metric and unit of each series, with a value for the first row."""
    return (
        results.arrow("series")
        .group_by("subject", "metric", "unit", maintain_order=True)
        .agg(pl.col("value").first())
        .with_columns(pl.col("subject", "metric", "unit").cast(pl.String))
    )


def distributions(summary: pl.DataFrame, series: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the metrics with a distribution: at least two percentiles in the summary, or times in the series."""
    found: dict[str, pl.DataFrame] = {}
    names = [str(name) for name in select.in_order(summary, "metric")]
    families: dict[str, list[str]] = {}
    for name in names:
        if match := QUANTILE.fullmatch(name):
            families.setdefault(match["family"], []).append(name)
    for family, members in families.items():
        if len(members) > 1:
            found[family] = summary.filter(pl.col("metric").is_in(members))
    for name in select.in_order(series.filter(pl.col("unit").is_in(SECONDS)), "metric"):
        found.setdefault(str(name), series.filter(pl.col("metric") == name))
    return found


def quantile(name: str) -> float | None:
    """Return the share of a percentile's name: 0.95 for `delay_p95`, 0.999 for `delay_p999`."""
    match = QUANTILE.fullmatch(name)
    if match is None:
        return None
    return 1.0 if match["digits"] == "100" else int(match["digits"]) / 10 ** max(2, len(match["digits"]))


def of_metric(table: pl.DataFrame, name: str, form: str, others: Iterable[str] = ()) -> pl.DataFrame:
    """Return the rows of a metric; the error for one that the table lacks names those that resemble it.

    `others` are metrics that are there in another form.
    """
    known = [str(known) for known in select.in_order(table, "metric")]
    if name in known:
        return table.filter(pl.col("metric") == name)
    elsewhere = set(others)
    if name in elsewhere:
        other = "over time only: use timeline" if form == SWEEP else "in the summary only: use metric"
        raise select.MissingDataError(f"the results have {name} {other}")
    near = difflib.get_close_matches(name, dict.fromkeys([*known, *elsewhere]), n=3, cutoff=0.6)
    hint = f" (did you mean {' or '.join(near)}?)" if near else ""
    raise select.MissingDataError(f"the results have no {name}{hint}; they have: {listed(known) or 'none'}")


def of_subjects(rows: pl.DataFrame, at: str | Sequence[str] | None, idle: Iterable[str] = ()) -> pl.DataFrame:
    """Return the rows of these subjects; without `at`, those of the main ones."""
    known = [str(name) for name in select.in_order(rows, "subject")]
    if at is None:
        return rows.filter(pl.col("subject").is_in(main.subjects(known, idle)))
    wanted = [at] if isinstance(at, str) else list(at)
    for name in wanted:
        if name not in known:
            metric = rows["metric"][0]
            begun = any(of.startswith(f"{name}>") for of in known)
            cut = "; put quotes around a name with > in a shell" if begun else ""
            raise select.MissingDataError(
                f"the results have no {metric} of {name}; they have that of {listed(known)}{cut}"
            )
    return rows.filter(pl.col("subject").is_in(wanted))


def restricted(
    rows: pl.DataFrame, summary: pl.DataFrame, at: str | Sequence[str] | None, where: Mapping[str, object] | None
) -> pl.DataFrame:
    """Return the rows of these subjects, by default the main ones, at these values of axes."""
    rows = of_subjects(rows, at, main.idle_lines(summary) if at is None else ())
    return select.where(rows, where or {})


def alike(rows: pl.DataFrame, panels: str | None) -> bool:
    """Return true if panels are read against each other: those of one subject, and of subjects of like size."""
    if panels != "subject":
        return True
    tops = rows.group_by("subject").agg(pl.col("value").abs().max())["value"]
    least, most = tops.min(), tops.max()
    return float(most or 0.0) <= LIKE * float(least or 0.0)  # type: ignore[arg-type]


def heading(rows: pl.DataFrame, of: pl.DataFrame, shown: Iterable[str | None]) -> str:
    """Return what was chosen of the results `of`: the values of the axes, and the subject, that `shown` leaves out."""
    drawn = set(shown)
    fixed = [axis for axis in axes_of(of) if axis not in drawn and axis not in ("source", "subject")]
    words = [f"{labels.axis(axis)} {labels.drawn(select.in_order(rows, axis)[0])}" for axis in fixed]
    names = select.in_order(rows, "subject") if "subject" not in drawn else []
    return ", ".join([*(str(name) for name in names[:1]), *words])


def listed(names: Sequence[str]) -> str:
    """Join all names for a message."""
    return ", ".join(names)


def axes_of(rows: pl.DataFrame) -> list[str]:
    """Return what distinguishes the rows: axes of the sweep, and `source` and `subject` if there are several."""
    beside = [name for name in ("source", "subject") if name in rows.columns and rows[name].n_unique() > 1]
    return [*(name for name in select.varying(rows) if name not in KEYS), *beside]


def settled(
    rows: pl.DataFrame, free: Sequence[str], lines: str | None, panels: str | None, *, ways: str
) -> tuple[str | None, str | None]:
    """Return the columns of lines and panels; raises `ChoiceError` if other axes are free, or they have many values."""
    if free:
        values = "; ".join(f"{axis}: {select.listed(select.in_order(rows, axis))}" for axis in axes_of(rows))
        raise select.ChoiceError(
            f"the values differ in more than {ways} ways; choose one of {values} (a subject with at, a value of an "
            "axis with where)"
        )
    for column, what in ((lines, "lines"), (panels, "panels")):
        if column is not None and rows[column].n_unique() > MOST:
            option = "at" if column == "subject" else "where"
            raise select.ChoiceError(
                f"{column} has {rows[column].n_unique()} values, too many for {what}; choose some of "
                f"{select.listed(select.in_order(rows, column))} with {option}"
            )
    return lines, panels
