"""Paths of keys in a scenario, such as `link.line.rate`: the tables that one selects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def tables(at: Any, words: Sequence[str], before: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Yield the tables that a path selects; makes those of the file that do not exist."""
    if isinstance(at, list):
        if not words:
            raise wrong(f"{'.'.join(before)}: a list, whose elements have names; accepted: {_elements(at)}, *")
        for element in _selected(at, words[0], before):
            yield from tables(element, words[1:], (*before, words[0]))
    elif not isinstance(at, dict):
        raise wrong(f"{'.'.join(before)}: {at!r} is no table, so it has no keys")
    elif words:
        yield from tables(at.setdefault(words[0], {}), words[1:], (*before, words[0]))
    else:
        yield at


def _selected(elements: list[Any], word: str, before: tuple[str, ...]) -> list[Any]:
    if word == "*":
        return elements
    named = [element for element in elements if _name(element) == word]
    # A place in the list stands for an element without a name alone.
    if not named and word.isdecimal() and 1 <= int(word) <= len(elements) and not _name(elements[int(word) - 1]):
        named = [elements[int(word) - 1]]
    if not named:
        raise wrong(f"{'.'.join((*before, word))}: there is no {before[-1]} {word!r}; accepted: {_elements(elements)}")
    return named


def _name(element: Mapping[str, Any]) -> str:
    return str(element.get("name") or "-".join(str(end) for end in element.get("between", ())))


def _elements(elements: list[Any]) -> str:
    return ", ".join(_name(element) or str(place) for place, element in enumerate(elements, 1)) or "none"


def wrong(message: str) -> Exception:
    """Return the error for a scenario that is built from parts that do not fit."""
    from cellway import _native

    return _native.ScenarioError(message)
