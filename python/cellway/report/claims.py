"""The paper's claims beside what was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cellway.report.html import escape, number, places_for, tag, text_or_dash

VERDICTS = {
    "reproduced": ("good", "✓", "reproduced"),
    "shape": ("trend", "✓", "trend holds"),
    "undecided": ("fair", "?", "undecided"),
    "not-reproduced": ("poor", "✗", "not reproduced"),
    "not-measured": ("none", "", "not measured"),
}
"""Verdict -> style, sign, words. Any other verdict is shown as it is written."""

PAPER, READING, CONTROL = "paper", "reading", "control"
"""What a row is: a claim as it was first read, one judged once more in another way, or no claim of the paper."""

ORIGINS = {
    PAPER: "",
    READING: "Another reading, added after a first run",
    CONTROL: "A control, not a claim of the paper",
}
"""Origin of a row -> what is said beside it."""

BRACKETED = re.compile(r"(?P<value>[^\[\]]+) \[(?P<low>[^,\[\]]+), (?P<high>[^\[\]]+)\](?P<unit>[^\[\]]*)")
"""A measured value with its interval, such as `3 [3, 4] conversations`."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, as `claims.json` has it."""

    id: str
    section: str
    figure: str
    claim: str
    expected: str
    measured: str
    interval: str
    verdict: str
    note: str
    seeds: int | None = None
    of_seeds: int | None = None

    @classmethod
    def read(cls, record: dict[str, Any]) -> Claim:
        """From a record of `claims.json`; what is absent is empty."""
        measured, interval = _measured(record)
        return cls(
            id=str(record["id"]),
            section=str(record.get("section") or ""),
            figure=str(record.get("figure") or ""),
            claim=str(record["claim"]),
            expected=str(record.get("expected") or ""),
            measured=measured,
            interval=interval,
            verdict=str(record["verdict"]),
            note=str(record.get("note") or ""),
            seeds=record.get("seeds"),
            of_seeds=record.get("of_seeds"),
        )

    @property
    def origin(self) -> str:
        """Whether this is a claim of the paper as first read, another reading of one, or a control; its id says so."""
        if self.id.startswith("control-"):
            return CONTROL
        return READING if self.id.endswith("-pool") or self.id.startswith("sec7-gap-") else PAPER

    @property
    def fewer_seeds(self) -> str:
        """On how many seeds the value rests, if not on all that were run."""
        if self.seeds is None or self.of_seeds is None or self.seeds >= self.of_seeds:
            return ""
        return f"{self.seeds} of {self.of_seeds} seeds"

    @property
    def figures(self) -> list[int]:
        """The numbers of the paper's figures that the claim is about."""
        return [int(digits) for digits in re.findall(r"\d+", self.figure)]

    @property
    def place(self) -> str:
        """Where the paper says it."""
        section = f"§ {self.section}" if self.section else ""
        figure = self.figure.replace("Figure ", "Fig. ").replace("Figures ", "Figs. ")
        return ", ".join(part for part in (section, figure) if part)


def _measured(record: dict[str, Any]) -> tuple[str, str]:
    """The measured value and its interval, both as text."""
    text, unit = str(record.get("measured_text") or ""), str(record.get("unit") or "")
    if match := BRACKETED.fullmatch(text):
        return match["value"] + match["unit"], f"95 % CI {match['low']} to {match['high']}"
    value, low, high = record.get("measured"), record.get("ci_low"), record.get("ci_high")
    if not text and value is not None:
        text = f"{number(value)} {unit}".strip()
    if low is None or high is None:
        return text, ""
    places = places_for(max(abs(low), abs(high)), 3)
    return text, f"95 % CI {number(low, decimals=places)} to {number(high, decimals=places)}"


def chip(verdict: str, count: int = 0) -> str:
    """The verdict as a coloured label that reads without the colour, after a count if there are several."""
    style, sign, words = VERDICTS.get(verdict, ("none", "", verdict))
    return tag(
        "span", escape(" ".join(part for part in (str(count or ""), sign, words) if part)), class_=f"chip {style}"
    )


def counts(claims: list[Claim]) -> list[tuple[str, int]]:
    """How many claims got which verdict, the known verdicts first."""
    order = [*VERDICTS, *sorted({claim.verdict for claim in claims} - set(VERDICTS))]
    found = [(verdict, sum(claim.verdict == verdict for claim in claims)) for verdict in order]
    return [(verdict, count) for verdict, count in found if count]


def tally(claims: list[Claim]) -> str:
    """The counts, large, with what the verdicts mean."""
    told = {origin: [claim for claim in claims if claim.origin == origin] for origin in ORIGINS}
    meaning = (
        "Reproduced: a number lies in the expected range with its whole 95 % confidence interval. Trend holds: so does "
        "an order or a trend. Undecided: the interval straddles the edge of the range. Not measured: the runs had "
        "nothing to measure it by, which says nothing about the claim. The ranges stand for the words "
        "of the paper, which gives few numbers; each claim says below how its words were read."
    )
    apart = (
        tag("p", f"{escape(words)}, {len(told[origin])}:", class_="meaning") + _numbers(told[origin])
        for origin, words in (
            (READING, "Not counted above: claims judged once more under another reading, added after a first run"),
            (CONTROL, "Not counted above: controls, which are not claims of the paper"),
        )
        if told[origin]
    )
    return _numbers(told[PAPER]) + tag("p", escape(meaning), class_="meaning") + "".join(apart)


def _numbers(claims: list[Claim]) -> str:
    parts = (tag("span", tag("b", str(count)), " ", chip(verdict)) for verdict, count in counts(claims))
    return tag("p", *parts, class_="tally")


def overview(claims: list[Claim]) -> str:
    """All claims in one table; each leads to where it is told in full."""
    rows = (
        _row(
            ("Place", "place", text_or_dash(claim.place)),
            ("Claim", "claim", tag("a", escape(claim.claim), href=f"#{anchor(claim)}") + _origin(claim)),
            ("Measured", "", _value(claim)),
            ("Verdict", "", chip(claim.verdict)),
        )
        for claim in claims
    )
    return _table(("Place", "Claim", "Measured", "Verdict"), rows)


def in_full(claims: list[Claim]) -> str:
    """The claims of one section, with the range that is expected and the reason for it."""
    rows = (
        _row(
            ("Place", "place", text_or_dash(claim.place)),
            (
                "Claim",
                "claim",
                escape(claim.claim)
                + _origin(claim)
                + (tag("span", escape(claim.note), class_="note") if claim.note else ""),
            ),
            ("Expected", "", text_or_dash(claim.expected)),
            ("Measured", "", _value(claim)),
            ("Verdict", "", chip(claim.verdict)),
            id_=anchor(claim),
        )
        for claim in claims
    )
    return _table(("Place", "Claim", "Expected", "Measured", "Verdict"), rows)


def anchor(claim: Claim) -> str:
    """The id of the place where a claim is told in full."""
    return "claim-" + re.sub(r"[^A-Za-z0-9_.-]", "-", claim.id)


def _value(claim: Claim) -> str:
    below = (tag("span", escape(text), class_="ci") for text in (claim.interval, claim.fewer_seeds) if text)
    return tag("span", text_or_dash(claim.measured), *below)


def _origin(claim: Claim) -> str:
    words = ORIGINS[claim.origin]
    return tag("span", f"{escape(words)}.", class_="note origin") if words else ""


def _row(*cells: tuple[str, str, str], **attributes: str) -> str:
    # On a narrow screen the head is hidden and each cell shows its name.
    return tag(
        "tr", *(tag("td", tag("span", html), class_=style, data_name=name) for name, style, html in cells), **attributes
    )


def _table(names: tuple[str, ...], rows: Iterable[str]) -> str:
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    return tag("table", tag("thead", head), tag("tbody", *rows), class_="claims")
