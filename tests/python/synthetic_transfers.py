"""Invented studies and rows of kdd and magic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import synthetic_scenarios as scenarios
from synthetic import Row
from synthetic_rows import Axes, M, Study, flat, grid, near, row, sweep


def kdd() -> tuple[list[Study], list[dict[str, Any]]]:
    counts = (1.0, 2.0, 4.0, 8.0)

    def ttcp(one: float, most: float) -> Callable[[Axes, random.Random], list[Row]]:
        def measure(axes: Axes, rng: random.Random) -> list[Row]:
            n = int(axes["traffic.ttcp.count"])
            each = min(one, most / n) * M * (1.05 if axes.get("variant") == "as given" else 1)
            return [(f"ttcp-{slot}", "goodput", "bit/s", None, near(rng, each)) for slot in range(1, n + 1)]

        return measure

    def www(rate: float) -> Callable[[Axes, random.Random], list[Row]]:
        def measure(_: Axes, rng: random.Random) -> list[Row]:
            times = [near(rng, size / rate) for size in (321051, 380020, 466000, 572101)]
            return [("www-1", "item_time", "s", sum(times[: n + 1]), time) for n, time in enumerate(times)]

        return measure

    direct = grid(traffic__ttcp__count=counts)
    both = grid(traffic__ttcp__count=counts, variant=("as given", "fitted"))
    delays = grid(traffic__ttcp__count=(1.0, 8.0), variant=("none", "2 ms"))
    studies: list[Study] = [
        ("direct-www", scenarios.KDD_WWW, 0.175, sweep([{"v": 1.0}], www(42_000))),
        ("gateway-www", scenarios.KDD_WWW, 0.175, sweep([{"v": 1.0}], www(220_000))),
        ("direct-atm", scenarios.KDD, 0.175, sweep(direct, ttcp(1.45, 25.6), 1)),
        ("direct-ethernet", scenarios.KDD_ETHERNET, 0.175, sweep(direct, ttcp(0.33, 6.7), 1)),
        ("gateway-atm", scenarios.KDD, 0.175, sweep(both, ttcp(21.0, 25.6), 1)),
        ("gateway-ethernet", scenarios.KDD_ETHERNET, 0.175, sweep(both, ttcp(5.7, 6.7), 1)),
        ("domestic-atm", scenarios.KDD, 0.177, sweep(delays, ttcp(20.0, 25.6), 1)),
        (
            "gateway-cost",
            scenarios.KDD,
            0.175,
            sweep(
                grid(node__gw___us__gateway__send=[f"{c} ms" for c in (0.1, 0.2, 0.36, 0.5, 0.8)]),
                flat("goodput", lambda a: 30 * M / (1 + float(a["node.gw-us.gateway.send"][:-3]) / 2)),
            ),
        ),
        (
            "display-rate",
            scenarios.KDD,
            0.175,
            sweep(
                grid(traffic__www__workload__display___rate=["1 Mbit/s", "2.35 Mbit/s", "5 Mbit/s"]),
                flat("item_time_mean", lambda a: 5 / float(next(iter(a.values())).split()[0]), unit="s"),
            ),
        ),
    ]
    fitted = {
        "fitted": ["display rate 2.35 Mbit/s"],
        "inferred": ["window 8 KiB"],
        "tried": "A window of 36 592 bytes gives 4.2 s.",
    }
    claims = [
        row(
            "eq1-200",
            "section 2.1",
            "A window of 8 KB over 200 ms gives roughly 310 kbit/s.",
            310,
            308.8,
            None,
            "reproduced",
            "kbit/s",
        ),
        row(
            "www-direct",
            "Figure 5",
            "572 101 bytes take 13.5 s without gateways.",
            13.5,
            13.4,
            13.55,
            "reproduced",
            "s",
        ),
        row(
            "www-gateway",
            "Figure 5",
            "572 101 bytes take 2.6 s with gateways.",
            2.6,
            None,
            2.58,
            "fitted",
            "s",
            **fitted,
        ),
        row("ftp-atm-direct", "Figure 6", "ftp over ATM without gateways", 1.5, 1.47, 1.47, "reproduced"),
        row("ftp-atm-gateway", "Figure 6", "ftp over ATM with gateways", 22, None, 20.8, "not-reproduced"),
        row("one-atm-direct", "Section 4.4.1", "One connection over ATM", 1.42, 1.47, 1.45, "reproduced"),
        row(
            "one-atm-gateway",
            "Section 4.4.1",
            "One connection over ATM through the gateways",
            21.2,
            None,
            21.0,
            "fitted",
            fitted=["latency of 4.4 ms on the LAN"],
        ),
        *(
            row(f"table2-4-{c}", "Table 2", f"Connection {c} of 4", v, None, 6.4, "reproduced")
            for c, v in enumerate((6.36, 6.34, 6.34, 6.34), start=1)
        ),
        row(
            "domestic-hurts",
            "Section 4.4.3",
            "The delay hurts ATM more than Ethernet.",
            None,
            None,
            0.01,
            "not-reproduced",
            "",
            unexplained="No parameter that was tried gives the order.",
        ),
    ]
    return studies, claims


def magic() -> tuple[list[Study], list[dict[str, Any]]]:
    kibs = (0.5, 1, 2, 4, 8, 16, 32, 64, 128)
    printed = (0.47, 0.93, 1.8, 3.7, 7.4, 14.9, 29.8, 59.6, 119)
    rate = {kib: min(0.97 * kib * 1024 * 8 / 0.0088 / M, 118.0) for kib in kibs}
    collapse = flat("goodput", lambda a: (0.93 if 199 <= float(str(a["buffer.size"]).split()[0]) <= 264 else 19.0) * M)
    studies: list[Study] = [
        (
            "table1",
            scenarios.MAGIC,
            0.0088,
            sweep(
                grid(tcp__window=[f"{kib} KiB" for kib in kibs]),
                flat("goodput", lambda a: rate[float(a["tcp.window"].split()[0])] * M),
                1,
            ),
        ),
        (
            "table1-large-segments",
            scenarios.MAGIC,
            0.0088,
            sweep(
                grid(tcp__window=["32 KiB", "64 KiB"]),
                flat("goodput", lambda a: 0.9 * rate[int(a["tcp.window"].split()[0])] * M),
                1,
            ),
        ),
        (
            "buffer",
            scenarios.MAGIC,
            0.0088,
            sweep(grid(buffer__size=[f"{n} cell" for n in range(150, 320, 5)]), collapse, 1),
        ),
        (
            "taxi",
            scenarios.MAGIC,
            0.0088,
            sweep(
                grid(rate=[f"{r / 10} Mbit/s" for r in range(960, 1020, 4)]),
                flat("goodput", lambda a: (0.9 if float(a["rate"][:5]) < 99 else 19) * M),
                1,
            ),
        ),
        (
            "pcr",
            scenarios.MAGIC,
            0.0088,
            sweep(
                grid(rate=[f"{r} Mbit/s" for r in range(20, 130, 10)]),
                flat("goodput", lambda a: min(0.88 * float(a["rate"].split()[0]), 84) * M),
                1,
            ),
        ),
        (
            "host-time",
            scenarios.MAGIC,
            0.0088,
            sweep(
                grid(host__send=[f"{t / 20} ms" for t in range(1, 40)]),
                flat("goodput", lambda a: (30 + 20 * math.sin(hash_of(a))) * M),
                1,
            ),
        ),
    ]
    claims = [
        *(
            row(
                f"table1-{kib}k" if kib >= 1 else "table1-512b",
                "Table 1",
                f"Window {kib:g}k",
                p,
                kib * 1024 * 8 / 0.0088 / M,
                rate[kib],
                "reproduced",
            )
            for kib, p in zip(kibs, printed, strict=True)
        ),
        *(
            row(f"table2-{key}", "Table 2", name, p, None, s, v, label=name, inferred=["buffer 256 cells"])
            for key, name, p, s, v in (
                ("1-unpaced", "Scenario 1, no pacing", 0.87, 0.93, "fitted"),
                ("1-paced", "Scenario 1, pacing", 68.2, 67.3, "fitted"),
                ("2-unpaced", "Scenario 2, no pacing", 1.66, 1.4, "not-reproduced"),
                ("2-paced", "Scenario 2, pacing", 52.36, 52.0, "fitted"),
                ("3a", "Scenario 3a", 46.71, 41.0, "undecided"),
                ("3b", "Scenario 3b", 61.17, 61.0, "fitted"),
            )
        ),
    ]
    return studies, claims


def hash_of(axes: Axes) -> float:
    """Return an erratic number, the same each time."""
    return sum(37 * ord(letter) for letter in str(axes))
