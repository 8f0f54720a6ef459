"""Arguments of functions, checked before they reach the compiled part, so that an error names the argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellway.controller import Controller


def wrong(name: str, value: object, accepted: str) -> TypeError:
    """Return the error for a value of the wrong type."""
    return TypeError(f"{name} is {value!r}; accepted: {accepted}")


def text(name: str, value: object, accepted: str) -> str | None:
    """Return `value`, which must be a string or None."""
    if value is None or isinstance(value, str):
        return value
    raise wrong(name, value, accepted)


def quantity(name: str, value: object, example: str) -> str | None:
    """Return `value`, which must be a string with a number and a unit, or None."""
    return text(name, value, f'a string with a unit, like "{example}"')


def count(name: str, value: object) -> int | None:
    """Return `value`, which must be a whole number of at least 1, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, value, "a whole number from 1")
    if value < 1:
        raise ValueError(f"{name} is {value}; it must be 1 or more")
    return value


def share(name: str, value: object) -> float | None:
    """Return `value`, which must be a number from 0 to 1, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(name, value, "a number from 0 to 1, like 1e-4")
    return float(value)


def changes(name: str, value: object) -> Mapping[str, object]:
    """Return `value`, which must be a mapping with string keys; an empty one for None."""
    if value is None:
        return {}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise wrong(name, value, 'a dict of keys and values, like {"tcp.mss": "1460 B"}')


def controllers(value: object) -> list[tuple[str, Callable[[], Controller]]]:
    """Return the names of groups with the factories of their controllers, each checked by a call."""
    from cellway.controller import Controller

    if value is None:
        return []
    accepted = 'a mapping from names of traffic groups to subclasses of cellway.Controller, like {"bulk": Mine}'
    if not isinstance(value, Mapping):
        raise wrong("controllers", value, accepted)
    checked = []
    for group, factory in value.items():
        if not isinstance(group, str) or not callable(factory):
            raise wrong("controllers", value, accepted)
        made = factory()
        if not isinstance(made, Controller):
            raise TypeError(
                f"controllers[{group!r}] makes {made!r}; accepted: a subclass of cellway.Controller, or a function "
                "that returns an object of one"
            )
        checked.append((group, factory))
    return checked
