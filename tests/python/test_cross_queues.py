"""Queue disciplines against ns-2, in three settings, and the third RED against the law of its paper."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from cross import queues, red

COMMAND = str(Path(sys.executable).with_name("cellway"))
SETTINGS = [
    setting
    for setting in queues.settings()
    if (setting.name, setting.load) in {("drop tail, 20 packets", 1.2), ("RED", 1.05), ("adaptive RED", 2.0)}
]


def test_queues_differ_from_ns2_only_by_its_habits():
    if shutil.which("ns") is None:
        pytest.skip("ns is not installed (Debian: ns2): no comparison of queues")
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")
    assert len(SETTINGS) == 3
    found = queues.compare(COMMAND, "ns", SETTINGS, 6, 2)
    for compared in found:
        cause = None if compared.agrees else queues.explain(compared, 6)
        assert compared.agrees or (cause is not None and cause.is_explained), (compared, cause)


def test_the_third_red_drops_what_the_law_says():
    """At 1.05 of the line 2 p_b is the excess of 4.76 %: p_b is 0.0238, at 20 + 40 x 0.238 packets."""
    dropped, sent, queue = red.run(red.Red(20, 60, 0.1), 1, red.Line(1e7, 1.05, 1000, 400, 50))
    assert dropped / (dropped + sent) == pytest.approx(1 - 1 / 1.05, rel=0.12)
    assert queue == pytest.approx(29.5, rel=0.05)


def test_intervals_agree_if_they_overlap_or_are_close():
    of = queues.Interval
    assert of(1.0, 0.1).agrees(of(1.15, 0.06))
    assert not of(1.0, 0.01).agrees(of(1.05, 0.01))
    assert of(1.01, 0.0).agrees(of(1.0, 0.0))
    assert of(0.0, 0.0).agrees(of(0.0, 0.0))
