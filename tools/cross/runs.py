"""One point in Cellway or in ns-2: figures of one seed."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cross.grid import Point

SCRIPT = Path(__file__).with_name("line.tcl")
WINDOW = 64 << 20
"""No receive window is ever the limit (B)."""
RUNS = 4
"""Of each point."""
STAGGER = 0.037
"""Between the starts of flows (s)."""


@dataclass(frozen=True)
class Figures:
    """What a run gave after its warm-up, all flows together."""

    goodput: float
    """Payload delivered in order (bit/s)."""
    timeouts: float
    resent: float
    """Segments sent again."""
    lost: float
    """Packets that the buffer dropped, or the line lost at random; acknowledgements too, in Cellway."""
    utilisation: float | None = None
    """Share of the time in which the line was sending; Cellway alone."""


def scenario(point: Point, *, app: str = "bulk", tcp: str = "", extra: str = "") -> str:
    """The point as a scenario file. `tcp` replaces the keys of TCP, `extra` is put at the end."""
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
loss = "{100 * point.loss:g}%"

[[traffic]]
name = "flow"
app = "{app}"
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
"""


def delays(point: Point) -> list[float]:
    """The round trips of the runs of a point (s).

    Without chance they are a hair apart: drop-tail buffers and timers of whole ticks turn on single packets, and one
    run of either simulator would stand for nothing.
    """
    return [point.rtt * (1 + 0.004 * i) for i in range(1 if point.by_chance else RUNS)]


def in_cellway(command: str, point: Point) -> list[Figures]:
    """The point in the simulator: several seeds, or round trips."""
    values = ", ".join(f'"{rtt * 5e8:.0f} ns"' for rtt in delays(point))
    text = scenario(point, extra=f'\n[sweep]\naxes = {{ "link.left-right.delay" = [{values}] }}\n')
    seeds = range(1, RUNS + 1) if point.by_chance else [1]
    return [_figures(point, run) for seed in seeds for run in simulate(command, text, seed)]


def _figures(point: Point, figures: dict[tuple[str, str], float]) -> Figures:
    flows = [f"flow-{i + 1}" for i in range(point.flows)]

    def total(metric: str) -> float:
        return sum(figures[flow, metric] for flow in flows)

    ports = ["left>right", "right>left"]
    # Packet lines and ATM lines.
    gone = ("dropped_packets", "dropped_frames", "lost")
    lost = sum(figures.get((port, metric), 0.0) for port in ports for metric in gone)
    return Figures(
        total("goodput"), total("timeouts"), total("retransmissions"), lost, figures["left>right", "utilisation"]
    )


def simulate(command: str, text: str, seed: int) -> list[dict[tuple[str, str], float]]:
    """The figures of a scenario by subject and metric, for each point of its sweep."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "point.toml")
        file.write_text(text, encoding="utf-8")
        arguments = ["simulate", str(file), "--json", "--threads", "1", "--set", f"run.seed={seed}"]
        document = json.loads(_run([command, *arguments]))
    return [{(row["subject"], row["metric"]): row["mean"] for row in run["figures"]} for run in document["points"]]


def in_ns2(command: str, point: Point, **options: object) -> list[Figures]:
    """The point in ns-2, likewise; `options` are further settings of `line.tcl`."""
    runs = [(rtt, seed) for rtt in delays(point) for seed in (range(1, RUNS + 1) if point.by_chance else [1])]
    return [_in_ns2(command, point, rtt, seed, options) for rtt, seed in runs]


def _in_ns2(command: str, point: Point, rtt: float, seed: int, more: dict[str, object]) -> Figures:
    options: dict[str, object] = {
        "variant": point.variant,
        "acks": "delack" if point.delayed else "plain",
        "rate": point.rate,
        "rtt": rtt,
        "buffer": point.buffer,
        "flows": point.flows,
        "loss": point.loss,
        "tick": point.tick,
        "minrto": point.rto_min,
        "initial": point.initial,
        "limited": int(point.limited),
        "mss": point.mss,
        "duration": point.duration,
        "warmup": point.warmup,
        "stagger": STAGGER,
        "window": WINDOW // point.mss,
        "seed": seed,
        **more,
    }
    words = [str(word) for pair in options.items() for word in pair]
    lines = dict(line.split() for line in _run([command, str(SCRIPT), *words]).splitlines())
    value = {key: float(text) for key, text in lines.items()}
    return Figures(value["goodput"], value["timeouts"], value["retransmissions"], value["drops"])


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout
