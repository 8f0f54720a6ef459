"""Labels of axes: the metrics in words, with their units."""

from __future__ import annotations

from functools import cache

import polars as pl

from cellway.api import metrics


@cache
def registry() -> pl.DataFrame:
    """Return the definitions of the metrics, read once."""
    return metrics()


@cache
def changing() -> frozenset[str]:
    """Return the metrics whose series have a row for each change, and not one for each bin."""
    return frozenset(
        name for name, recorded in registry().select("metric", "recorded").iter_rows() if "changes" in recorded
    )


@cache
def _labels() -> dict[str, str]:
    return dict(registry().select("metric", "label").iter_rows())


def label(metric: str, unit: str = "") -> str:
    """Return a metric, or what its percentiles are of, in words; one that only a program defines has its name."""
    name = _labels().get(metric)
    if name is None:
        median = _labels().get(f"{metric}_p50", metric.replace("_", " ").capitalize())
        name = median.replace(", median", "", 1)
    return f"{name} ({unit})" if unit not in ("", "1") else name


def of(table: pl.DataFrame, metric: str) -> str:
    """Return the label of a metric with its unit in the table, if it has one."""
    if "unit" not in table.columns:
        return label(metric)
    units = table.filter(pl.col("metric") == metric)["unit"].unique()
    return label(metric, str(units[0]) if len(units) == 1 else "")


def axis(name: str) -> str:
    """Return an axis of the sweep in words: the last two parts of its path, which identify it."""
    return " ".join(name.split(".")[-2:]).replace("-", " ")


LONGEST = 40
"""The most letters of a value in a figure."""

END = 16
"""The letters at the end of a longer value that are kept: names of files differ there."""


def drawn(value_: object) -> str:
    """Return a value of an axis as text in a figure: short, and as it is written, also with $ or _ in it."""
    text = value(value_)
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - END - 1]}…{text[-END:]}"
    # matplotlib leaves labels out that begin with _.
    return written(f" {text}" if text.startswith("_") else text)


def written(text: str) -> str:
    """Return a text whose $ matplotlib does not take for mathematics."""
    return text.replace("$", r"\$")


def value(value: object) -> str:
    """Return a value of an axis as text."""
    return "–" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)
