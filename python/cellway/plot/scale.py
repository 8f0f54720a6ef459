"""Units of a figure: the prefix that makes its numbers short."""

from __future__ import annotations

STEPS = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "B": ((2.0**20, "MiB"), (2.0**10, "KiB")),
}
"""Unit of the tables -> divisors with their units, the largest first."""


def scale(top: float | None, unit: str) -> tuple[float, str]:
    """Return the divisor for values of up to `top` in `unit`, and the unit after it; "" for a ratio or plain count."""
    for size, name in STEPS.get(unit, ()):
        if top is not None and abs(top) >= size:
            return size, name
    return 1.0, "" if unit == "1" else unit
