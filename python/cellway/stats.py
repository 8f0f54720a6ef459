"""Statistics over replications: means, Student-t confidence intervals and paired differences.

A replication is one seed, so the seeds are the independent samples. Two policies under one seed see the same traffic
(common random numbers); compare them with `paired`, which removes what they share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

LEVEL = 0.95
"""Confidence level used throughout."""


def summarise(frame: pl.DataFrame, by: Sequence[str], value: str = "value", level: float = LEVEL) -> pl.DataFrame:
    """Mean over the rows of each group, with a Student-t confidence interval.

    Columns: those of `by`, then `mean`, `sd`, `n`, `low`, `high`. The groups keep the order of their first row. A
    single row has no interval: `sd`, `low` and `high` are null. Rows without a value are left out.
    """
    import polars as pl

    grouped = (
        frame.filter(pl.col(value).is_not_null() & pl.col(value).is_not_nan())
        .group_by(*by, maintain_order=True)
        .agg(mean=pl.col(value).mean(), sd=pl.col(value).std(), n=pl.len())
    )
    factors = [_factor(n, level) for n in grouped["n"].to_list()]
    half = pl.col("sd") * pl.Series("factor", factors, dtype=pl.Float64)
    return grouped.with_columns(low=pl.col("mean") - half, high=pl.col("mean") + half)


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
    """The difference `other` minus `base` of the column `contrast`, taken seed by seed, with its confidence interval.

    Columns as in `summarise`. Only seeds that both sides have count.
    """
    import polars as pl

    keys = [*by, pair]
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


def _factor(n: int, level: float) -> float | None:
    return t_quantile(0.5 + level / 2, n - 1) / math.sqrt(n) if n > 1 else None


@lru_cache(maxsize=512)
def t_quantile(p: float, df: float) -> float:
    """The value that a Student-t variable with `df` degrees of freedom stays below with probability `p`.

    Found by bisection on the distribution function, to the last digit that it resolves.
    """
    if not 0.0 < p < 1.0:
        raise ValueError(f"a probability between 0 and 1 (both excluded) is needed, not {p}")
    if not df > 0.0:
        raise ValueError(f"the degrees of freedom must be positive, not {df}")
    if p < 0.5:
        return -t_quantile(1.0 - p, df)
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        high *= 2.0
    while (middle := 0.5 * (low + high)) not in (low, high):
        if t_cdf(middle, df) < p:
            low = middle
        else:
            high = middle
    return high


def t_cdf(t: float, df: float) -> float:
    """The probability that a Student-t variable with `df` degrees of freedom stays below `t`."""
    tail = 0.5 * _beta(df / (df + t * t), 0.5 * df, 0.5)
    return tail if t < 0.0 else 1.0 - tail


def _beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    # The continued fraction converges fast only on one side of the mean; the other side follows by symmetry.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta(1.0 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, evaluated front to back (modified Lentz method)."""
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    result = d
    for m in range(1, 10_000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + numerator / (c if abs(c) > tiny else tiny)
            step = c * d
            result *= step
        if abs(step - 1.0) < 1e-15:
            break
    return result
