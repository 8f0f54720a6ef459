"""The reports of several papers at once: figures take most of the time, so each core draws some of them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cellway._native import Error
from cellway.report import shell
from cellway.report.page import page
from cellway.report.recipe import RECIPE_NAME
from cellway.report.sections import sections
from cellway.results import Reproduction

FILE_NAME = "report.html"

REFUSED = 3
"""The exit status of a process whose recipe was refused; the message is on its standard error."""

START = "import sys; from cellway.report import papers; sys.exit(papers.main(sys.argv[1:]))"

COLLECTED = (50_000, 20, 100)
"""The thresholds of the garbage collector while reports are drawn. With those of Python it walks through all figures of
a paper, which are in use until its page is written, every few figures, a fifteenth of the time."""


def write(reproduction: Reproduction, others: str | None = None) -> Path:
    """Draw the report of one paper; `others` is the address of the page over all. Returns its path."""
    with rarely_collected():
        return shell.write(reproduction.folder / FILE_NAME, page(reproduction, sections(reproduction), others))


def write_all(folders: Sequence[Path], others: str) -> None:
    """Draw the reports of several papers, with one process for each core.

    Raises `cellway.Error` if a recipe cannot be run, and `RuntimeError` if a process ends otherwise.
    """
    # Without the path of an interpreter, as in programs that embed one, this process draws all.
    processes = min(len(folders), os.cpu_count() or 1) if sys.executable else 1
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Each process has a core, and threads of polars on all of them would wait for each other.
    environment.setdefault("POLARS_MAX_THREADS", "1")
    ordered = longest_first(folders)
    with tempfile.TemporaryDirectory(prefix="cellway-") as claims:
        command = [sys.executable, "-c", START, others, claims, *map(str, ordered)]
        helpers = [
            subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for _ in range(1, processes)
        ]
        try:
            for folder in claimed(ordered, Path(claims)):
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


def longest_first(folders: Iterable[Path]) -> list[Path]:
    """Return the folders in the order in which they are drawn: one that takes long must not begin last.

    The longer a recipe, the more figures it draws; without one there are the more, the more tables there are.
    """
    sizes = {folder: (_size(folder / RECIPE_NAME), sum(map(_size, folder.rglob("*")))) for folder in folders}
    return sorted(sizes, key=lambda folder: sizes[folder], reverse=True)


def claimed(folders: Sequence[Path], claims: Path) -> Iterator[Path]:
    """Yield the folders that no other process has claimed, each once it is this one's.

    A claim is a file in the folder `claims`, which only one process can create. A process asks for its next folder when
    it has drawn the one before, so all of them end at about the same time.
    """
    for number, folder in enumerate(folders):
        try:
            (claims / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield folder


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Let the garbage collector run rarely, and restore its thresholds unless another thread does."""
    before = gc.get_threshold()
    if before != COLLECTED:
        gc.set_threshold(*COLLECTED)
    try:
        yield
    finally:
        if before != COLLECTED:
            gc.set_threshold(*before)


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def main(arguments: Sequence[str]) -> int:
    """Draw the reports of folders: the address of the page over all, the folder of claims, then the folders."""
    others, claims, *folders = arguments
    try:
        for folder in claimed([Path(folder) for folder in folders], Path(claims)):
            write(Reproduction(folder), others)
    except Error as error:
        print(error, file=sys.stderr)
        return REFUSED
    return 0
