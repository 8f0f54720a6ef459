from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest
import synthetic
from cellway.report import build
from cellway.report.claims import Claim, chip, tally
from cellway.report.html import number, table, tag
from cellway.report.page import place
from cellway.report.plates import Section
from cellway.results import Reproduction
from pages import Page


@pytest.fixture(scope="module")
def document(reproduction: Path) -> str:
    return build(reproduction).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(document: str) -> Page:
    return Page(document)


def test_the_page_needs_no_network(page: Page) -> None:
    for element, _, target in page.references:
        ok = target.startswith(("data:", "#")) or (element == "a" and target.startswith("tables/"))
        assert ok, f"<{element}> leads to {target[:80]}"


def test_links_within_the_page_lead_somewhere_and_ids_are_unique(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    for _, _, target in page.references:
        if target.startswith("#"):
            assert target[1:] in page.ids


def test_links_to_tables_lead_to_files(page: Page, reproduction: Path) -> None:
    files = [target for _, _, target in page.references if target.startswith("tables/")]
    assert len(files) == 7 * 4
    assert all((reproduction / target).is_file() for target in files)


def test_every_claim_is_in_the_overview_and_once_in_full(page: Page) -> None:
    for claim in synthetic.CLAIMS:
        # Once more in the caption of each of its figures, but without the policy it is tested on.
        captions = (
            0
            if claim["claim"].endswith(").") or claim["origin"] == "control"
            else len(re.findall(r"\d+", claim["figure"]))
        )
        assert page.text.count(claim["claim"]) == 2 + captions, claim["id"]
        assert claim["note"] in page.text, claim["id"]
        assert f"claim-{claim['id']}" in page.ids


def test_the_figures_of_the_paper_are_all_there(page: Page) -> None:
    assert {f"figure-{n}" for n in range(2, 10)} <= set(page.ids)
    assert len(page.images) == 32
    for image in page.images:
        assert image["alt"]
        svg = base64.b64decode(str(image["src"]).split(",", 1)[1])
        assert b"<svg" in svg


def test_numbers_can_be_downloaded_under_descriptive_names(page: Page, document: str) -> None:
    names = re.findall(r'download="([^"]+)"', document)
    assert "cellsim-figure-3.csv" in names
    assert "cellsim-figure-3.svg" in names
    assert len(names) == len(set(names))
    csv = next(t for _, key, t in page.references if key == "href" and t.startswith("data:text/csv"))
    assert base64.b64decode(csv.split(",", 1)[1]).startswith(b"traffic,conversations,mean,sd,n,low,high\nftp,1.0,")


def test_the_same_tables_give_the_same_page_and_nothing_else_is_left(document: str, reproduction: Path) -> None:
    assert build(reproduction).read_text(encoding="utf-8") == document
    assert {p.name for p in reproduction.iterdir()} == {
        "claims.json",
        "figures.py",
        "report.html",
        "study.json",
        "tables",
    }


def test_missing_studies_are_named_and_the_rest_is_drawn(tmp_path: Path) -> None:
    folder = synthetic.folder(tmp_path / "f", seeds=2, only=["policies", "load"])
    page = Page(build(folder).read_text(encoding="utf-8"))
    assert (
        "reason why figures are left outthe study “buffers” (Buffer size and sharing) is not in this folder."
        in page.text
    )
    assert page.text.count("the study “buffers”") == 1
    assert "figure-3" in page.ids
    assert "figure-8" not in page.ids


def test_an_empty_folder_of_studies_still_gives_a_page(tmp_path: Path) -> None:
    page = Page(build(synthetic.folder(tmp_path / "f", seeds=1, only=[])).read_text(encoding="utf-8"))
    assert page.images == []
    assert len(re.findall("reasons? why figures are left out", page.text)) == 11


def test_one_seed_gives_figures_without_bands(tmp_path: Path) -> None:
    page = Page(
        build(synthetic.folder(tmp_path / "f", seeds=1, only=["policies", "choices"])).read_text(encoding="utf-8")
    )
    assert "figure-3" in page.ids
    assert "choices-jain" in page.ids


def test_text_from_files_cannot_become_markup(tmp_path: Path) -> None:
    folder = synthetic.folder(tmp_path / "f", seeds=1, only=["load"])
    evil = '<script>alert("x")</script><img src=x onerror=alert(1)>'
    claims = [
        {**synthetic.CLAIMS[0], "id": f'a" {evil}', "claim": evil, "note": evil, "verdict": evil, "measured_text": evil}
    ]
    (folder / "claims.json").write_text(json.dumps(claims), encoding="utf-8")
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    study |= {"title": evil, "host": evil, "citation": evil, "warnings": [evil]}
    study["studies"][0]["title"] = evil
    (folder / "study.json").write_text(json.dumps(study), encoding="utf-8")
    text = build(folder).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert text.count("<script>") == 1


def test_a_folder_without_claims_says_so(tmp_path: Path) -> None:
    folder = synthetic.folder(tmp_path / "f", seeds=1, only=["load"])
    (folder / "claims.json").write_text("[]", encoding="utf-8")
    assert "No claim was judged." in Page(build(folder).read_text(encoding="utf-8")).text


def test_a_quick_run_says_so(tmp_path: Path) -> None:
    folder = synthetic.folder(tmp_path / "f", seeds=1, only=["load"])
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    (folder / "study.json").write_text(json.dumps(study | {"quick": True}), encoding="utf-8")
    assert "A quick run" in Page(build(folder).read_text(encoding="utf-8")).text


def claim(**changes: object) -> Claim:
    return Claim.read({**synthetic.CLAIMS[0], **changes})


def test_claims_go_to_the_section_of_their_figure_and_else_of_their_part() -> None:
    sections = [Section("a", "A", "", (2,), ("3",)), Section("b", "B", "", (3, 4), ("4",))]
    claims = [
        claim(id="1", figure="4", section="3"), claim(id="2", figure="", section="4"),
        claim(id="3", figure="2-5"), claim(id="4", figure="", section="9"),
    ]  # fmt: skip
    placed, rest = place(claims, sections)
    assert [c.id for c in placed["a"]] == ["3"]
    assert [c.id for c in placed["b"]] == ["1", "2"]
    assert [c.id for c in rest] == ["4"]


def test_a_measured_text_is_parted_from_its_interval() -> None:
    read = claim(measured_text="7 [6.5, more than 10] conversations")
    assert (read.measured, read.interval) == ("7 conversations", "[6.5, more than 10]")
    assert claim(measured_text="not measured", ci_low=None).interval == ""


def test_a_claim_without_words_for_its_measurement_gets_them() -> None:
    read = claim(measured=1.25, measured_text="", unit="RTT", ci_low=1.2, ci_high=1.304)
    assert (read.measured, read.interval) == ("1.250 RTT", "[1.20, 1.30]")
    assert claim(measured=None, measured_text="").measured == ""


def test_seeds_are_counted_where_some_lack_the_figure(page: Page) -> None:
    assert claim(seeds=19, of_seeds=20).fewer_seeds == "19 of 20 seeds"
    assert claim(seeds=20, of_seeds=20).fewer_seeds == claim().fewer_seeds == ""
    # In the overview and in full.
    assert page.text.count("19 of 20 seeds") == 2


def test_controls_and_other_readings_are_not_counted_as_claims_of_the_paper(page: Page) -> None:
    first = [claim(id="a"), claim(id="b", verdict="undecided")]
    added = [
        claim(id="a", origin="control"), claim(id="b", origin="reading", verdict="not-measured"),
        claim(id="c", origin="reading"),
    ]  # fmt: skip
    assert tally([*first, *added]).startswith(tally(first))
    assert "added after a first run, 2:" in tally([*first, *added])
    assert page.text.count("A control, not a claim of the paper.") == 2
    assert page.text.count("Another reading, added after a first run.") == 2


def test_remarks_are_at_the_head(document: str) -> None:
    assert document.index(synthetic.REMARK) < document.index('id="claims"')


def test_figures_show_the_verdicts_on_them(document: str) -> None:
    figure = document[document.index('id="figure-3"') : document.index('id="figure-4"')]
    chips = re.findall(r'class="chip \w+">([^<]+)<', figure)
    assert chips == ["1 ✓ reproduced", "1 ✓ trend holds", "1 ✗ not reproduced"]


@pytest.mark.parametrize(
    ("verdict", "style", "words"),
    [
        ("reproduced", "good", "✓ reproduced"),
        ("fitted", "fitted", "≈ fitted"),
        ("shape", "trend", "✓ trend holds"),
        ("undecided", "fair", "? undecided"),
        ("not-reproduced", "poor", "✗ not reproduced"),
        ("not-measured", "none", "not measured"),
        ("odd", "none", "odd"),
    ],
)
def test_verdicts_read_without_colour(verdict: str, style: str, words: str) -> None:
    assert chip(verdict) == f'<span class="chip {style}">{words}</span>'


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234567, "1\u202f234\u202f567"), (0.0021342, "0.002134"), (3.14159, "3.142"), (-0.5, "−0.5000"),
    (123.456, "123.5"),
     (2.0, "2"), (None, "–"), (float("nan"), "–"), (0.0, "0"), ("text", "text")],
)  # fmt: skip
def test_numbers_are_written_for_readers(value: object, text: str) -> None:
    assert number(value) == text


def test_columns_of_one_quantity_have_the_same_decimals() -> None:
    import polars as pl

    frame = pl.DataFrame({"mean": [4.63, 0.001], "low": [4.5, 0.0005]})
    assert re.findall(r">([\d.]+)<", table(frame, alike=("mean", "low"))) == ["4.630", "4.500", "0.001", "0.001"]
    assert re.findall(r">([\d.]+)<", table(frame, alike=("mean", "low"), by_row=True))[2:] == ["0.00100", "0.00050"]


def test_attributes_are_escaped() -> None:
    assert tag("a", "x", href='"><script>', class_="b") == '<a href="&quot;&gt;&lt;script&gt;" class="b">x</a>'


def test_a_manifest_is_that_of_the_study(reproduction: Path) -> None:
    read = Reproduction(reproduction)
    assert read.manifest("policies") == read.study("policies").manifest
    with pytest.raises(KeyError, match="no study 'nothing' in "):
        read.manifest("nothing")
