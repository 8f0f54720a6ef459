"""One point in Cellway or in ns-2: the figures of runs, which have the same losses and round trip in both."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cross.grid import Point
from cross.losses import lost

SCRIPT = Path(__file__).with_name("line.tcl")
WINDOW = 64 << 20
"""A receive window that is never the limit (B)."""
HAIR = 0.016
"""The largest difference in round trip between runs without random loss, as a share of it."""
GOLDEN = (5**0.5 - 1) / 2
"""The inverse of the golden ratio: the fractional parts of its multiples are spread evenly over 0 to 1."""
STAGGER = 0.037
"""The time between the starts of flows (s)."""


@dataclass(frozen=True)
class Figures:
    """The figures of a run after its warm-up, all flows together."""

    goodput: float
    """Payload delivered in order (bit/s)."""
    timeouts: float
    resent: float
    """Resent segments."""
    lost: float
    """Packets that the buffer dropped; in Cellway also those that the line lost, and acknowledgements."""
    utilisation: float | None = None
    """Utilisation of the line; Cellway only."""


def scenario(point: Point, *, tcp: str = "", loss: str = "", extra: str = "") -> str:
    """Return the point as a scenario file.

    `tcp` replaces the keys of TCP, `loss` is a key of the line, and `extra` is put at the end.
    """
    return f"""version = 1
name = "cross-{point.family}"
node = [{{ name = "left", kind = "router" }}, {{ name = "right", kind = "router" }}]

[run]
duration = "{point.duration * 1e6:.0f} us"
warmup = "{point.warmup * 1e6:.0f} us"

[buffer]
size = "{point.buffer * point.packet} B"
per = "port"
count = "packet"

[tcp]
{tcp or _tcp(point)}
[[link]]
between = ["left", "right"]
rate = "{point.rate} bit/s"
delay = "{point.rtt * 5e8:.0f} ns"
framing = "packet"
mtu = "{point.packet} B"
{loss}

[[traffic]]
name = "flow"
app = "bulk"
count = {point.flows}
from = "left"
to = "right"
stagger = "{STAGGER * 1e6:.0f} us"
access = {{ rate = "1 Gbit/s", delay = "0 s", framing = "packet" }}
{extra}"""


def _tcp(point: Point) -> str:
    return f"""profile = "classic"
variant = "{point.variant}"
mss = "{point.mss} B"
window = "{WINDOW} B"
send-buffer = "{WINDOW} B"
window-scaling = true
timestamps = false
hystart = false
pacing = false
nagle = false
initial-window = {point.initial}
limited-transmit = {str(point.limited).lower()}
delayed-ack = "{"100 ms" if point.delayed else "off"}"
duplicate-threshold = 3
timer-granularity = "{point.tick * 1e3:.0f} ms"
rto-initial = "3 s"
rto-min = "{point.rto_min * 1e3:.0f} ms"
rto-max = "64 s"
idle-restart = true
{f'initial-ssthresh = "{point.ssthresh * point.mss} B"' if point.ssthresh else ""}
"""


def round_trip(point: Point, run: int) -> float:
    """Return the round trip of a run (s).

    Without random loss the runs of a point are a hair apart: drop-tail buffers and timers of whole ticks turn on single
    packets, so a single run of either simulator would prove nothing.
    """
    return point.rtt * (1 + (0.0 if point.by_chance else HAIR * (run * GOLDEN % 1)))


def in_cellway(command: str, point: Point, runs: Iterable[int]) -> list[Figures]:
    """Simulate these runs of the point in Cellway."""
    found = []
    for run in runs:
        losses = lost(point, run)
        # The last packet of each handshake.
        forward = [number + point.flows for number in losses.forward]
        one = dataclasses.replace(point, rtt=round_trip(point, run))
        text = scenario(one, loss=f"lost = {{ forward = {forward}, back = {losses.back} }}")
        found.append(_figures(point, simulate(command, text), {"left>right": forward, "right>left": losses.back}))
    return found


def _figures(point: Point, figures: Mapping[tuple[str, str], float], losses: Mapping[str, Sequence[int]]) -> Figures:
    """Return the figures of a run; `losses` are the numbers of the packets that each port loses, in ascending order."""

    def row(subject: str, metric: str) -> float:
        if (subject, metric) not in figures:
            raise RuntimeError(f"{point.name}: cellway's figures have no {metric} of {subject}")
        return figures[subject, metric]

    def total(metric: str) -> float:
        return sum(row(f"flow-{i + 1}", metric) for i in range(point.flows))

    def gone(port: str, numbers: Sequence[int]) -> float:
        # A port that lost nothing has no row of it (docs/reference/tables.md). `packets` are those after the warm-up,
        # so a number up to it was reached.
        sent = row(port, "packets") if numbers else 0.0
        if (port, "lost") not in figures and numbers and numbers[0] <= sent:
            raise RuntimeError(
                f"{point.name}: cellway's figures have no lost of {port}, which sent {sent:.0f} packets and was to "
                f"lose number {numbers[0]}"
            )
        return row(port, "dropped_packets") + figures.get((port, "lost"), 0.0)

    lost = sum(gone(port, numbers) for port, numbers in losses.items())
    used = row("left>right", "utilisation")
    return Figures(total("goodput"), total("timeouts"), total("retransmissions"), lost, used)


def simulate(command: str, text: str) -> dict[tuple[str, str], float]:
    """Return the figures of a scenario by subject and metric."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "point.toml")
        file.write_text(text, encoding="utf-8")
        return by_name(json.loads(_run([command, "simulate", str(file), "--json", "--threads", "1"])))


def by_name(document: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Return the figures of the only point of a document, by subject and metric."""
    return {(row["subject"], row["metric"]): row["mean"] for row in document["points"][0]["figures"]}


def in_ns2(command: str, point: Point, runs: Iterable[int], **options: object) -> list[Figures]:
    """Simulate these runs of the point in ns-2; `options` are further settings of `line.tcl`."""
    return [_in_ns2(command, point, run, options) for run in runs]


def _in_ns2(command: str, point: Point, run: int, more: dict[str, object]) -> Figures:
    losses = lost(point, run)
    options: dict[str, object] = {
        "variant": point.variant,
        "acks": "delack" if point.delayed else "plain",
        "rate": point.rate,
        "rtt": round_trip(point, run),
        "buffer": point.buffer,
        "flows": point.flows,
        "forward": ",".join(map(str, losses.forward)),
        "back": ",".join(map(str, losses.back)),
        "tick": point.tick,
        "minrto": point.rto_min,
        "initial": point.initial,
        "limited": int(point.limited),
        "mss": point.mss,
        "ssthresh": point.ssthresh or "",
        "duration": point.duration,
        "warmup": point.warmup,
        "stagger": STAGGER,
        "window": WINDOW // point.mss,
        **more,
    }
    words = [f"{key}={value}" for key, value in options.items()]
    lines = dict(line.split() for line in _run([command, str(SCRIPT), *words]).splitlines())
    value = {key: float(text) for key, text in lines.items()}
    return Figures(value["goodput"], value["timeouts"], value["retransmissions"], value["drops"])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout
