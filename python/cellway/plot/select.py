"""Finding what a figure draws in a tidy table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

POLICY = "multiplexing.channel"
COUNT = "traffic.ftp.count"


class MissingDataError(ValueError):
    """The table does not hold what the figure needs; the message names it."""


def values(
    table: pl.DataFrame, metric: str, subject: str | None = None, *, slots_of: str | None = None
) -> pl.DataFrame:
    """The rows of one metric: at one subject, or at every conversation of one traffic group."""
    rows = table.filter(pl.col("metric") == metric)
    where = ""
    if subject is not None:
        rows, where = rows.filter(pl.col("subject") == subject), f" of {subject}"
    if slots_of is not None:
        pattern = f"^{re.escape(slots_of)}-[0-9]+$"
        rows, where = rows.filter(pl.col("subject").str.contains(pattern)), f" of the {slots_of} conversations"
    if rows.is_empty():
        raise MissingDataError(f"the table has no {metric}{where}")
    return rows


def need(table: pl.DataFrame, *columns: str) -> None:
    """Raise `MissingDataError` unless the table has these axes."""
    for name in columns:
        if name not in table.columns:
            raise MissingDataError(f"the table has no axis {name}")


def in_order(table: pl.DataFrame, column: str) -> list[Any]:
    """The values of a column in the order of their first row, which is the order of the sweep."""
    return table.select(pl.col(column).drop_nulls().unique(maintain_order=True)).to_series().to_list()


def highest(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows with the largest value of a numeric column; all rows if it is not there."""
    if column not in table.columns or table.is_empty():
        return table
    return table.filter(pl.col(column) == pl.col(column).max())


def first_seed(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the lowest seed."""
    return table.filter(pl.col("seed") == pl.col("seed").min())


def slots(table: pl.DataFrame) -> list[str]:
    """The conversations of a table by their numbers: ftp-1, ftp-2, ... ftp-10."""
    names: Iterable[str] = table["subject"].unique().to_list()
    return sorted(names, key=lambda name: (name.rsplit("-", 1)[0], int(name.rsplit("-", 1)[1])))


def quantity(text: str) -> tuple[float, str] | None:
    """A size as written in a scenario, such as `"1.5 bdp"`: number and unit."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z/]+)\s*", text)
    try:
        return (float(match[1]), match[2]) if match else None
    except ValueError:
        return None
