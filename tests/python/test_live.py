"""Emulations with which Python works while they run: hosts, programs, changes of links, their end."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import cellway
import pytest
from cellway import Scenario, _native
from guides import blocks


def can_emulate() -> bool:
    try:
        return _native.emulates_here()
    except cellway.EmulationError:
        return False


pytestmark = pytest.mark.skipif(not can_emulate(), reason="this process may not make network namespaces")


needs_ping = pytest.mark.skipif(shutil.which("ping") is None, reason="ping is not installed (Debian: iputils-ping)")


def path(rate: str = "8 Mbit/s") -> Scenario:
    made = Scenario("live").node("client", "host").node("near").node("far").node("server", "host")
    made = made.link("client", "near", rate="100 Mbit/s").link("far", "server", rate="100 Mbit/s")
    return made.link("near", "far", name="line", rate=rate, delay="20 ms")


SERVE = ["python3", "-u", "-m", "http.server", "8080"]

FETCH = "import time, urllib.request as u; t = time.monotonic(); n = len(u.urlopen('http://server:8080/file').read()); "
FETCH += "print(n / (time.monotonic() - t) * 8)"


@needs_ping
def test_programs_run_in_hosts_and_meet_the_delay_of_the_path() -> None:
    with cellway.emulation(path()) as net:
        assert list(net) == ["client", "server"]
        assert net.links == ["client-near", "far-server", "line"]
        assert len(net) == 2
        address = net["server"].address
        said = net["client"].run(["ping", "-c", "2", "-i", "0.2", "server"]).stdout
        assert f"({address})" in said
        least = float(re.search(r"= ([\d.]+)/", said)[1])  # type: ignore[index]
        assert 40.0 <= least < 60.0
        shown = net["client"].run(["sh", "-c", "echo $CELLWAY_HOST_server $MORE"], env={"MORE": "more"}).stdout
        assert shown == f"{address} more\n"
        assert net["client"].run(["cat"], input="read me").stdout == "read me"
    ping = net.results.summary.filter(metric="utilisation", subject="near>far")["value"].item()
    assert 0 < ping < 0.01
    assert set(net.results.summary["source"]) == {"emulate"}


def test_a_link_changes_while_a_program_uses_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(bytes(400_000))
    with cellway.emulation(path()) as net, net["server"].start(SERVE, ready=8080) as server:
        fast = float(net["client"].run(["python3", "-c", FETCH]).stdout)
        net.set_rate("line", "1 Mbit/s", direction="forward")
        still = float(net["client"].run(["python3", "-c", FETCH]).stdout)
        net.set_rate("line", "1 Mbit/s", direction="back")
        slow = float(net["client"].run(["python3", "-c", FETCH]).stdout)
        assert "GET /file" in server.errors
        assert server.poll() is None
    assert server.poll() is not None
    assert fast > 2e6
    # The file comes back from the server; requests and acknowledgements are few.
    assert still > 2e6
    assert 0.5e6 < slow < 1e6


@needs_ping
def test_delay_and_loss_change_while_programs_run() -> None:
    def ping(net: cellway.Emulation, count: int) -> tuple[int, float]:
        said = net["client"].run(["ping", "-c", str(count), "-i", "0.01", "-W", "1", "server"], check=False).stdout
        came = int(re.search(r"(\d+) received", said)[1])  # type: ignore[index]
        return came, float(re.search(r"= ([\d.]+)/", said)[1])  # type: ignore[index]

    with cellway.emulation(path()) as net:
        assert ping(net, 20)[0] == 20
        net.set_delay("line", "150 ms", direction="forward")
        came, least = ping(net, 20)
        # The way back is as before: 20 ms.
        assert came == 20
        assert least >= 170.0
        net.set_delay("line", "1 ms")
        net.set_loss("line", 0.5)
        came, least = ping(net, 200)
        # A quarter comes back: 50, with a standard deviation of 6.1.
        assert 20 <= came <= 80
        assert 2.0 <= least < 40.0
        net.set_loss("line", "0 %")
        assert ping(net, 20)[0] == 20
    lost = net.results.summary.filter(metric="lost", subject="near>far")["value"].item()
    assert 60 <= lost <= 140


def test_a_failure_of_the_run_is_the_cause_of_errors() -> None:
    command = {"name": "late", "host": "client", "run": ["no-such-program"], "start": "0.3 s"}
    failing = path().set("run.command", [command])
    why = 'program "late": .*no-such-program'

    def body() -> None:
        with cellway.emulation(failing) as net:
            with pytest.raises(cellway.EmulationError, match=f"sleep was ended: the emulation is over: {why}"):
                net["client"].run(["sleep", "60"])
            net["client"].start(["true"])

    with pytest.raises(cellway.EmulationError, match=f"^the emulation is over: {why}") as failed:
        body()
    assert isinstance(failed.value.__cause__, cellway.EmulationError)
    assert re.match(why, str(failed.value.__cause__))
    with (
        pytest.raises(cellway.EmulationError, match=why),
        cellway.emulation(failing),
    ):
        time.sleep(1)


def test_other_threads_run_while_a_program_is_stopped() -> None:
    with cellway.emulation(path()) as net:
        program = net["client"].start(["sh", "-c", "trap '' TERM; echo ready; sleep 60 & wait; wait"], ready="ready")
        ended: list[str] = []
        stop = threading.Thread(target=lambda: (program.stop(), ended.append("stop")))
        stop.start()
        # The stop takes 2 s, until the program is killed, and holds the lock of the program; Python goes on meanwhile.
        other = threading.Thread(target=lambda: (net["client"].run(["true"]), ended.append("run")))
        other.start()
        stop.join()
        other.join()
    assert ended == ["run", "stop"]


def test_a_signal_ends_a_start_that_waits(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    begin = ["sh", "-c", f"touch {mark}; exec sleep 60"]
    waits = {"name": "slow", "host": "client", "run": begin, "ready": "never printed"}
    code = (
        "import cellway, pathlib, signal, sys, threading, time\n"
        "def interrupt():\n"
        "    while not pathlib.Path('started').exists():\n"
        "        time.sleep(0.01)\n"
        "    signal.raise_signal(signal.SIGINT)\n"
        "threading.Thread(target=interrupt, daemon=True).start()\n"
        "with cellway.emulation(cellway.Scenario.from_toml(sys.stdin.read())):\n"
        "    pass\n"
    )
    text = path().set("run.command", [waits]).to_toml()
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, cwd=tmp_path)
    # Without it, the start fails after 30 s: the program is not ready.
    assert "KeyboardInterrupt" in done.stderr, done.stderr


def test_a_log_that_cannot_be_made_is_named_as_the_argument(tmp_path: Path) -> None:
    missing = tmp_path / "no" / "log"
    with (
        pytest.raises(cellway.Error, match=f"^cannot create the log {missing}: "),
        cellway.emulation(path(), log=missing),
    ):
        pass


def test_a_program_is_ready_by_its_port_or_its_words() -> None:
    with cellway.emulation(path()) as net:
        host = net["server"]
        program = host.start(["sh", "-c", "sleep 0.2; echo listening on 1; sleep 60"], ready=r"listening on \d")
        assert program.output == "listening on 1\n"
        assert "running" in repr(program)
        with pytest.raises(cellway.EmulationError, match=r"host server: sh ended with exit status 3 .*: no luck"):
            host.start(["sh", "-c", "echo no luck >&2; exit 3"], ready=9)
        with pytest.raises(cellway.EmulationError, match=r"sleep is not ready after 0.1 s \(9\)"):
            host.start(["sleep", "60"], ready=9, timeout=0.1)
        begun = time.monotonic()
    assert time.monotonic() - begun < 5


def test_failures_are_those_of_subprocess() -> None:
    with cellway.emulation(path()) as net:
        host = net["client"]
        with pytest.raises(TypeError, match="args"):
            net["client"].run("true")
        with pytest.raises(subprocess.CalledProcessError) as failed:
            host.run(["sh", "-c", "echo out; echo bad >&2; exit 7"])
        assert (failed.value.returncode, failed.value.stdout, failed.value.stderr) == (7, "out\n", "bad\n")
        assert host.run(["false"], check=False).returncode == 1
        with pytest.raises(subprocess.TimeoutExpired):
            host.run(["sleep", "60"], timeout=0.1)
        with pytest.raises(FileNotFoundError, match="there is no program 'no-such-program'"):
            host.run(["no-such-program"])
        with pytest.raises(KeyError, match=r"no host 'clint'; there are: client, server"):
            net["clint"]
        with pytest.raises(cellway.Error, match=r'there is no link "lin"; accepted: client-near'):
            net.set_rate("lin", "1 Mbit/s")
        for rate, why in {"0 bit/s": 'the rate of link "line" .* above zero', "fast": "^rate: "}.items():
            with pytest.raises(cellway.Error, match=why):
                net.set_rate("line", rate)
        with pytest.raises(cellway.Error, match='there is no direction "up"; accepted: both, forward, back'):
            net.set_rate("line", "1 Mbit/s", direction="up")
        with pytest.raises(cellway.Error, match="delay: "):
            net.set_delay("line", "40")
        for loss in (1.0, -0.1, "all"):
            with pytest.raises(cellway.Error, match="loss: "):
                net.set_loss("line", loss)
        with pytest.raises(TypeError, match="loss is None"):
            net.set_loss("line", None)  # type: ignore[arg-type]


def test_an_error_in_the_body_ends_the_run() -> None:
    net = cellway.emulation(path())

    def fail() -> None:
        with net:
            net["client"].start(["sleep", "60"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with pytest.raises(ValueError, match="only within its `with` statement"):
        net.set_rate("line", "1 Mbit/s")
    with pytest.raises(KeyError, match="only within"):
        cellway.emulation(path())["client"]


def test_the_run_ends_at_its_duration() -> None:
    with cellway.emulation(path(), duration="0.3 s") as net:
        with pytest.raises(cellway.EmulationError, match="sleep was ended: the emulation is over"):
            net["client"].run(["sleep", "60"])
        with pytest.raises(cellway.EmulationError, match=r"its run\.duration has passed"):
            net["client"].start(["true"])
    assert net.results.runs.height == 1


def test_the_traffic_of_the_scenario_runs_beside() -> None:
    with cellway.emulation(path().traffic("copy", "client", "server")) as net:
        time.sleep(1.5)
    assert net.results.summary.filter(metric="goodput_total", subject="copy")["value"].item() > 2e6


def test_a_wrong_scenario_is_refused_before_anything_runs() -> None:
    with (
        pytest.raises(cellway.ScenarioError, match=r"^link\.line\.rate: "),
        cellway.emulation(path().set("link.line.rate", "8")),
    ):
        pass
    with (
        pytest.raises(cellway.Error, match="the sweep has 2 points; accepted: a scenario without a sweep"),
        cellway.emulation(path().sweep({"link.line.rate": ["1 Mbit/s", "2 Mbit/s"]})),
    ):
        pass


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs the program curl")
def test_the_test_of_the_guide_passes(tmp_path: Path) -> None:
    (code,) = blocks("emulation.md", "pytest")
    file = tmp_path / "test_path.py"
    file.write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_an_emulation_runs_once_at_a_time() -> None:
    live = cellway.emulation(path())
    with live as net:
        with pytest.raises(ValueError, match="the emulation runs already"), live:
            pass
        # The refusal has not ended it.
        assert net["client"].run(["true"]).returncode == 0
    assert live.results.summary.height > 0
    with live as again:
        assert list(again) == ["client", "server"]
        with pytest.raises(ValueError, match="there are no results"):
            again.results  # noqa: B018


@pytest.mark.parametrize(
    ("ready", "error", "message"),
    [("(", ValueError, r"ready is '\(': .*; accepted: the number of a port"), (3.5, TypeError, "ready is 3.5"),
     (99999, ValueError, "ready is 99999; accepted: the number of a port, 1 to 65535"), (True, TypeError, "is True")],
)  # fmt: skip
def test_what_cannot_become_ready_is_refused_before_it_starts(
    ready: object, error: type[Exception], message: str
) -> None:
    with cellway.emulation(path()) as net, pytest.raises(error, match=message):
        net["client"].start(["sleep", "60"], ready=ready)  # type: ignore[arg-type]


def test_a_line_far_down_makes_a_program_ready() -> None:
    many = "yes 'a line that is of no interest here' | head -n 200000; printf 'ready> '; exec sleep 60"
    with cellway.emulation(path()) as net, net["client"].start(["sh", "-c", many], ready="^ready> $") as program:
        assert len(program.output) > 7_000_000


def test_another_process_starts_nothing() -> None:
    with cellway.emulation(path()) as net:
        child = os.fork()
        if child == 0:
            try:
                for call in (lambda: net["client"].start(["true"]), lambda: net.set_rate("line", "1 Mbit/s")):
                    with pytest.raises(ValueError, match="belongs to another process"):
                        call()
                net.__exit__(None, None, None)
            except BaseException:
                os._exit(1)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert net["client"].run(["true"]).returncode == 0
