"""A sixth of the cross-check of TCP, and how it judges."""

from __future__ import annotations

import dataclasses
import shutil
import struct
import sys
from pathlib import Path

import pytest
from cross import __main__ as cross
from cross import grid, judge, kernel, losses, page, runs
from cross.kernel import Emulated, Judged
from cross.resent import Resent, resent
from cross.runs import Figures

COMMAND = str(Path(sys.executable).with_name("cellway"))
POINTS = grid.points()
LOSSY = next(p for p in POINTS if p.loss and p.flows > 1)
SINGLE = next(p for p in POINTS if judge.alone(p) and p.share == 0.5)


@pytest.fixture(scope="module")
def alone():
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")
    return cross.check_alone(COMMAND, grid.sixth(), 2)


def four(goodput: float, *, timeouts: float = 0, lost: float = 10, utilisation: float = 0.95) -> list[Figures]:
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
    slow = four(3.8e6, timeouts=26, lost=2167, utilisation=0.4)
    wrong = judge.bounds([(SINGLE, slow)])
    assert any("of the line" in text for text in wrong)
    assert any("timeouts a minute" in text for text in wrong)
    assert judge.bounds([(SINGLE, four(9e6))]) == []


def test_a_timeout_needs_a_loss():
    assert judge.bounds([(SINGLE, four(9e6, timeouts=1, lost=0))]) == []
    assert "timeouts for 0 lost" in judge.bounds([(SINGLE, four(9e6, timeouts=2, lost=0))])[0]


def test_goodput_may_not_fall_when_the_buffer_grows():
    larger = dataclasses.replace(SINGLE, share=1.0, buffer=2 * SINGLE.buffer)
    assert judge.bounds([(SINGLE, four(9e6)), (larger, four(9.1e6))]) == []
    wrong = judge.bounds([(SINGLE, four(9e6)), (larger, four(8e6))])
    assert len(wrong) == 1
    assert "less goodput" in wrong[0]


def test_pairs_share_what_is_no_deviation():
    # Runs that differ by a factor of two, but in both simulators.
    ours = [Figures(goodput, 0, 0, 0) for goodput in (4e6, 8e6, 6e6, 7e6)]
    peer = [dataclasses.replace(run, goodput=run.goodput / 1.1) for run in ours]
    middle, half = judge.deviation(ours, peer)
    assert middle == pytest.approx(0.1)
    assert half == pytest.approx(0.0, abs=1e-9)
    middle, half = judge.deviation(ours, peer[::-1])
    assert middle == pytest.approx(0.1)
    assert half > 0.3


def test_more_runs_are_made_until_they_decide_or_there_are_enough():
    def made(spread: float, middle: float = 1.06) -> int:
        def both(numbers: range) -> tuple[list[Figures], list[Figures]]:
            ours = [Figures(1e6 * (middle + spread * (-1) ** number), 0, 0, 0) for number in numbers]
            return ours, [Figures(1e6, 0, 0, 0) for _ in numbers]

        ours, peer = judge.decide(both)
        assert len(ours) == len(peer)
        return len(ours)

    assert made(0.0) == judge.FEWEST
    assert made(0.02, middle=1.2) == judge.FEWEST
    assert judge.FEWEST < made(0.02) < judge.MOST
    assert made(0.3) == judge.MOST


@pytest.mark.parametrize("freedom", [1, 3, 15])
def test_student_is_that_of_the_table(freedom):
    assert judge.t_95(freedom) == pytest.approx({1: 12.706, 3: 3.182, 15: 2.131}[freedom])


@pytest.mark.parametrize(("freedom", "expected"), [(16, 2.120), (23, 2.069), (31, 2.040), (63, 1.998)])
def test_student_beyond_the_table(freedom, expected):
    assert judge.t_95(freedom) == pytest.approx(expected, abs=0.001)


def test_losses_are_as_frequent_as_the_point_says_and_spare_the_handshakes():
    counts = []
    for run in range(40):
        lost = losses.lost(LOSSY, run)
        assert lost == losses.lost(LOSSY, run)
        for numbers in (lost.forward, lost.back):
            assert numbers == sorted(set(numbers))
            assert numbers[0] > losses.FIRST * LOSSY.flows
            counts.append(len(numbers) / (numbers[-1] - losses.FIRST * LOSSY.flows))
    assert losses.lost(LOSSY, 0).forward != losses.lost(LOSSY, 0).back
    assert losses.lost(LOSSY, 0) != losses.lost(LOSSY, 1)
    # 80 lists of some hundred losses each: five standard deviations.
    assert sum(counts) / len(counts) == pytest.approx(LOSSY.loss, rel=0.1)
    assert losses.lost(SINGLE, 0) == losses.Lost([], [])


def test_a_figure_that_is_missing_is_an_error():
    flow = {("flow-1", metric): 1.0 for metric in ("goodput", "timeouts", "retransmissions")}
    ports = {(port, "dropped_packets"): 2.0 for port in ("left>right", "right>left")}
    used = {("left>right", "utilisation"): 0.5}
    assert runs._figures(SINGLE, flow | ports | used).lost == 4.0
    with pytest.raises(RuntimeError, match="no goodput of flow-1"):
        runs._figures(SINGLE, ports | used)
    with pytest.raises(RuntimeError, match="no dropped_packets of left>right"):
        runs._figures(SINGLE, flow | used)
    with pytest.raises(RuntimeError, match="no lost of left>right"):
        runs._figures(dataclasses.replace(SINGLE, loss=0.01), flow | ports | used)


@pytest.fixture
def both():
    """The figures of one run of a point, in Cellway and in ns-2."""
    if shutil.which("ns") is None:
        pytest.skip(cross.NO_NS2)
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")

    def run(point: grid.Point) -> tuple[Figures, Figures]:
        return runs.in_cellway(COMMAND, point, [0])[0], runs.in_ns2("ns", point, [0])[0]

    return run


def test_both_simulators_hold_as_many_packets(both):
    # A burst of 20 segments over a buffer of 5 packets, and the run ends before any is resent.
    burst = {"rate": 1_000_000, "rtt": 1.0, "buffer": 5, "initial": 20, "duration": 1.95, "tick": 0.01}
    ours, peer = both(dataclasses.replace(SINGLE, **burst, variant="sack", limited=False, delayed=False, mss=1460))
    # One is being sent and five wait; in Cellway the packet that ends the handshake is being sent.
    assert ours.lost == 15
    assert peer.lost == 14


def test_both_simulators_lose_the_packets_of_the_list(both):
    path = {"rate": 2_000_000, "rtt": 0.05, "buffer": 200, "tick": 0.001, "rto_min": 0.2, "duration": 60.0}
    ours, peer = both(dataclasses.replace(SINGLE, **path, variant="sack", limited=True, delayed=False, loss=0.02))
    assert ours.goodput == pytest.approx(peer.goodput, rel=0.05)
    assert ours.goodput < 1.5e6, "without loss the line is full"
    assert ours.resent == pytest.approx(peer.resent, abs=5)


def test_an_unexplained_deviation_is_news_unless_it_is_listed(monkeypatch, tmp_path):
    one = judge.Compared(SINGLE, four(6e6), four(9e6), judge.UNEXPLAINED)
    monkeypatch.setattr(cross, "KNOWN", tmp_path / "unexplained.txt")
    assert len(cross.news([one])) == 1
    cross.KNOWN.write_text(f"-30.0\t{SINGLE.name}\n", encoding="utf-8")
    assert cross.news([one]) == []
    cross.KNOWN.write_text(f"-20.0\t{SINGLE.name}\n", encoding="utf-8")
    assert len(cross.news([one])) == 1


def test_the_page_names_what_is_unexplained_and_what_is_violated():
    found = [
        judge.Compared(SINGLE, four(9e6), four(9e6)),
        judge.Compared(SINGLE, four(6e6), four(9e6), judge.UNEXPLAINED, {"ticks": (-0.3, 0.01)}),
        judge.Compared(SINGLE, four(6e6), four(9e6), "ticks + acks", {"ticks + acks": (0.0, 0.01)}),
    ]
    text = page.page(found, "no /dev/net/tun", ["a bound"])
    assert "**1 of 3 agree within 5%.**" in text
    assert "**Unexplained** | 1" in text
    assert "Together: timers on ticks and delayed acknowledgements | 1" in text
    assert "ticks -30.0% ± 1.0%" in text
    assert "- a bound" in text
    assert "Skipped: no /dev/net/tun" in text


def emulated(kernel_goodput: float, early: int) -> Emulated:
    return Emulated(kernel.points()[0], 1e6, (kernel_goodput,), True, 0.001, Resent(10, early))


def test_a_deviation_from_the_kernel_is_explained_only_by_runs_without_its_cause():
    far, near = emulated(0.9e6, 10), emulated(0.99e6, 0)
    assert page.kernel_verdict(Judged(near)) == "agrees"
    assert page.kernel_verdict(Judged(far)) == judge.UNEXPLAINED
    assert page.kernel_verdict(Judged(far, near)) == "RACK's timer"
    assert page.kernel_verdict(Judged(far, emulated(0.9e6, 0))) == judge.UNEXPLAINED
    assert page.kernel_verdict(Judged(far, emulated(0.99e6, 3))) == judge.UNEXPLAINED


def record(time: float, sent: bool, sequence: int, acknowledgement: int, payload: int, selective: bool) -> bytes:
    """A packet of a capture, with or without a SACK block."""
    options = b"\1\1\5\x0a" + bytes(8) if selective else b""
    ports = (9, 5001) if sent else (5001, 9)
    words = (*ports, sequence, acknowledgement, (5 + len(options) // 4) << 4, 16, 0, 0, 0)
    tcp = struct.pack(">HHIIBBHHH", *words) + options
    total = 20 + len(tcp) + payload
    packet = struct.pack(">BBH16x", 0x45, 0, total) + tcp + bytes(payload)
    return struct.pack("<IIII", int(time), round(time % 1 * 1e9), total, total) + packet


@pytest.mark.parametrize("duplicates", [2, 3])
def test_a_repair_is_early_before_the_third_duplicate(tmp_path, duplicates):
    base = 2**32 - 500
    capture = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101)
    capture += record(0, True, base, 0, 0, False)
    for i in range(5):
        capture += record(1 + i / 10, True, (base + 1 + 1000 * i) % 2**32, 0, 1000, False)
    capture += record(2, False, 7, (base + 1001) % 2**32, 0, False)
    for i in range(duplicates):
        capture += record(2.1 + i / 10, False, 7, (base + 1001) % 2**32, 0, True)
    capture += record(3, True, (base + 1001) % 2**32, 0, 1000, False)
    # A second one of the same window is no other event.
    capture += record(3.1, False, 7, (base + 2001) % 2**32, 0, True)
    capture += record(3.2, True, (base + 2001) % 2**32, 0, 1000, False)
    file = tmp_path / "flow-1.pcap"
    file.write_bytes(capture)
    assert resent(file, 0) == Resent(1, duplicates < 3)
    assert resent(file, 5) == Resent(0, 0)
