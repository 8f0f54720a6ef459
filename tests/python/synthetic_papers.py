"""Folders like those that `cellway reproduce` writes for kdd, magic, nasa and spacing, with invented numbers.

python tests/python/synthetic_papers.py DIR
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import synthetic
import synthetic_scenarios as scenarios
from synthetic import Row, tables

Tables = dict[str, pl.DataFrame]
Axes = dict[str, Any]
Study = tuple[str, str, float, Tables]
"""id, scenario, round trip in seconds, tables"""

M = 1e6


def near(rng: random.Random, mean: float) -> float:
    return mean * (1 + rng.gauss(0, 0.01))


def sweep(points: Iterable[Axes], measure: Callable[[Axes, random.Random], Iterable[Row]], seeds: int = 3) -> Tables:
    return tables(points, seeds, measure)


def grid(**axes: Iterable[Any]) -> list[Axes]:
    """Every combination; `__` in a name stands for a dot and `___` for a dash."""
    names = [name.replace("___", "-").replace("__", ".") for name in axes]
    return [dict(zip(names, values, strict=True)) for values in product(*axes.values())]


def flat(metric: str, value: Callable[[Axes], float], subject: str = "flow-1", unit: str = "bit/s") -> Any:
    """A measure of one slot's value, which is a function of the axes."""
    return lambda axes, rng: [(subject, metric, unit, None, near(rng, value(axes)))]


def row(name: str, place: str, text: str, published: float | None, predicted: float | None, simulated: float | None,
        verdict: str, unit: str = "Mbit/s", **more: Any) -> dict[str, Any]:  # fmt: skip
    """A row of `claims.json` with every new key."""
    measured = None if simulated is None else simulated
    return {
        "id": name, "paper": "", "section": "", "figure": place if place.startswith(("Figure", "Table")) else "",
        "place": place, "claim": text, "form": "number", "expected": "within 5 % of it", "measured": measured,
        "measured_text": "" if measured is None else f"{measured:.4g} [{0.99 * measured:.4g}, {1.01 * measured:.4g}] {unit}",
        "unit": unit, "ci_low": measured and 0.99 * measured, "ci_high": measured and 1.01 * measured,
        "seeds": 3, "of_seeds": 3, "verdict": verdict, "note": "", "published": published,
        "published_text": None if published is None else f"{published:g} {unit}", "predicted": predicted,
        "predicted_text": None if predicted is None else f"{predicted:.4g} {unit}",
        "equation": "window-limited" if predicted is not None else None,
        "caveats": ["the round trip counts serialisation"] if predicted is not None else [],
        "simulated": simulated, "deviation": (simulated or predicted) / published - 1 if published else None,
        "given": ["round trip 175 ms", "window 36 592 B"], "inferred": [], "fitted": [], "tried": "", "unexplained": "",
    } | more  # fmt: skip


def kdd() -> tuple[list[Study], list[dict[str, Any]]]:
    ways, counts = ("without", "with"), (1.0, 2.0, 4.0, 8.0)
    top = {"with": lambda n: min(25.6, 21.0 * n), "without": lambda n: 1.45 * n}

    def ttcp(most: float) -> Callable[[Axes, random.Random], list[Row]]:
        def measure(axes: Axes, rng: random.Random) -> list[Row]:
            n = int(axes["traffic.ttcp.count"])
            each = most / 25.6 * top.get(axes["variant"], top["with"])(n) / n * M
            return [(f"ttcp-{slot}", "item_rate_mean", "bit/s", None, near(rng, each)) for slot in range(1, n + 1)]

        return measure

    sizes = [f'["{size} B"]' for size in (321051, 380020, 421000, 466000, 509100, 572101)]
    www = sweep(
        grid(variant=ways, traffic__www__workload__sizes=sizes),
        lambda a, r: [
            ("www-1", "item_time_mean", "s", None,
             near(r, int(a["traffic.www.workload.sizes"][2:8]) / (42_000 if a["variant"] == "without" else 230_000)))
        ],
    )  # fmt: skip
    loads = grid(variant=ways, traffic__ttcp__count=counts)
    studies: list[Study] = [
        ("www", scenarios.KDD, 0.175, www),
        ("ttcp-atm", scenarios.KDD, 0.175, sweep(loads, ttcp(25.6))),
        ("ttcp-ethernet", scenarios.KDD_ETHERNET, 0.175, sweep(loads, ttcp(6.7))),
        ("domestic-atm", scenarios.KDD, 0.177, sweep(loads, ttcp(25.2))),
        ("gateway-cost", scenarios.KDD, 0.175,
         sweep(grid(node__gw___us__gateway__send=[f"{c} ms" for c in (0.1, 0.2, 0.36, 0.5, 0.8)]),
               flat("item_rate_mean", lambda a: 30 * M / (1 + float(a["node.gw-us.gateway.send"][:-3]) / 2)))),
        ("display-rate", scenarios.KDD, 0.175,
         sweep(grid(traffic__www__workload__display___rate=["1 Mbit/s", "2.35 Mbit/s", "5 Mbit/s"]),
               flat("item_time_mean", lambda a: 5 / float(next(iter(a.values())).split()[0]), unit="s"))),
    ]  # fmt: skip
    fitted = {
        "fitted": ["display rate 2.35 Mbit/s"],
        "inferred": ["window 8 KiB"],
        "tried": "A window of 36 592 bytes gives 4.2 s.",
    }
    claims = [
        row("eq1-200", "section 2.1", "A window of 8 KB over 200 ms gives roughly 310 kbit/s.", 310, 308.8, None, "reproduced", "kbit/s"),
        row("www-without", "Figure 5", "572 101 bytes take 13.5 s without gateways.", 13.5, 13.4, 13.55, "reproduced", "s"),
        row("www-with", "Figure 5", "572 101 bytes take 2.6 s with gateways.", 2.6, None, 2.58, "fitted", "s", **fitted),
        row("ftp-atm-without", "Figure 6", "ftp over ATM without gateways", 1.5, 1.47, 1.47, "reproduced"),
        row("ftp-atm-with", "Figure 6", "ftp over ATM with gateways", 22, None, 20.8, "not-reproduced"),
        row("ttcp-atm-without-1", "Section 4.4.1", "One connection over ATM", 1.42, 1.47, 1.45, "reproduced"),
        row("ttcp-atm-with-1", "Section 4.4.1", "One connection over ATM through the gateways", 21.2, None, 21.0, "fitted",
            fitted=["latency of 4.4 ms on the LAN"]),
        *(row(f"table2-4-{c}", "Table 2", f"Connection {c} of 4", v, None, 6.4, "reproduced")
          for c, v in enumerate((6.36, 6.34, 6.34, 6.34), start=1)),
        row("domestic-hurts", "Section 4.4.3", "The delay hurts ATM more than Ethernet.", None, None, 0.01, "not-reproduced", "",
            unexplained="No parameter that was tried gives the order."),
    ]  # fmt: skip
    return studies, claims


def magic() -> tuple[list[Study], list[dict[str, Any]]]:
    kibs = (0.5, 1, 2, 4, 8, 16, 32, 64, 128)
    printed = (0.47, 0.93, 1.8, 3.7, 7.4, 14.9, 29.8, 59.6, 119)
    rate = {kib: min(0.97 * kib * 1024 * 8 / 0.0088 / M, 118.0) for kib in kibs}
    collapse = flat("goodput", lambda a: (0.93 if 199 <= float(str(a["buffer.size"]).split()[0]) <= 264 else 19.0) * M)
    studies: list[Study] = [
        ("windows", scenarios.MAGIC, 0.0088, sweep(grid(tcp__window=[f"{kib} KiB" for kib in kibs]),
                                                   flat("goodput", lambda a: rate[float(a["tcp.window"].split()[0])] * M), 1)),
        ("buffer", scenarios.MAGIC, 0.0088, sweep(grid(buffer__size=[f"{n} cell" for n in range(150, 320, 5)]), collapse, 1)),
        ("taxi", scenarios.MAGIC, 0.0088, sweep(grid(rate=[f"{r / 10} Mbit/s" for r in range(960, 1020, 4)]),
                                                flat("goodput", lambda a: (0.9 if float(a["rate"][:5]) < 99 else 19) * M), 1)),
        ("pcr", scenarios.MAGIC, 0.0088, sweep(grid(rate=[f"{r} Mbit/s" for r in range(20, 130, 10)]),
                                               flat("goodput", lambda a: min(0.88 * float(a["rate"].split()[0]), 84) * M), 1)),
        ("host-time", scenarios.MAGIC, 0.0088, sweep(grid(host__send=[f"{t / 20} ms" for t in range(1, 40)]),
                                                     flat("goodput", lambda a: (30 + 20 * math.sin(hash_of(a))) * M), 1)),
    ]  # fmt: skip
    claims = [
        *(row(f"table1-{kib:g}k", "Table 1", f"Window {kib:g}k", p, kib * 1024 * 8 / 0.0088 / M, rate[kib], "reproduced")
          for kib, p in zip(kibs, printed, strict=True)),
        *(row(f"table2-{key}", "Table 2", name, p, None, s, v, label=name, inferred=["buffer 256 cells"])
          for key, name, p, s, v in (
              ("1-unpaced", "Scenario 1, no pacing", 0.87, 0.93, "fitted"), ("1-paced", "Scenario 1, pacing", 68.2, 67.3, "fitted"),
              ("2-unpaced", "Scenario 2, no pacing", 1.66, 1.4, "not-reproduced"),
              ("2-paced", "Scenario 2, pacing", 52.36, 52.0, "fitted"),
              ("3a", "Scenario 3a", 46.71, 41.0, "undecided"), ("3b", "Scenario 3b", 61.17, 61.0, "fitted"))),
    ]  # fmt: skip
    return studies, claims


def hash_of(axes: Axes) -> float:
    """Erratic, and the same each time."""
    return sum(37 * ord(letter) for letter in str(axes))


def nasa() -> tuple[list[Study], list[dict[str, Any]]]:
    def over_time(axes: Axes, rng: random.Random) -> list[Row]:
        rows: list[Row] = []
        for t in range(1, 121):
            low = 20 < t / 2 <= 40
            rows += [("stream-1", "goodput", "bit/s", t / 2, near(rng, (6.5 if low else 17) * M)),
                     ("s1>s2", "queue_mean", "cell", t / 2, near(rng, 180 if low else 40)),
                     ("s1>s2", "dropped_cells", "cell", t / 2, 30.0 if low and t % 9 == 0 else 0.0)]  # fmt: skip
            if axes["service"] == "abr":
                rows.append(("stream-1", "acr", "bit/s", t / 2, (9.5 if low else 19.5) * M))
        return rows

    studies: list[Study] = [
        ("windows", scenarios.NASA, 0.06,
         sweep(grid(tcp__window=[f"{kib} KiB" for kib in (32, 64, 128, 192, 256, 320, 384, 512)]),
               flat("goodput", lambda a: min(int(a["tcp.window"][:-4]) * 1024 * 8 / 0.061, 35e6)))),
        *((f"contract-{s}", scenarios.NASA, 0.06, sweep([{"service": s}], over_time, 1)) for s in ("vbr", "abr")),
    ]  # fmt: skip
    single = [("FDDI-ATM", 262144, 4096, 30.34), ("FDDI-ATM", 262144, 8192, 30.69), ("FDDI-ATM", 524250, 4096, 12.84),
              ("FDDI-ATM", 524250, 8192, 20.08), ("ATM", 262144, 4096, 31.73), ("ATM", 524250, 8192, 61.88)]  # fmt: skip
    claims = [
        *(row(f"single-{path.lower()}-{w}-{u}", "Single TCP stream test", f"{path}, window {w}, writes of {u}", p,
              w * 8 / 0.066 / M, min(w * 8 / 0.068 / M, 61), "reproduced" if p > 21 else "not-reproduced",
              label=f"{path}, {w} B, writes of {u} B",
              unexplained="" if p > 21 else "Losses in the router give no dependence on the write size.")
          for path, w, u, p in single),
        *(row(f"three-{w}-{r}", "Three streams", f"Receiver {r}, window {w}", p, None, 1.1 * p, "undecided")
          for w, ps in ((262144, (20.70, 20.38, 19.07)), (524250, (31.79, 31.41, 31.05))) for r, p in enumerate(ps, 1)),
        row("vbr-lab", "CTI Test", "VBR over 60 ms", 29.67, None, 29.5, "reproduced"),
    ]  # fmt: skip
    return studies, claims


def spacing() -> tuple[list[Study], list[dict[str, Any]]]:
    def rate(_: Axes, rng: random.Random) -> list[Row]:
        steps = lambda t: 16.0 if t <= 20 else 4.5 if t <= 40 else 9.0  # noqa: E731
        return [("anim-1", "goodput", "bit/s", t / 4, near(rng, steps(t / 4) * M)) for t in range(1, 241)]

    def queue(_: Axes, __: random.Random) -> list[Row]:
        rows: list[Row] = [("s1>b", "queue", "cell", 0.01 + n * 1e-4, 32.0 * (n % 3)) for n in range(100)]
        level = lambda t: min(1182.0, 18_000 * (t - 0.02))  # noqa: E731
        rows += [("s1>b", "queue", "cell", t, level(t) + (35 if n % 2 else 0.0))
                 for n, t in ((n, 0.02 + n * 0.9e-3) for n in range(1000))]  # fmt: skip
        return rows

    def theorem(axes: Axes, rng: random.Random) -> list[Row]:
        rows: list[Row] = [
            ("s1>b", metric, "cell", None, 1182 + rng.uniform(-3, 3)) for metric in ("queue_min", "queue_max")
        ]
        return rows

    points = grid(shaper__spacer__rate=[f"{c} Mbit/s" for c in (5, 10, 15.264, 20, 25)], c1=["true", "false"])
    grids = with_theory(sweep([{**p, "link.rate": "e3"} for p in points], theorem, 1), 1182.0)
    studies: list[Study] = [
        ("modulated", scenarios.SPACING, 0.0036, sweep([{"v": 1.0}], rate, 1)),
        ("buffer", scenarios.SPACING, 0.0036, sweep([{"v": 1.0}], queue, 1)),
        ("slow-start", scenarios.SPACING, 0.0036, sweep([{"v": 1.0}], queue, 1)),
        ("theorem2", scenarios.SPACING, 0.0036, grids),
    ]
    claims = [
        row("figure3-low", "Figure 3", "The content swings down to 1182 cells.", 1182, 1182.4, 1181, "reproduced", "cells"),
        row("figure3-high", "Figure 3", "The content swings up to 1217 cells.", 1217, 1217.6, 1216, "reproduced", "cells"),
        row("figure2-5", "Figure 2", "TCP adapts to 0.5 Mbyte/s.", 0.5, 0.53, 0.54, "shape", "Mbyte/s"),
        *(row(f"theorem3-{n}{case}", "Theorem 3", f"Point {n}", None, 900.0 + n, 901.5 + n, "reproduced", "cells")
          for n, case in enumerate(("", "-2c>h", "-2c>h-outside"))),
    ]  # fmt: skip
    return studies, claims


def with_theory(made: Tables, value: float) -> Tables:
    """The tables with a row of theory beside each simulated one."""
    simulated = made["summary"].with_columns(pl.col(pl.Categorical).cast(pl.String))
    theory = simulated.with_columns(source=pl.lit("theory"), value=pl.lit(value))
    return {**made, "summary": pl.concat([simulated, theory]).cast(made["summary"].schema)}


PAPERS: dict[str, Callable[[], tuple[list[Study], list[dict[str, Any]]]]] = {
    "kdd": kdd, "magic": magic, "nasa": nasa, "spacing": spacing,
}  # fmt: skip


def folder(at: Path, paper: str, only: Iterable[str] | None = None) -> Path:
    """Write the folder of one paper: all studies, or those named in `only`."""
    studies, claims = PAPERS[paper]()
    chosen = None if only is None else set(only)
    listed = []
    at.mkdir(parents=True, exist_ok=True)
    for name, scenario, rtt, made in studies:
        listed.append({"id": name, "title": f"The study {name}", "folder": f"tables/{name}"})
        if chosen is not None and name not in chosen:
            continue
        target = at / "tables" / name
        target.mkdir(parents=True)
        for table, frame in made.items():
            frame.write_parquet(target / f"{table}.parquet")
        manifest = synthetic.manifest(name, made["runs"]) | {
            "scenario": scenario,
            "rtt_seconds": rtt,
            "warmup_seconds": 0.0,
        }
        (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    about = {"paper": paper, "title": f"The paper {paper}", "citation": f"The authors of {paper}", "version": "0.1.0",
             "quick": False, "host": "linux", "studies": listed, "remarks": [], "warnings": []}  # fmt: skip
    (at / "study.json").write_text(json.dumps(about), encoding="utf-8")
    (at / "claims.json").write_text(json.dumps(claims), encoding="utf-8")
    return at


def every(at: Path) -> Path:
    """All five papers in one folder."""
    for paper in PAPERS:
        folder(at / paper, paper)
    synthetic.folder(at / "cellsim", seeds=2)
    return at


if __name__ == "__main__":
    print(every(Path(sys.argv[1])))
