"""Congestion controllers written in Python."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import cellway
import pytest

LINE = """
version = 1
name = "own"
run = { duration = "6 s", warmup = "2 s", seeds = 2 }
buffer = { size = "1 bdp" }
tcp = { recovery = "rack" }
node = [{ name = "near", kind = "router" }, { name = "far", kind = "router" }]
[[link]]
name = "line"
between = ["near", "far"]
rate = "10 Mbit/s"
delay = "20 ms"
[[traffic]]
name = "own"
app = "bulk"
from = "near"
to = "far"
access = { rate = "1 Gbit/s", delay = "0 s" }
"""
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "own-controller.md"


class Constant(cellway.Controller):
    """A window of 10 segments."""

    def on_ack(self, ack: cellway.Ack) -> None:
        """Set the window."""
        assert 0 < ack.delivered <= 2 * self.mss
        assert ack.total_delivered >= ack.delivered
        assert ack.rtt is None or 0.04 < ack.rtt < 0.1
        self.cwnd = 10 * self.mss


def goodput(controllers: dict[str, type[cellway.Controller]], threads: int = 1) -> list[float]:
    """Return the goodput of each run (bit/s)."""
    summary = cellway.simulate(LINE, controllers=controllers, threads=threads, progress=False).summary
    rows = summary.filter((summary["subject"] == "own-1") & (summary["metric"] == "goodput"))
    return rows["value"].to_list()


def test_a_constant_window_gives_its_share() -> None:
    """The same as the controller of a test in Rust, on any number of threads."""
    one = goodput({"own": Constant})
    round_trip = 0.04 + (2 * 1500 + 52) * 8 / 10e6
    assert one[0] == pytest.approx(10 * 1448 * 8 / round_trip, rel=0.01)
    assert goodput({"own": Constant}, threads=2) == one
    assert goodput({})[0] > 1.5 * one[0]


def test_pacing_bounds_the_rate() -> None:
    """Payload leaves at the pacing rate."""

    class Paced(Constant):
        def on_ack(self, ack: cellway.Ack) -> None:
            self.cwnd, self.pacing_rate = 100 * self.mss, 2e6

    assert goodput({"own": Paced})[0] == pytest.approx(2e6, rel=0.005)


def test_losses_and_timeouts_are_reported() -> None:
    """A window beyond the buffer loses."""
    seen: list[str] = []

    class Greedy(cellway.Controller):
        def on_ack(self, ack: cellway.Ack) -> None:
            seen.extend(["lost"] * (ack.lost > 0))
            self.cwnd = 200 * self.mss

        def on_loss(self) -> None:
            seen.append("loss")

    goodput({"own": Greedy})
    assert {"lost", "loss"} <= set(seen)


def test_a_spurious_timeout_is_undone() -> None:
    """A pause of the line that is longer than the timeout: nothing is lost, and the window before it returns."""
    seen: list[tuple[str, float]] = []

    class Patient(cellway.Controller):
        def on_start(self, now: float, srtt: float | None) -> None:
            assert now > 0.04
            seen.append(("start", srtt or 0))

        def on_ack(self, ack: cellway.Ack) -> None:
            self.cwnd += self.mss * ack.delivered / self.cwnd

        def on_timeout(self) -> None:
            seen.append(("timeout", self.cwnd))

        def on_undo(self, before: float) -> None:
            seen.append(("undo", before))
            super().on_undo(before)

    pause = {"link.line.forward": {"outage": {"first": "3 s", "length": "1 s"}}, "buffer.size": "1 MB"}
    cellway.simulate(LINE, seeds=1, set=pause, controllers={"own": Patient}, threads=1, progress=False)
    names = [name for name, _ in seen]
    assert names[:2] == ["start", "start"]
    assert "timeout" in names
    assert dict(seen)["undo"] == pytest.approx(next(cwnd for name, cwnd in seen if name == "timeout"), rel=0.01)


def test_marks_are_reported() -> None:
    """A queue that marks in place of dropping: a controller that answers to marks loses nothing."""
    seen = {"marked": 0, "lost": 0}

    class Careful(cellway.Controller):
        def on_ack(self, ack: cellway.Ack) -> None:
            seen["marked"] += ack.marked
            seen["lost"] += ack.lost
            self.cwnd = max(self.cwnd + self.mss * ack.delivered / self.cwnd - ack.marked / 2, 2 * self.mss)

    marks = {"buffer.queue": "codel", "tcp.ecn": True, "buffer.codel.ecn": True, "buffer.size": "1 MB"}
    cellway.simulate(LINE, set=marks, controllers={"own": Careful}, progress=False)
    assert seen["marked"] > 0
    assert seen["lost"] == 0


def test_a_note_says_that_a_controller_was_in_use() -> None:
    """The scenario alone does not repeat the results."""
    results = cellway.simulate(LINE, controllers={"own": Constant}, progress=False)
    assert any("a congestion controller of the caller" in warning for warning in results.warnings)


class Raises(Constant):
    """Fails at an acknowledgement."""

    def on_ack(self, ack: cellway.Ack) -> None:
        """Raise."""
        raise RuntimeError("no idea")


class Nothing(Constant):
    """Leaves a window of nothing."""

    def on_ack(self, ack: cellway.Ack) -> None:
        """Set nonsense."""
        self.cwnd = 0


class NoNumber(Constant):
    """Leaves something that is no window."""

    def on_ack(self, ack: cellway.Ack) -> None:
        """Set nonsense."""
        self.cwnd = "many"  # type: ignore[assignment]


class NotPaced(Constant):
    """Leaves something that is no rate."""

    def on_ack(self, ack: cellway.Ack) -> None:
        """Set nonsense."""
        self.pacing_rate = float("nan")


class Generates(Constant):
    """Has a body that never runs."""

    def on_ack(self, ack: cellway.Ack) -> Iterator[int]:  # type: ignore[override]
        """Yield."""
        yield 1


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (Generates, r"on_ack returned a generator; accepted: nothing"),
        (Raises, r"RuntimeError: no idea \(.*test_controller\.py:\d+\)"),
        (Nothing, r"cwnd is 0; accepted: a number of bytes from one segment, 1448, to 1073725440"),
        (NoNumber, r"cwnd is 'many'; accepted: a number of bytes"),
        (NotPaced, r"pacing_rate is nan; accepted: a rate above 0, in bit/s, or None"),
        (cellway.Controller, r"NotImplementedError: Controller has no on_ack\(self, ack\)"),
    ],
)
def test_a_failure_ends_the_run(own: type[cellway.Controller], message: str, tmp_path: Path) -> None:
    """With the group, the time and the place, and without a folder of results."""
    out = tmp_path / "out"
    with pytest.raises(cellway.Error, match=message) as error:
        cellway.simulate(LINE, controllers={"own": own}, out=out, progress=False)
    assert str(error.value).startswith('traffic "own": its own congestion controller: it failed at ')
    assert not out.exists()


def test_wrong_arguments_are_refused() -> None:
    """Before anything runs."""
    with pytest.raises(cellway.Error, match='"bulk", which the scenario does not have; it has "own"'):
        cellway.simulate(LINE, controllers={"bulk": Constant}, progress=False)
    with pytest.raises(TypeError, match=r"accepted: a subclass of cellway\.Controller"):
        cellway.simulate(LINE, controllers={"own": dict}, progress=False)  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="accepted: a mapping from names of traffic groups"):
        cellway.simulate(LINE, controllers=[Constant], progress=False)  # type: ignore[arg-type]
    with pytest.raises(cellway.Error, match='needs recovery = "rack" for the group'):
        cellway.simulate(LINE, set={"tcp.recovery": "sack"}, controllers={"own": Constant}, progress=False)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("on_acks", "on_ack"),
        ("onAck", "on_ack"),
        ("On_Loss", "on_loss"),
        ("on_lost", "on_loss"),
        ("on_time_out", "on_timeout"),
        ("on_started", "on_start"),
        ("on_undone", "on_undo"),
    ],
)
def test_a_misspelt_method_is_refused(name: str, meant: str) -> None:
    """A method that is never called would change nothing, silently; also one of a base class."""
    with pytest.raises(TypeError, match=f"Own.{name} is never called; did you mean {meant}?"):
        type("Own", (Constant,), {name: lambda self: None})
    with pytest.raises(TypeError, match=f"did you mean {meant}?"):
        type("Own", (type("Mixin", (), {name: lambda self: None}), cellway.Controller), {})


def test_methods_of_other_names_are_kept() -> None:
    """Helpers, private methods, attributes, and the methods themselves."""
    names = ["update", "on_packet", "_on_acks", "acks", "target", *cellway.controller.CALLED]
    own = type("Own", (Constant,), dict.fromkeys(names, lambda self: None) | {"on_acks": 3})
    assert all(hasattr(own, name) for name in names)


def test_the_guide_runs(tmp_path: Path) -> None:
    """The file on the page prints what the page says."""
    text = GUIDE.read_text()
    files = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, flags=re.DOTALL))
    (tmp_path / "own.py").write_text(files["own.py"])
    run = subprocess.run([sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    shown = re.search(r"```console\n\$ python own.py\n(.*?)```", text, flags=re.DOTALL)
    assert shown is not None
    assert run.stdout == shown.group(1)
