"""The pages of the lab, built once for all tests that need them."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = "wasm32-unknown-unknown"


@functools.cache
def _reason() -> str | None:
    """Return why the lab cannot be built here, if it cannot."""
    if missing := [name for name in ("node", "npm") if shutil.which(name) is None]:
        return f"{' and '.join(missing)} not installed (Debian: nodejs npm)"
    rustc = os.environ.get("CELLWAY_WASM_RUSTC") or os.environ.get("RUSTC") or "rustc"
    command = [rustc, "--print", "target-libdir", "--target", TARGET]
    library = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not library or not Path(library).is_dir():
        return f"the compiler {rustc} has no target {TARGET}; with rustup: rustup target add {TARGET}"
    return None


@functools.cache
def _made() -> Path:
    subprocess.run(["make", "--no-print-directory", "lab-pages"], cwd=ROOT, check=True)
    return ROOT / "target/web/lab"


def built() -> Path:
    """Return the folder of the pages; skips the test if they cannot be built here."""
    if (reason := _reason()) is not None:
        pytest.skip(reason)
    return _made()
