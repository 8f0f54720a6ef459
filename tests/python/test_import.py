"""The modules that `import cellway` loads, as they delay every `cellway --help`."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ["polars", "matplotlib", "numpy", "pyarrow", "pandas", "cellway._native"]


def loaded_by(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import cellway", "import cellway.__main__", "from cellway import simulate, load"])
def test_importing_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code).isdisjoint(HEAVY)


def test_figures_leave_the_backend_of_the_caller_alone() -> None:
    assert "matplotlib.pyplot" not in loaded_by("import cellway; cellway.plot; cellway.report")


def test_an_unknown_name_is_an_attribute_error() -> None:
    import cellway

    with pytest.raises(AttributeError, match="no attribute 'emulate_everything'"):
        cellway.emulate_everything  # noqa: B018


def test_dir_lists_what_is_loaded_lazily() -> None:
    import cellway

    assert {"simulate", "plot", "Results", "ScenarioError"} <= set(dir(cellway))
