"""Finds the data of a figure in a tidy table: values of a metric, subjects and axes.

A figure that needs one subject or one axis takes it as an argument. Without the argument it takes the only one that the
table has, and raises `ChoiceError` where the table has several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from cellway.plot.rates import RATES
from cellway.results import KEYS as RUN_KEYS
from cellway.results import VALUES

KEYS = (*RUN_KEYS, *VALUES[1:])
"""Columns of tables that are no axis of a sweep."""

LISTED = 12
"""Most names that an error lists."""


class MissingDataError(ValueError):
    """The table lacks data that the figure needs; the message names them."""


class ChoiceError(ValueError):
    """The table leaves a choice that the caller must make; the message lists the candidates."""


def axes(table: pl.DataFrame) -> list[str]:
    """Return the columns that are axes of the sweep."""
    return [name for name in table.columns if name not in KEYS]


def varying(table: pl.DataFrame) -> list[str]:
    """Return the axes along which the rows of the table differ."""
    return [name for name in axes(table) if table[name].n_unique() > 1]


def subject_of(table: pl.DataFrame, metric: str, subject: str | None = None) -> str:
    """Return `subject`, or else the only subject that has values of `metric`."""
    if subject is not None:
        return subject
    found = in_order(values(table, metric), "subject")
    if len(found) > 1:
        raise ChoiceError(f"several subjects have {metric}: {listed(found)}; choose one with subject=")
    return str(found[0])


def group_of(table: pl.DataFrame, metric: str, group: str | None = None) -> str:
    """Return `group`, or else the only group of traffic whose conversations have values of `metric`."""
    if group is not None:
        return group
    names = [str(name) for name in in_order(values(table, metric), "subject")]
    found = list(dict.fromkeys(name.rpartition("-")[0] for name in names if re.fullmatch(r".+-[0-9]+", name)))
    if not found:
        raise MissingDataError(f"the table has no {metric} of any conversation; it has that of {listed(names)}")
    if len(found) > 1:
        raise ChoiceError(f"conversations of several groups have {metric}: {listed(found)}; choose one with group=")
    return found[0]


def axis_of(table: pl.DataFrame, x: str | None = None, beside: Iterable[str] = ()) -> str:
    """Return the axis `x`, or else the only axis of numbers, or of quantities, that varies and is not in `beside`."""
    if x is not None:
        need(table, x)
        return x
    taken = set(beside)
    left = [name for name in varying(table) if name not in taken]
    found = [name for name in left if table.schema[name].is_numeric()]
    found = found or [name for name in left if are_amounts(in_order(table, name))]
    if not found:
        known = listed(axes(table)) or "none"
        raise MissingDataError(f"the table has no axis of several numbers to draw against; its axes: {known}")
    if len(found) > 1:
        raise ChoiceError(f"several axes have numbers: {listed(found)}; choose one with x=")
    return found[0]


def lines_of(table: pl.DataFrame, lines: str | None = None, beside: Iterable[str] = ()) -> str | None:
    """Return the axis `lines`, or else the only axis that varies and is not in `beside`; None without such an axis."""
    if lines is not None:
        need(table, lines)
        return lines
    taken = set(beside)
    found = [name for name in varying(table) if name not in taken]
    if len(found) > 1:
        raise ChoiceError(
            f"several axes vary beside those that are drawn: {listed(found)}; choose one with lines=, and one value of "
            "each other axis"
        )
    if found:
        return found[0]
    left = [name for name in axes(table) if name not in taken]
    return left[0] if len(left) == 1 else None


def one_point(table: pl.DataFrame) -> None:
    """Raise `ChoiceError` unless all rows are of one point of the sweep."""
    found = varying(table)
    if found:
        raise ChoiceError(f"the rows are of several points, which differ in {listed(found)}: filter one of them")


def listed(names: Iterable[object]) -> str:
    """Join names for a message; the first `LISTED` of many."""
    known = [f"{name:g}" if isinstance(name, float) else str(name) for name in names]
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return ", ".join(known[:LISTED]) + more


def values(
    table: pl.DataFrame, metric: str, subject: str | None = None, *, slots_of: str | None = None
) -> pl.DataFrame:
    """Return the rows of one metric: at one subject, or at every conversation of one traffic group."""
    columns(table, "subject", "metric", "value")
    rows = table.filter(pl.col("metric") == metric)
    where = ""
    if subject is not None:
        rows, where = rows.filter(pl.col("subject") == subject), f" of {subject}"
    if slots_of is not None:
        pattern = f"^{re.escape(slots_of)}-[0-9]+$"
        rows, where = rows.filter(pl.col("subject").str.contains(pattern)), f" of the {slots_of} conversations"
    if rows.is_empty():
        raise _lacks(table, metric, where)
    return rows


def _lacks(table: pl.DataFrame, metric: str, where: str) -> MissingDataError:
    """Return the error for a metric without rows, with the subjects that have it, or else the metrics of the table."""
    having = in_order(table.filter(pl.col("metric") == metric), "subject")
    if having:
        return MissingDataError(f"the table has no {metric}{where}; it has that of {listed(having)}")
    known = listed(in_order(table, "metric")) or "none"
    return MissingDataError(f"the table has no {metric}{where}; its metrics: {known}")


def need(table: pl.DataFrame, *names: str) -> None:
    """Raise `MissingDataError` unless the table has these axes."""
    for name in names:
        if name not in table.columns:
            raise MissingDataError(f"the table has no axis {name}; its axes: {listed(axes(table)) or 'none'}")


def columns(table: pl.DataFrame, *names: str) -> None:
    """Raise `MissingDataError` unless the table has these columns."""
    for name in names:
        if name not in table.columns:
            raise MissingDataError(f"the table has no column {name}; its columns: {listed(table.columns) or 'none'}")


def in_order(table: pl.DataFrame, column: str) -> list[Any]:
    """Return the values of a column in the order of their first row, which is the order of the sweep."""
    return table.select(pl.col(column).drop_nulls().unique(maintain_order=True)).to_series().to_list()


def highest(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the rows with the largest value of a numeric column; all rows if it does not exist."""
    if column not in table.columns or table.is_empty():
        return table
    return table.filter(pl.col(column) == pl.col(column).max())


def first_seed(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the lowest seed."""
    columns(table, "seed")
    return table.filter(pl.col("seed") == pl.col("seed").min())


def last(table: pl.DataFrame) -> str:
    """Return the end of a message about a time without values: the time of the last value."""
    columns(table, "t")
    end = table["t"].max()
    return f"the last value is at {end:g} s" if isinstance(end, float) else "no value has a time"


def slots(table: pl.DataFrame) -> list[str]:
    """Return the conversations of a table by their numbers: bulk-1, bulk-2, ... bulk-10."""
    names: Iterable[str] = table["subject"].unique().to_list()
    return sorted(names, key=lambda name: (name.rsplit("-", 1)[0], int(name.rsplit("-", 1)[1])))


def of_group(table: pl.DataFrame, metric: str, group: str, *, total: bool = False) -> pl.DataFrame:
    """Return one value per run: the group's own, else the mean over its conversations; with `total` their sum."""
    own = table.filter((pl.col("metric") == metric) & (pl.col("subject") == group))
    if not own.is_empty() and not total:
        return own
    try:
        rows = values(table, metric, slots_of=group)
    except MissingDataError:
        raise _lacks(table, metric, f" of {group}") from None
    rest = [name for name in rows.columns if name not in ("subject", "value")]
    gathered = pl.col("value").sum() if total else pl.col("value").mean()
    return rows.group_by(*rest, maintain_order=True).agg(gathered)


def where(table: pl.DataFrame, chosen: Mapping[str, object]) -> pl.DataFrame:
    """Return the rows at these values of axes. A list chooses several values.

    Axes may be given by the last parts of their paths, and as `subject`. Values are compared as amounts, so 8 is "8.0",
    and "250kB" is "250 kB". A value that no row has raises `MissingDataError`.
    """
    wanted: dict[str, list[object]] = {}
    for name, value in chosen.items():
        wanted.setdefault(axis_named(table, name), []).extend(value if isinstance(value, list | tuple) else [value])
    for axis, values in wanted.items():
        known = in_order(table, axis)
        found = []
        for sought in values:
            same = [one for one in known if is_same(one, sought)]
            if not same:
                raise MissingDataError(
                    f"the table has no row at {axis} = {sought}; its values: {listed(known) or 'none'}"
                )
            found += same
        table = table.filter(pl.col(axis).is_in(pl.Series(found, dtype=table.schema[axis]).implode()))
    return table


def is_same(one: object, other: object) -> bool:
    """Return true for two values of an axis that mean the same."""
    if isinstance(other, bool):
        return str(one) == str(other).lower()
    if str(one) == str(other):
        return True
    return are_amounts([one, other]) and amount(one) == amount(other)


def are_amounts(values: Iterable[object]) -> bool:
    """Return true for values that have a place on one scale: numbers, or quantities of one kind."""
    known = list(values)
    return all(map(is_amount, known)) and len(set(map(_kind, known))) <= 1


def _kind(value: object) -> str:
    """Return what a unit measures: a unit that is not converted measures something of its own."""
    if _bare(value) in RATES:
        return "rate"
    found = AMOUNT.fullmatch(_bare(value))
    unit = (found[2] or "") if found else ""
    return next((kind for kind, units in KINDS.items() if unit in units), unit)


def axis_named(rows: pl.DataFrame, name: str) -> str:
    """Return the column of an axis that is given by its path, by the last parts of it, or as `subject`."""
    known = [*axes(rows), *(extra for extra in ("source", "subject") if extra in rows.columns)]
    if name in known:
        return name
    found = [axis for axis in known if axis.endswith(f".{name}")]
    if len(found) == 1:
        return found[0]
    if found:
        raise ChoiceError(f"several axes end in {name}: {listed(found)}")
    raise MissingDataError(f"the table has no axis {name}; its axes: {listed(known) or 'none'}")


KINDS = {
    "rate": {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9},
    "size": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3},
    "time": {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
}
"""Units of scenario files in bit/s, bytes and seconds, by what they measure."""

FACTORS = {unit: factor for units in KINDS.values() for unit, factor in units.items()}
"""Any other unit, such as `cell`, counts as 1."""

AMOUNT = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ]+(?:/s)?)?")


def amount(value: object) -> float:
    """Return a number or a string as in scenarios as a number in base units (bit/s, bytes, seconds, cells).

    Of a list, such as the sizes of files, the first is taken.
    """
    if isinstance(value, int | float):
        return float(value)
    text = _bare(value)
    if text in RATES:
        return RATES[text].rate
    found = AMOUNT.match(text)
    if found is None:
        raise MissingDataError(
            f"“{value}” is no amount; accepted: a number, a number with a unit, or the name of a rate"
        )
    return float(found[1].replace("_", "")) * FACTORS.get(found[2] or "", 1.0)


def is_amount(value: object) -> bool:
    """Return true for a number, the name of a rate, or a number with a unit and nothing else."""
    return isinstance(value, int | float) or _bare(value) in RATES or AMOUNT.fullmatch(_bare(value)) is not None


def _bare(value: object) -> str:
    """Return a value of an axis without the brackets and quotes of a list."""
    return str(value).strip(" \"'[]")


def amounts(table: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return the table with a numeric column `x` in base units, made of an axis."""
    need(table, column)
    known = in_order(table, column)
    scale = pl.DataFrame({column: known, "x": [amount(value) for value in known]}, schema_overrides={"x": pl.Float64})
    return table.join(scale, on=column, how="left", maintain_order="left")


def quantity(text: str) -> tuple[float, str] | None:
    """Return number and unit of a size as written in a scenario, such as `"1.5 bdp"`."""
    found = AMOUNT.fullmatch(text.strip())
    return (float(found[1].replace("_", "")), found[2]) if found is not None and found[2] else None
