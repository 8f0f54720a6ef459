"""The notebooks of the documentation, executed as Jupyter does, and what a notebook shows while and after a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

pytestmark = [
    # Of the event loop that nbclient starts, and of the kernel's transport.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def executed(cells: list[str] | Path, **options: Any) -> list[list[Any]]:
    """Run a notebook in a kernel of its own, and return the outputs of its cells with code."""
    if isinstance(cells, Path):
        notebook = nbformat.read(cells, as_version=4)
    else:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3", **options).execute()
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_six_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "bufferbloat",
        "cells-and-spacers",
        "fairness-over-rtts",
        "gateway-pair",
        "slow-start-and-aimd",
        "your-own-trace",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_figures(path: Path, tmp_path: Path) -> None:
    outputs = executed(path, resources={"metadata": {"path": str(tmp_path)}})
    kinds = [set(output.get("data", {})) for outputs in outputs for output in outputs]
    assert sum("image/png" in kind for kind in kinds) >= 2
    assert sum("text/html" in kind for kind in kinds) >= 1
    assert not any(output.output_type == "stream" and output.name == "stderr" for some in outputs for output in some)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_is_short(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert 8 <= len(notebook["cells"]) <= 14
    first, last = ("".join(notebook["cells"][place]["source"]) for place in (0, -1))
    assert "**Question:**" in first
    assert "## Change something" in last
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"


RUN = "import cellway\ns = cellway.Scenario.dumbbell(rate='5 Mbit/s', rtt='20 ms', duration='20 s', warmup='1 s')\n"


def test_progress_is_one_line_that_is_updated_below_the_cell() -> None:
    code = (
        "import time\n"
        "from cellway.progress import reporter\n"
        "with reporter('simulate') as tick:\n"
        "    for done in range(4):\n"
        "        time.sleep(0.3)\n"
        "        tick(done + 1, 4)\n"
    )
    ((only,),) = executed([code])
    assert only.output_type == "display_data"
    # nbclient applies updates to the output that they are for.
    assert only.data["text/plain"] == "simulate [########################] 4/4 runs, 1 s"


def test_a_short_run_shows_no_progress() -> None:
    code = "from cellway.progress import reporter\nwith reporter('simulate') as tick:\n    tick(1, 1)\n"
    assert executed([code]) == [[]]


def test_a_figure_is_the_output_of_a_cell_whether_pyplot_is_there_or_not() -> None:
    figure = RUN + "s.draw()"
    plain, after = executed([figure, "import matplotlib.pyplot\n" + figure])
    for outputs in (plain, after):
        (only,) = outputs
        assert "image/png" in only.data
    assert plain[0].metadata["image/png"]["width"] > 400


def test_an_error_in_a_scenario_names_its_key_in_the_notebook() -> None:
    with pytest.raises(CellExecutionError, match=r"ScenarioError.*: run\.duration: .*has no unit"):
        executed([RUN + "s.set('run.duration', '100').check()"])
