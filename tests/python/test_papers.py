"""The reports of kdd, magic, nasa and spacing, and the page over all papers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cellway
import pytest
import synthetic
import synthetic_papers
from cellway.report import build
from cellway.report.claims import Claim, chip
from cellway.report.index import outcome
from cellway.report.rows import in_full, overview, source
from pages import Page
from synthetic_rows import row

FIGURES = {
    "kdd": {"network-1", "network-2", "figure-5", "figure-6", "figure-7", "figure-8", "table-2", "figure-9",
            "gateway-cost", "display-rate"},
    "magic": {"network-1", "window-throughput", "pacing-throughput", "buffer", "taxi", "pcr", "host-time"},
    "nasa": {"network-1", "summary-dots", "single-dots", "window-product", "contract-vbr", "contract-abr"},
    "spacing": {"network-1", "figure-2", "figure-3", "figure-3-end", "theorem-errors", "theorem-1-errors",
                "trajectory"},
}  # fmt: skip

MISSING = {
    "kdd": [
        f"the study “{study}” is not"
        for study in (
            "direct-www-ethernet",
            "domestic-ethernet",
            "last-leg",
            "last-leg-ethernet",
            "gateway-send",
            "gateway-rate",
            "lan-latency",
            "lan-latency-ethernet",
            "browser-window",
            "delayed-ack",
        )
    ],
    "magic": ["the study “burst” is not", "the study “choices” is not"],
    "nasa": [
        "no claim with a number has an id that begins with “three-fddi-atm”",
        *(
            f"the study “{study}” is not"
            for study in (
                "epd",
                "vbr-window",
                "vbr-tolerance",
                "vbr-burst",
                "vc-buffer",
                "host-cost",
                "vbr-rate",
                "segments",
                "router",
                "router-three",
            )
        ),
    ],
    "spacing": [
        "no claim with a number has an id that begins with “slow-start-”",
        *(f"the study “{study}” is not" for study in ("by-rate", "by-round-trip", "size")),
    ],
}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = synthetic_papers.every(tmp_path_factory.mktemp("papers"))
    assert build(at) == at / "index.html"
    return at


@pytest.fixture(scope="module")
def index(everything: Path) -> str:
    return (everything / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", FIGURES)
def test_every_figure_with_data_is_drawn_and_the_rest_is_named(everything: Path, paper: str) -> None:
    page = Page((everything / paper / "report.html").read_text(encoding="utf-8"))
    assert len(page.images) == len(FIGURES[paper])
    assert set(page.ids) >= FIGURES[paper]
    assert len(page.ids) == len(set(page.ids))
    assert sum(map(int, re.findall("([0-9]+) reasons? why figures are left out", page.text))) == len(MISSING[paper])
    for reason in MISSING[paper]:
        assert reason in page.text


@pytest.mark.parametrize("paper", FIGURES)
def test_every_row_is_in_a_section_of_its_paper(everything: Path, paper: str) -> None:
    page = Page((everything / paper / "report.html").read_text(encoding="utf-8"))
    for record in json.loads((everything / paper / "claims.json").read_text(encoding="utf-8")):
        assert f"claim-{re.sub(r'[^A-Za-z0-9_.-]', '-', record['id'])}" in page.ids, record["id"]
    assert "other" not in page.ids


@pytest.mark.parametrize("paper", FIGURES)
def test_a_paper_without_studies_still_gives_a_page(tmp_path: Path, paper: str) -> None:
    page = Page(build(synthetic_papers.folder(tmp_path / paper, paper, only=[])).read_text(encoding="utf-8"))
    assert "no study of this folder has a scenario to draw the network from" in page.text
    assert "is not in this folder" in page.text


def test_the_index_leads_to_every_report_and_row(index: str, everything: Path) -> None:
    page = Page(index)
    links = [target for element, key, target in page.references if (element, key) == ("a", "href")]
    assert all(not target.startswith(("http", "/")) for target in links)
    for paper in ("kdd", "cellsim", "nasa", "spacing", "magic"):
        report = f"{paper}/report.html"
        assert report in links
        ids = set(Page((everything / report).read_text(encoding="utf-8")).ids)
        rows = [target.split("#")[1] for target in links if target.startswith(f"{report}#")]
        assert len(rows) == len(json.loads((everything / paper / "claims.json").read_text(encoding="utf-8")))
        assert set(rows) <= ids


def test_reports_lead_back_to_the_index(everything: Path) -> None:
    page = Page((everything / "kdd" / "report.html").read_text(encoding="utf-8"))
    assert ("a", "href", "../index.html") in page.references
    alone = Page(build(everything / "kdd").read_text(encoding="utf-8"))
    assert all(target != "../index.html" for _, _, target in alone.references)


def test_a_part_of_a_paper_holds_its_rows() -> None:
    def claim(**changes: str) -> Claim:
        return Claim.read({**row("a", "", "", 1.0, None, 1.0, "shape"), "place": "", **changes})

    assert claim(section="4.4.1 (2)").within("4.4.1")
    assert not claim(section="4.4.10").within("4.4.1")
    assert claim(section="In lab results").within("In lab Results")
    assert claim(figure="Table 1").within("Table 1")
    assert not claim(figure="Table 10").within("Table 1")
    assert claim(figure="Equation (24)").figures == []
    assert claim(figure="Figures 8 and 9").plates == {"figure-8", "figure-9"}


def test_the_index_has_the_papers_by_name_and_counts_their_rows(index: str) -> None:
    cards = re.findall(r'id="paper-(\w+)"', index)
    assert cards == sorted({*FIGURES, "cellsim"})
    assert "Five published experiments" in index
    start = index.index('<p class="kicker">kdd</p>')
    card = index[start : index.index("</article>", start)]
    assert re.findall(r'class="chip \w+">([^<]+)<', card) == ["8 ✓ reproduced", "2 ≈ fitted", "2 ✗ not reproduced"]
    assert "8 of 12 rows agree with the paper, 2 only with a parameter tuned to the paper" in card


def test_the_index_can_be_read_without_scripts(index: str) -> None:
    assert '<div class="tools" hidden>' in index
    rows = re.findall(r"<tr data-paper=[^>]*>", index)
    assert rows
    assert not any("hidden" in row for row in rows)


def test_rows_sort_by_their_numbers(index: str) -> None:
    start = index.index("572 101 bytes take 13.5 s")
    keys = re.findall(r'data-sort="([^"]*)"', index[start - 400 : start + 900])
    assert {"13.5", "13.4", "13.55"} <= set(keys)


def test_controls_are_in_the_table_of_rows_but_not_counted(tmp_path: Path) -> None:
    synthetic.folder(tmp_path / "cellsim", seeds=1, only=[])
    text = build(tmp_path).read_text(encoding="utf-8")
    counted = [c for c in synthetic.CLAIMS if c["origin"] == "paper"]
    assert f"of {len(counted)} rows agree" in text
    assert len(re.findall(r"<tr data-paper=", text)) == len(synthetic.CLAIMS)
    assert "One published experiment, run again" in text


def test_text_from_files_cannot_become_markup_in_the_index(tmp_path: Path) -> None:
    folder = synthetic_papers.folder(tmp_path / "magic", "magic", only=[])
    evil = '</script><img src=x onerror=alert(1)>"'
    claims = [row(evil, evil, evil, 1.0, 1.0, 1.0, evil, evil, fitted=[evil], tried=evil, caveats=[evil])]
    (folder / "claims.json").write_text(json.dumps(claims), encoding="utf-8")
    about = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    about |= {"paper": evil, "title": evil, "citation": evil, "finding": evil}
    (folder / "study.json").write_text(json.dumps(about), encoding="utf-8")
    build(tmp_path)
    for page in ("index.html", "magic/report.html"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert "<img src=x" not in text
        assert text.count("</script>") == 1


def test_a_folder_that_is_no_reproduction_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cellway.Error, match=r"study\.json: no such file; accepted: a folder that `reproduce` wrote"):
        build(tmp_path)


def test_partial_folders_are_no_papers(tmp_path: Path) -> None:
    synthetic_papers.folder(tmp_path / "magic", "magic", only=[])
    synthetic_papers.folder(tmp_path / "kdd.partial-1", "kdd", only=[])
    assert "kdd" not in re.findall(r'data-paper="(\w+)"', build(tmp_path).read_text(encoding="utf-8"))
    assert not (tmp_path / "kdd.partial-1" / "report.html").exists()


def test_a_row_has_the_basis_of_its_number() -> None:
    claim = Claim.read(row("a", "section 4.4.1, Table 2", "It is 2.", 2.0, 2.2, 2.1, "fitted",
                           inferred=[{"name": "window", "value": "8 KiB"}], fitted={"cost": "0.72 ms"},
                           tried="Nothing else.", unexplained="The rest."))  # fmt: skip
    assert (claim.given, claim.inferred) == (("round trip 175 ms", "window 36 592 B"), ("window 8 KiB",))
    assert claim.fitted == ("cost 0.72 ms",)
    assert (claim.section, claim.figure, claim.plates) == ("4.4.1", "Table 2", {"table-2"})
    assert claim.off == "+5.0 %"
    text = in_full([claim])
    for word in ("given", "inferred", "fitted", "unexplained"):
        assert f'class="kind {word}"' in text
        assert f'class="kind {word}"' in overview([claim])
    for part in ("cost 0.72 ms", "Nothing else.", "The rest.", "the round trip counts serialisation"):
        assert part in text


def test_old_rows_have_no_empty_columns() -> None:
    old = [Claim.read(record) for record in synthetic.CLAIMS]
    heads = re.findall(r"<th[^>]*>([^<]+)<", overview(old))
    assert [head.replace("\u00a0", " ") for head in heads] == [
        "Place", "Claim", "Expected", "Measured [95 % CI]", "Verdict",
    ]  # fmt: skip


def test_a_run_without_chance_has_no_interval() -> None:
    record = {**row("a", "", "", 1.0, None, 2.0, "reproduced"), "measured_text": "", "ci_low": 2.0, "ci_high": 2.0}
    assert Claim.read(record).interval == ""


def test_the_outcome_is_a_sentence() -> None:
    def of(*verdicts: str) -> str:
        return outcome([Claim.read(row(v, "", "", 1.0, None, 1.0, v)) for v in verdicts])

    assert of() == "No row was judged."
    assert of("reproduced", "shape") == "2 of 2 rows agree with the paper."
    assert of("reproduced", "not-reproduced") == "1 of 2 rows agree with the paper and 1 does not agree."
    assert of("fitted", "undecided", "not-measured").endswith("tuned to the paper and 2 stay open.")
    assert of("reproduced", "not-run") == "1 of 2 rows agree with the paper and 1 was not run."


def test_an_emulated_row_says_so_and_why_it_was_not_run() -> None:
    record = row("emu-a", "", "Table 1", 3.7, None, 3.6, "reproduced")
    record |= {"source": "emulate", "simulated": None, "emulated": 3.6, "measured": 3.6}
    claim = Claim.read(record)
    assert claim.emulated
    assert claim.simulated == 3.6
    assert "emulated" in overview([claim])
    assert "emulated" in in_full([claim])
    left = Claim.read({**record, "emulated": None, "measured": None, "verdict": "not-run", "not_run": "no TUN device"})
    real = Claim.read({**record, "source": "measure", "emulated": None})
    assert real.emulated
    assert (real.simulated, source(real)) == (3.6, "<span>measured</span>")
    assert "no TUN device" in in_full([left])
    assert "not run" in overview([left])


def test_fitted_is_set_apart_without_colour() -> None:
    signs = [chip(v).split(">")[1].split(" ")[0] for v in ("reproduced", "fitted", "undecided", "not-reproduced")]
    assert len(set(signs)) == 4
