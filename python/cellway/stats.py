"""Statistics over replications: means, confidence intervals and paired differences.

A replication is one seed, so the seeds are the independent samples. Two settings under one seed have the same traffic
(common random numbers); compare them with `paired`, which removes the common variation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LEVEL = 0.95
"""Confidence level used throughout."""


def summarise(frame: pl.DataFrame, by: Sequence[str], value: str = "value", level: float = LEVEL) -> pl.DataFrame:
    """Return the mean over the rows of each group, with a confidence interval.

    Columns: those of `by`, then `mean`, `sd`, `n`, `low`, `high`. The groups keep the order of their first row. A
    single row has no interval: `sd`, `low` and `high` are null. Rows without a value are left out. The interval is
    Student's t; where `frame` has a column `metric`, that of a share or a count stays within its bounds (see
    "Confidence intervals" in the reference of the tables). Rows are replications: where `frame` has a column `run`, a
    run that a group has twice is refused with `ValueError`.
    """
    import polars as pl

    from cellway import _native

    known = frame.filter(pl.col(value).is_not_null() & pl.col(value).is_not_nan())
    if "run" in known.columns:
        twice = known.filter(pl.struct(*by, "run").is_duplicated())
        if not twice.is_empty():
            raise ValueError(
                f"a run has several rows in one group, which are no replications: {twice.row(0, named=True)}"
            )
    sample, metric = pl.col(value).alias("sample"), pl.lit(None, pl.String)
    if "metric" in known.columns and value == "value":
        metric = pl.when(pl.col("metric").n_unique() == 1).then(pl.col("metric").first())
    grouped = known.group_by(*by, maintain_order=True).agg(
        sample, mean=pl.col(value).mean(), sd=pl.col(value).std(), n=pl.len(), bounds=metric
    )
    intervals = [
        _native.confidence_interval(sample, level, metric) or (None, None)
        for sample, metric in zip(grouped["sample"].to_list(), grouped["bounds"].to_list(), strict=True)
    ]
    ends = {
        name: pl.Series(name, [i[end] for i in intervals], dtype=pl.Float64) for end, name in enumerate(("low", "high"))
    }
    return grouped.drop("sample", "bounds").with_columns(**ends)


def paired(
    frame: pl.DataFrame,
    contrast: str,
    base: object,
    other: object,
    by: Sequence[str] = (),
    pair: str = "seed",
    value: str = "value",
    level: float = LEVEL,
) -> pl.DataFrame:
    """Return the difference `other` minus `base` of the column `contrast`, seed by seed, with its confidence interval.

    Columns as in `summarise`. Only seeds that both sides have count. Raises `ValueError` if a side has several rows of
    a seed, as those of several points or subjects: each pair must be of one point. `by` names the columns that
    distinguish them.
    """
    import polars as pl

    keys = [*by, pair]
    for side in (base, other):
        rows = frame.filter(pl.col(contrast) == side)
        if rows.select(keys).is_duplicated().any():
            others = [name for name in rows.columns if name not in (*keys, contrast, value)]
            differing = [name for name in others if rows[name].n_unique() > 1]
            raise ValueError(
                f"{contrast} = {side!r} has several rows of one {pair}; they differ in "
                f"{', '.join(differing) or 'nothing'}: filter them, or name the columns in by"
            )
    sides = [
        frame.filter(pl.col(contrast) == side).select(*keys, pl.col(value).alias(name))
        for side, name in ((base, "base"), (other, "other"))
    ]
    joined = sides[0].join(sides[1], on=keys, how="inner", maintain_order="left")
    differences = joined.with_columns(difference=pl.col("other") - pl.col("base"))
    if not by:
        all_rows = differences.with_columns(_=pl.lit(0))
        return summarise(all_rows, ["_"], "difference", level).drop("_")
    return summarise(differences, by, "difference", level)
