"""Real transfers over an emulated path, with captures at both ends."""

from __future__ import annotations

import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

import cellway
from cellway.program import Program

from paths.draw import ENDS, Path

PROGRAMS = ("iperf3", "tcpdump", "ip", "nft")
"""The programs that a run needs."""
PORT = 5201
HEADERS = 128
"""The octets of each packet that are captured."""
SETTINGS = {
    "tcp_rmem": "4096 131072 67108864",
    "tcp_wmem": "4096 131072 67108864",
}
"""Settings of TCP: windows that do not limit a transfer."""
DRAIN = 1.5
"""The time after which the kernel has passed all packets to tcpdump (s)."""
DATAGRAMS = """
import socket, sys, time
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
rate, end = float(sys.argv[2]) * 125e3, time.monotonic() + float(sys.argv[3])
due = time.monotonic()
while due < end:
    made.sendto(bytes(1172), (sys.argv[1], 9))
    due += 1200 / rate
    time.sleep(max(due - time.monotonic(), 0))
"""
"""Sends datagrams of 1200 octets to a host at a rate (Mbit/s) for a time (s)."""


@dataclass(frozen=True)
class Captured:
    """The captures of a path."""

    path: Path
    files: dict[str, File]
    lateness: float
    """The 99th percentile of the lateness of the emulation (ms)."""


def files_of(path: Path, folder: File) -> dict[str, File]:
    """Returns the files of the captures of a path, by their ends."""
    return {end: folder / f"{path.name.replace(' ', '-').replace(',', '')}-{end}.pcap" for end in ENDS}


def missing() -> list[str]:
    """Returns the programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


def scenario(path: Path) -> cellway.Scenario:
    """Returns the network of a path, without its traffic."""
    access = f"{max(10 * path.rate, 1000.0):g} Mbit/s"
    made = cellway.Scenario("path").node("sender", "host").node("near").node("far").node("receiver", "host")
    made = made.link("sender", "near", rate=access).link("far", "receiver", rate=access)
    keys: dict[str, Any] = {"buffer": {"size": f"{path.buffer} B"}}
    if path.loss:
        keys["forward"] = {"loss": f"{path.loss:g} %"}
    if path.jitter:
        keys["forward"] = {"jitter": {"deviation": f"{path.jitter:g} ms"}}
    if path.back != 1.0:
        keys["back"] = {"rate": f"{1e6 * path.back * path.rate:.0f} bit/s"}
    rate = f"{(10 if path.policed else 1) * path.rate:g} Mbit/s"
    return made.link("near", "far", name="bottleneck", rate=rate, delay=f"{path.rtt / 2:g} ms", **keys)


def _device(net: cellway.Emulation, host: str, other: str) -> str:
    found = re.search(r"dev (\S+)", net[host].run(["ip", "route", "get", net[other].address]).stdout)
    if found is None:
        raise RuntimeError(f"host {host} has no route to {other}")
    return found[1]


def _taps(net: cellway.Emulation, devices: dict[str, str], files: dict[str, File]) -> list[Program]:
    taps = []
    for end, file in files.items():
        words = ["tcpdump", "-i", devices[end], "-s", str(HEADERS), "-B", "32768", "--time-stamp-precision=nano"]
        words += ["-Z", "root", "-w", str(file), "tcp"]
        # It reports the device to standard error once it captures.
        taps.append(net[end].start(words, ready="listening on"))
    return taps


def capture(path: Path, folder: File) -> Captured:
    """Emulates a path with its transfer in real time, and captures it at both ends."""
    files = files_of(path, folder)
    stamps = "1" if path.timestamps else "0"
    with cellway.emulation(scenario(path)) as net:
        sender, receiver = net["sender"], net["receiver"]
        for host in (sender, receiver):
            set_all = [f"echo {value} > /proc/sys/net/ipv4/{name}" for name, value in SETTINGS.items()]
            host.run(["sh", "-c", "; ".join([*set_all, f"echo {stamps} > /proc/sys/net/ipv4/tcp_timestamps"])])
        devices = {end: _device(net, end, other) for end, other in zip(ENDS, reversed(ENDS), strict=True)}
        if not path.offload:
            # The kernel divides segments before they are captured.
            sender.run(["ip", "link", "set", devices["sender"], "gso_max_segs", "1"])
        if path.policed:
            limit = f"limit rate over {round(path.rate * 125_000)} bytes/second burst {path.buffer} bytes drop"
            chain = "type filter hook prerouting priority 0; policy accept;"
            rules = f"table inet policer {{ chain arriving {{ {chain} {limit}; }}; }}"
            receiver.run(["nft", rules])
        with receiver.start(["iperf3", "-s"], ready=PORT):
            taps = [] if path.skip else _taps(net, devices, files)
            others = []
            if path.cross:
                words = [receiver.address, str(path.cross), str(path.duration + 1)]
                others.append(sender.start([sys.executable, "-c", DATAGRAMS, *words]))
            command = ["iperf3", "-c", receiver.address, "-C", path.control, "-P", str(path.flows)]
            command += ["-n", str(path.octets)] if path.octets else ["-t", f"{path.duration:g}"]
            command += ["-b", f"{path.limit:g}M"] if path.limit else []
            command += ["--bidir"] if path.loaded else []
            transfer = sender.start(command)
            if path.skip:
                time.sleep(path.skip)
                taps = _taps(net, devices, files)
            if (status := transfer.wait(path.duration * 4 + 60)) != 0:
                raise RuntimeError(f"iperf3 ended with exit status {status}: {transfer.errors or transfer.output}")
            time.sleep(DRAIN)
            for program in taps + others:
                program.stop()
    late = net.results.summary.filter(metric="lateness_p99")["value"].max()
    return Captured(path, files, float(late) * 1e3)  # type: ignore[arg-type]
