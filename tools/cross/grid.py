"""The settings: 40 families of five, which differ in their buffer alone."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TypeVar

from cross.words import percent

T = TypeVar("T")
HEADERS = 40  # B, of TCP and IP
SHARES = (0.1, 0.25, 0.5, 1.0, 2.0)
"""The buffers of a family, as shares of the bandwidth-delay product."""
FAMILIES = 40
MOST_PACKETS = 6_000
"""A run is long enough to send this many packets, but no longer than `LONGEST`, unless `TRIPS` takes longer."""
TRIPS = 80
"""The least duration of a run, in round trips: a window of half the buffers here is regained in fewer."""
LONGEST = 100.0  # s
WARMUP = 0.25
"""The warm-up, as a share of a run."""


@dataclass(frozen=True)
class Point:
    """One setting. Rates in bit/s, times in seconds, sizes in bytes, the buffer in packets of full segments."""

    family: int
    share: float
    variant: str
    rate: int
    rtt: float
    buffer: int
    flows: int
    loss: float
    tick: float
    rto_min: float
    initial: int
    limited: bool
    delayed: bool
    mss: int
    duration: float
    ssthresh: int | None = None
    """The slow start threshold at first, in segments; None is the receive window."""

    @property
    def packet(self) -> int:
        """A full segment with its headers (B)."""
        return self.mss + HEADERS

    @property
    def bdp(self) -> float:
        """The bandwidth-delay product (packets)."""
        return self.rate * self.rtt / 8 / self.packet

    @property
    def warmup(self) -> float:
        """The warm-up, which is not measured (s)."""
        return round(self.duration * WARMUP, 3)

    @property
    def by_chance(self) -> bool:
        """True if packets are lost at random, so that seeds differ."""
        return self.loss > 0

    @property
    def name(self) -> str:
        """A short description of the setting."""
        words = [
            self.variant,
            f"{self.rate / 1e6:g} Mbit/s",
            f"{self.rtt * 1e3:g} ms",
            f"{self.buffer} packets ({self.share:g} BDP)",
            f"{self.flows} flows" if self.flows > 1 else "1 flow",
        ]
        if self.loss:
            words.append(f"loss {percent(self.loss, 2)}")
        words += [f"tick {self.tick * 1e3:g} ms", f"RTO >= {self.rto_min:g} s", f"IW {self.initial}"]
        words += ["limited transmit"] * self.limited + ["delayed ACKs"] * self.delayed
        return ", ".join(words)


def points() -> list[Point]:
    """Return all 200 settings, the same on every machine."""
    return [point for family in range(FAMILIES) for point in _family(family)]


def sixth() -> list[Point]:
    """Return every sixth family: 35 points, with all variants."""
    return [point for family in range(0, FAMILIES, 6) for point in _family(family)]


def _family(number: int) -> list[Point]:
    # Random.random() is the same in every version of Python; choice() is not promised to be.
    draw = random.Random(f"cross-{number}")

    def one(*values: T) -> T:
        return values[int(draw.random() * len(values))]

    # By turns, so that any stride not divisible by 4, or by 2 twice, meets every variant.
    variant = ("newreno", "sack", "reno", "tahoe")[(number + number // 4) % 4]
    while True:
        rate = one(1, 2, 5, 10, 20, 50, 100) * 1_000_000
        rtt = one(0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.6)
        mss = one(536, 1460, 1460)
        bdp = rate * rtt / 8 / (mss + HEADERS)
        if 4 <= bdp <= 200:
            break
    flows = one(1, 1, 1, 2, 5, 10)
    loss = one(0.0, 0.0, 0.0, 0.001, 0.005, 0.01, 0.02)
    tick = one(0.01, 0.1, 0.5)
    rto_min = max(one(0.2, 1.0), 2 * tick)
    initial = one(1, 2, 4, 10)
    limited = one(True, False) and variant != "tahoe"
    delayed = one(True, False, False)
    # Random loss leaves each flow a window of about 1.2 / sqrt(loss) segments (M. Mathis and others, CCR 27(3), 1997).
    window = min(bdp, flows * 1.2 / loss**0.5) if loss else bdp
    duration = float(round(max(10.0, TRIPS * rtt, min(MOST_PACKETS * rtt / window, LONGEST))))
    # Each buffer holds more than the one before, and at least three segments: fewer cannot bring three duplicates.
    sizes: list[int] = []
    for share in SHARES:
        sizes.append(max(round(share * bdp), sizes[-1] + 1 if sizes else 3))
    return [
        Point(
            number,
            share,
            variant,
            rate,
            rtt,
            size,
            flows,
            loss,
            tick,
            rto_min,
            initial,
            limited,
            delayed,
            mss,
            duration,
        )
        for share, size in zip(SHARES, sizes, strict=True)
    ]
