"""The servers at the far end of the path: `python -m traffic.far FOLDER CLASSES`. Prints `ready`, then runs on."""

from __future__ import annotations

import contextlib
import functools
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from traffic.classes import Class, named, postgresql, set_tcp
from traffic.files import ROWS

STEP = 0.02
"""The time between two RTP packets (s)."""
PAYLOAD = 160
"""Octets of sound in a packet: 20 ms of G.711."""
SILENCE = 0.5
"""The time without a packet of the caller after which the answering stream ends (s)."""


class Files(SimpleHTTPRequestHandler):
    """Serves files over persistent connections, without Nagle's algorithm, as web servers do."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Headers and the start of the file leave in one segment.
    wbufsize = 1 << 16

    def end_headers(self) -> None:
        """Forbid caching."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """Accepts bursts of connections."""

    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore that a browser which has ended reset its connections."""


def web(folder: Path, port: int) -> None:
    """Serve the files of a folder."""
    server = Server(("0.0.0.0", port), functools.partial(Files, directory=str(folder / "web")))
    threading.Thread(target=server.serve_forever, daemon=True).start()


def packet(number: int, source: int) -> bytes:
    """Return an RTP packet: version 2, payload type 0 (PCMU). RFC 3550, section 5.1."""
    stamp = number * PAYLOAD % 2**32
    return struct.pack(">BBHII", 0x80, 0, number % 2**16, stamp, source) + bytes(PAYLOAD)


def stream(sends: Any, source: int, goes_on: Any) -> None:
    """Send a packet each 20 ms while `goes_on`."""
    start, number = time.monotonic(), 0
    while goes_on(number):
        # A packet is never early; one that is late does not delay the next.
        time.sleep(max(0.0, start + number * STEP - time.monotonic()))
        sends(packet(number, source))
        number += 1


def calls(port: int) -> None:
    """Answer each stream with another one until it ends."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("0.0.0.0", port))
    heard: dict[Any, float] = {}

    def listen() -> None:
        while True:
            _, caller = server.recvfrom(2048)
            is_new = caller not in heard
            heard[caller] = time.monotonic()
            if is_new:
                threading.Thread(target=answer, args=(caller,), daemon=True).start()

    def answer(caller: Any) -> None:
        stream(
            lambda octets: server.sendto(octets, caller),
            caller[1],
            lambda _: time.monotonic() - heard[caller] < SILENCE,
        )

    threading.Thread(target=listen, daemon=True).start()


def ssh(folder: Path, name: str) -> subprocess.Popen[bytes]:
    """Start sshd with a key and a file of settings of its own."""
    Path("/run/sshd").mkdir(exist_ok=True)
    arguments = ["/usr/sbin/sshd", "-D", "-e", "-f", str(folder / name)]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=log)


def database(folder: Path, port: int) -> subprocess.Popen[bytes]:
    """Start PostgreSQL, and make the table that is queried."""
    programs = postgresql()
    if programs is None:
        raise RuntimeError("PostgreSQL is not installed")
    data = folder / "database"
    settings = ["listen_addresses=*", f"port={port}", f"unix_socket_directories={data}", "fsync=off", "autovacuum=off"]
    arguments = ["runuser", "-u", "postgres", "--", str(programs / "postgres"), "-D", str(data)]
    arguments += [word for setting in settings for word in ("-c", setting)]
    with (folder / "database.log").open("wb") as log:
        server = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
    ask = ["psql", "-h", str(data), "-p", str(port), "-U", "postgres", "-q", "-c"]
    for _ in range(200):
        if subprocess.run([*ask, "select 1"], capture_output=True, check=False).returncode == 0:
            break
        time.sleep(0.1)
    text = "repeat(md5(n::text), 4)"
    table = f"create table pages as select n as id, {text} as body from generate_series(1, {ROWS}) n"
    for command in (table, "create index on pages(id)", "vacuum pages"):
        subprocess.run([*ask, command], check=True, capture_output=True)
    return server


def start(folder: Path, one: Class) -> list[subprocess.Popen[bytes]]:
    """Start the server of a class."""
    match one.name:
        case "curl" | "browser":
            web(folder, one.port)
        case "ssh" | "scp":
            return [ssh(folder, one.name)]
        case "postgresql":
            return [database(folder, one.port)]
        case "rtp":
            calls(one.port)
    return []


def main(folder: Path, classes: str) -> None:
    """Start all servers, and stop them at the end."""
    set_tcp()
    started = [program for one in named(classes) for program in start(folder, one)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("ready", flush=True)
    try:
        while True:
            signal.pause()
    finally:
        for program in started:
            # PostgreSQL ends at once on SIGQUIT, also with clients connected; runuser passes SIGTERM on.
            program.terminate()
        for program in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(3)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
