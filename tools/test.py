"""Run the tests in Rust and in Python, show what they print, and end with the counts of both in one line.

The exit status is that of the first part that fails; the last line never says `0 failed` when something did. Where
tests were skipped because programs are missing, the line before it names these and how to install them.
With `--live`, the tests of emulation and of the gateway alone, with `--live-gateway` those of the gateway and of
emulations with gateways. They are among all tests, too; where this machine allows no emulation they say why, and
count as skipped.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent

# The Python bindings are a library that only an interpreter can load: pytest tests them, cargo cannot.
TEST = ["cargo", "test", "--locked", "--no-fail-fast"]
CARGO = [*TEST, "--workspace", "--exclude", "cellway-python"]
# With real hosts: namespaces, devices, programs. The other tests of the emulator need none.
LIVE_TARGETS = ["live", "emulated", "gateways", "lifetime", "foreground", "guide"]
LIVE = [*TEST, "--package", "cellway-emu", "--package", "cellway-cli"]
LIVE += [word for target in LIVE_TARGETS for word in ("--test", target)]
# Nearly all of the daemon's tests have real hosts.
DAEMON = [*TEST, "--package", "cellway-gatewayd"]
GATEWAYS = [*TEST, "--package", "cellway-emu", "--test", "gateways"]
SUITES = {"--live": [LIVE, DAEMON], "--live-gateway": [DAEMON, GATEWAYS]}
PYTEST = [sys.executable, "-m", "pytest"]

RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
# A harness with one thread has begun the line with the name of the test.
SKIPPED = re.compile(r"^(test \S+ \.\.\. )?skipped: ")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

# Programs that tests use, by the package of Debian that contains them.
PACKAGES = {
    "ab": "apache2-utils",
    "bash": "bash",
    "browser": "chromium",
    "curl": "curl",
    "fish": "fish",
    "flent": "flent",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "libfaketime": "libfaketime",
    "man": "man-db",
    "nft": "nftables",
    "node": "nodejs",
    "ns": "ns2",
    "ping": "iputils-ping",
    "promtool": "prometheus",
    "python3": "python3",
    "script": "bsdutils",
    "setpriv": "util-linux",
    "ssh": "openssh-client",
    "sshd": "openssh-server",
    "tshark": "tshark",
    "unshare": "util-linux",
    "vsftpd": "vsftpd",
    "zsh": "zsh",
}
# The program that a reason for skipping names.
NAMED = re.compile(r"the program `(?P<quoted>[^`]+)`|\b(?P<plain>[\w-]+) is (?:missing|not installed|installed)\b")


@dataclass
class Counts:
    """Counts of tests by result."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    # Programs whose absence made tests skip.
    missing: frozenset[str] = frozenset()

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of both."""
        return Counts(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.missing | other.missing,
        )

    def __str__(self) -> str:
        """Return the closing line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def programs(reason: str) -> frozenset[str]:
    """Return the missing programs in a reason for skipping: those in quotes, and others that PACKAGES contains."""
    found = [(match["quoted"], match["plain"]) for match in NAMED.finditer(reason)]
    return frozenset(quoted or plain for quoted, plain in found if quoted or plain in PACKAGES)


def advice(missing: frozenset[str]) -> str:
    """Return the line that names missing programs and how to install them."""
    names = ", ".join(sorted(missing))
    packages = " ".join(sorted({PACKAGES[program] for program in missing if program in PACKAGES}))
    install = f" (Debian: apt install {packages})" if packages else ""
    return f"tests were skipped because programs are missing: {names}{install}"


def of_cargo_line(line: str) -> Counts:
    """Return the counts that one line of cargo's output adds; most add none."""
    if SKIPPED.match(line):
        # The test prints it itself: cargo has no skipped tests and counts it as passed.
        return Counts(passed=-1, skipped=1, missing=programs(line))
    match = RESULT.match(COLOUR.sub("", line))
    return Counts(int(match[1]), int(match[2]), int(match[3])) if match else Counts()


def of_junit(text: str) -> Counts:
    """Return the counts in pytest's report."""
    root = ElementTree.fromstring(text)
    reasons = (skipped.get("message", "") for skipped in root.iter("skipped"))
    total = Counts(missing=frozenset().union(*map(programs, reasons)))
    for suite in root.iter("testsuite"):
        tests, failures, errors, skipped = (int(suite.get(k, 0)) for k in ("tests", "failures", "errors", "skipped"))
        total += Counts(tests - failures - errors - skipped, failures + errors, skipped)
    return total


def cargo(command: list[str]) -> tuple[int, Counts]:
    """Run tests of cargo, and pass on their output."""
    total = Counts()
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            total += of_cargo_line(line)
    return process.returncode, total


def pytest(arguments: list[str]) -> tuple[int, Counts]:
    """Run pytest."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "junit.xml")
        status = subprocess.run([*PYTEST, f"--junitxml={report}", *arguments], cwd=ROOT, check=False).returncode
        return status, of_junit(report.read_text(encoding="utf-8")) if report.is_file() else Counts()


def closing(parts: list[tuple[int, Counts]]) -> tuple[int, Counts]:
    """Return status and counts of all parts; a part that failed without a failed test (a build error) counts as one."""
    total, status = Counts(), 0
    for code, counts in parts:
        total += counts if code == 0 or counts.failed else counts + Counts(failed=1)
        status = status or code
    return status, total


def main() -> int:
    """Run both parts, arguments go to pytest; or the live tests."""
    suite = SUITES.get(" ".join(sys.argv[1:]))
    status, total = closing([cargo(part) for part in suite] if suite else [cargo(CARGO), pytest(sys.argv[1:])])
    print()
    if total.missing:
        print(advice(total.missing))
    print(total, flush=True)
    # A signal's negative status would reach the shell as a large number.
    return status if 0 <= status < 256 else 1


if __name__ == "__main__":
    sys.exit(main())
