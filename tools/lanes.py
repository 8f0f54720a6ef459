"""The test programs of the workspace: built by cargo, then run in lanes side by side.

Tests with real hosts mostly wait for the clock, and take turns within their program because two of a kind would make
each other late. Others use the processors meanwhile.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# The threads of test programs, by the folder of their package, where one for each processor would leave these idle.
THREADS = {"gatewayd": 3 * (os.cpu_count() or 1)}
# The folders of packages whose tests have real hosts, by lane. The programs of all others are in one more lane.
LANES = (("cli", "emu"), ("gatewayd",))


@dataclass(frozen=True)
class Part:
    """A command that runs tests."""

    name: str
    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class Ran:
    """A part that has ended."""

    part: Part
    status: int
    # Of both kinds, in order.
    output: str


def programs(messages: Iterable[str]) -> list[Part]:
    """Return the test programs in the messages of cargo (`--message-format=json`), in their order."""
    found = []
    for line in messages:
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            kind = "/".join(message["target"]["kind"])
            found.append(Part(f"{folder.name} {message['target']['name']} ({kind})", (message["executable"],), folder))
    return found


def build(command: list[str], root: Path) -> tuple[int, list[Part]]:
    """Build the test programs; return the status of cargo, and the programs if it is 0."""
    command = [*command, "--no-run", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=False)
    return built.returncode, programs(built.stdout.splitlines()) if built.returncode == 0 else []


def split(parts: list[Part]) -> list[list[Part]]:
    """Return the programs by lane; the last lane has those of no other."""
    live = [[part for part in parts if part.folder.name in folders] for folders in LANES]
    return [*live, [part for part in parts if not any(part in lane for lane in live)]]


def run_part(part: Part) -> Ran:
    """Run a part to its end."""
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(part.folder)}
    if part.folder.name in THREADS:
        environment.setdefault("RUST_TEST_THREADS", str(THREADS[part.folder.name]))
    done = subprocess.run(
        part.command,
        cwd=part.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return Ran(part, done.returncode, done.stdout)


def run(lanes: list[list[Part]]) -> list[Ran]:
    """Run the parts of each lane one after the other, all lanes at once; show each output when its part has ended."""
    terminal = Lock()

    def run_lane(lane: list[Part]) -> list[Ran]:
        results = []
        for part in lane:
            results.append(run_part(part))
            with terminal:
                print(f"     Running {part.name}\n{results[-1].output}", flush=True)
        return results

    with ThreadPoolExecutor(max_workers=len(lanes)) as pool:
        return [result for results in pool.map(run_lane, lanes) for result in results]
