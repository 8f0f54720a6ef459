"""The pages of the lab, built once for all tests that need them."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def _reason() -> str | None:
    """Return why the lab cannot be built here, if it cannot."""
    command = ["make", "--silent", "lab-ready"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stdout.strip()


@functools.cache
def _made() -> Path:
    subprocess.run(["make", "--no-print-directory", "lab-pages"], cwd=ROOT, check=True)
    return ROOT / "target/web/lab"


def built() -> Path:
    """Return the folder of the pages; skips the test if they cannot be built here."""
    if (reason := _reason()) is not None:
        pytest.skip(reason)
    return _made()
