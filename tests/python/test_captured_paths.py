"""Paths from captures of the kernel's transfers over emulated paths, and how an estimate is judged."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import inf
from pathlib import Path as File
from typing import Any

import cellway
import pytest
from cellway import _native
from paths.draw import Path, drawn, unfriendly
from paths.judge import Judged, judge
from paths.page import page
from paths.run import capture, missing, scenario

COMMAND = [sys.executable, "-m", "cellway"]
SEED = 7
"""A seed that the estimator was not tuned with, and that is not that of the page."""
LATE = 1.0
"""The largest 99th percentile of the lateness of a valid emulation (ms)."""


def reason() -> str:
    """Return why no path can be captured here, or an empty text."""
    if lacking := missing():
        return f"not installed: {', '.join(lacking)}"
    try:
        return "" if _native.emulates_here() else "this process may not make network namespaces"
    except cellway.EmulationError as error:
        return str(error)


WHY_NOT = reason()
live = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "runs here")


def captured(path: Path, folder: File) -> list[Judged]:
    """Capture a path at both ends, and estimate it."""
    for _ in range(2):
        found = capture(path, folder)
        if found.lateness <= LATE:
            return [judge(path, end, file, COMMAND) for end, file in found.files.items()]
    pytest.skip(f"this machine is too busy: packets were {found.lateness:.2f} ms late")


@live
@pytest.mark.parametrize("path", [replace(path, duration=7.0) for path in drawn(SEED, 3)], ids=lambda path: path.name)
def test_paths_that_the_estimator_has_not_seen(path: Path, tmp_path: File) -> None:
    for judged in captured(path, tmp_path):
        assert judged.outside == [], (path, judged.end, judged.found)


@live
def test_acknowledgements_that_wait_are_no_buffer(tmp_path: File) -> None:
    path = Path("narrow", rate=20.0, rtt=40.0, buffer=100_000, back=0.01, duration=5.0)
    sender, receiver = captured(path, tmp_path)
    for judged in (sender, receiver):
        buffer = judged.interval("buffer")
        assert buffer is None or buffer[1] <= 1.25 * path.buffer, judged.found
        assert judged.covers("rate"), judged.found
    # 52 octets of each acknowledgement, and nothing else, fill 200 kbit/s.
    assert sender.found is not None
    assert sender.found["return_rate"]["value"] == pytest.approx(200e3, rel=0.05)


def test_drawn_paths_are_scenarios_and_stay_the_same() -> None:
    paths = drawn(1, 40)
    assert paths == drawn(1, 40)
    assert paths[:5] == drawn(1, 5)
    assert all(2 <= path.rate <= 200 and 5 <= path.rtt <= 300 and path.buffer >= 15_000 for path in paths)
    assert {path.control for path in paths} == {"cubic", "reno", "bbr"}
    for path in [*paths, *unfriendly()]:
        assert cellway.check(scenario(path).traffic("bulk", "sender", "receiver")).runs == 1


def judged(**changes: Any) -> Judged:
    """Return a judged estimate: that of the true path, but for some values."""
    path = Path("known", rate=10.0, rtt=40.0, buffer=50_000)
    true = {"rate": 10e6, "rtt": 0.04, "buffer": 50_000.0}
    found: dict[str, Any] = {
        name: {"value": value, "low": 0.99 * value, "high": 1.01 * value} for name, value in true.items()
    }
    return Judged(path, "sender", {**found, "warnings": [], **changes})


@pytest.mark.parametrize(
    ("changes", "is_close", "covers", "outside"),
    [
        ({}, True, True, []),
        ({"rate": {"value": 12e6, "low": 9e6, "high": 13e6}}, False, True, ["rate"]),
        ({"rate": {"value": 10.5e6, "low": 10.2e6, "high": 11e6}}, True, False, ["rate"]),
        # A bound is no value, but must be one.
        ({"rate": {"value": 5e6, "low": 4e6, "high": None}}, None, True, []),
        ({"rate": {"value": 12e6, "low": 11e6, "high": None}}, None, False, ["rate"]),
    ],
)
def test_an_estimate_is_judged_by_its_error_and_its_interval(
    changes: dict[str, Any], is_close: bool | None, covers: bool, outside: list[str]
) -> None:
    found = judged(**changes)
    assert found.is_close("rate") is is_close
    assert found.covers("rate") is covers
    assert found.outside == outside


def test_a_withheld_value_is_neither_close_nor_outside() -> None:
    found = judged(buffer=None)
    assert (found.is_close("buffer"), found.covers("buffer"), found.outside) == (None, None, [])
    assert judged(rtt={"value": 0.05, "low": 0.0, "high": 0.06}).interval("rtt") == (0.05, 0.0, 0.06)
    assert judged(rate={"value": 1.0, "low": 0.5, "high": None}).interval("rate") == (1.0, 0.5, inf)


def test_the_page_counts_what_is_close_and_gives_reasons() -> None:
    far = judged(rate={"value": 12e6, "low": 11e6, "high": 13e6})
    text = page([judged(), far], [judged(buffer=None)], 7, {"known, sender": "others shared the link"})
    assert "| rate, within 10 % | 2 | 1 | 20.0 % | 0 | 0 | 1 of 2 |" in text
    assert "- known, sender: rate. Others shared the link." in text
    assert "12 (11 to 13), +20.0 % **outside**" in text
    assert "| withheld |" in text


def test_a_bound_is_written_as_one() -> None:
    bound = judged(rate={"value": 5e6, "low": 4e6, "high": None})
    assert "5 (4 or more), -50.0 % |" in page([bound], [], 7, {})
