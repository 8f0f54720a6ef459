"""Random losses of a point: the numbers of the packets that are lost, the same for both simulators."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from cross.grid import Point

FIRST = 10
"""The packets of each flow that pass before any is lost: a lost SYN would cost 3 s, in both simulators."""


@dataclass(frozen=True)
class Lost:
    """The packets that the line loses in each direction, by their number: the first to leave it has 1."""

    forward: list[int]
    """Numbered without the acknowledgements that end the handshakes, which ns-2 does not send."""
    back: list[int]


def lost(point: Point, run: int) -> Lost:
    """Return the losses of a run: independent, with the probability of the point."""
    # More than either direction can send: acknowledgements are at most as many as segments.
    most = int(point.duration * point.rate / 8 / point.packet) + 2 * FIRST * point.flows

    def numbers(direction: str) -> list[int]:
        # Random.random() is the same in every version of Python.
        draw = random.Random(f"losses-{point.family}-{run}-{direction}")
        found: list[int] = []
        number = FIRST * point.flows
        while point.loss:
            # Geometric: how many pass before the next is lost.
            number += 1 + int(math.log(1 - draw.random()) / math.log(1 - point.loss))
            if number > most:
                break
            found.append(number)
        return found

    return Lost(numbers("forward"), numbers("back"))
