"""Scenarios and changes of their keys, in the form that the compiled part reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Union

from cellway import arguments, toml_text

if TYPE_CHECKING:
    from cellway import _native
    from cellway.scenario import Scenario

Source = Union[str, "os.PathLike[str]", "Scenario"]
"""A scenario: the path of a TOML file, the TOML text itself, or a `Scenario`."""


def native(source: Source) -> _native.Source:
    """Return a scenario as the compiled part reads it. The problems of a `Scenario` have keys and no lines."""
    if isinstance(source, str):
        is_text = "\n" in source or ("=" in source and not _names_a_file(source))
        return (source, ".", "<text>") if is_text else source
    if isinstance(source, os.PathLike):
        return os.fspath(source)
    from cellway.scenario import Scenario

    if isinstance(source, Scenario):
        return source.to_toml(), source.folder, ""
    raise arguments.wrong(
        "source", source, "a Scenario, the path of a file, or TOML text; for a dict Scenario.from_dict"
    )


def overrides(changes: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Return changed keys with their values as TOML text."""
    return [(path, toml_text.value(value, path)) for path, value in arguments.changes("set", changes).items()]


def _names_a_file(text: str) -> bool:
    if text.endswith(".toml"):
        return True
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # Too long for a path, or a character that no path has.
        return False
