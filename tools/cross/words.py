"""The format of numbers and paragraphs."""

from __future__ import annotations

import textwrap

WIDTH = 120
"""The longest line of the page outside tables (characters)."""


def percent(value: float, digits: int = 1) -> str:
    """Return a share in per cent: `5 %`."""
    return f"{100 * value:.{digits}f} %"


def signed(value: float) -> str:
    """Return a deviation in per cent, with its sign: `+5.0 %`."""
    return f"{100 * value:+.1f} %"


def interval(middle: float, half: float) -> str:
    """Return a deviation with half the width of its interval: `+5.0 % ± 1.2 %`."""
    return f"{signed(middle)} ± {percent(half)}"


def wrapped(text: str) -> str:
    """Break a paragraph, or an item of a list, into lines of the width."""
    indent = "  " if text.startswith("- ") else ""
    # A line that begins with a sign or a number with a dot would be read as an item of a list.
    glued = text.replace(" %", "\0%").replace(" ± ", "\0±\0")
    lines = textwrap.fill(glued, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")
