"""The programs that are measured: those of the benches, `cellway reproduce`, and htsim's."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

BENCHES = {"cellway-sim": ("engines", "packets", "conversations"), "cellway-lab": ("sweeps",), "cellway-emu": ("held",)}
"""The benches by their crates. Each is built as `make bench` does, so that it is built once."""

HTSIM = """HTSIM is not set. To compare with htsim: git clone https://github.com/Broadcom/csg-htsim ../csg-htsim; \
make -C ../csg-htsim/sim libhtsim.a; HTSIM=../csg-htsim make bench"""


class SkippedError(Exception):
    """A work cannot be measured here; the text says why."""


@dataclass(frozen=True)
class Ran:
    """A program that has ended."""

    text: str
    """Its output."""
    wall: float
    """The time that it took (s)."""
    cpu: float
    """Its processor time, in user and in system mode (s)."""

    def figures(self) -> dict[str, Any]:
        """Return its last line, which is JSON."""
        lines = self.text.strip().splitlines() or [""]
        if lines[-1].startswith("skipped: "):
            raise SkippedError(lines[-1].removeprefix("skipped: "))
        found: dict[str, Any] = json.loads(lines[-1])
        return found


def run(command: Sequence[str | Path], folder: Path = ROOT) -> Ran:
    """Run a program to its end; its errors go where those of this program go."""
    begun = time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begun
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return Ran(text, wall, usage.ru_utime + usage.ru_stime)


def executables(text: str) -> dict[str, Path]:
    """Return the programs that Cargo built, by name, from the messages that it prints as JSON."""
    messages = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    built = [message for message in messages if message.get("executable")]
    return {message["target"]["name"]: Path(message["executable"]) for message in built}


class Programs:
    """Builds programs when they are first used."""

    def __init__(self, command: Path) -> None:
        self.command = command
        """`cellway`."""
        self._built: dict[str, Path] = {}

    def bench(self, name: str) -> Path:
        """Return a bench of BENCHES."""
        if name not in self._built:
            package = next(package for package, names in BENCHES.items() if name in names)
            chosen = [word for bench in BENCHES[package] for word in ("--bench", bench)]
            cargo = ["cargo", "bench", "--package", package, "--locked", *chosen]
            self._built |= executables(run([*cargo, "--no-run", "--message-format=json"]).text)
        return self._built[name]

    def htsim(self, folder: Path) -> Path:
        """Return the packets of htsim, built in a folder."""
        if "HTSIM" not in os.environ:
            raise SkippedError(HTSIM)
        sources = Path(os.environ["HTSIM"], "sim").absolute()
        library, program = sources / "libhtsim.a", folder / "htsim_packets"
        if not library.exists():
            raise SkippedError(f"{library} does not exist; make -C {sources} libhtsim.a builds it")
        source = ROOT / "crates/sim/benches/packets_htsim.cpp"
        compiler = os.environ.get("CXX", "c++")
        run([compiler, "-std=c++11", "-O3", f"-I{sources}", source, library, "-o", program])
        return program


def with_engine(text: str, engine: str) -> str:
    """Return a scenario file with this engine."""
    line = f'engine = "{engine}"'
    changed, inline = re.subn(r"^run = \{", f"run = {{ {line},", text, count=1, flags=re.MULTILINE)
    if not inline:
        changed = re.sub(r"^\[run\].*$", rf"\g<0>\n{line}", text, count=1, flags=re.MULTILINE)
    run = tomllib.loads(changed).get("run")
    if not isinstance(run, dict) or run.get("engine") != engine:
        raise ValueError('the file has neither a line "[run]" nor one that begins with "run = {"')
    return changed


def papers_with_engine(engine: str, folder: Path) -> Path:
    """Copy the studies of all papers, with this engine in all scenario files; return the folder of the copies."""
    papers = folder / engine
    shutil.copytree(ROOT / "papers", papers, ignore=shutil.ignore_patterns("__pycache__"))
    for file in papers.glob("*/*.toml"):
        text = file.read_text(encoding="utf-8")
        if "traffic" in tomllib.loads(text):
            file.write_text(with_engine(text, engine), encoding="utf-8")
    return papers
