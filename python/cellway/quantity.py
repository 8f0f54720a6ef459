"""Times with units, exact to the picosecond."""

from __future__ import annotations

from fractions import Fraction

from cellway import arguments


def picoseconds(name: str, text: object) -> int:
    """Return a time in picoseconds. `name` is that of the argument, for the error."""
    from cellway import _native

    if not isinstance(text, str):
        raise arguments.wrong(name, text, 'a string with a unit, like "60 ms"')
    try:
        return _native.picoseconds(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def time_text(exact: Fraction | int) -> str:
    """Return a time, rounded to a picosecond, with its unit."""
    from cellway import _native

    return _native.time_text(round(exact))
