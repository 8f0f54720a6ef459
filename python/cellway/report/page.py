"""The page around the sections: head, contents, claims, methods, files."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from cellway import plot
from cellway.report import claims as claim_parts
from cellway.report import rows, shell
from cellway.report.claims import Claim
from cellway.report.html import data_uri, details, escape, number, picture, plain, table, tag, text_or_dash, warned
from cellway.report.plates import Plate, Section
from cellway.results import FILES, Reproduction, study_folder

COLUMNS = {
    "mean": "mean",
    "sd": "sd",
    "n": "seeds",
    "low": "95 % CI from",
    "high": "to",
    "multiplexing.channel": "channel",
    "buffer.size": "buffer",
    "buffer.sharing": "sharing",
    "line": "setting",
    "label": "number",
}

CONVERSATIONS = re.compile(r"traffic\.(.+)\.count")
"""The axis that is the number of conversations of a group."""

ALIKE = ("mean", "sd", "low", "high", "published", "predicted", "simulated")
"""Columns of one table that hold one quantity."""

CAPTION = 2
"""The most sentences of a caption; what is more is folded below it."""

LONG = 260
"""The most letters of a caption of several sentences; the rest is about the figure."""

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9“(])")


def page(reproduction: Reproduction, sections: list[Section], others: str | None = None) -> str:
    """Return the whole document. `others` is the address of the page over all papers, if there is one."""
    about = reproduction.about
    claims = [Claim.read(record) for record in reproduction.claim_records]
    placed, rest = place(claims, sections)
    paper = str(about.get("paper", "paper"))
    parts = [
        tag(
            "section",
            tag("h2", "Verdicts"),
            claim_parts.tally(claims) if claims else tag("p", "No claim was judged."),
            id="verdicts",
        ),
        *(_section(section, placed[section.anchor], paper) for section in sections),
    ]
    if claims:
        parts.append(tag("section", tag("h2", "The claims"), rows.overview(claims), id="claims"))
    if rest:
        parts.append(tag("section", tag("h2", "Other claims"), rows.in_full(rest), id="other"))
    parts += [_methods(reproduction), _files(reproduction)]
    entries = [
        ("verdicts", "Verdicts"),
        *((s.anchor, s.title) for s in sections),
        *([("claims", "The claims")] if claims else []),
        *([("other", "Other claims")] if rest else []),
        ("methods", "Methods"),
        ("files", "Files"),
    ]
    title = f"{about.get('title', paper)}: a reproduction"
    contents = tag(
        "nav",
        tag("b", "Contents"),
        tag("ol", *(tag("li", tag("a", escape(name), href=f"#{anchor}")) for anchor, name in entries)),
        aria_label="Contents",
    )
    return shell.document(
        title,
        _header(about, others),
        '<div class="page">',
        contents,
        tag("main", *parts),
        "</div>",
        script=shell.script("save.js"),
    )


def place(claims: list[Claim], sections: list[Section]) -> tuple[dict[str, list[Claim]], list[Claim]]:
    """Assign each claim to one section: by its id, first figure, or section of the paper; the others to the last."""
    placed: dict[str, list[Claim]] = {section.anchor: [] for section in sections}
    rest: list[Claim] = []
    for claim in claims:
        by_id = (s for s in sections if claim.id.startswith(s.ids or ("\0",)))
        by_figure = (s for s in sections if claim.figures and claim.figures[0] in s.figures)
        by_part = (s for s in sections if any(claim.within(part) for part in s.parts))
        target = next(by_id, None) or next(by_figure, None) or next(by_part, None)
        (rest if target is None else placed[target.anchor]).append(claim)
    return placed, rest


def _header(about: dict[str, Any], others: str | None) -> str:
    citation = about.get("citation")
    speed = about.get("cell_hops_per_second")
    facts = [
        ("Cellway", about.get("version")),
        ("Made", about.get("started")),
        ("Machine", about.get("host")),
        ("Runs", number(about["runs"]) if about.get("runs") is not None else None),
        (
            "Wall time",
            f"{number(about['wall_seconds'], 3)} s" if about.get("wall_seconds") is not None else None,
        ),
        ("Speed", f"{number(speed / 1e6, 3)} million cell-hops per second" if speed else None),
    ]
    quick = "A quick run: few seeds, wide intervals. Run it without the quick option before you quote a number."
    remarks = [*([quick] if about.get("quick") else []), *map(str, about.get("remarks") or ())]
    return tag(
        "header",
        tag("p", tag("a", "All papers", href=others) if others else "Reproduction", class_="kicker"),
        tag("h1", escape(str(about.get("title", about.get("paper", ""))))),
        tag("p", escape(str(citation)), class_="authors") if citation else "",
        tag(
            "p",
            "What the paper says, what Cellway measures when it simulates the same network cell by cell, "
            "and where the two differ.",
            class_="lead",
        ),
        tag(
            "ul",
            *(tag("li", tag("span", name), " ", escape(str(value))) for name, value in facts if value),
            class_="facts",
        ),
        warned(remarks, "remark"),
    )


def _section(section: Section, claims: list[Claim], paper: str) -> str:
    return tag(
        "section",
        tag("h2", escape(section.title)),
        *(tag("p", plain(text), class_="lead") for text in section.text.split("\n") if text),
        warned(
            [f"{reason}." for reason in section.missing],
            "reason why figures are left out",
            "reasons why figures are left out",
        ),
        tag("div", *(_plate(plate, paper, claims) for plate in section.plates), class_="plates")
        if section.plates
        else "",
        details(f"Claims of the paper: {len(claims)}", rows.in_full(claims)) if claims else "",
        *(
            tag(
                "div",
                tag("h3", escape(title)),
                table(frame, _heads(frame), ("mean", "low", "high"), by_row=True),
                class_="paired",
            )
            for title, frame in section.tables
        ),
        id=section.anchor,
    )


def _plate(plate: Plate, paper: str, claims: list[Claim]) -> str:
    name = f"{paper}-{plate.name}"
    links = '<a class="svg" hidden download="' + escape(f"{name}.svg") + '">SVG</a>'
    numbers = ""
    if plate.data is not None:
        links += tag("a", "CSV", href=data_uri(plate.data.write_csv(), "text/csv"), download=f"{name}.csv")
        numbers = details("Numbers", table(plate.data, _heads(plate.data), alike=ALIKE))
    sentences = [sentence for sentence in SENTENCE.split(plate.caption) if sentence]
    short = CAPTION if sum(map(len, sentences[:CAPTION])) <= LONG else 1
    caption = tag(
        "figcaption",
        tag("b", escape(f"{plate.title}. ")),
        plain(" ".join(sentences[:short])),
        " ",
        tag("span", links, class_="links"),
    )
    more = [text for text in (" ".join(sentences[short:]), _said(plate, claims)) if text]
    about = details("About this figure", "".join(tag("p", plain(text)) for text in more)) if more else ""
    width = {"class_": "wide"} if plate.wide else {}
    framed = picture(plot.svg(plate.figure), f"{plate.title}: {plate.caption}")
    return tag("figure", framed, caption, _chips(plate, claims), about, numbers, id=plate.name, **width)


def _about(plate: Plate, claims: list[Claim]) -> list[Claim]:
    """Return the claims of the paper about this figure; other readings and controls have runs of their own."""
    of_paper = (claim for claim in claims if claim.origin == claim_parts.PAPER)
    return [claim for claim in of_paper if plate.name in claim.plates]


def _said(plate: Plate, claims: list[Claim]) -> str:
    """Return the claims of the paper about this figure, each sentence once for all settings it is tested at."""
    sentences = (re.sub(r" \([^()]*\)\.$", ".", claim.claim) for claim in _about(plate, claims))
    # Rows of a table are no sentences, and the figure shows them better.
    said = [sentence for sentence in dict.fromkeys(sentences) if sentence.endswith(".")]
    return f"The paper: {' '.join(said)}" if said else ""


def _chips(plate: Plate, claims: list[Claim]) -> str:
    """Return the verdicts on the claims of the paper about this figure; they link to the claims."""
    about = _about(plate, claims)
    if not about:
        return ""
    chips = (claim_parts.chip(verdict, count) for verdict, count in claim_parts.counts(about))
    return tag(
        "p",
        tag("a", *chips, href=f"#{claim_parts.anchor(about[0])}", title="The claims about this figure"),
        class_="chips",
    )


def _heads(frame: pl.DataFrame) -> dict[str, str]:
    """Return the heads of the columns of a table."""
    counts = ((name, CONVERSATIONS.fullmatch(name)) for name in frame.columns)
    return COLUMNS | {name: f"{found[1]} conversations" for name, found in counts if found}


def _methods(reproduction: Reproduction) -> str:
    about, studies, scenarios = reproduction.about, [], []
    for study in reproduction.entries:
        name = study["id"]
        manifest = reproduction.manifest(name)
        studies.append(
            {
                "study": study.get("title", name),
                "points": manifest.get("points"),
                "seeds": manifest.get("seeds"),
                "runs": manifest.get("runs"),
                "simulated (s)": manifest.get("simulated_seconds"),
                "events": manifest.get("events"),
                "cell-hops": manifest.get("cell_hops"),
                "packet-hops": manifest.get("packet_hops"),
                "cell-hops per second": manifest.get("cell_hops_per_second"),
                "packet-hops per second": manifest.get("packet_hops_per_second"),
                "wall time (s)": manifest.get("wall_seconds"),
            }
        )
        if manifest.get("scenario"):
            scenarios.append(
                details(f"Scenario: {study.get('title', name)}", tag("pre", escape(str(manifest["scenario"]))))
            )
    parts = [
        tag("h2", "Methods"),
        tag(
            "p",
            "Every point of every study is simulated cell by cell, once per seed. A seed fixes all that is random; the "
            "same seed under two settings gives the same traffic, so differences between settings are taken seed by "
            "seed. A point's value is the mean over its seeds, and bands and bars are 95 % confidence intervals by "
            "Student's t over them; a study without chance in it has one run and no interval. What happens before the "
            "warm-up ends is not counted.",
        ),
        table(pl.DataFrame(studies, infer_schema_length=None)) if studies else "",
    ]
    if about.get("warnings"):
        parts.append(warned([str(warning) for warning in about["warnings"]]))
    return tag("section", *parts, *scenarios, id="methods")


def _files(reproduction: Reproduction) -> str:
    items = []
    for entry in reproduction.entries:
        folder = study_folder(entry)
        links = " · ".join(tag("a", escape(name), href=f"{folder}/{name}") for name in FILES)
        items.append(tag("li", text_or_dash(entry.get("title", entry["id"])), ": ", links))
    return tag(
        "section",
        tag("h2", "Files"),
        tag("p", "This page needs no other file. The tables that it was drawn from are in the same folder:"),
        tag("ul", *items),
        tag("p", "In Python: ", tag("code", escape('cellway.load_reproduction("…").study("…").summary')), "."),
        id="files",
    )
