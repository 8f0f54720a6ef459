"""Paths drawn at random, and unfriendly ones that are chosen."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

CONTROLS = ("cubic", "reno", "bbr")
"""The congestion controls of the senders."""
ENDS = ("sender", "receiver")
"""The hosts that capture."""
PACKET = 1500
"""The largest IP packet (octets)."""


@dataclass(frozen=True)
class Path:
    """An emulated path and the transfer over it."""

    name: str
    rate: float
    """Of the bottleneck, towards the receiver (Mbit/s)."""
    rtt: float
    """The round trip without queues and without the time of packets on the link (ms)."""
    buffer: int
    """At each end of the bottleneck link (octets of IP packets)."""
    loss: float = 0.0
    """Random losses of data (%)."""
    back: float = 1.0
    """The rate towards the sender, as a share of `rate`."""
    control: str = "cubic"
    flows: int = 1
    duration: float = 12.0
    """The length of the transfer (s)."""
    limit: float = 0.0
    """The rate of the application (Mbit/s); 0 without a limit."""
    skip: float = 0.0
    """The time after which the capture begins (s)."""
    octets: int = 0
    """The length of a short transfer (octets); 0 for one of `duration`."""
    cross: float = 0.0
    """Datagrams that share the bottleneck (Mbit/s)."""
    loaded: bool = False
    """True with a transfer towards the sender at the same time."""
    jitter: float = 0.0
    """The deviation of a random delay that keeps the order (ms)."""
    policed: bool = False
    """True with a policer of `rate` and a burst of `buffer` on a link of ten times that rate."""
    offload: bool = True
    """True if the sender's host passes long segments to the link, which divides them."""
    timestamps: bool = True

    @property
    def product(self) -> float:
        """The product of rate and round trip (octets)."""
        return self.rate * self.rtt * 125.0


def log_uniform(source: random.Random, low: float, high: float) -> float:
    """Returns a number whose logarithm is uniform."""
    return math.exp(source.uniform(math.log(low), math.log(high)))


def drawn(seed: int, count: int) -> list[Path]:
    """Returns paths drawn at random: log-uniform rate, round trip, buffer, loss and rate towards the sender."""
    source = random.Random(seed)
    paths = []
    for number in range(count):
        rate = float(f"{log_uniform(source, 2, 200):.3g}")
        rtt = float(f"{log_uniform(source, 5, 300):.3g}")
        share = log_uniform(source, 0.3, 3.0)
        loss = source.choice([0.0, 0.0, float(f"{log_uniform(source, 0.01, 0.1):.2g}")])
        back = source.choice([1.0, 1.0, float(f"{log_uniform(source, 0.01, 0.5):.2g}")])
        paths.append(
            Path(
                name=f"{seed}-{number + 1}",
                rate=rate,
                rtt=rtt,
                # A buffer of fewer packets holds not even the first window.
                buffer=max(round(share * rate * rtt * 125.0), 10 * PACKET),
                loss=loss,
                back=back,
                control=source.choice(CONTROLS),
                duration=float(round(min(max(80.0 * rtt / 1e3, 8.0), 24.0))),
            )
        )
    return paths


def unfriendly() -> list[Path]:
    """Returns transfers from which a path is hard to estimate."""
    plain = Path("plain", rate=20.0, rtt=40.0, buffer=100_000)
    congested = "acknowledgements congested"
    return [
        replace(plain, name="four flows", flows=4),
        replace(plain, name="short transfer", octets=400_000),
        replace(plain, name="limited by the application", limit=5.0),
        replace(plain, name="begun in the middle", skip=6.0),
        replace(plain, name="begun in the middle, deep buffer", buffer=300_000, skip=6.0),
        replace(plain, name="cross traffic", cross=8.0),
        replace(plain, name="policer", policed=True),
        replace(plain, name="jitter", jitter=5.0),
        replace(plain, name=congested, back=0.01),
        replace(plain, name=f"{congested}, no timestamps", back=0.01, timestamps=False),
        replace(plain, name="no timestamps", timestamps=False),
        replace(plain, name="no offload", offload=False),
        replace(plain, name="slow, narrow back", rate=2.0, rtt=100.0, buffer=50_000, back=0.02),
        replace(plain, name="loaded back", loaded=True),
    ]
