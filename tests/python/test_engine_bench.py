"""The table that `make bench` ends with: its verdicts, its widths, and how its programs are found and prepared."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
from engine_bench import __main__ as tool
from engine_bench.measure import PARTS
from engine_bench.programs import Programs, Ran, SkippedError, executables, papers_with_engine, run, with_engine
from engine_bench.table import (
    BEGIN,
    END,
    PAPERS,
    WORKS,
    Figures,
    Target,
    as_markdown,
    as_text,
    into_page,
    met,
    row,
    times,
)

PAGE = Path(__file__).parents[2] / "docs" / "validation" / "performance.md"


@pytest.mark.parametrize(
    ("target", "figures", "word"),
    [
        (times(5), Figures([9, 10, 11], [2, 2, 2], [4.5, 5.0, 5.5]), "yes"),
        (times(5), Figures([9, 10, 11], [2, 2, 2], [4.5, 4.9, 5.5]), "no"),
        (Target("<=", 60, " MB"), Figures([83], [60], [1.4]), "yes"),
        (Target("<", 5, " %"), Figures([7], [5]), "no"),
        (Target("<", 500, " us"), Figures((), [100], is_valid=False), "no"),
        (Target(">=", 300, " M/s"), Figures([12], [301], [0.1]), "yes"),
        (None, Figures([1], [1], [1]), "-"),
    ],
)
def test_a_target_is_judged_by_the_median(target: Target | None, figures: Figures, word: str) -> None:
    assert met(target, figures) == word


def test_parts_and_works_are_the_same() -> None:
    assert PARTS.keys() == WORKS.keys()
    assert {path.parent.name for path in PAGE.parents[2].glob("papers/*/study.toml")} == PAPERS.keys()


def test_the_table_fits_its_width() -> None:
    spread = [0.123456, 12.3456, 123.456]
    figures = Figures([1234.5678], [123.45678], spread)
    text = as_text([row(work, figures) for works in WORKS.values() for work in works])
    assert max(map(len, text.splitlines())) <= 100
    assert "12.3 (0.123-123)" in text


def test_what_was_skipped_has_a_line() -> None:
    [work] = WORKS["packets"]
    assert row(work, None)[1:] == ("-", "-", "-", ">= 1.3x", "skipped")


def test_a_page_has_the_table_between_its_lines() -> None:
    rows = [row(WORKS["worst"][0], Figures([3.0], [2.0], [1.5]))]
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    made = into_page(page, rows, ["2 cores"])
    assert made == f"before\n{BEGIN}\n{as_markdown(rows)}\n\n- 2 cores\n{END}\nafter\n"
    assert "| **no** |" in made
    assert into_page(made, rows, ["2 cores"]) == made
    with pytest.raises(ValueError, match="once each"):
        into_page("a page", rows, [])


def test_the_page_of_the_project_can_be_filled() -> None:
    assert into_page(PAGE.read_text(encoding="utf-8"), [], [])


def test_programs_are_found_in_the_messages_of_cargo() -> None:
    messages = [
        {"target": {"name": "cellway_sim"}, "executable": None},
        {"target": {"name": "engines"}, "executable": "/t/engines-1"},
        {"reason": "build-finished", "success": True},
    ]
    assert executables("note\n" + "\n".join(map(json.dumps, messages))) == {"engines": Path("/t/engines-1")}


@pytest.mark.parametrize("text", ['version = 1\nrun = { duration = "1 s" }\n', '[run]  # (C)\nduration = "1 s"\n'])
def test_an_engine_is_set(text: str) -> None:
    assert tomllib.loads(with_engine(text, "cells"))["run"] == {"engine": "cells", "duration": "1 s"}


def test_a_file_without_a_run_is_refused() -> None:
    with pytest.raises(ValueError, match=r"neither a line \"\[run\]\""):
        with_engine("version = 1\n", "cells")


def test_all_scenarios_of_papers_get_the_engine(tmp_path: Path) -> None:
    papers = papers_with_engine("cells", tmp_path)
    files = [tomllib.loads(file.read_text(encoding="utf-8")) for file in papers.glob("*/*.toml")]
    engines = [file["run"]["engine"] for file in files if "traffic" in file]
    assert len(engines) > len(PAPERS)
    assert set(engines) == {"cells"}


def test_a_program_is_run_to_its_end() -> None:
    ran = run([sys.executable, "-c", "print('a note'); print('{\"seconds\": 2.5}')"])
    assert ran.figures() == {"seconds": 2.5}
    assert ran.wall > 0
    assert ran.cpu > 0


def test_what_a_program_skips_is_skipped() -> None:
    with pytest.raises(SkippedError, match="no TUN"):
        Ran("skipped: no TUN\n", 1, 1).figures()


def test_htsim_is_skipped_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HTSIM", raising=False)
    with pytest.raises(SkippedError, match="git clone"):
        Programs(Path("cellway")).htsim(tmp_path)
    monkeypatch.setenv("HTSIM", str(tmp_path))
    with pytest.raises(SkippedError, match=r"libhtsim\.a does not exist"):
        Programs(Path("cellway")).htsim(tmp_path)


def test_the_whole_prints_what_it_can_measure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def skip(*_: object) -> list[Figures]:
        raise SkippedError("no reason")

    def worst(*_: object) -> list[Figures]:
        return [Figures([3.0], [1.0], [3.0])]

    monkeypatch.setattr(tool, "PARTS", dict.fromkeys(PARTS, skip) | {"worst": worst})
    monkeypatch.setattr(tool, "busy", lambda: 1.5)
    monkeypatch.setattr(sys, "argv", ["engine_bench", "--quick"])
    with pytest.raises(SystemExit) as ended:
        tool.main()
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert "other programs keep 1.5 processors busy" in out
    assert "studies: skipped: --quick" in out
    assert "bulk: skipped: no reason" in out
    [line] = [line for line in out.splitlines() if line.startswith("one-cell frames")]
    assert line.endswith("yes")


def test_busy_processors_are_counted() -> None:
    assert 0 <= (tool.busy(0.05) or 0) <= (os.cpu_count() or 1)


def test_an_unknown_part_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["engine_bench", "--only", "bulk,other"])
    with pytest.raises(SystemExit):
        tool.main()
    assert "'other' is no part; accepted: bulk" in capsys.readouterr().err
