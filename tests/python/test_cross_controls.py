"""The comparison of congestion controls with the kernel: its paths, and how a deviation is judged."""

from __future__ import annotations

import cellway
import pytest
from cross.controls import CONTROLS, Compared, Line, page, paths


def test_forty_paths_are_scenarios() -> None:
    assert len(paths()) == len({path.name for path in paths()}) == 40
    assert {path.control for path in paths()} == set(CONTROLS)
    for path in paths():
        assert cellway.check(path.scenario(1)).runs == 1


def compared(ours: dict[str, float], *kernel: dict[str, float]) -> Compared:
    base = {"goodput": 9e6, "srtt": 0.05, "queue": 20.0, "drops": 0.0, "marks": 0.0}
    return Compared(Line("cubic", 10, 40, 1.0), [base | ours], [base | run for run in kernel])


def test_a_deviation_is_from_the_mean_of_the_kernel() -> None:
    one = compared({"goodput": 9.9e6}, {"goodput": 8e6}, {"goodput": 10e6})
    assert one.deviation("goodput") == pytest.approx(0.1)
    assert compared({"queue": 25.0}, {}).far == ["queue"]


def test_few_drops_are_no_deviation() -> None:
    assert compared({"drops": 19.0}, {"drops": 5.0}).far == []
    assert compared({"drops": 40.0}, {"drops": 20.0}).deviation("drops") == 1.0
    assert compared({"drops": 40.0}, {"drops": 0.0}).far == ["drops"]


def test_the_page_counts_what_is_close() -> None:
    text = page([compared({}, {}), compared({"srtt": 0.06}, {})])
    assert "**1 of 2 are within 10 % in all five figures**" in text
    assert "| cubic, 10 Mbit/s, 40 ms, 1 BDP | +0.0 % | +20.0 % | +0.0 % | - | - | **unexplained** |" in text


def test_a_difference_within_the_spread_has_it_as_its_cause() -> None:
    far = compared({"queue": 30.0}, {"queue": 18.0}, {"queue": 22.0})
    assert far.far == ["queue"]
    assert far.note == "**unexplained**"
    assert compared({"queue": 30.0}, {"queue": 18.0}, {"queue": 31.0}).note == "spread"
