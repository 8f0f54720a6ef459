"""A study of one's own: the folder of the guide, through the public interface, with and without its recipe."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import cellway
import pytest
from cellway import plot, report
from cellway.__main__ import main
from cellway.report import RecipeError, build
from pages import Page

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guide" / "studies.md"


def guide() -> dict[str, str]:
    """The files that the guide shows, by name."""
    text = GUIDE.read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, flags=re.DOTALL))


def write(folder: Path, **changes: str | None) -> Path:
    """A new folder with the files of the guide, some of them changed or left out."""
    folder.mkdir()
    for name, text in {**guide(), **{f"{name}.py": text for name, text in changes.items()}}.items():
        if text is not None:
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_the_guide_shows_a_whole_study() -> None:
    assert set(guide()) == {"study.toml", "expected.toml", "window.toml", "figures.py"}


def test_a_study_runs_from_anywhere_and_draws_its_recipe(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, out = write(tmp_path / "mine"), tmp_path / "out"
    assert main(["reproduce", str(folder), "--out", str(out)]) == 0
    assert "1 reproduced" in "".join(capfd.readouterr())
    page = Page((out / "report.html").read_text(encoding="utf-8"))
    assert {"network-1", "goodput", "claim-window-64k"} <= set(page.ids)
    assert "One host sends to another" in page.text
    assert "other" not in page.ids
    made = cellway.load_reproduction(out)
    assert made.study("window").axes == ["tcp.window"]
    # The folder is enough to draw the report again.
    (folder / "figures.py").unlink()
    again = Page(build(out).read_text(encoding="utf-8"))
    assert again.ids == page.ids


def test_a_folder_is_called_by_its_name_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    made = cellway.reproduce(str(folder), only="window", progress=False)
    assert made.folder == Path("out", "mine")
    listed = cellway.reproduce([str(folder)], out="several", progress=False)
    assert list(listed) == ["mine"]
    assert {path.name for path in folder.iterdir()} == set(guide())


def test_a_study_without_a_recipe_has_the_general_figures(tmp_path: Path) -> None:
    made = cellway.reproduce(str(write(tmp_path / "mine", figures=None)), out=tmp_path / "out", progress=False)
    page = Page(made.report().read_text(encoding="utf-8"))
    assert {"network-1", "numbers-1", "window-bulk-1-goodput", "study-window", "claim-window-64k"} <= set(page.ids)
    assert len(page.images) == 3
    assert "262144" in page.text.replace("\u202f", "") or "256 KiB" in page.text


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("x = 1", r"figures\.py: it defines no function sections; accepted: `def sections\(studies\)`"),
        ("def sections(studies):\n    return 7", r"figures\.py: sections\(studies\) returned 7; accepted: a list"),
        ("def sections(studies):\n    return [7]", r"returned 7 in its list; accepted: cellway\.report\.Section"),
        ("def sections(studies):\n    return studies['no']\n", r"figures\.py:2: MissingDataError: the study “no”"),
        ("import cellway\ndef sections(", r"figures\.py:2: SyntaxError"),
    ],
)
def test_a_recipe_that_fails_says_where(tmp_path: Path, recipe: str, words: str) -> None:
    made = cellway.reproduce(str(write(tmp_path / "mine", figures=recipe)), out=tmp_path / "out", progress=False)
    with pytest.raises(RecipeError, match=words):
        made.report()
    assert made.study("window").runs.height == 3
    assert not (tmp_path / "out" / "report.html").exists()


def test_the_command_names_the_file_that_a_report_lacks(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "out"
    cellway.reproduce(str(write(tmp_path / "mine")), out=folder, progress=False)
    table = folder / "tables" / "window" / "summary.parquet"
    table.write_bytes(table.read_bytes()[:100])
    assert main(["report", str(folder)]) == 1
    assert capfd.readouterr().err.startswith(f"cellway: {table}: not a whole Parquet file: ")


@pytest.mark.parametrize("path", sorted((ROOT / "papers").glob("*/figures.py")), ids=lambda path: path.parent.name)
def test_the_recipes_of_the_papers_use_the_public_api_alone(path: Path) -> None:
    public = {"cellway": cellway, "cellway.plot": plot, "cellway.report": report}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert all(not name.name.startswith("cellway") for name in node.names)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("cellway"):
            assert node.module in public, node.module
            assert {name.name for name in node.names} <= set(public[node.module].__all__)


def test_every_paper_that_ships_has_a_recipe() -> None:
    assert all((folder.parent / "figures.py").is_file() for folder in (ROOT / "papers").glob("*/study.toml"))
