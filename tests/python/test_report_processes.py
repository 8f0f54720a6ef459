"""Reports that several processes draw, each one at a time, and what they change in the interpreter."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
import synthetic_papers
from cellway import __main__ as command
from cellway.report import build, papers

PAPERS = ("kdd", "magic", "spacing")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    return [synthetic_papers.folder(tmp_path / "out" / name, name, only=[]) for name in PAPERS]


def pages(folders: list[Path]) -> dict[str, str]:
    return {folder.name: (folder / "report.html").read_text(encoding="utf-8") for folder in folders}


def test_each_folder_is_drawn_by_the_process_that_claims_it_first(tmp_path: Path) -> None:
    wanted = [Path(name) for name in "abcd"]
    one, other = papers.claimed(wanted, tmp_path), papers.claimed(wanted, tmp_path)
    assert [next(one), next(other), next(other), next(one)] == wanted
    assert [*one, *other] == []


def test_the_longest_recipe_is_drawn_first(tmp_path: Path) -> None:
    for name, recipe, table in (("tables", 0, 900), ("short", 10, 5), ("long", 30, 5), ("none", 0, 7)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table").write_bytes(bytes(table))
        if recipe:
            (tmp_path / name / "figures.py").write_bytes(b"#" * recipe)
    ordered = papers.longest_first(tmp_path / name for name in ("none", "tables", "short", "long"))
    assert [folder.name for folder in ordered] == ["long", "short", "tables", "none"]


def test_pages_are_the_same_from_any_number_of_processes(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    build(folders[0].parent)
    alone = pages(folders)
    for folder in folders:
        (folder / "report.html").unlink()
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    build(folders[0].parent)
    assert pages(folders) == alone


def test_a_process_leaves_out_what_another_draws(folders: list[Path], tmp_path: Path) -> None:
    claims = tmp_path / "claims"
    claims.mkdir()
    (claims / "1").touch()
    assert papers.main(["../index.html", str(claims), *map(str, folders)]) == 0
    assert [(folder / "report.html").is_file() for folder in folders] == [True, False, True]


def test_a_process_reports_a_recipe_that_fails(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folders[0] / "figures.py").write_text("def sections(studies):\n    raise ValueError('no')\n", encoding="utf-8")
    claims = tmp_path / "claims"
    claims.mkdir()
    assert papers.main(["../index.html", str(claims), *map(str, folders)]) == papers.REFUSED
    assert capsys.readouterr().err == f"{folders[0] / 'figures.py'}:2: ValueError: no\n"


def test_the_garbage_collector_runs_as_before_after_a_report(folders: list[Path]) -> None:
    before = gc.get_threshold()
    build(folders[0])
    assert gc.get_threshold() == before
    with papers.rarely_collected():
        with papers.rarely_collected():
            assert gc.get_threshold() == papers.COLLECTED
        assert gc.get_threshold() == papers.COLLECTED
    assert gc.get_threshold() == before


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("reproduce --quick --out out", True),
        ("-q reproduce kdd --out out --quick", True),
        ("reproduce --quick", False),
        ("reproduce --out out", False),
        ("reproduce --quick --out out --emulate", False),
        ("simulate a.toml --out out", False),
    ],
)
def test_reports_are_imported_early_where_they_are_surely_drawn_and_nothing_is_measured(
    line: str, *, expected: bool
) -> None:
    assert command.draws_soon(line.split()) is expected


@pytest.mark.parametrize(("given", "used"), [(None, "1"), ("3", "3")])
def test_polars_has_one_thread_in_each_process_unless_the_user_wants_more(
    given: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("POLARS_MAX_THREADS")
    command.import_reports()
    assert os.environ["POLARS_MAX_THREADS"] == used
