"""The classes of traffic: their ports, the programs that they need, and how many conversations are made."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

PAGE_OBJECTS = 12
"""The objects of the browser's page besides its document."""
FILES = 24
"""The files that curl fetches in turn."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CALL_TIMES = (2.0, 6.0)
"""The shortest and the longest RTP stream (s)."""


CONTROL = "cubic"
"""The congestion control of the simulated profile."""


@dataclass(frozen=True)
class Class:
    """A class of traffic."""

    name: str
    port: int
    """The port of the responder."""
    starts: int
    """Programs that are started: conversations, or pages of several."""
    made_by: str
    """The programs, for the page."""
    transport: str = "tcp"


CLASSES = (
    Class("curl", 8080, 60, "`curl` of 24 files from Python's `http.server`, 1 to 900 kB"),
    Class(
        "browser", 8081, 14, "headless Chromium, a page of 12 objects, from the same server; each with a new profile"
    ),
    Class("ssh", 22, 36, "`ssh` to `sshd` with a terminal; some 25 keys with pauses, and three commands"),
    Class("scp", 2222, 36, "`scp` in both directions to another `sshd`, 40 to 900 kB"),
    Class("postgresql", 5432, 45, "`pgbench` with pauses, and `psql`, to PostgreSQL"),
    Class("rtp", 5004, 45, "datagrams with the header of RFC 3550 each 20 ms in both directions, by Python", "udp"),
)


def postgresql() -> Path | None:
    """Return the folder of the programs of PostgreSQL, of the latest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3].split(".")[0]))
    if found:
        return found[-1].parent
    beside = shutil.which("initdb")
    return Path(beside).resolve().parent if beside else None


def browser() -> str | None:
    """Return the browser that is installed."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def missing(one: Class) -> str:
    """Return what the class lacks on this machine, or nothing."""
    programs = {"curl": ["curl"], "ssh": ["ssh", "/usr/sbin/sshd"], "scp": ["scp", "/usr/sbin/sshd"]}
    lacking = [program for program in programs.get(one.name, []) if shutil.which(program) is None]
    if one.name == "browser" and browser() is None:
        lacking.append("chromium")
    if one.name == "postgresql":
        lacking += [program for program in ("psql", "pgbench", "runuser") if shutil.which(program) is None]
        lacking += [] if postgresql() else ["postgresql"]
    return ", ".join(lacking)


def unable() -> str:
    """Return what this machine lacks for all classes, or nothing."""
    if os.geteuid() != 0:
        return "needs root: tcpdump in a namespace, sshd and PostgreSQL of its own"
    return "" if shutil.which("tcpdump") else "tcpdump is not installed"


def set_tcp() -> None:
    """Give this namespace the TCP of the simulated profile, whatever the machine's defaults are.

    A congestion control that the machine does not offer to namespaces can be that of a route. The simulator keeps no
    path metrics from one connection to the next.
    """
    Path("/proc/sys/net/ipv4/tcp_no_metrics_save").write_text("1", encoding="ascii")
    shown = subprocess.run(["ip", "-4", "route", "show"], capture_output=True, text=True, check=True).stdout
    for route in shown.splitlines():
        subprocess.run(["ip", "-4", "route", "change", *route.split(), "congctl", CONTROL], check=True)


def named(names: str) -> list[Class]:
    """Return the classes of a list with commas."""
    return [one for one in CLASSES if one.name in names.split(",")]
