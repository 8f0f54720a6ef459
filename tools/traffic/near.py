"""The programs at the near end: `python -m traffic.near FOLDER CLASSES SECONDS`, in a shell of `cellway shell`.

Captures with tcpdump while the programs of all classes start at random times. Prints a line of JSON for each program
that failed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from traffic.classes import CALL_TIMES, FILES, Class, browser, named, set_tcp
from traffic.far import SILENCE, STEP, stream
from traffic.files import ROWS

TAIL = 3.0
"""The capture goes on for so long after the last program (s)."""
LONGEST = 60.0
"""The longest time that a program may take (s)."""
KEYS = (0.06, 0.15)
"""The least time between two keys, and the mean of what is added (s)."""
COMMANDS = ("ls /usr/bin | head -40", "uptime", "head -c 3000 /etc/services", "id", "seq 300", "df /", "env | wc -c")
NO_QUESTIONS = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR")


class FailedError(Exception):
    """A program failed, with its message."""


def run(arguments: list[str], **options: object) -> None:
    """Run a program to its end."""
    done = subprocess.run(
        arguments, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST, check=False, **options
    )  # type: ignore[call-overload]
    if done.returncode:
        raise FailedError(f"{arguments[0]} ended with status {done.returncode}: {done.stderr.decode()[-300:]}")


def fetch(server: str, one: Class, number: int, draw: random.Random) -> None:
    """Fetch a file."""
    run(["curl", "-sS", "-o", "/dev/null", f"http://{server}:{one.port}/file-{draw.randrange(FILES)}"])


def view(server: str, one: Class, number: int, draw: random.Random) -> None:
    """Open the page in a browser with an empty profile."""
    program = browser()
    if program is None:
        raise FailedError("no browser")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        options += ["--disable-background-networking", "--no-first-run", "--disable-component-update"]
        run([program, *options, f"--user-data-dir={profile}", "--dump-dom", f"http://{server}:{one.port}/page.html"])


def type_keys(folder: Path, server: str, one: Class, draw: random.Random) -> None:
    """Log in with a terminal, and type commands."""
    options = ["-tt", "-i", str(folder / "key"), "-p", str(one.port), *NO_QUESTIONS]
    with subprocess.Popen(
        ["ssh", *options, f"root@{server}", "PS1='$ ' exec sh -i"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as session:  # fmt: skip
        assert session.stdin is not None
        time.sleep(1.0 + draw.random())
        for command in [*draw.sample(COMMANDS, 3), "exit"]:
            for key in f"{command}\r":
                time.sleep(KEYS[0] + draw.expovariate(1 / KEYS[1]))
                session.stdin.write(key.encode())
                session.stdin.flush()
            time.sleep(0.3 + draw.expovariate(2))
        _, message = session.communicate(timeout=LONGEST)
    if session.returncode:
        raise FailedError(f"ssh ended with status {session.returncode}: {message.decode()[-300:]}")


def copy(folder: Path, server: str, one: Class, number: int, draw: random.Random) -> None:
    """Copy a file there, or back."""
    name = str(folder / f"copy-{draw.randrange(FILES)}")
    far = f"root@{server}:"
    ends = [name, f"{far}{name}.{number}"] if number % 2 else [f"{far}{name}", f"{name}-{number}"]
    run(["scp", "-q", "-i", str(folder / "key"), "-P", str(one.port), *NO_QUESTIONS, *ends])


def query(folder: Path, server: str, one: Class, number: int, draw: random.Random) -> None:
    """Make transactions with pauses by pgbench, and every third time a few queries by psql."""
    at = ["-h", server, "-p", str(one.port), "-U", "postgres"]
    if number % 3 == 2:
        limits = [draw.randrange(20, 1500) for _ in range(3)]
        queries = [word for limit in limits for word in ("-c", f"select * from pages limit {limit}")]
        run(["psql", *at, "-q", "-o", "/dev/null", *queries], cwd="/")
        return
    script = folder / "transaction.sql"
    run(["pgbench", *at, "-n", "-c", "1", "-t", str(draw.randrange(3, 9)), "-f", str(script)], cwd="/")


SCRIPT = f"""\
\\set id random(1, {ROWS - 1000})
\\set rows random(1, 120)
select id, body from pages where id between :id and :id + :rows;
\\sleep 150 ms
update pages set body = md5(body) where id = :id;
\\set pause random(50, 700)
\\sleep :pause ms
"""


def call(server: str, one: Class, number: int, draw: random.Random) -> None:
    """Send a stream from a port of its own, and receive the answering one."""
    packets = round(draw.uniform(*CALL_TIMES) / STEP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as phone:
        phone.connect((server, one.port))
        stream(phone.send, number, lambda sent: sent < packets)
        # The answering stream ends after this one.
        time.sleep(SILENCE + 0.1)


def programs(folder: Path, server: str, one: Class) -> Callable[[int, random.Random], None]:
    """Return the function that runs one program of a class."""
    match one.name:
        case "curl":
            return lambda number, draw: fetch(server, one, number, draw)
        case "browser":
            return lambda number, draw: view(server, one, number, draw)
        case "ssh":
            return lambda _, draw: type_keys(folder, server, one, draw)
        case "scp":
            return lambda number, draw: copy(folder, server, one, number, draw)
        case "postgresql":
            return lambda number, draw: query(folder, server, one, number, draw)
        case _:
            return lambda number, draw: call(server, one, number, draw)


def capture(folder: Path, server: str) -> subprocess.Popen[bytes]:
    """Start tcpdump at the interface towards the server, and wait until it captures."""
    route = json.loads(subprocess.run(["ip", "-j", "route", "get", server], capture_output=True, check=True).stdout)
    options = ["-i", route[0]["dev"], "-s", "96", "-Z", "root", "-B", "16384", "--time-stamp-precision=nano"]
    tcpdump = subprocess.Popen(
        ["tcpdump", *options, "-w", str(folder / "near.pcap"), "tcp or udp"], stderr=subprocess.PIPE
    )
    assert tcpdump.stderr is not None
    for line in tcpdump.stderr:
        if b"listening on" in line:
            return tcpdump
    raise SystemExit(f"tcpdump ended with status {tcpdump.wait()}")


def main(folder: Path, classes: str, seconds: float) -> int:
    """Run all programs; the starts of a class are those of a Poisson process with a known number of events."""
    server = os.environ["CELLWAY_SERVER"]
    (folder / "transaction.sql").write_text(SCRIPT, encoding="utf-8")
    os.environ["PGDATABASE"] = "postgres"
    set_tcp()
    tcpdump = capture(folder, server)
    begin = time.monotonic() + 0.5
    failed: list[dict[str, object]] = []
    threads = []

    def start(one: Class, at: float, number: int, draw: random.Random) -> None:
        time.sleep(max(0.0, begin + at - time.monotonic()))
        try:
            programs(folder, server, one)(number, draw)
        except (FailedError, OSError, subprocess.SubprocessError) as error:
            failed.append({"class": one.name, "number": number, "message": str(error)})

    for one in named(classes):
        draw = random.Random(one.name)
        starts = sorted(draw.uniform(0, seconds) for _ in range(one.starts))
        for number, at in enumerate(starts):
            thread = threading.Thread(target=start, args=(one, at, number, random.Random(f"{one.name} {number}")))
            threads.append(thread)
            thread.start()
    for thread in threads:
        thread.join()
    time.sleep(TAIL)
    tcpdump.send_signal(signal.SIGINT)
    tcpdump.wait(10)
    for failure in failed:
        print(json.dumps(failure), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
