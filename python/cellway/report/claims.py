"""The paper's claims next to the measured values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cellway.report.html import escape, number, places_for, tag

VERDICTS = {
    "reproduced": ("good", "✓", "reproduced"),
    "fitted": ("fitted", "≈", "fitted"),
    "shape": ("trend", "✓", "trend holds"),
    "undecided": ("fair", "?", "undecided"),
    "not-reproduced": ("poor", "✗", "not reproduced"),
    "not-measured": ("none", "", "not measured"),
    "not-run": ("none", "", "not run"),
}
"""Verdict -> style, sign, words. Any other verdict is shown as it is written."""

PAPER, READING, CONTROL = "paper", "reading", "control"
"""The origins of rows: a claim as it was first read, one judged once more in another way, or no claim of the paper."""

ORIGINS = {
    PAPER: "",
    READING: "Another reading, added after a first run",
    CONTROL: "A control, not a claim of the paper",
}
"""Origin of a row -> the remark on it."""

BRACKETED = re.compile(r"(?P<value>[^\[\]]+) \[(?P<low>[^,\[\]]+), (?P<high>[^\[\]]+)\](?P<unit>[^\[\]]*)")
"""A measured value with its interval, such as `3 [3, 4] conversations`."""

SECTION = re.compile(r"(?:[Ss]ection|§)\s*([0-9][0-9.]*[0-9]|[0-9])")
FIGURE = re.compile(r"((?:Figures?|Table) [0-9]+(?:(?:, | and |-)[0-9]+)*)")
"""The figures and tables that a location such as `section 4.4.1, Table 2` names."""


@dataclass(frozen=True)
class Claim:
    """One row: a claim of a paper, as `claims.json` has it, next to its predicted and simulated values.

    `published`, `predicted`, `simulated`, `low` and `high` are in `unit`. `given` is in the paper, `inferred`
    follows from its other numbers, and `fitted` was tuned to a number of the paper, so that the row is no test of it.
    `simulated` is the value of the runs, whose `source` is simulated, emulated or measured. `not_run` is the reason if
    there were none. `study`, `subject` and `metric` name the figure that is judged. `origin` is `paper` for a claim as
    it was first read, `reading` for one judged once more in another way, and `control` for a check that is no claim of
    the paper.
    """

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
    label: str = ""
    where: str = ""
    unit: str = ""
    published: float | None = None
    published_text: str = ""
    predicted: float | None = None
    predicted_text: str = ""
    equation: str = ""
    caveats: tuple[str, ...] = ()
    simulated: float | None = None
    source: str = ""
    not_run: str = ""
    low: float | None = None
    high: float | None = None
    deviation: float | None = None
    given: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    fitted: tuple[str, ...] = ()
    tried: str = ""
    unexplained: str = ""
    origin: str = PAPER
    study: str = ""
    subject: str = ""
    metric: str = ""

    @classmethod
    def read(cls, record: dict[str, Any]) -> Claim:
        """Read a record of `claims.json`; absent keys are empty."""
        measured, interval = _measured(record)
        unit = str(record.get("unit") or "")
        simulated = record.get("simulated")
        return cls(
            id=str(record["id"]),
            section=str(record.get("section") or _found(SECTION, record)),
            figure=str(record.get("figure") or _found(FIGURE, record)),
            claim=str(record["claim"]),
            expected=str(record.get("expected") or ""),
            measured=measured,
            interval=interval,
            verdict=str(record["verdict"]),
            note=str(record.get("note") or ""),
            seeds=record.get("seeds"),
            of_seeds=record.get("of_seeds"),
            label=str(record.get("label") or ""),
            where=str(record.get("place") or ""),
            unit=unit,
            published=record.get("published"),
            published_text=_text(record, "published", unit),
            predicted=record.get("predicted"),
            predicted_text=_text(record, "predicted", unit),
            equation=str(record.get("equation") or ""),
            caveats=_parts(record.get("caveats")),
            simulated=record.get("measured") if simulated is None else simulated,
            source=str(record.get("source") or ""),
            not_run=str(record.get("not_run") or ""),
            low=record.get("ci_low"),
            high=record.get("ci_high"),
            deviation=record.get("deviation"),
            given=_parts(record.get("given")),
            inferred=_parts(record.get("inferred")),
            fitted=_parts(record.get("fitted")),
            tried=str(record.get("tried") or ""),
            unexplained=str(record.get("unexplained") or ""),
            origin=str(record.get("origin") or PAPER),
            study=str(record.get("study") or ""),
            subject=str(record.get("subject") or ""),
            metric=str(record.get("metric") or ""),
        )

    @property
    def emulated(self) -> bool:
        """True if it is judged by runs in real time."""
        return self.source in {"emulate", "measure"}

    @property
    def fewer_seeds(self) -> str:
        """The number of seeds that the value rests on, if not all."""
        if self.seeds is None or self.of_seeds is None or self.seeds >= self.of_seeds:
            return ""
        return f"{self.seeds} of {self.of_seeds} seeds"

    @property
    def figures(self) -> list[int]:
        """The numbers of the paper's figures that the claim is about."""
        named = self.figure.startswith("Figure") or self.figure[:1].isdigit()
        return [int(digits) for digits in re.findall(r"\d+", self.figure)] if named else []

    @property
    def plates(self) -> set[str]:
        """The names of the report's figures that show the paper's figures and tables which the claim is about."""
        tables = re.findall(r"\d+", self.figure) if self.figure.startswith("Table") else []
        return {f"figure-{digits}" for digits in self.figures} | {f"table-{digits}" for digits in tables}

    def within(self, part: str) -> bool:
        """Return true if the claim is in this section or table: `4.4.1` holds `4.4.1 (2)`, but not `4.4.10`."""
        names = (self.section.lower(), self.figure.lower())
        return any(name == part.lower() or name.startswith(f"{part.lower()} ") for name in names)

    @property
    def place(self) -> str:
        """Return the location of the claim in the paper."""
        if self.where:
            return self.where
        section = f"§ {self.section}" if self.section else ""
        figure = self.figure.replace("Figure ", "Fig. ").replace("Figures ", "Figs. ")
        return ", ".join(part for part in (section, figure) if part)

    @property
    def off(self) -> str:
        """Return the deviation of the value from the published one, as text."""
        if self.deviation is None:
            return ""
        percent = 100 * self.deviation
        places = 1 if abs(percent) < 100 else 0
        return f"{'+' if percent >= 0.05 else ''}{number(round(percent, places), decimals=places)} %"


def _found(pattern: re.Pattern[str], record: Mapping[str, Any]) -> str:
    match = pattern.search(str(record.get("place") or ""))
    return match[1] if match else ""


def _text(record: Mapping[str, Any], key: str, unit: str) -> str:
    """Return the number as the paper prints it, or as it is; with its unit."""
    if text := record.get(f"{key}_text"):
        return str(text)
    value = record.get(key)
    return "" if value is None else f"{number(value)} {unit}".strip()


def _parts(value: Any) -> tuple[str, ...]:
    """Return strings for a list of strings, a list of `{name, value}`, or an object of values."""
    if not value:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(f"{name} {content}".strip() for name, content in value.items())
    return tuple(
        " ".join(str(item[key]) for key in ("name", "value") if item.get(key) is not None)
        if isinstance(item, Mapping)
        else str(item)
        for item in value
    )


def _measured(record: dict[str, Any]) -> tuple[str, str]:
    """Return the measured value and its interval, both as text."""
    text, unit = str(record.get("measured_text") or ""), str(record.get("unit") or "")
    if match := BRACKETED.fullmatch(text):
        return match["value"] + match["unit"], f"[{match['low']}, {match['high']}]"
    value, low, high = record.get("measured"), record.get("ci_low"), record.get("ci_high")
    if not text and value is not None:
        text = f"{number(value)} {unit}".strip()
    if low is None or high is None:
        return text, ""
    places = places_for(max(abs(low), abs(high)), 3)
    return text, "" if low == high == value else f"[{number(low, decimals=places)}, {number(high, decimals=places)}]"


def chip(verdict: str, count: int = 0) -> str:
    """Return the verdict as a coloured label that reads without the colour, after a count if there are several."""
    style, sign, words = VERDICTS.get(verdict, ("none", "", verdict))
    return tag(
        "span", escape(" ".join(part for part in (str(count or ""), sign, words) if part)), class_=f"chip {style}"
    )


def counts(claims: list[Claim]) -> list[tuple[str, int]]:
    """Return the number of claims with each verdict, the known verdicts first."""
    order = [*VERDICTS, *sorted({claim.verdict for claim in claims} - set(VERDICTS))]
    found = [(verdict, sum(claim.verdict == verdict for claim in claims)) for verdict in order]
    return [(verdict, count) for verdict, count in found if count]


def tally(claims: list[Claim]) -> str:
    """Return the counts, large, with the meanings of the verdicts."""
    by_origin = {origin: [claim for claim in claims if claim.origin == origin] for origin in ORIGINS}
    meaning = (
        "Reproduced: a number lies in the expected range with its whole 95 % confidence interval. Fitted: so it does, "
        "but a parameter was tuned to the paper, so it is no test. Trend holds: an order or a trend does. Undecided: "
        "the interval straddles the edge of the range. Not measured: the runs had nothing to measure it by, which is "
        "no verdict on the claim. Not run: its emulation was left out, or this machine could not keep its time. "
        "Where the paper gives words and no number, a range represents them; each claim has the reason for its "
        "range."
    )
    apart = (
        tag("p", f"{escape(words)}, {len(by_origin[origin])}:", class_="meaning") + _numbers(by_origin[origin])
        for origin, words in (
            (READING, "Not counted above: claims judged once more under another reading, added after a first run"),
            (CONTROL, "Not counted above: controls, which are not claims of the paper"),
        )
        if by_origin[origin]
    )
    return _numbers(by_origin[PAPER]) + tag("p", escape(meaning), class_="meaning") + "".join(apart)


def _numbers(claims: list[Claim]) -> str:
    parts = (tag("span", tag("b", str(count)), " ", chip(verdict)) for verdict, count in counts(claims))
    return tag("p", *parts, class_="tally")


def anchor(claim: Claim) -> str:
    """Return the id of the full description of a claim."""
    return "claim-" + re.sub(r"[^A-Za-z0-9_.-]", "-", claim.id)


def with_prefix(claims: Iterable[Claim], prefix: str) -> list[Claim]:
    """Return the claims whose id begins with it, in their order; controls and other readings left out."""
    return [claim for claim in claims if claim.id.startswith(prefix) and claim.origin == PAPER]
