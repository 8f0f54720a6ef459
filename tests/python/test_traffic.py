"""A small run of real traffic beside its simulation, and tests of how captures are read and figures judged."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from traffic import classes, compared, files, page, runs
from traffic.compared import Compared
from traffic.conversations import Conversation, conversations

COMMAND = str(Path(sys.executable).with_name("cellway"))
SECONDS, SEEDS = 12.0, 6
SMALL = ("curl", "ssh", "postgresql", "rtp")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The names of the classes that can run here, their real conversations, and the comparison with simulated ones."""
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")
    if lacking := classes.unable():
        pytest.skip(lacking)
    wanted = [one for one in classes.CLASSES if one.name in SMALL]
    for one in wanted:
        if lacking := classes.missing(one):
            print(f"skipped: {one.name}: not installed: {lacking}")
    wanted = [one for one in wanted if not classes.missing(one)]
    folder = tmp_path_factory.mktemp("traffic")
    for parent in folder.parents:
        # The database's user must reach its folder.
        if parent.stat().st_uid == 0 and parent.name.startswith("pytest"):
            parent.chmod(0o755)
    # A class without programs has no conversation, so nothing of it is compared.
    try:
        real = runs.real(COMMAND, folder, wanted, SECONDS)
    except runs.CannotRunError as error:
        if "cannot emulate" in str(error):
            pytest.skip(str(error))
        raise
    workload = folder / "workload.toml"
    runs.derive(COMMAND, real.capture, wanted, workload, messages=True)
    simulated = runs.simulated(COMMAND, workload, wanted, runs.times(real.conversations), range(1, SEEDS + 1), 2)
    names = [one.name for one in wanted]
    return names, real.conversations, compared.compare(names, real.conversations, simulated)


def test_real_traffic_and_its_simulation_agree(small):
    names, real, found = small
    for one in found:
        print(
            f"{one.name}: {one.figure}: {one.real:.3f}, simulated {one.simulated:.3f} ± {one.error:.3f}: {one.verdict}"
        )
    assert {one.name for one in found} == set(names)
    assert all(len(all_of) >= 30 for all_of in real.values())
    # Of some 30 conversations the 90 % point is the third longest: which transfers meet in the queue decides it.
    judged = [one for one in found if one.figure != "time, 90 %"]
    assert [f"{one.name}: {one.figure}" for one in judged if one.verdict == "**no**"] == []


def figures(real: list[float], simulated: list[list[float]]) -> dict[str, Compared]:
    """Compare conversations of these times, of 100 and 1000 octets."""

    def made(times: list[float]) -> list[Conversation]:
        return [Conversation(5.0, 5.0 + took, [100, 1000]) for took in times]

    return {
        one.figure: one for one in compared.compare(["a"], {"a": made(real)}, [{"a": made(one)} for one in simulated])
    }


def test_figures_are_of_a_run_or_of_all_conversations():
    found = figures([1.0, 2.0, 3.0], [[1.0, 2.0, 3.0, 4.0], [1.0, 4.0]])
    assert (found["conversations"].real, found["conversations"].simulated) == (3, 3)
    assert found["octets back"].simulated == pytest.approx(3.0)
    assert found["time, mean"].simulated == pytest.approx(15 / 6)
    assert found["time, median"].simulated == pytest.approx(2.5)
    # Of 4 and 2 conversations the standard error is 1.
    assert found["conversations"].error == pytest.approx(1.0)


def test_a_deviation_is_judged_with_its_error():
    def one(simulated: float, error: float) -> Compared:
        return Compared("a", "time, mean", 10.0, simulated, error)

    verdicts = [one(10.9, 0.0).verdict, one(12.0, 0.6).verdict, one(12.0, 0.4).verdict, one(8.0, 0.1).verdict]
    assert verdicts == ["yes", "within its error", "**no**", "**no**"]


def test_a_simulation_that_is_slow_is_found():
    draw = random.Random(1)
    times = [draw.uniform(1, 3) for _ in range(200)]
    slow = [[1.3 * took for took in times] for _ in range(4)]
    verdicts = {name: one.verdict for name, one in figures(times, slow).items()}
    assert verdicts["time, mean"] == verdicts["time, median"] == "**no**"
    assert verdicts["conversations"] == "yes"


def tcp(at: float, is_back: bool, flags: int, sequence: int, payload: int) -> bytes:
    """Return a record of a packet between two hosts."""
    ports, hosts = (40000, 80), (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    if is_back:
        ports, hosts = ports[::-1], hosts[::-1]
    segment = struct.pack(">HHIIBBHI", *ports, sequence % 2**32, 0, 5 << 4, flags, 0, 0)
    header = struct.pack(">BBHIBBH", 0x45, 0, 40 + payload, 0, 64, 6, 0) + b"".join(hosts)
    return struct.pack("<IIII", int(at), round(at % 1 * 1e9), 40, 40 + payload) + header + segment


def test_octets_count_once_and_over_the_wrap(tmp_path):
    first = 2**32 - 500
    records = [
        tcp(1.0, False, 2, first, 0), tcp(1.1, True, 18, 7, 0), tcp(1.2, False, 16, first + 1, 400),
        tcp(1.3, False, 16, first + 401, 400), tcp(1.4, False, 16, first + 1, 400), tcp(1.5, True, 16, 8, 50),
        tcp(9.0, False, 17, first + 801, 0),
        # The same ports again, without an octet.
        tcp(10.0, False, 2, 5, 0),
    ]  # fmt: skip
    capture = tmp_path / "a.pcap"
    capture.write_bytes(b"\x4d\x3c\xb2\xa1" + bytes(16) + b"\x65\0\0\0" + b"".join(records))
    found = conversations(capture, lambda packet: "web" if packet.target[1] == 80 else None)
    [one] = found["web"]
    assert one.octets == [800, 50]
    assert one.took == pytest.approx(0.5)


def test_the_scenario_is_the_path_of_the_shell(tmp_path):
    if not Path(COMMAND).is_file():
        pytest.skip("the program cellway is not installed beside this Python")
    chosen = [one for one in classes.CLASSES if one.name in ("curl", "rtp")]
    text = runs.scenario(chosen, "w.toml", {"curl": 10.0, "rtp": 9.0}, 3)
    assert 'rate = "20 Mbit/s"\ndelay = "0.02 s"' in text
    workload = "".join(
        f'[[class]]\nname = "{one.name}"\ntransport = "{one.transport}"\nconversations = 1\n'
        + "".join(f"[class.{key}]\nsamples = 1\nknots = [[1, 1]]\n" for key in keys)
        for one, keys in [
            (chosen[0], ("arrival_gap", "exchanges", "request")),
            (chosen[1], ("arrival_gap", "packets", "size")),
        ]
    )
    (tmp_path / "w.toml").write_text(f"version = 1\n{workload}", encoding="utf-8")
    (tmp_path / "traffic.toml").write_text(text, encoding="utf-8")
    done = subprocess.run([COMMAND, "check", "traffic.toml"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_sizes_have_their_bounds():
    found = files.sizes(500, 90_000, 1.1, 900_000, 1)
    assert min(found) >= 1000
    assert max(found) == 900_000
    assert found == files.sizes(500, 90_000, 1.1, 900_000, 1)


def test_a_page_shows_each_figure_and_what_was_left_out(tmp_path):
    one = next(one for one in classes.CLASSES if one.name == "curl")
    all_of = {"curl": [Conversation(0.0, float(took), [100, 1000]) for took in range(1, 40)]}
    real = runs.Real(tmp_path / "near.pcap", all_of, [], "path: 1 s")
    found = compared.compare(["curl"], all_of, [all_of, all_of])
    run = page.Run([one], {"rtp": "python"}, 10, real, "class\n", [all_of] * 2, [all_of] * 2, found, [], ["a reason"])
    text = page.page(run)
    assert text.count("| curl |") == 1 + len(compared.FIGURES) + 3
    assert "Left out, as programs are missing: rtp: python." in text
    assert "**6 of 6 figures agree within 10 %.**" in text
    assert "- a reason" in text
