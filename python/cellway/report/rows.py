"""Tables of claims: each number in the paper, by theory and in the simulation, and its parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cellway.report.claims import ORIGINS, Claim, anchor, chip
from cellway.report.html import details, escape, plain, tag, text_or_dash


@dataclass(frozen=True)
class Column:
    """One column: its head, the style of its cells, and their contents. A `needed` one is shown even if empty."""

    name: str
    style: str
    cell: Callable[[Claim], str]
    filled: Callable[[Claim], object] | None = None
    """Returns a true value if a claim fills the column, which is left out if none does. None: never left out."""


def published(claim: Claim) -> str:
    """Return the paper's number, or the range that represents its words."""
    return tag("span", text_or_dash(claim.published_text or claim.expected))


def published_in_full(claim: Claim) -> str:
    """Return the paper's number and the accepted range; or the range that represents its words."""
    if not claim.published_text:
        return published(claim)
    accepted = tag("span", escape(f"accepted: {claim.expected}"), class_="ci") if claim.expected else ""
    return tag("span", escape(claim.published_text), accepted)


def predicted(claim: Claim) -> str:
    """Return the value of theory, and its equation."""
    by = tag("span", plain(claim.equation), class_="ci") if claim.equation else ""
    return tag("span", text_or_dash(claim.predicted_text), by)


SOURCES = {"simulate": "simulated", "emulate": "emulated", "measure": "measured", "predict": "predicted"}
"""Source of the judged value -> the word for it."""


def source(claim: Claim) -> str:
    """Return the source of the judged value."""
    return tag("span", text_or_dash(SOURCES.get(claim.source, claim.source)))


def simulated(claim: Claim) -> str:
    """Return the measured value with its interval below."""
    below = (tag("span", plain(text), class_="ci whole") for text in (claim.interval, claim.fewer_seeds) if text)
    return tag("span", text_or_dash(claim.measured), *below)


KINDS = (
    ("given", "given", "printed in the paper"),
    ("inferred", "inferred", "follows from other numbers of the paper"),
    ("fitted", "fitted", "tuned to a number of this paper, so that the row is no test"),
)
"""Field of a claim, word, meaning."""


def rests_on(claim: Claim) -> str:
    """Return the words for the parameters of the number."""
    words = [tag("span", word, class_=f"kind {word}", title=why) for key, word, why in KINDS if getattr(claim, key)]
    if claim.unexplained:
        words.append(tag("span", "unexplained", class_="kind unexplained", title="no attempt explains it"))
    return tag("span", " ".join(words) or "–")


def provenance(claim: Claim) -> str:
    """Return every parameter of the number by kind, the attempts, the unexplained rest, and the equation's caveats."""
    lines = [
        tag("span", tag("span", word, class_=f"kind {word}"), " ", plain("; ".join(getattr(claim, key))))
        for key, word, _ in KINDS
        if getattr(claim, key)
    ]
    if claim.unexplained:
        lines.append(tag("span", tag("span", "unexplained", class_="kind unexplained"), " ", plain(claim.unexplained)))
    if claim.not_run:
        lines.append(tag("span", tag("span", "not run", class_="kind"), " ", plain(claim.not_run)))
    if claim.tried:
        lines.append(tag("span", tag("span", "tried", class_="kind"), " ", plain(claim.tried)))
    shown = "".join(tag("span", line, class_="origin-line") for line in lines)
    caveats = tag("ul", *(tag("li", plain(text)) for text in claim.caveats))
    return shown + (details("Limits of the equation", caveats) if claim.caveats else "")


def _claim_in_full(claim: Claim) -> str:
    note = tag("span", plain(claim.note), class_="note") if claim.note else ""
    return tag("div", plain(claim.claim), origin(claim), note, provenance(claim))


def _linked(claim: Claim) -> str:
    return tag("span", tag("a", plain(claim.claim), href=f"#{anchor(claim)}"), origin(claim))


def origin(claim: Claim) -> str:
    """Return the remark on a row that is no claim of the paper as first read."""
    words = ORIGINS.get(claim.origin, "")
    return tag("span", f"{escape(words)}.", class_="note origin") if words else ""


def place(claim: Claim) -> str:
    """Return the location in the paper; a number stays on the line of the word before it."""
    return tag("span", NUMBERED.sub("\\1\u00a0\\2", text_or_dash(claim.place)))


NUMBERED = re.compile(r"(§|Figs?\.|\w+) (\(?[0-9])")

PLACE = Column("Place", "place", place)
NUMBERS = (
    Column("Predicted", "value", predicted, lambda claim: claim.predicted_text),
    Column("Measured [95\u00a0%\u00a0CI]", "", simulated),
    Column("Source", "", source, lambda claim: claim.source),
    Column("Deviation", "num", lambda claim: tag("span", text_or_dash(claim.off)), lambda claim: claim.off),
)
RESTS_ON = Column("Rests on", "", rests_on, lambda c: c.given or c.inferred or c.fitted or c.unexplained)
VERDICT = Column("Verdict", "", lambda claim: tag("span", chip(claim.verdict)))


def overview(claims: Sequence[Claim]) -> str:
    """Return all claims in one table; each links to its full description."""
    columns = (PLACE, Column("Claim", "claim", _linked), _said(claims, published), *NUMBERS, RESTS_ON, VERDICT)
    return table(claims, columns)


def in_full(claims: Sequence[Claim]) -> str:
    """Return the claims of one section, with the accepted range, the reason for it, and what the number rests on."""
    columns = (PLACE, Column("Claim", "claim", _claim_in_full), _said(claims, published_in_full), *NUMBERS, VERDICT)
    return table(claims, columns, anchor)


def _said(claims: Sequence[Claim], cell: Callable[[Claim], str]) -> Column:
    """Return the paper's side, with the head of its most frequent content."""
    return Column("Published" if any(claim.published_text for claim in claims) else "Expected", "value", cell)


def table(claims: Sequence[Claim], columns: Iterable[Column], id_of: Callable[[Claim], str] | None = None) -> str:
    """Return a table of claims without the columns that none of them fills."""
    kept = [column for column in columns if column.filled is None or any(column.filled(claim) for claim in claims)]
    head = tag("tr", *(tag("th", escape(column.name), scope="col", class_=_head(column)) for column in kept))
    rows = []
    for claim in claims:
        # On a narrow screen the head is hidden and each cell shows its name.
        cells = (tag("td", column.cell(claim), class_=column.style, data_name=column.name) for column in kept)
        rows.append(tag("tr", *cells, **({"id_": id_of(claim)} if id_of is not None else {})))
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="claims")


def _head(column: Column) -> str:
    return "num" if column.style == "num" else ""
