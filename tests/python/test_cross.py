"""A sixth of the cross-check of TCP, and how it judges."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path

import pytest
from cross import __main__ as cross
from cross import grid, judge, page
from cross.runs import Figures

COMMAND = str(Path(sys.executable).with_name("cellway"))
POINTS = grid.points()
SINGLE = next(p for p in POINTS if judge.alone(p) and p.share == 0.5)


@pytest.fixture(scope="module")
def alone():
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")
    return cross.check_alone(COMMAND, grid.sixth(), 2)


def runs(goodput: float, *, timeouts: float = 0, lost: float = 10, utilisation: float = 0.95) -> list[Figures]:
    return [Figures(goodput * (1 + 0.001 * i), timeouts, lost, lost, utilisation) for i in range(4)]


def test_a_sixth_of_the_grid_keeps_the_bounds_that_need_no_peer(alone):
    _, wrong = alone
    print(f"{len(grid.sixth())} settings, {len(wrong)} bounds violated")
    assert wrong == []


def test_a_sixth_of_the_grid_deviates_from_ns2_only_where_that_is_known(alone):
    if shutil.which("ns") is None:
        pytest.skip(cross.NO_NS2)
    compared = cross.compare(COMMAND, grid.sixth(), alone[0], 2)
    print(cross.counts(compared))
    assert cross.news(compared) == []


def test_the_grid_is_200_settings_and_a_sixth_has_every_variant():
    assert len(POINTS) == len({p.name for p in POINTS}) == 200
    assert {p.variant for p in grid.sixth()} == {"tahoe", "reno", "newreno", "sack"}
    assert all(p in POINTS for p in grid.sixth())
    assert sum(map(judge.alone, POINTS)) >= 10


def test_a_spiral_violates_the_bounds():
    slow = runs(3.8e6, timeouts=26, lost=2167, utilisation=0.4)
    wrong = judge.bounds([(SINGLE, slow)])
    assert any("of the line" in text for text in wrong)
    assert any("timeouts a minute" in text for text in wrong)
    assert judge.bounds([(SINGLE, runs(9e6))]) == []


def test_a_timeout_needs_a_loss():
    assert judge.bounds([(SINGLE, runs(9e6, timeouts=1, lost=0))]) == []
    assert "timeouts for 0 lost" in judge.bounds([(SINGLE, runs(9e6, timeouts=2, lost=0))])[0]


def test_goodput_may_not_fall_when_the_buffer_grows():
    larger = dataclasses.replace(SINGLE, share=1.0, buffer=2 * SINGLE.buffer)
    assert judge.bounds([(SINGLE, runs(9e6)), (larger, runs(9.1e6))]) == []
    wrong = judge.bounds([(SINGLE, runs(9e6)), (larger, runs(8e6))])
    assert len(wrong) == 1
    assert "less goodput" in wrong[0]


def test_a_deviation_is_the_spread_of_the_runs_only_if_the_interval_reaches_into_the_tolerance():
    near, far = runs(9e6), runs(8e6)
    assert judge.agrees(near, runs(9.2e6))
    assert not judge.within_spread(near, far)
    wide = [dataclasses.replace(run, goodput=goodput) for run, goodput in zip(far, (6e6, 8e6, 8e6, 10e6), strict=True)]
    assert judge.within_spread(near, wide)


def test_an_unexplained_deviation_is_news_unless_it_is_listed(monkeypatch, tmp_path):
    one = judge.Compared(SINGLE, runs(6e6), runs(9e6), judge.UNEXPLAINED)
    monkeypatch.setattr(cross, "KNOWN", tmp_path / "unexplained.txt")
    assert len(cross.news([one])) == 1
    cross.KNOWN.write_text(f"-30.0\t{SINGLE.name}\n", encoding="utf-8")
    assert cross.news([one]) == []
    cross.KNOWN.write_text(f"-20.0\t{SINGLE.name}\n", encoding="utf-8")
    assert len(cross.news([one])) == 1


def test_the_page_names_what_is_unexplained_and_what_is_violated():
    found = [
        judge.Compared(SINGLE, runs(9e6), runs(9e6)),
        judge.Compared(SINGLE, runs(6e6), runs(9e6), judge.UNEXPLAINED, {"ticks": -0.3}),
    ]
    text = page.page(found, "no /dev/net/tun", ["a bound"])
    assert "**1 of 2 agree within 5%.**" in text
    assert "**Unexplained** | 1" in text
    assert "ticks -30.0%" in text
    assert "- a bound" in text
    assert "Skipped: no /dev/net/tun" in text
