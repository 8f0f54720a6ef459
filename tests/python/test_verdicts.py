"""The verdicts on all claims: a quick run of all papers gives those of `verdicts.json`, so they change only on purpose.

`UPDATE_VERDICTS=1 .venv/bin/python -m pytest tests/python/test_verdicts.py` writes the file anew. Seeds are fixed, so
the same program gives the same verdicts on any machine. A quick run has few seeds: its verdicts are not those of
docs/validation/papers.md.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import cellway
import pytest

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_name("verdicts.json")
PAGE = ROOT / "docs" / "validation" / "papers.md"

Row = dict[str, Any]


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The rows of all papers, run by the installed package."""
    found = cellway.reproduce(quick=True, out=tmp_path_factory.mktemp("verdicts") / "papers", progress=False)
    return [row for reproduction in found.values() for row in reproduction.claim_records]


def shipped() -> list[str]:
    """PAPER/ID of each claim, in the order of the files."""
    files = sorted(ROOT.glob("papers/*/expected.toml"))
    claims = [(file.parent.name, tomllib.loads(file.read_text(encoding="utf-8")).get("claim", [])) for file in files]
    return [f"{paper}/{claim['id']}" for paper, listed in claims for claim in listed]


def named(row: Row) -> str:
    return f"{row['paper']}/{row['id']}"


def test_every_claim_of_every_paper_has_one_row(rows: list[Row]) -> None:
    assert [named(row) for row in rows] == shipped()
    assert {row["paper"] for row in rows} == {"bbr", "cellsim", "kdd", "l4s", "magic", "nasa", "spacing"}


def test_the_verdicts_are_those_on_record(rows: list[Row]) -> None:
    verdicts = {named(row): row["verdict"] for row in rows}
    if os.environ.get("UPDATE_VERDICTS") == "1":
        GOLDEN.write_text(json.dumps(verdicts, indent=2) + "\n", encoding="utf-8")
    assert GOLDEN.is_file(), f"there is no {GOLDEN.name}; run this test with UPDATE_VERDICTS=1"
    recorded: dict[str, str] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    changed = {
        name: f"{recorded.get(name, 'no claim')} -> {verdicts.get(name, 'no claim')}"
        for name in recorded | verdicts
        if recorded.get(name) != verdicts.get(name)
    }
    assert not changed, f"if these are meant, run with UPDATE_VERDICTS=1: {json.dumps(changed, indent=2)}"


def test_many_published_numbers_come_out(rows: list[Row]) -> None:
    # Each printed number once, however many rows judge it; quotients of printed numbers are none.
    printed = {
        (row["paper"], row["place"], row["published"], row["unit"])
        for row in rows
        if row["published"] is not None and row["verdict"] == "reproduced" and not row["id"].startswith("share-")
    }
    assert len(printed) >= 40, sorted(printed)


def test_what_was_fitted_is_not_called_reproduced(rows: list[Row]) -> None:
    fitted = [row for row in rows if row["fitted"]]
    assert [named(row) for row in fitted if row["verdict"] in ("reproduced", "shape")] == []
    # The reverse: a verdict of fitted names the fitted parameters.
    assert [named(row) for row in rows if row["verdict"] == "fitted" and not row["fitted"]] == []


def test_what_does_not_come_out_says_what_was_tried_or_that_nobody_knows(rows: list[Row]) -> None:
    missed = [row for row in rows if row["verdict"] == "not-reproduced"]
    assert missed, "no paper comes out whole"
    assert [named(row) for row in missed if not row["tried"] and not row["unexplained"]] == []


def test_the_page_of_numbers_lists_the_shipped_claims() -> None:
    listed = []
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        paper = section.split("\n", 1)[0]
        # The id ends the second cell of each row.
        listed += [f"{paper}/{name}" for name in re.findall(r"^\| .*? `([^`|]+)` \| ", section, flags=re.MULTILINE)]
    assert listed == shipped(), "make the page anew: cellway reproduce --markdown docs/validation/papers.md --force"
