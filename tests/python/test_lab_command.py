"""`cellway lab` and `cellway.lab`: addresses, copies, and a package without the pages."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path
from urllib.parse import parse_qs

import cellway
import pytest
from cellway import browser
from cellway.__main__ import main

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios/bufferbloat.toml"


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """No browser opens; the pages that would be shown."""
    shown: list[Path] = []
    monkeypatch.setattr(browser, "show", lambda page: shown.append(page) is None)
    return shown


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with pages."""
    folder = tmp_path / "with blanks" / "_lab"
    folder.mkdir(parents=True)
    for name in ("index.html", "engine.cjs"):
        (folder / name).write_text("x", encoding="utf-8")
    monkeypatch.setattr(browser, "PAGES", folder)
    return folder


def scenario_of(address: str) -> str:
    keys = parse_qs(address.partition("#")[2])
    assert keys["point"] == keys["replication"] == ["0"]
    (packed,) = keys["scenario"]
    return zlib.decompress(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)), -zlib.MAX_WBITS).decode()


def test_the_lab_opens_with_its_own_scenario(
    pages: Path, opened: list[Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab"]) == 0
    assert capfd.readouterr().out == (pages / "index.html").as_uri() + "\n"
    assert opened == [pages / "index.html"]


def test_a_scenario_is_in_the_address_and_behind_the_page(
    pages: Path, opened: list[Path], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", str(SCENARIO)]) == 0
    address = capfd.readouterr().out.strip()
    text = SCENARIO.read_text(encoding="utf-8")
    assert address.startswith((pages / "index.html").as_uri() + "#")
    assert scenario_of(address) == text
    (page,) = opened
    target = re.search(r'url=(.*?)"', page.read_text(encoding="utf-8"))
    assert target is not None
    assert target[1].replace("&amp;", "&") == address
    assert cellway.lab(SCENARIO) == cellway.lab(text) == address
    built = cellway.Scenario.from_file(SCENARIO)
    assert scenario_of(built.lab()) == built.to_toml()
    assert len(opened) == 1
    built.lab(open=True)
    assert len(opened) == 2


def test_a_copy_for_a_web_server(
    pages: Path, opened: list[Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "public"
    assert main(["lab", "--out", str(out)]) == 0
    assert capfd.readouterr().out == (out / "index.html").as_uri() + "\n"
    assert {path.name for path in out.iterdir()} == {path.name for path in pages.iterdir()}
    assert opened == []
    assert main(["lab", "--out", str(out)]) == 2
    assert "--force" in capfd.readouterr().err
    assert main(["lab", str(SCENARIO), "--out", str(out), "--force"]) == 0
    assert scenario_of(capfd.readouterr().out.strip()) == SCENARIO.read_text(encoding="utf-8")
    # A folder that is no copy is kept.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("x", encoding="utf-8")
    assert main(["lab", "--out", str(tmp_path / "mine"), "--force"]) == 2
    assert "is no copy of the lab" in capfd.readouterr().err
    assert (tmp_path / "mine/thesis.tex").is_file()


def test_what_cannot_be_shown(pages: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capfd.readouterr().err
    large = tmp_path / "large.toml"
    large.write_text("#" * (browser.LONGEST + 1), encoding="utf-8")
    assert main(["lab", str(large)]) == 2
    assert "large.toml: the scenario has 200001 octets; accepted in an address: up to 200000" in capfd.readouterr().err
    with pytest.raises(cellway.MissingFileError):
        cellway.lab(tmp_path / "none.toml")


def test_a_package_without_the_pages_names_the_way_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(browser, "PAGES", tmp_path / "_lab")
    assert main(["lab"]) == 1
    said = capfd.readouterr().err
    assert "`make wheel`" in said
    assert "wasm32-unknown-unknown" in said
    with pytest.raises(cellway.Error, match="make lab"):
        cellway.lab()
