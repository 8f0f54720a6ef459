"""Errors of scenarios that were built in Python, which have keys but neither a file nor lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

LOCATION = re.compile(r"^<text>:(?:\d+:\d+:)? ", re.MULTILINE)
"""The place of a problem in TOML text, before its key."""

EXCERPT = re.compile(r"^ *\d* \|.*\n?", re.MULTILINE)
"""The line of the text under a problem, and its margins."""


@contextmanager
def in_keys(source: object) -> Iterator[None]:
    """Let a `ScenarioError` name only keys if `source` is a `Scenario`: its user has seen no text with lines."""
    if not is_built(source):
        yield
        return
    from cellway import _native

    try:
        yield
    except _native.ScenarioError as error:
        raise _native.ScenarioError(words(str(error))) from None


def is_built(source: object) -> bool:
    """Return true for a scenario that was built in Python."""
    from cellway.scenario import Scenario

    return isinstance(source, Scenario)


def words(message: str) -> str:
    """Return the message without the places and excerpts of TOML text."""
    return LOCATION.sub("", EXCERPT.sub("", message)).rstrip("\n")
