"""Reads the JSON and TOML of the compiled part, and the files of result folders.

A file or document that cannot be read raises `cellway.Error` with its name, never the error of a parser.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

FORMAT = 1
"""The format of manifests and tables that this version reads."""

RESULT = "a folder that `simulate`, `emulate` or `compare` wrote"
"""The folder that holds a manifest and tables, in the words of an error."""


@dataclass
class _Source:
    """The name of a document, and the version of Cellway that wrote it, if the document has it."""

    name: str
    version: str | None = None


class Record(dict[str, Any]):
    """An object of a document; a missing key raises `cellway.Error`."""

    def __init__(self, pairs: list[tuple[str, Any]], source: _Source) -> None:
        super().__init__(pairs)
        self.source = source

    def __missing__(self, key: str) -> Any:
        written = f"; Cellway {self.source.version} wrote it" if self.source.version else ""
        raise _wrong(self.source.name, f"an object lacks the key `{key}`; it has: {_listed(self)}{written}")


def record(text: str, name: str) -> Record:
    """Parse JSON text that holds one object. Errors call the document `name`."""
    found = _parsed(text, name)
    if not isinstance(found, Record):
        raise _wrong(name, f"the document is {_kind(found)}; accepted: an object")
    return found


def records(text: str, name: str) -> list[Record]:
    """Parse JSON text that holds a list of objects."""
    found = _parsed(text, name)
    if not isinstance(found, list) or not all(isinstance(item, Record) for item in found):
        raise _wrong(name, f"the document is {_kind(found)}; accepted: a list of objects")
    return found


def toml(text: Any, name: str) -> dict[str, Any]:
    """Parse TOML text."""
    if not isinstance(text, str):
        raise _wrong(name, f"the value is {_kind(text)}; accepted: a string of TOML")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(name, f"not TOML: {error}") from None


def text_of(path: Path, folder: str) -> str:
    """Read a text file; `folder` describes the folder that has such a file, for the error without it."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise _wrong(str(path), "not UTF-8") from None
    except OSError as error:
        raise _unread(path, error, folder) from None


def manifest(path: Path) -> Record:
    """Read `manifest.json`, which must be of this format."""
    found = record(text_of(path, RESULT), str(path))
    if found["format"] != FORMAT:
        raise _wrong(
            str(path), f"format {found['format']}, written by Cellway {found['cellway']}; accepted: format {FORMAT}"
        )
    return found


def table(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Read a Parquet file, which must have at least these columns."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        # Opened here: the error of a missing file is then one of the system, and names no glob.
        with path.open("rb") as file:
            found = pl.read_parquet(file)
    except OSError as error:
        raise _unread(path, error, RESULT) from None
    except (PolarsError, PanicException) as error:
        raise _wrong(str(path), f"not a whole Parquet file: {error}") from None
    missing = [name for name in columns if name not in found.columns]
    if missing:
        raise _wrong(str(path), f"the table lacks the columns {_listed(missing)}; it has: {_listed(found.columns)}")
    return found


def _parsed(text: str, name: str) -> Any:
    source = _Source(name)
    try:
        found = json.loads(text, object_pairs_hook=lambda pairs: Record(pairs, source))
    except json.JSONDecodeError as error:
        raise _wrong(f"{name}:{error.lineno}:{error.colno}", f"not JSON: {error.msg}") from None
    except RecursionError:
        raise _wrong(name, "not a document of Cellway: too many levels") from None
    if isinstance(found, Record):
        version = found.get("cellway", found.get("version"))
        source.version = version if isinstance(version, str) else None
    return found


def _kind(value: Any) -> str:
    """Return the type of a value in JSON, with its article."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    names: dict[type, str] = {Record: "an object", list: "a list", str: "a string"}
    return names.get(type(value), "a number")


def _listed(names: Sequence[str] | Record) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _unread(path: Path, error: OSError, folder: str) -> Exception:
    if not isinstance(error, FileNotFoundError):
        return _wrong(str(path), error.strerror or str(error))
    from cellway import _native

    if not path.parent.exists():
        return _native.MissingFileError(f"{path.parent}: no such folder; accepted: {folder}")
    return _native.MissingFileError(f"{path}: no such file; accepted: {folder}")


def _wrong(name: str, what: str) -> Exception:
    from cellway import _native

    return _native.Error(f"{name}: {what}")
