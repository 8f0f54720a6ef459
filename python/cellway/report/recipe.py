"""The recipe of a study: a Python file next to its tables that draws its figures.

`cellway reproduce` copies the `figures.py` of a study into the result folder. It defines `sections(studies)`, which
takes the `Studies` of that folder and returns the `Section`s of the report after the first. It is a program: drawing
the report of a folder runs it, with all rights of the user.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from cellway._native import Error
from cellway.report.plates import Section, Studies

RECIPE_NAME = "figures.py"
"""The file of a folder that draws its figures."""

ENTRY = "sections"
"""The function of a recipe that the report calls."""

MODULE = "cellway_figures"
"""The name of a recipe as a module while it runs."""


class RecipeError(Error):
    """A recipe that cannot be run, or whose code fails; the message names the file and line."""


def find(folder: Path) -> Callable[[Studies], list[Section]] | None:
    """Return the function that makes the sections of a folder, or None if the folder has no recipe."""
    path = folder / RECIPE_NAME
    return (lambda studies: _run(path, studies)) if path.is_file() else None


def _run(path: Path, studies: Studies) -> list[Section]:
    module = ModuleType(MODULE)
    module.__file__ = str(path)
    # Dataclasses and pickles find the module by its name. No file is written next to the recipe.
    before = sys.modules.get(MODULE)
    sys.modules[MODULE] = module
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
        make = getattr(module, ENTRY, None)
        if not callable(make):
            raise RecipeError(
                f"{path}: it defines no function {ENTRY}; accepted: `def {ENTRY}(studies)`, which returns a list of "
                "cellway.report.Section"
            )
        made = make(studies)
        if not isinstance(made, Iterable):
            raise RecipeError(f"{path}: {ENTRY}(studies) returned {made!r}; accepted: a list of cellway.report.Section")
        found = list(made)
        for one in found:
            if not isinstance(one, Section):
                raise RecipeError(
                    f"{path}: {ENTRY}(studies) returned {one!r} in its list; accepted: cellway.report.Section"
                )
        return found
    except RecipeError:
        raise
    except Exception as error:
        raise RecipeError(f"{_location(path, error)}: {type(error).__name__}: {error}") from error
    finally:
        if before is None:
            del sys.modules[MODULE]
        else:
            sys.modules[MODULE] = before


def _location(path: Path, error: Exception) -> str:
    """Return the file, and the line of it that the error passed through last."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)
