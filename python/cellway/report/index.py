"""The page over several papers: the finding of each and its result, and every row in one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from cellway.report import claims as claim_parts
from cellway.report import rows, shell
from cellway.report.claims import PAPER, VERDICTS, Claim, chip
from cellway.report.html import escape, tag, text_or_dash
from cellway.results import Reproduction

NUMBERS = {1: "One", 2: "Two", 3: "Three", 4: "Four", 5: "Five"}

AGREES = ("reproduced", "shape")
"""Verdicts on a row that agrees with the paper without a parameter tuned to it."""


@dataclass(frozen=True)
class Entry:
    """One study on the page: its name, its description in `study.json`, its rows, and the address of its report."""

    name: str
    about: dict[str, Any]
    claims: list[Claim]
    address: str

    @property
    def counted(self) -> list[Claim]:
        """The paper's own claims, without controls and other readings."""
        return [claim for claim in self.claims if claim.origin == PAPER]


def entry(reproduction: Reproduction, address: str) -> Entry:
    """Return the entry of a folder of one paper."""
    claims = [Claim.read(record) for record in reproduction.claim_records]
    return Entry(str(reproduction.about.get("paper", "paper")), reproduction.about, claims, address)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Return the studies by name."""
    return sorted(entries, key=lambda entry: entry.name)


def index(entries: Sequence[Entry]) -> str:
    """Return the whole document."""
    ordered = in_order(entries)
    quick = [entry.name for entry in ordered if entry.about.get("quick")]
    script = files("cellway.report").joinpath("index.js").read_text(encoding="utf-8")
    pairs = [(entry, claim) for entry in ordered for claim in entry.claims]
    counted = [claim for entry in ordered for claim in entry.counted]
    several = len(ordered) != 1
    return shell.document(
        "Cellway: published experiments, run again",
        tag(
            "header",
            tag("p", "Cellway", class_="kicker"),
            tag(
                "h1",
                f"{NUMBERS.get(len(ordered), len(ordered))} published experiment{'s' if several else ''}, run again",
            ),
            tag(
                "p",
                "Each number that the papers print beside what theory predicts and what a simulation of the same "
                "network, cell by cell, gives; some with the TCP of a real kernel, in real time. ",
                escape(outcome(counted)),
                class_="lead",
            ),
            tag(
                "p",
                escape(f"Quick runs with few seeds and wide intervals: {', '.join(quick)}."),
                class_="warning",
            )
            if quick
            else "",
        ),
        tag(
            "main",
            tag("section", tag("div", *(_card(entry) for entry in ordered), class_="cards"), id="papers"),
            tag("section", tag("h2", "All rows"), _beside(pairs), _tools(ordered), _table(pairs), id="rows")
            if pairs
            else "",
            class_="index",
        ),
        script=script if pairs else "",
    )


def _beside(pairs: Sequence[tuple[Entry, Claim]]) -> str:
    """Return a sentence about the rows that the results above do not count."""
    others = sum(claim.origin != PAPER for _, claim in pairs)
    if not others:
        return ""
    words = "1 control or other reading" if others == 1 else f"{others} controls and other readings"
    return tag("p", f"With {words} of the papers, which the results above do not count.")


def outcome(claims: Sequence[Claim]) -> str:
    """Return the result of the rows, in a sentence."""
    if not claims:
        return "No row was judged."
    good = sum(claim.verdict in AGREES for claim in claims)
    fitted = sum(claim.verdict == "fitted" for claim in claims)
    poor = sum(claim.verdict == "not-reproduced" for claim in claims)
    left = sum(claim.verdict == "not-run" for claim in claims)
    open_ = len(claims) - good - fitted - poor - left
    parts = [f"{good} of {len(claims)} rows agree with the paper"]
    if fitted:
        parts.append(f"{fitted} only with a parameter tuned to the paper")
    if poor:
        parts.append(f"{poor} do{'es' if poor == 1 else ''} not agree")
    if open_:
        parts.append(f"{open_} stay{'s' if open_ == 1 else ''} open")
    if left:
        parts.append(f"{left} {'was' if left == 1 else 'were'} not run")
    return ", ".join(parts[:-1]) + (" and " if len(parts) > 1 else "") + parts[-1] + "."


def _card(entry: Entry) -> str:
    title = str(entry.about.get("title") or entry.name)
    chips = (chip(verdict, count) for verdict, count in claim_parts.counts(entry.counted))
    citation = entry.about.get("citation")
    finding = str(entry.about.get("finding") or "")
    return tag(
        "article",
        tag("p", escape(entry.name), class_="kicker"),
        tag("h2", tag("a", escape(title), href=entry.address)),
        tag("p", escape(str(citation)), class_="authors") if citation else "",
        tag("p", tag("b", "The paper: "), escape(finding)) if finding else "",
        tag("p", *chips, class_="tally"),
        tag("p", tag("b", "Here: "), escape(outcome(entry.counted))),
        tag("p", tag("a", "The report", href=entry.address), class_="more"),
        class_="card",
        id=f"paper-{entry.name}",
    )


def _tools(entries: Sequence[Entry]) -> str:
    """Return the filters; hidden until the script that operates them is loaded."""
    found = {claim.verdict for entry in entries for claim in entry.claims}
    names = [(entry.name, entry.name) for entry in entries]
    verdicts = [(key, VERDICTS[key][2]) for key in VERDICTS if key in found]
    verdicts += [(key, key) for key in sorted(found - set(VERDICTS))]
    return (
        '<div class="tools" hidden>'
        + tag("label", "Contains", '<input type="search" placeholder="words">')
        + tag("label", "Paper", _select("all papers", names))
        + tag("label", "Verdict", _select("all verdicts", verdicts))
        + "<output></output></div>"
    )


def _select(all_of_them: str, options: Sequence[tuple[str, str]]) -> str:
    rest = (tag("option", escape(words), value=key) for key, words in options)
    return tag("select", tag("option", escape(all_of_them), value=""), *rest)


def _table(pairs: Sequence[tuple[Entry, Claim]]) -> str:
    names = (
        "Paper",
        "Place",
        "Claim",
        "Published",
        "Predicted",
        "Measured [95\u00a0%\u00a0CI]",
        "Source",
        "Deviation",
        "Verdict",
    )
    order = {verdict: str(index) for index, verdict in enumerate(VERDICTS)}
    body = []
    for position, (entry, claim) in enumerate(pairs):
        link = tag("a", escape(claim.claim), href=f"{entry.address}#{claim_parts.anchor(claim)}")
        off = "" if claim.deviation is None else repr(abs(claim.deviation))
        cells = (
            (tag("span", escape(entry.name)), "place", str(position)),
            (rows.place(claim), "place", claim.place),
            (tag("span", link, rows.origin(claim)), "claim", claim.claim),
            (rows.published(claim), "value", _plain(claim.published)),
            (rows.predicted(claim), "value", _plain(claim.predicted)),
            (rows.simulated(claim), "", _plain(claim.simulated)),
            (rows.source(claim), "", claim.source),
            (tag("span", text_or_dash(claim.off)), "num", off),
            (tag("span", chip(claim.verdict)), "", order.get(claim.verdict, claim.verdict)),
        )
        data = (
            tag("td", html, class_=style, data_name=name, data_sort=key)
            for name, (html, style, key) in zip(names, cells, strict=True)
        )
        body.append(tag("tr", *data, data_paper=entry.name, data_verdict=claim.verdict))
    head = (tag("th", name, scope="col", class_="num" if name == "Deviation" else "") for name in names)
    return tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="claims")


def _plain(value: float | None) -> str:
    """Return a number that a script can read back; nothing for none."""
    return "" if value is None or not math.isfinite(value) else repr(float(value))
