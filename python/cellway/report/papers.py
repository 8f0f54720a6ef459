"""The reports of several papers at once: figures take most of the time, so each core draws its share of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cellway._native import Error
from cellway.report import shell
from cellway.report.page import page
from cellway.report.sections import sections
from cellway.results import Reproduction

FILE_NAME = "report.html"

REFUSED = 3
"""The exit status of a process whose recipe was refused; the message is on its standard error."""

START = "import sys; from cellway.report import papers; sys.exit(papers.main(sys.argv[1:]))"


def write(reproduction: Reproduction, others: str | None = None) -> Path:
    """Draw the report of one paper; `others` is the address of the page over all. Returns its path."""
    return shell.write(reproduction.folder / FILE_NAME, page(reproduction, sections(reproduction), others))


def write_all(folders: Sequence[Path], others: str) -> None:
    """Draw the reports of several papers, with one process for each core.

    Raises `cellway.Error` if a recipe cannot be run, and `RuntimeError` if a process ends otherwise.
    """
    # Without the path of an interpreter, as in programs that embed one, this process draws all.
    own, *shares = split(folders, (os.cpu_count() or 1) if sys.executable else 1)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", START, others]
    helpers = [
        subprocess.Popen(
            [*command, *map(str, share)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for share in shares
    ]
    try:
        for folder in own:
            write(Reproduction(folder), others)
        ends = [(helper, helper.communicate()[1].strip()) for helper in helpers]
    finally:
        for helper in helpers:
            helper.kill()
            helper.wait()
    for helper, message in ends:
        if helper.returncode == REFUSED:
            raise Error(message)
        if helper.returncode != 0:
            raise RuntimeError(message or f"a process that draws reports ended with status {helper.returncode}")


def split(folders: Sequence[Path], shares: int) -> list[list[Path]]:
    """Return the folders in at most so many shares with about the same amount of claims and tables."""
    made: list[list[Path]] = [[] for _ in range(max(1, min(shares, len(folders))))]
    sizes = [0] * len(made)
    by_size = {folder: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) for folder in folders}
    for folder in sorted(folders, key=lambda folder: -by_size[folder]):
        least = sizes.index(min(sizes))
        made[least].append(folder)
        sizes[least] += by_size[folder]
    return made


def main(arguments: Sequence[str]) -> int:
    """Draw the reports of folders: the address of the page over all, then the folders."""
    others, *folders = arguments
    try:
        for folder in folders:
            write(Reproduction(Path(folder)), others)
    except Error as error:
        print(error, file=sys.stderr)
        return REFUSED
    return 0
