"""The simulator for web pages, as WebAssembly in node: the same octets as the compiled module.

Each shipped scenario that needs no file runs in both, all points of its sweep with one seed; each scenario of the
course as its page begins, and with the first and the last position of each slider. Every number is compared octet by
octet.
"""

from __future__ import annotations

import base64
import json
import shutil
import struct
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cellway
import lab
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ROOT / "scenarios"
# Recorded links and a workload file: a page has no files.
WITH_FILES = {
    "leo": "link.satellite.forward.trace.csv",
    "lte": "link.radio.forward.trace.rate",
    "office": "traffic.web.app",
}
# Those that take long: keys that make them short.
SHORT = {"page": {"run.duration": "60 s"}, "satellite-bulk": {"run.duration": "120 s", "run.warmup": "20 s"}}
NAMES = sorted(path.stem for path in SCENARIOS.glob("*.toml") if path.stem not in WITH_FILES)
COURSE = ROOT / "web/course"


@dataclass
class Tables:
    """The tables of a run, in their order: what each row is about, and its octets."""

    about: dict[str, Any]
    summary: list[tuple[list[str], bytes]]
    series: list[tuple[list[str], bytes, bytes]]

    @classmethod
    def read(cls, octets: bytes) -> Tables:
        """Take the tables apart."""
        (length,) = struct.unpack_from("<Q", octets)
        about = json.loads(octets[8 : 8 + length])
        at = 8 + length

        def numbers(count: int) -> bytes:
            nonlocal at
            part = octets[at : at + 8 * count]
            at += 8 * count
            return part

        summary = [(row, numbers(1)) for row in about["summary"]]
        series = [(row[:3], numbers(row[3]), numbers(row[3])) for row in about["series"]]
        assert at == len(octets)
        return cls(about, summary, series)


@dataclass
class Engine:
    """The file of WebAssembly, which node runs."""

    node: str
    pages: Path

    def run(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        """Run requests; return what the file says of each."""
        lines = "".join(json.dumps(request) + "\n" for request in requests)
        command = [self.node, ROOT / "tools/web/run.js", self.pages / "engine.cjs", self.pages.parent / "cellway.wasm"]
        done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def engine() -> Engine:
    """The built file, where the lab can be built."""
    pages = lab.built()
    node = shutil.which("node")
    assert node is not None
    return Engine(node, pages)


def of_native(results: cellway.Results, run: dict[str, Any]) -> Tables:
    """Return the tables of one run of the compiled module."""

    def octets(values: pl.Series) -> bytes:
        return struct.pack(f"<{len(values)}d", *values)

    def rows(table: pl.DataFrame) -> list[tuple[list[str], pl.DataFrame]]:
        words = ["subject", "metric", "unit"]
        of_run = table.filter(pl.col("run") == run["run"]).with_columns(pl.col(words).cast(pl.String))
        parts = of_run.partition_by(words, as_dict=True, maintain_order=True)
        return [([str(word) for word in key], part) for key, part in parts.items()]

    summary = [(words, octets(part["value"])) for words, part in rows(results.arrow("summary"))]
    series = [(words, octets(part["t"]), octets(part["value"])) for words, part in rows(results.arrow("series"))]
    return Tables(run, summary, series)


def compare(engine: Engine, path: Path, changes: dict[str, str]) -> None:
    """Run all points of a scenario with one seed in both, and compare the tables."""
    native = cellway.simulate(path, seeds=1, set={key: read(text) for key, text in changes.items()}, progress=False)
    runs = native.runs.sort("run").to_dicts()
    request = {"text": path.read_text(encoding="utf-8"), "set": list(changes.items())}
    answers = engine.run(*({**request, "point": run["point"]} for run in runs))
    assert len(answers) == len(runs) > 0
    for run, answer in zip(runs, answers, strict=True):
        assert answer["answer"] == {"done": 1}
        web, here = Tables.read(base64.b64decode(answer["tables"])), of_native(native, run)
        assert (web.about["point"], web.about["seed"]) == (run["point"], run["seed"])
        assert dict(web.about["axes"]) == {axis: run[axis] for axis in native.axes}
        assert len(web.summary) > 10
        assert web.summary == here.summary
        assert web.series == here.series
    hops = sum(Tables.read(base64.b64decode(answer["tables"])).about["counts"]["cell_hops"] for answer in answers)
    assert hops == native.manifest["cell_hops"]


def read(text: str) -> Any:
    """Return a value as `--set` reads it."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_have_the_same_octets(engine: Engine, name: str) -> None:
    compare(engine, SCENARIOS / f"{name}.toml", SHORT.get(name, {}))


@pytest.mark.parametrize("name", sorted(path.stem for path in COURSE.glob("*.md")))
def test_so_do_those_of_the_course_at_both_ends_of_each_slider(engine: Engine, name: str) -> None:
    front = (COURSE / f"{name}.md").read_text(encoding="utf-8").split("+++\n")[1]
    sliders = tomllib.loads(front)["sliders"]
    begin = {slider["key"]: slider["values"][slider["start"]] for slider in sliders}
    moved = [{**begin, slider["key"]: slider["values"][end]} for slider in sliders for end in (0, -1)]
    for settings in [begin, *moved]:
        compare(engine, COURSE / f"{name}.toml", settings)


@pytest.mark.parametrize("name", sorted(WITH_FILES))
def test_a_scenario_with_a_file_is_refused_at_its_key(engine: Engine, name: str) -> None:
    text = (SCENARIOS / f"{name}.toml").read_text(encoding="utf-8")
    (answer,) = engine.run({"text": text})
    (problem,) = answer["checked"]["problems"]
    assert answer["answer"] == answer["checked"]
    assert answer["tables"] is None
    assert problem["key"] == WITH_FILES[name]
    assert "a page reads none" in problem["message"]
    assert text.splitlines()[problem["line"] - 1].lstrip().startswith(("forward", "back", "app = "))


def test_a_check_is_that_of_the_command_line(engine: Engine, tmp_path: Path) -> None:
    right = (SCENARIOS / "bufferbloat.toml").read_text(encoding="utf-8")
    # A misspelt key; a point of the sweep that is wrong; no TOML; no scenario.
    texts = [
        right,
        right.replace("duration", "duratoin"),
        right.replace('"ared"', '"bdd"'),
        "version = 1\nx = [",
        "x = 1",
    ]
    path = tmp_path / "scenario.toml"
    valid = []
    for text in texts:
        path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "cellway", "check", path.name, "--json"]
        printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
        (answer,) = engine.run({"text": text})
        assert answer["checked"] == json.loads(printed)
        valid.append(answer["checked"]["valid"])
    assert valid[0]
    assert not any(valid[1:])
