"""RED and adaptive RED a third time, from their papers, and with two habits of ns-2 that explain differences."""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True)
class Red:
    """The parameters; the queue is counted in packets."""

    low: float = 5
    high: float = 15
    max_p: float = 0.02
    weight: float = 0.002
    mean: int = 500
    """The packet size by which the average falls while the line is idle (B)."""
    is_adaptive: bool = False
    spares_few: bool = False
    """ns-2: no packet is dropped that finds fewer than two others, and the count of the spread begins again."""
    is_gentle_fixed: bool = False
    """ns-2: above `high` the probability follows from `max_p` at the start, not from the adapted one."""


def adaptive(rate: float, *, target: float = 0.005, mean: int = 500, **habits: bool) -> Red:
    """Return adaptive RED with its defaults for a line of this rate (bit/s)."""
    packets = rate / (8 * mean)
    low = max(5.0, target * packets / 2)
    return Red(low, 3 * low, 0.1, 1 - math.exp(-1 / packets), mean, is_adaptive=True, **habits)


@dataclass(frozen=True)
class Line:
    """A line and the datagrams that arrive at it."""

    rate: float
    """The rate of the line (bit/s)."""
    load: float
    """The mean rate of arrivals, as a share of that."""
    packet: int
    """The length of a datagram (B)."""
    duration: float
    """The length of a run, and that of its warm-up (s)."""
    warmup: float


def run(red: Red, seed: int, line: Line) -> tuple[int, int, float]:
    """Return the packets dropped and sent after the warm-up, and the mean queue, of exponential arrivals at a line."""
    rate, duration, warmup = line.rate, line.duration, line.warmup
    draw = random.Random(seed)
    service = line.packet * 8 / rate
    average, count, max_p, adapted = 0.0, -1, red.max_p, 0.5
    waiting: deque[float] = deque()
    now = free = changed = sampled = area = 0.0
    dropped = sent = 0
    while True:
        now += draw.expovariate(line.load / service)
        # What the line has begun before this arrival.
        while waiting and free <= min(now, duration):
            if free > warmup:
                area += len(waiting) * (free - max(changed, warmup))
                sent += 1
            waiting.popleft()
            changed, free = free, free + service
        if now >= duration:
            break
        if now > warmup:
            area += len(waiting) * (now - max(changed, warmup))
        changed = now
        if red.is_adaptive:
            while adapted <= now:
                if average > red.low + 0.6 * (red.high - red.low) and max_p <= 0.5:
                    max_p += min(0.01, max_p / 4)
                elif average < red.low + 0.4 * (red.high - red.low) and max_p >= 0.01:
                    max_p *= 0.9
                adapted += 0.5
        if not waiting and now > free:
            idle = int((now - max(free, sampled)) * rate / (8 * red.mean))
            average *= (1 - red.weight) ** idle
        average += red.weight * (len(waiting) - average)
        sampled = now
        if _drops(red, average, max_p, count := count + 1, len(waiting), draw):
            count = 0
            dropped += now > warmup
            continue
        if average < red.low or (red.spares_few and len(waiting) < 2):
            count = -1
        if now > free and not waiting:
            free = now + service
            sent += now > warmup
        else:
            waiting.append(now)
    return dropped, sent, area / (duration - warmup)


def _drops(red: Red, average: float, max_p: float, count: int, waiting: int, draw: random.Random) -> bool:
    if average < red.low or (red.spares_few and waiting < 2):
        return False
    if average >= 2 * red.high:
        return True
    if average < red.high:
        chance = max_p * (average - red.low) / (red.high - red.low)
    else:
        from_ = red.max_p if red.is_gentle_fixed else max_p
        chance = from_ + (1 - from_) * (average - red.high) / red.high
    return count * chance >= 1 or draw.random() * (1 - count * chance) < chance
