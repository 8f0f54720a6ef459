"""Runs the programs behind the path, derives their workload, and simulates it over the same path."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from traffic import files
from traffic.classes import Class
from traffic.conversations import Conversation, Packet, conversations

RATE, RTT, BUFFER = "20 Mbit/s", 0.04, "128 KiB"
TAIL = 40.0
"""The simulated time after the last arrival (s), in which conversations end."""
LOST = 3
"""The programs of a class that may fail before the run is of no use, in per cent of all."""
TOOLS = Path(__file__).resolve().parents[1]

Conversations = dict[str, list[Conversation]]


class CannotRunError(Exception):
    """The machine cannot emulate, or a program failed; the message says which."""


@dataclass(frozen=True)
class Real:
    """The traffic of real programs."""

    capture: Path
    conversations: Conversations
    failed: list[str]
    summary: str
    """The lines of `cellway shell` about the path."""


def scenario(classes: Sequence[Class], workload: str, times: dict[str, float], seed: int) -> str:
    """Return the path with the workload on it. The nodes are those of `cellway shell`; each class has a server.

    `times` has the time (s) in which the conversations of a class arrive. All of the programs switch Nagle's
    algorithm off (`TCP_NODELAY`).
    """
    servers = [f"server-{one.name}" for one in classes]
    nodes = [("client", "host"), ("near", "router"), ("far", "router"), *((name, "host") for name in servers)]
    fast = 'rate = "10 Gbit/s"\ndelay = "0 s"\nframing = "packet"\n'
    text = f'version = 1\nname = "traffic"\n[run]\nduration = "{max(times.values()) + TAIL:g} s"\nwarmup = "0 s"\n'
    text += f'seed = {seed}\nseeds = 1\n[tcp]\nprofile = "linux-6"\nnagle = false\n'
    text += f'[buffer]\nsize = "{BUFFER}"\nper = "port"\ncount = "packet"\n'
    text += "".join(f'[[node]]\nname = "{name}"\nkind = "{kind}"\n' for name, kind in nodes)
    text += f'[[link]]\nbetween = ["client", "near"]\n{fast}'
    text += "".join(f'[[link]]\nbetween = ["far", "{name}"]\n{fast}' for name in servers)
    text += f'[[link]]\nbetween = ["near", "far"]\nrate = "{RATE}"\ndelay = "{RTT / 2:g} s"\nframing = "packet"\n'
    for one in classes:
        text += f'[[traffic]]\nname = "{one.name}"\napp = "workload:{workload}#{one.name}"\n'
        text += f'from = "client"\nto = "server-{one.name}"\n'
        text += f'workload = {{ duration = "{times[one.name]:.3f} s" }}\n'
    return text


def real(command: str, folder: Path, classes: Sequence[Class], seconds: float) -> Real:
    """Run the programs of all classes behind the path, in real time, and read the capture of tcpdump."""
    files.prepare(folder, classes)
    names = ",".join(one.name for one in classes)
    server = f"exec {sys.executable} -m traffic.far {folder} {names}"
    path = ["--rate", RATE.replace(" ", ""), "--rtt", f"{RTT * 1e3:g}ms", "--buffer", BUFFER]
    arguments = [command, "shell", *path, "--lateness-limit", "1 s", "--serve", server, "--ready", "^ready$"]
    arguments += ["--log", str(folder / "server.log"), "--", sys.executable, "-m", "traffic.near", str(folder), names]
    environment = {**os.environ, "PYTHONPATH": str(TOOLS), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*arguments, f"{seconds:g}"], capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        log = folder / "server.log"
        more = log.read_text(encoding="utf-8")[-500:] if log.is_file() else ""
        raise CannotRunError(f"cellway shell ended with status {done.returncode}: {done.stderr[-800:]}{more}")
    (folder / "printed.txt").write_text(f"{done.stdout}{done.stderr}", encoding="utf-8")
    return read(folder, classes)


def read(folder: Path, classes: Sequence[Class]) -> Real:
    """Read the capture of a run, and what its programs printed."""
    printed = (folder / "printed.txt").read_text(encoding="utf-8")
    failures = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    for one in classes:
        mine = [failure["message"] for failure in failures if failure["class"] == one.name]
        if len(mine) * 100 > LOST * one.starts:
            raise CannotRunError(f"{len(mine)} of {one.starts} programs of {one.name} failed: {mine[0]}")
    ports = {(6 if one.transport == "tcp" else 17, one.port): one.name for one in classes}
    capture = folder / "near.pcap"
    found = conversations(capture, lambda packet: ports.get((packet.protocol, packet.target[1])))
    summary = "".join(f"{line}\n" for line in printed.splitlines() if not line.startswith("{"))
    return Real(capture, found, [f"{one['class']}: {one['message']}" for one in failures], summary)


def times(found: Conversations) -> dict[str, float]:
    """Return the time (s) in which the conversations of each class arrive: as many mean gaps as conversations."""
    spans = {name: [one.start for one in all_of] for name, all_of in found.items() if len(all_of) > 1}
    return {name: (max(starts) - min(starts)) * len(starts) / (len(starts) - 1) for name, starts in spans.items()}


def derive(command: str, capture: Path, classes: Sequence[Class], out: Path, *, messages: bool) -> str:
    """Derive the workload, with a rule for each class; return the table that the program prints."""
    rules = out.with_suffix(".rules.toml")
    text = "".join(
        f'[[class]]\nname = "{one.name}"\nports = [{one.port}]\ntransport = "{one.transport}"\n' for one in classes
    )
    rules.write_text(text, encoding="utf-8")
    arguments = [command, "workload", "from-pcap", str(capture), "--by", f"rules:{rules}", "-o", str(out), "--force"]
    done = subprocess.run(
        [*arguments, *(["--messages"] if messages else [])], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"cellway workload from-pcap ended with status {done.returncode}: {done.stderr}")
    return done.stdout


def simulate(
    command: str, workload: Path, classes: Sequence[Class], times: dict[str, float], seed: int
) -> Conversations:
    """Simulate the workload once, and read the capture at the client."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "traffic.toml")
        file.write_text(scenario(classes, str(workload), times, seed), encoding="utf-8")
        arguments = [command, "simulate", str(file), "--pcap", "client", "--threads", "1", "--json", "--quiet"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"cellway simulate ended with status {done.returncode}: {done.stderr}")
        # The address of a node is its number from 1 (`docs/guide/captures.md`); the client, near and far come first.
        names = {bytes([10, 0, 0, number]): one.name for number, one in enumerate(classes, start=4)}

        def class_of(packet: Packet) -> str | None:
            return names.get(packet.target[0])

        return conversations(Path(folder, "client.pcap"), class_of)


def simulated(
    command: str,
    workload: Path,
    classes: Sequence[Class],
    times: dict[str, float],
    seeds: Iterable[int],
    threads: int,
) -> list[Conversations]:
    """Simulate the workload with each seed."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda seed: simulate(command, workload, classes, times, seed), seeds))
