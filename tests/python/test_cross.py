"""A sixth of the cross-check of TCP, and tests of its judgement."""

from __future__ import annotations

import dataclasses
import random
import re
import shutil
import struct
import sys
from pathlib import Path

import pytest
from cross import __main__ as cross
from cross import grid, judge, kernel, losses, page, runs
from cross.judge import Left
from cross.kernel import Emulated, Judged, Ran
from cross.resent import Resent, resent
from cross.runs import Figures

COMMAND = str(Path(sys.executable).with_name("cellway"))
POINTS = grid.points()
LOSSY = next(p for p in POINTS if p.loss and p.flows > 1)
SINGLE = next(p for p in POINTS if judge.alone(p) and p.share == 0.5)
LOSSY_SINGLE = dataclasses.replace(SINGLE, loss=0.01)


@pytest.fixture(scope="module")
def alone():
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")
    return cross.check_alone(COMMAND, grid.sixth(), 2)


def four(goodput: float, *, timeouts: float = 0, lost: float = 10, utilisation: float = 0.95) -> list[Figures]:
    return [Figures(goodput * (1 + 0.001 * i), timeouts, lost, lost, utilisation) for i in range(4)]


def never(point: grid.Point, numbers: range) -> list[Figures]:
    raise AssertionError(f"four runs decide, and {numbers} are made")


def test_a_sixth_of_the_grid_keeps_the_bounds_that_need_no_peer(alone):
    _, wrong = alone
    print(f"{len(grid.sixth())} settings, {len(wrong)} bounds violated")
    assert wrong == []


def test_a_sixth_of_the_grid_deviates_from_ns2_only_where_that_is_known(alone):
    if shutil.which("ns") is None:
        pytest.skip(cross.NO_NS2)
    compared = cross.compare(COMMAND, grid.sixth(), alone[0], 2)
    print(cross.counts(compared))
    assert cross.news(cross.without_cause(compared, "left out")) == []


def test_the_grid_is_200_settings_and_a_sixth_has_every_variant():
    assert len(POINTS) == len({p.name for p in POINTS}) == 200
    assert {p.variant for p in grid.sixth()} == {"tahoe", "reno", "newreno", "sack"}
    assert all(p in POINTS for p in grid.sixth())
    assert sum(map(judge.alone, POINTS)) >= 10


def test_a_spiral_violates_the_bounds():
    slow = four(3.8e6, timeouts=26, lost=2167, utilisation=0.4)
    wrong = judge.bounds([(SINGLE, slow)], never)
    assert any("of the line" in text for text in wrong)
    assert any("timeouts a minute" in text for text in wrong)
    assert judge.bounds([(SINGLE, four(9e6))], never) == []


def test_a_timeout_needs_a_loss():
    assert judge.bounds([(SINGLE, four(9e6, timeouts=1, lost=0))], never) == []
    assert "timeouts for 0 lost" in judge.bounds([(SINGLE, four(9e6, timeouts=2, lost=0))], never)[0]


LARGER = dataclasses.replace(SINGLE, share=1.0, buffer=2 * SINGLE.buffer)


def test_goodput_may_not_fall_when_the_buffer_grows():
    assert judge.bounds([(SINGLE, four(9e6)), (LARGER, four(9.1e6))], never) == []
    wrong = judge.bounds([(SINGLE, four(9e6)), (LARGER, four(8e6))], never)
    assert len(wrong) == 1
    assert "-11.1 % ± 0.0 % goodput" in wrong[0]


@pytest.mark.parametrize(("mean", "violated"), [(8e6, True), (8.9e6, False), (8.5e6, True)])
def test_a_fall_of_goodput_is_decided_by_more_runs_and_not_by_the_width_of_four(mean, violated):
    made = []

    def run(point: grid.Point, numbers: range) -> list[Figures]:
        made.append(numbers)
        goodputs = [9e6 if point == SINGLE else mean * (1 + 0.1 * (-1) ** number) for number in numbers]
        return [Figures(goodput, 0, 10, 10, 0.95) for goodput in goodputs]

    first = [(point, run(point, range(4))) for point in (SINGLE, LARGER)]
    middle, half = judge.deviation(first[1][1], first[0][1])
    assert middle - half < -0.065 < -0.05 < middle + half, "four runs do not decide"
    assert bool(judge.bounds(first, run)) == violated
    assert len(made) > 2


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
    nothing = {"left>right": [], "right>left": []}
    assert runs._figures(SINGLE, flow | ports | used, nothing).lost == 4.0
    with pytest.raises(RuntimeError, match="no goodput of flow-1"):
        runs._figures(SINGLE, ports | used, nothing)
    with pytest.raises(RuntimeError, match="no dropped_packets of left>right"):
        runs._figures(SINGLE, flow | used, nothing)


def test_lost_packets_may_be_missing_only_where_none_of_the_list_was_sent():
    figures = {("flow-1", metric): 1.0 for metric in ("goodput", "timeouts", "retransmissions")}
    figures |= {(port, "dropped_packets"): 2.0 for port in ("left>right", "right>left")}
    figures |= {(port, "packets"): 100.0 for port in ("left>right", "right>left")}
    figures |= {("left>right", "utilisation"): 0.5, ("left>right", "lost"): 3.0}
    assert runs._figures(LOSSY_SINGLE, figures, {"left>right": [20, 30, 90], "right>left": [101]}).lost == 7.0
    with pytest.raises(RuntimeError, match="no lost of right>left, which sent 100 packets and was to lose number 100"):
        runs._figures(LOSSY_SINGLE, figures, {"left>right": [20, 30, 90], "right>left": [100, 200]})


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
    one = judge.Compared(SINGLE, four(6e6), four(9e6), judge.UNEXPLAINED, {"ticks": Left(-0.3, 0.01, 0.03, 0.01, 4)})
    found = cross.without_cause([one], "left out")
    monkeypatch.setattr(cross, "KNOWN", tmp_path / "unexplained.txt")
    assert len(cross.news(found)) == 1
    cross.accept(found)
    assert cross.KNOWN.read_text(encoding="utf-8") == f"-33.3\t{SINGLE.name}\tticks -30.0 % ± 1.0 %\n"
    assert cross.news(found) == []
    cross.KNOWN.write_text(f"-20.0\t{SINGLE.name}\t\n", encoding="utf-8")
    assert len(cross.news(found)) == 1


class Noisy:
    """Two simulators whose deviation depends on whether the timers are fine and ACKs are delayed, with a spread."""

    def __init__(self, by_fine: dict[bool, float], spread: float, fewer: float = 0.0) -> None:
        self.by_fine, self.spread, self.fewer, self.pairs = by_fine, spread, fewer, 0

    def __call__(self, point: grid.Point, numbers: range, options: object) -> tuple[list[Figures], list[Figures]]:
        self.pairs += len(numbers)
        fine = point.tick <= judge.FINE
        # Of its own in either setting, and repeated by none: pairs have nothing in common.
        noise = [self.spread * (random.Random(f"{number}-{fine}").random() - 0.5) for number in numbers]
        middle = 1 + self.by_fine[fine] - (0 if point.delayed else self.fewer)
        return [Figures(1e6 * (middle + one), 0, 0, 0) for one in noise], [Figures(1e6, 0, 0, 0) for _ in numbers]


COARSE = dataclasses.replace(SINGLE, variant="sack", tick=0.5, ssthresh=10, delayed=True)


def explained(run: Noisy) -> judge.Compared:
    found = judge.Compared(COARSE, *judge.decide(lambda numbers: run(COARSE, numbers, {})))
    assert not judge.agrees(found.ours, found.peer)
    judge.explain(found, run)
    return found


def test_a_cause_that_takes_all_away_explains():
    found = explained(Noisy({False: 0.10, True: 0.0}, 0.001))
    assert found.cause == "ticks"
    assert found.tried["ticks"].pairs == judge.FEWEST


def test_a_cause_whose_rest_is_not_known_to_be_small_takes_more_pairs():
    found = explained(Noisy({False: 0.15, True: 0.02}, 0.15))
    assert judge.FEWEST < found.tried["ticks"].pairs <= judge.MOST_LEFT
    assert found.cause == "ticks"
    assert found.tried["ticks"].reach <= judge.BEYOND


def test_a_cause_whose_rest_is_too_large_explains_in_part_only():
    found = explained(Noisy({False: 0.30, True: 0.08}, 0.1))
    assert found.cause == judge.UNEXPLAINED
    assert found.tried["ticks"].reach > judge.BEYOND
    assert found.part.startswith("ticks")
    assert "| partly ticks" in page._table([found])


def test_a_cause_that_removes_nothing_significant_is_none():
    # A deviation that scatters about the tolerance, with the cause and without it.
    rest = Left(0.045, 0.015, 0.012, 0.02, judge.MOST_LEFT)
    assert rest.reach <= judge.BEYOND
    assert not rest.suffices
    assert Left(0.045, 0.015, 0.02, 0.012, judge.MOST_LEFT).suffices
    assert not Left(0.055, 0.005, 0.3, 0.01, judge.MOST_LEFT).suffices, "what is left is a deviation itself"
    assert not Left(0.045, 0.015, -0.02, 0.012, judge.MOST_LEFT).suffices, "it makes the deviation larger"
    one = judge.Compared(SINGLE, four(6e6), four(9e6), judge.UNEXPLAINED, {"ticks": rest})
    assert one.part == ""


def test_what_a_cause_removes_is_compared_in_pairs():
    # Runs that differ by far more than the cause does, with it and without it.
    peer = [Figures(goodput, 0, 0, 0) for goodput in (4e6, 8e6, 6e6, 7e6)]
    noise = (0.2, -0.2, 0.1, -0.1)

    def ours(deviation: float) -> list[Figures]:
        return [
            dataclasses.replace(run, goodput=run.goodput * (1 + deviation + one))
            for run, one in zip(peer, noise, strict=True)
        ]

    found = judge.left(judge.Compared(SINGLE, ours(0.08), peer), ours(0.0), peer)
    assert found.half > 0.2
    assert found.removed == pytest.approx(0.08)
    assert found.removes


def test_the_page_names_what_is_unexplained_and_what_is_violated():
    ticks, both = Left(-0.3, 0.01, 0.03, 0.01, 4), Left(0.0, 0.01, 0.33, 0.01, 4)
    wide = [*four(9e6)[:2], *four(8e6)[:2]]
    found = [
        judge.Compared(SINGLE, four(9e6), four(9e6)),
        judge.Compared(SINGLE, wide, four(8.5e6)),
        judge.Compared(SINGLE, four(6e6), four(9e6), judge.UNEXPLAINED),
        judge.Compared(SINGLE, four(6e6), four(9e6), judge.UNEXPLAINED, {"ticks": ticks}),
        judge.Compared(SINGLE, four(6e6), four(9e6), "ticks + acks", {"ticks + acks": both}),
    ]
    text = page.page(found, Ran([Judged(emulated(0.9e6, 3), emulated(0.99e6, 0))], ["a crash"]), ["a bound"])
    assert "**2 of 5 agree within 5 %.**" in text
    assert "of 1 of them the interval" in text.replace("\n", " ")
    assert "| **Unexplained** | 1 |" in text
    assert "| **Explained in part** | 1 |" in text
    assert "partly ticks" in text
    assert "| Together: timers on ticks and delayed acknowledgements | 1 |" in text
    assert "ticks -30.0 % ± 1.0 %" in text
    assert "- a bound" in text
    assert "- a crash" in text
    assert re.findall(r"\d%", text) == []
    prose = [line for line in text.splitlines() if not line.startswith("|")]
    assert max(map(len, prose)) <= 120
    assert "Skipped: no /dev/net/tun" in page.page(found, "no /dev/net/tun", [])


def emulated(kernel_goodput: float, early: int) -> Emulated:
    return Emulated(kernel.points()[0], 1e6, (kernel_goodput,), True, 0.001, Resent(10, early))


def test_a_deviation_from_the_kernel_is_explained_only_by_runs_without_its_cause():
    far, near = emulated(0.9e6, 10), emulated(0.99e6, 0)
    assert page.kernel_verdict(Judged(near)) == "agrees"
    assert page.kernel_verdict(Judged(far)) == judge.UNEXPLAINED
    assert page.kernel_verdict(Judged(far, near)) == "RACK's timer"
    assert page.kernel_verdict(Judged(far, emulated(0.9e6, 0))) == judge.UNEXPLAINED
    assert page.kernel_verdict(Judged(far, emulated(0.99e6, 3))) == judge.UNEXPLAINED


@pytest.fixture
def status(monkeypatch, tmp_path):
    """The status of the tool, by what the emulations give; of ns-2 there is nothing to say."""
    monkeypatch.setattr(cross, "KNOWN", tmp_path / "unexplained.txt")
    monkeypatch.setattr(cross, "check_alone", lambda *_: ([], []))
    monkeypatch.setattr(cross.shutil, "which", lambda _: None)

    def main(result: Ran | str) -> int:
        monkeypatch.setattr(kernel, "run", lambda _: result)
        return cross.main([])

    return main


def test_an_unexplained_deviation_from_the_kernel_fails_the_run_unless_it_is_listed(status, capsys):
    far = Ran([Judged(emulated(0.9e6, 10))], [])
    assert status(Ran([Judged(emulated(0.99e6, 0))], [])) == 0
    assert status(far) == 1
    assert f"wrong: {kernel.points()[0].name}: +11.1 % against the kernel" in capsys.readouterr().out
    cross.accept(cross.without_cause([], far))
    assert status(far) == 0


def test_an_emulation_that_fails_fails_the_run(status, capsys):
    assert status(Ran([], ["a point: it crashed"])) == 1
    assert "wrong: a point: it crashed" in capsys.readouterr().out
    assert status("this machine cannot emulate: no /dev/net/tun") == 0


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'cellway: point.toml:3:1: there is no such key' >&2; exit 2", "status 2: point.toml:3:1: there is no"),
        ("kill -SEGV $$", "status -11: no message"),
        ("exit 0", "status 0 and no document"),
        ("echo broken; exit 1", "status 1 and no document"),
        ("""echo '{"valid": true, "points": [{"figures": []}]}'; exit 1""", "status 1: no message"),
    ],
)
def test_an_emulation_without_figures_is_no_machine_that_cannot_emulate(tmp_path, script, reason):
    ran = kernel.run(program(tmp_path, script))
    assert isinstance(ran, Ran)
    assert ran.judged == []
    assert len(ran.failed) == len(kernel.points())
    assert all(point.name in text and reason in text for point, text in zip(kernel.points(), ran.failed, strict=True))


def test_a_machine_that_cannot_emulate_says_what_it_lacks(tmp_path):
    message = "this machine cannot emulate: no /dev/net/tun"
    assert kernel.run(program(tmp_path, f"echo 'cellway: {message}' >&2; exit 1")) == message


def program(folder: Path, script: str) -> str:
    file = folder / "cellway"
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


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
