from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import synthetic

# Tests that open pages import the rest of it themselves, and say what is missing.
with suppress(ImportError):
    from lab_browser import browser, folder, pages  # noqa: F401


@pytest.fixture(scope="session")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every study, of few seeds. Tests only read it; the report may be drawn into it."""
    return synthetic.folder(tmp_path_factory.mktemp("reproduction") / "cellsim", seeds=4)
