"""Times with units, exact to the picosecond."""

from __future__ import annotations

import re
from fractions import Fraction

from cellway import arguments

PICOSECONDS = {"min": 60 * 10**12, "s": 10**12, "ms": 10**9, "us": 10**6, "µs": 10**6, "ns": 10**3, "ps": 1}
"""Units of time, the largest first."""

WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)\s*")


def time(name: str, text: object) -> Fraction:
    """Return a time in picoseconds. `name` is that of the argument, for the error."""
    found = WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[2] not in PICOSECONDS:
        raise arguments.wrong(name, text, f'a string with a unit of {", ".join(PICOSECONDS)}, like "60 ms"')
    return Fraction(found[1]) * PICOSECONDS[found[2]]


def time_text(picoseconds: Fraction) -> str:
    """Return a time, rounded to a picosecond, in the largest unit in which it is at least 1."""
    whole = round(picoseconds)
    units = [(unit, size) for unit, size in PICOSECONDS.items() if unit not in ("min", "µs")]
    unit, size = next(((unit, size) for unit, size in units if whole >= size), ("s", 10**12))
    digits = len(str(size)) - 1
    decimals = f"{whole % size:0{digits}d}".rstrip("0") if digits else ""
    return f"{whole // size}{'.' + decimals if decimals else ''} {unit}"
