"""Small pieces of HTML. Text from a file is escaped here and nowhere else."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import polars as pl

from cellway.plot import style

__all__ = [
    "data_uri",
    "details",
    "escape",
    "number",
    "picture",
    "places_for",
    "plain",
    "table",
    "tag",
    "text_or_dash",
    "warned",
]


def tag(name: str, *content: str, **attributes: str) -> str:
    """Return an element. `content` is HTML; attribute values are escaped; `class_` is `class`, `data_x` is `data-x`."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(content)}</{name}>"


def data_uri(content: str, media_type: str) -> str:
    """Return a `data:` URI of a text."""
    return f"data:{media_type};base64,{base64.b64encode(content.encode()).decode()}"


def picture(drawn: str, alternative: str, width: int | None = None) -> str:
    """Return a figure, given as SVG text, in its frame, of at most this width (px) and in the colours of the page."""
    limit = "" if width is None else f' style="max-width:{width}px"'
    image = f'<img alt="{escape(alternative)}"{limit} src="{data_uri(style.adaptive(drawn), "image/svg+xml")}">'
    # A wide one scrolls in its frame on a narrow screen, by the keyboard too.
    return tag("div", tag("div", image, class_="sheet"), class_="paper", tabindex="0", role="group",
               aria_label=alternative)  # fmt: skip


def details(summary: str, content: str) -> str:
    """Return a part that the reader can unfold."""
    return tag("details", tag("summary", escape(summary)), content)


def warned(warnings: list[str], noun: str = "warning", nouns: str = "") -> str:
    """Return warnings, or what else `noun` is, folded into one line."""
    if not warnings:
        return ""
    words = f"{len(warnings)} {noun if len(warnings) == 1 else nouns or f'{noun}s'}"
    listed = "".join(tag("li", plain(warning)) for warning in warnings)
    return tag("details", tag("summary", words), tag("ul", listed), class_="warning")


def plain(text: str) -> str:
    """Return a text with its code as such, without backticks."""
    parts = text.split("`")
    return "".join(tag("code", escape(part)) if index % 2 else escape(part) for index, part in enumerate(parts))


THIN = "\u202f"
"""The narrow space that sets thousands apart."""


def number(value: Any, digits: int = 4, decimals: int | None = None) -> str:
    """Format a number: `digits` significant digits or a number of decimals, thousands apart, no exponents."""
    if value is None or value != value:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (decimals is None and value.is_integer()):
        return f"{int(value):,}".replace(",", THIN).replace("-", "−")
    places = places_for(value, digits) if decimals is None else decimals
    return f"{value:,.{places}f}".replace(",", THIN).replace("-", "−")


def places_for(value: float, digits: int = 4) -> int:
    """Return the number of decimals that show `digits` significant digits of a value; never more than nine."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(9, max(0, digits - 1 - math.floor(math.log10(abs(value)))))


def text_or_dash(value: object) -> str:
    """Return escaped text, or a dash for nothing."""
    return escape(str(value)) if value not in (None, "") else "–"


def table(
    frame: pl.DataFrame, names: dict[str, str] | None = None, alike: Sequence[str] = (), by_row: bool = False
) -> str:
    """Return a table, numbers to the right, in a box that scrolls sideways on a narrow screen.

    The columns in `alike` hold one quantity, so all their values (or, `by_row`, those of a row) get the decimals that
    the largest needs; the others get four significant digits, value by value.
    """
    alike = [name for name in alike if name in frame.columns]
    numeric = {name for name, kind in frame.schema.items() if kind.is_numeric()}
    digits = 3 if by_row else 4
    places = [_places([row[name] for name in alike], digits) for row in frame.iter_rows(named=True)]
    if not by_row:
        places = [min(places, default=0)] * frame.height
    head = "".join(
        tag("th", escape((names or {}).get(name, name)), scope="col", **({"class_": "num"} if name in numeric else {}))
        for name in frame.columns
    )
    body = "".join(
        tag(
            "tr",
            *(
                tag("td", escape(number(cell, decimals=decimals if name in alike else None)), class_="num")
                if name in numeric
                else tag("td", text_or_dash(cell))
                for name, cell in zip(frame.columns, row, strict=True)
            ),
        )
        for row, decimals in zip(frame.iter_rows(), places, strict=True)
    )
    return tag("div", tag("table", tag("thead", tag("tr", head)), tag("tbody", body)), class_="scroll", tabindex="0")


def _places(values: Sequence[float | None], digits: int) -> int:
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value != 0]
    return places_for(max(sizes), digits) if sizes else digits
