"""Writes TOML: single values for `set`, and whole scenario files.

The standard library only reads TOML. A scenario holds strings, numbers, bools, lists and tables, for which this is a
whole writer; dates, which no key takes, are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH = 100
"""The longest line with a table or list in it, in characters; longer ones get lines of their own."""

BARE = re.compile(r"[A-Za-z0-9_-]+")


def value(given: object, path: str = "value") -> str:
    """Return a Python value as TOML text. `path` names the key in the error for a value that TOML cannot hold."""
    if type(given).__module__ == "numpy" and hasattr(given, "tolist"):
        # Numbers and arrays of numpy: what they hold, unless Python has no such number.
        held = given.tolist()
        if type(held) is not type(given):
            return value(held, path)
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int | float):
        return repr(given)
    if isinstance(given, str):
        # TOML's basic strings take JSON's escapes; JSON leaves DEL as it is, which TOML refuses.
        return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(given, list | tuple):
        return "[" + ", ".join(value(item, path) for item in given) + "]"
    if isinstance(given, Mapping):
        inner = ", ".join(f"{key(name)} = {value(item, path)}" for name, item in given.items())
        return "{ " + inner + " }" if inner else "{}"
    raise TypeError(
        f"{path}: a {type(given).__name__} has no TOML form; "
        "use a string with a unit, a number, a bool, a list or a dict"
    )


def key(name: object) -> str:
    """Return the name of a key, in quotes if it needs them."""
    text = str(name)
    return text if BARE.fullmatch(text) else value(text)


def document(table: Mapping[str, Any]) -> str:
    """Return a table as the text of a file: plain values first, then a header for each table and element."""
    return "\n".join(_lines(table, "")).lstrip("\n") + "\n"


def _lines(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    headed: list[tuple[str, Any]] = []
    for name, item in table.items():
        path = f"{prefix}{key(name)}"
        if _has_header(path, item, top=not prefix):
            headed.append((path, item))
        else:
            yield from _entry(key(name), item, path)
    for path, item in headed:
        if isinstance(item, Mapping):
            yield from ("", f"[{path}]")
            yield from _lines(item, f"{path}.")
        else:
            for element in item:
                yield from ("", f"[[{path}]]")
                yield from _lines(element, f"{path}.")


def _has_header(path: str, item: object, *, top: bool) -> bool:
    """Return true for a table or an array of tables with a header: at the top of a file, or too long for a line."""
    tables = isinstance(item, list | tuple) and len(item) > 0 and all(isinstance(each, Mapping) for each in item)
    if not tables and not (isinstance(item, Mapping) and item):
        return False
    return top or len(f"{path} = {value(item, path)}") > WIDTH


def _entry(name: str, item: object, path: str) -> Iterator[str]:
    line = f"{name} = {value(item, path)}"
    if len(line) <= WIDTH or not isinstance(item, list | tuple) or not item:
        yield line
        return
    yield f"{name} = ["
    yield from (f"    {value(each, path)}," for each in item)
    yield "]"
