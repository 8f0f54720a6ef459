"""Broken result folders: each error is the package's, and names the file and the fault."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import cellway
import polars as pl
import pytest
from cellway import documents

TABLES = ("runs.parquet", "summary.parquet", "series.parquet")


@pytest.fixture
def folder(reproduction: Path, tmp_path: Path) -> Path:
    """A copy of one result folder, to be broken. Its name would be a pattern if a reader took it for one."""
    return Path(shutil.copytree(reproduction / "tables" / "load", tmp_path / "load[1]*"))


def refused(folder: Path, message: str, load: Callable[[Path], object] = cellway.load) -> None:
    with pytest.raises(cellway.Error, match="^" + re.escape(message)):
        load(folder)


def test_a_whole_folder_is_read(folder: Path) -> None:
    assert cellway.load(folder).runs.height > 0


@pytest.mark.parametrize("load", [cellway.load, cellway.load_comparison, cellway.load_reproduction])
def test_a_missing_folder_is_named(tmp_path: Path, load: Callable[[Path], object]) -> None:
    refused(tmp_path / "none", f"{tmp_path / 'none'}: no such folder; accepted: a folder that `", load)


@pytest.mark.parametrize("name", ["manifest.json", *TABLES])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refused(folder, f"{folder / name}: no such file; accepted: a folder that `simulate`")


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("kept", [0, 3, 0.5])
def test_a_table_that_was_cut_is_named(folder: Path, name: str, kept: float) -> None:
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    refused(folder, f"{path}: not a whole Parquet file: ")


def test_a_folder_in_place_of_a_file_is_named(folder: Path) -> None:
    path = folder / "runs.parquet"
    path.unlink()
    path.mkdir()
    refused(folder, f"{path}: Is a directory")


def test_a_table_without_a_column_is_named_with_those_it_has(folder: Path) -> None:
    path = folder / "summary.parquet"
    pl.read_parquet(path, glob=False).drop("metric", "unit").write_parquet(path)
    refused(folder, f"{path}: the table lacks the columns `metric`, `unit`; it has: `run`, `source`, `subject`")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1:1: not JSON: Expecting value"),
        (b'{"format": 1,\n "cellway": }', ":2:13: not JSON: Expecting value"),
        (b'{"format": 1, "cellway": "0.1', ":1:26: not JSON: Unterminated string"),
        (b"[1]", ": the document is a list; accepted: an object"),
        (b"null", ": the document is null; accepted: an object"),
        (b"\xff\xfe", ": not UTF-8"),
        (b"[" * 100_000, ": not a document of Cellway: too many levels"),
        (
            b'{"cellway": "9.0", "f": 2}',
            ": an object lacks the key `format`; it has: `cellway`, `f`; Cellway 9.0 wrote",
        ),
        (b'{"cellway": "9.0", "format": 2}', ": format 2, written by Cellway 9.0; accepted: format 1"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_named(folder: Path, content: bytes, message: str) -> None:
    path = folder / "manifest.json"
    path.write_bytes(content)
    refused(folder, f"{path}{message}")


@pytest.mark.parametrize(
    ("scenario", "message"),
    [("name = ", "not TOML: "), (["load"], "the value is a list; accepted: a string of TOML")],
)
def test_a_scenario_in_a_manifest_must_be_toml(folder: Path, scenario: object, message: str) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"scenario": scenario}))
    with pytest.raises(cellway.Error, match=f"^the scenario in the manifest: {message}"):
        cellway.load(folder).scenario  # noqa: B018


def test_claims_that_lack_a_key_are_named(reproduction: Path, tmp_path: Path) -> None:
    shutil.copy(reproduction / "study.json", tmp_path)
    path = tmp_path / "claims.json"
    path.write_text('[{"id": "a", "claim": "It holds."}]')
    message = f"{path}: an object lacks the key `verdict`; it has: `id`, `claim`"
    refused(tmp_path, message, lambda at: cellway.report.build(at))
    path.write_text('{"id": "a"}')
    refused(tmp_path, f"{path}: the document is an object; accepted: a list of objects", cellway.report.build)


def test_a_comparison_of_another_version_is_named(folder: Path) -> None:
    path = folder / "compare.json"
    path.write_text('{"version": "9.0", "name": "x", "emulation": "valid"}')
    made = cellway.load_comparison(folder)
    message = f"{path}: an object lacks the key `points`; it has: `version`, `name`, `emulation`; Cellway 9.0 wrote it"
    refused(folder, message, lambda _: made.rows)


def test_objects_are_ordinary_dicts_otherwise() -> None:
    found = documents.record('{"a": {"b": 1}}', "x")
    assert found == {"a": {"b": 1}}
    assert found.get("c") is None
    assert "c" not in found
    assert json.loads(json.dumps(found)) == found
