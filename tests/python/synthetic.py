"""A folder like the one that `cellway reproduce cellsim` writes, with invented numbers, to test its readers.

python tests/python/synthetic.py DIR
"""

from __future__ import annotations

import json
import math
import random
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

RTT = 0.045
POLICIES = ["per-conversation", "per-type", "per-destination"]
CHANNEL = "multiplexing.channel"
COUNT = "traffic.ftp.count"

SCENARIO = """version = 1
name = "{name}"
description = "a < b & c"

[run]
duration = "180 s"
warmup = "45 s"
seed = 1
seeds = 20
rtt = "45 ms"
"""

Row = tuple[str, str, str, float | None, float]
"""subject, metric, unit, t, value"""


def tables(
    points: Iterable[dict[str, Any]], seeds: int, measure: Callable[[dict[str, Any], random.Random], Iterable[Row]]
) -> dict[str, pl.DataFrame]:
    """The three tables of a sweep: `measure` gives the rows of one run."""
    runs, rows = [], []
    for point, axes in enumerate(points):
        for seed in range(1, seeds + 1):
            run = len(runs)
            runs.append({"run": run, "point": point, "seed": seed, **axes})
            rng = random.Random(f"{axes}/{seed}")
            rows += [(run, "simulate", *row) for row in measure(axes, rng)]
    schema = {
        "run": pl.UInt32,
        "source": pl.Categorical,
        "subject": pl.Categorical,
        "metric": pl.Categorical,
        "unit": pl.Categorical,
        "t": pl.Float64,
        "value": pl.Float64,
    }
    values = pl.DataFrame(rows, schema=schema, orient="row")
    return {
        "runs": pl.DataFrame(runs, infer_schema_length=None).cast(
            {"run": pl.UInt32, "point": pl.UInt32, "seed": pl.UInt64}
        ),
        "summary": values.filter(pl.col("t").is_null()),
        "series": values.filter(pl.col("t").is_not_null()),
    }


def _near(rng: random.Random, mean: float, spread: float) -> float:
    return max(0.0, mean * (1 + rng.gauss(0, spread)))


def bulk_and_telnet(axes: dict[str, Any], rng: random.Random, scale: float = 1.0, skew: float = 1.0) -> list[Row]:
    """One run of N bulk conversations beside a TELNET one; `scale` is the link speed over 1.5 Mbit/s."""
    n, channel = int(axes.get(COUNT, 5)), axes[CHANNEL]
    load = min(1.0, 0.31 * n / scale)
    mixed, shared = channel == "per-destination", channel != "per-conversation"
    wait = 1.03 + (3.6 * load**3 if mixed else 0.07 * load)
    jain = 1 - _near(rng, (0.16 * skew if shared else 0.012) * load, 0.25)
    mean = _near(rng, min(0.31, 0.98 / n / scale if n else 0.0), 0.03) if n else 0.0
    summary: list[Row] = [
        ("r1>s1", "utilisation", "1", None, min(1.0, _near(rng, 0.97 * load + 0.004, 0.02))),
        ("telnet-1", "delay_mean", "s", None, (d := _near(rng, wait, 0.05)) * RTT),
        ("telnet-1", "delay_mean_rtt", "rtt", None, d),
        ("telnet-1", "delay_sd_rtt", "rtt", None, _near(rng, 0.04 + (1.4 * load**2 if mixed else 0.05 * load), 0.1)),
        ("network", "lost_frames", "frame", None, float(round(_near(rng, 90 * load if shared else 6 * load, 0.4)))),
    ]
    if n:
        summary += [("ftp", "throughput_mean", "1", None, mean), ("ftp", "jain", "1", None, jain)]
        summary.append(("ftp", "collapses_mean", "1", None, _near(rng, 14 if shared else 1, 0.5)))
    return summary


def over_time(axes: dict[str, Any], rng: random.Random) -> list[Row]:
    """The bins of the same run."""
    n, shared = int(axes[COUNT]), axes[CHANNEL] != "per-conversation"
    rows: list[Row] = []
    for index in range(1, 41):
        t = index * 100 * RTT
        settle = 1 - math.exp(-index / 3)
        rows.append(("r1>s1", "utilisation", "1", t, min(1.0, _near(rng, 0.31 * n * settle + 0.004, 0.03))))
        if rng.random() < 0.9:
            rows.append(("telnet-1", "delay_mean", "s", t, RTT * _near(rng, 1.1 + (3 * settle if shared else 0), 0.1)))
        for slot in range(1, n + 1):
            wave = 1 + 0.7 * math.sin(index / 4 + 1.3 * slot) if shared else 1.0
            rows.append((f"ftp-{slot}", "throughput", "1", t, _near(rng, 0.98 / n * wave * settle, 0.06)))
    return rows


def window_trace(axes: dict[str, Any], rng: random.Random) -> list[Row]:
    """A sawtooth for shared queues, a ramp to the top for own ones; one row per change."""
    shared, t, size, rows = axes[CHANNEL] != "per-conversation", 0.0, 512.0, []
    while t < 4000 * RTT:
        rows.append(("ftp-1", "window", "B", t, size))
        t += RTT * rng.uniform(0.2, 1.2)
        drop = shared and rng.random() < 0.012
        size = 512.0 if drop or rng.random() < 0.002 else min(8192.0, size + 512 * rng.uniform(0.2, 1))
    return rows


def folder(at: Path, seeds: int = 20, only: Iterable[str] | None = None) -> Path:
    """Write the folder: all studies, or those named in `only`."""
    policies = [{CHANNEL: p, COUNT: float(n)} for p, n in product(POLICIES, range(6))]
    fast = [{CHANNEL: p, COUNT: float(n)} for p, n in product(POLICIES, range(11))]
    levels = {"ftp": 0.31, "nntp": 0.14, "smtp": 0.09, "telnet": 0.002}
    load = [{"variant": k, "traffic.source.count": float(n)} for k, n in product(levels, range(1, 11))]
    variants = [
        "reference",
        "MSS 1460",
        "TCP Reno",
        "delayed acknowledgements",
        "LLC/SNAP encapsulation",
        "discard cell by cell",
        "limit per channel",
        "continuous tcplib draws",
        "timers of 10 ms",
    ]
    choices = [{"variant": v, CHANNEL: p} for v, p in product(variants, POLICIES)]
    sizes = [
        {"buffer.size": f"{s} bdp", "buffer.sharing": how, CHANNEL: p}
        for s, how, p in product((0.25, 0.5, 1, 2, 4), ("pool", "channel", "conversation"), POLICIES)
    ]
    windows = [{CHANNEL: p, COUNT: 5.0} for p in POLICIES]
    made: dict[str, tuple[str, Callable[[], dict[str, pl.DataFrame]]]] = {
        "load": (
            "Load of each traffic type alone",
            lambda: tables(
                load,
                seeds,
                lambda a, r: [
                    (
                        "r1>s1",
                        "utilisation",
                        "1",
                        None,
                        min(0.995, _near(r, levels[a["variant"]] * a["traffic.source.count"], 0.03)),
                    )
                ],
            ),
        ),
        "policies": (
            "Policies against load",
            lambda: tables(policies, seeds, lambda a, r: [*bulk_and_telnet(a, r), *over_time(a, r)]),
        ),
        "windows": ("Windows over time", lambda: tables(windows, 1, window_trace)),
        "faster": ("Twice the speed", lambda: tables(fast, seeds, lambda a, r: bulk_and_telnet(a, r, 2.0))),
        "corrected": (
            "Corrected item sizes",
            lambda: tables(policies, seeds, lambda a, r: bulk_and_telnet(a, r, skew=1.5)),
        ),
        "choices": ("Choices that the paper leaves open", lambda: tables(choices, seeds, bulk_and_telnet)),
        "buffers": ("Buffer size and sharing", lambda: tables(sizes, seeds, bulk_and_telnet)),
    }
    chosen = list(made) if only is None else [name for name in made if name in set(only)]
    for name in chosen:
        target = at / "tables" / name
        target.mkdir(parents=True)
        data = made[name][1]()
        for table, frame in data.items():
            frame.write_parquet(target / f"{table}.parquet")
        (target / "manifest.json").write_text(json.dumps(manifest(name, data["runs"])), encoding="utf-8")
    at.mkdir(parents=True, exist_ok=True)
    (at / "study.json").write_text(
        json.dumps(
            {
                "paper": "cellsim",
                "title": "Multiplexing TCP Traffic over Wide-Area ATM Networks",
                "citation": "R. Cáceres, Multiplexing TCP Traffic over Wide-Area ATM Networks, 1993",
                "version": "0.1.0",
                "quick": False,
                "started": "2026-01-31T12:00:00Z",
                "wall_seconds": 71.3,
                "host": "8 cores, Linux",
                "threads": 8,
                "runs": 2900,
                "cell_hops": 3_480_000_000,
                "cell_hops_per_second": 48.8e6,
                "studies": [
                    {
                        "id": name,
                        "title": made[name][0],
                        "folder": f"tables/{name}",
                        "seeds": seeds,
                        "points": 18,
                        "axes": [],
                    }
                    for name in made
                ],
                "remarks": [REMARK],
                "warnings": ["policies: the warm-up may be too short at 1 of 18 points: traffic.ftp.count = 1"],
            }
        ),
        encoding="utf-8",
    )
    (at / "claims.json").write_text(json.dumps(CLAIMS), encoding="utf-8")
    add_recipe(at, "cellsim")
    return at


def add_recipe(at: Path, paper: str) -> None:
    """Add what `cellway reproduce` takes from the folder of a paper: its figures, its finding and its experiment."""
    folder = Path(__file__).parents[2] / "papers" / paper
    shutil.copy(folder / "figures.py", at)
    study = tomllib.loads((folder / "study.toml").read_text(encoding="utf-8"))
    about = json.loads((at / "study.json").read_text(encoding="utf-8"))
    about |= {name: study[name] for name in ("finding", "experiment")}
    (at / "study.json").write_text(json.dumps(about), encoding="utf-8")


def manifest(name: str, runs: pl.DataFrame) -> dict[str, Any]:
    """As the engine writes it."""
    return {
        "format": 1,
        "cellway": "0.1.0",
        "scenario": SCENARIO.format(name=name),
        "scenario_sha256": "0" * 64,
        "first_seed": 1,
        "seeds": runs["seed"].n_unique(),
        "points": runs["point"].n_unique(),
        "runs": runs.height,
        "started": "2026-01-31T12:00:00Z",
        "wall_seconds": 10.2,
        "host": "8 cores, Linux",
        "threads": 8,
        "rtt_seconds": 0.045,
        "warmup_seconds": 45.0,
        "simulated_seconds": 180.0 * runs.height,
        "events": 900_000 * runs.height,
        "cell_hops": 1_200_000 * runs.height,
        "packets": 99_000 * runs.height,
        "cell_hops_per_second": 31.4e6,
        "files": [],
    }


def _claim(
    name: str,
    section: str,
    figure: str,
    claim: str,
    expected: str,
    measured: str,
    verdict: str,
    note: str = "",
    unit: str = "",
) -> dict[str, Any]:
    value = float(measured.split()[0]) if measured[:1].isdigit() else None
    return {
        "id": name,
        "section": section,
        "figure": figure,
        "claim": claim,
        "origin": "control" if name.startswith("control-") else "reading" if name.endswith("-pool") else "paper",
        "form": "number" if verdict == "reproduced" else "trend",
        "expected": expected,
        "measured": value,
        "measured_text": measured,
        "unit": unit,
        "ci_low": value,
        "ci_high": value,
        "verdict": verdict,
        "note": note,
    }


REMARK = "One choice was changed after a first run."
SATURATED = "Saturated is read as a utilisation of 95 %."
VISIBLE = "Visibly is read as a Jain index lower by at least 0.05."
CLAIMS = [
    _claim(
        "fig2-ftp-saturates",
        "3",
        "Figure 2",
        "File transfers saturate the network with three or four conversations.",
        "3 to 4 conversations",
        "3 [3, 4] conversations",
        "reproduced",
        SATURATED,
        "conversations",
    ),
    _claim(
        "fig2-telnet-idle",
        "3",
        "Figure 2",
        "Terminal sessions leave the network mostly idle.",
        "at most 0.1",
        "0.02 [0.019, 0.021]",
        "shape",
    ),
    _claim(
        "fig3-flat",
        "4",
        "Figure 3",
        "TELNET delay grows almost imperceptibly up to five FTP (per-conversation).",
        "ratio 0.95 to 1.05",
        "1.067 [1.06, 1.074]",
        "not-reproduced",
        "A few per cent is read as at most 5 %.",
    ),
    _claim(
        "fig3-start",
        "4",
        "Figure 3",
        "TELNET delay begins very near one round trip.",
        "1 to 1.1 RTT",
        "1.031 [1.02, 1.042] RTT",
        "reproduced",
        "",
        "RTT",
    ),
    _claim(
        "fig3-rises",
        "4",
        "Figure 3",
        "TELNET delay rises rapidly with load under per-destination.",
        "ratio at least 2",
        "4.49 [4.4, 4.58]",
        "shape",
        "Rapidly is read as at least twofold at five FTP.",
    ),
    _claim(
        "fig4-start",
        "4",
        "Figure 4",
        "The standard deviation of TELNET delay begins very near zero.",
        "0 to 0.1 RTT",
        "0.041 [0.039, 0.043] RTT",
        "reproduced",
        "",
        "RTT",
    ),
    _claim(
        "fig5-falls",
        "5.1",
        "Figure 5",
        "FTP throughput per conversation falls with load.",
        "ratio at most 0.8",
        "0.63 [0.62, 0.64]",
        "shape",
    ),
    _claim(
        "fig7-unfair",
        "5.2",
        "Figure 7",
        "Throughput is visibly less fair under per-destination.",
        "difference at least 0.05",
        "0.061 [0.048, 0.074]",
        "undecided",
        VISIBLE,
    ),
    _claim(
        "fig9-shrinks",
        "5.3",
        "Figures 8 and 9",
        "Windows often shrink to the minimum under per-destination.",
        "at least 5",
        "14.2 [12, 16.4]",
        "shape",
    ),
    _claim(
        "sec6-saturates",
        "6",
        "",
        "With 3 Mbit/s links the network saturates with seven to eight FTP.",
        "7 to 8 conversations",
        "7 [7, more than 10] conversations",
        "undecided",
        SATURATED,
        "conversations",
    ),
    _claim(
        "sec7-less-fair",
        "7",
        "",
        "Without the 74-byte anomaly unfairness grows.",
        "difference at most 0",
        "0.061 [0.05, 0.072]",
        "shape",
    ),
    _claim(
        "sec2-transient",
        "2.3",
        "",
        "Initial transients are over before a thousand round trips.",
        "at most 1000 RTT",
        "620 [580, 660] RTT",
        "reproduced",
    ),
    _claim(
        "sec8-simple", "8", "", "The server never scans the queues.", "constant work", "not measured", "not-measured"
    ),
    {
        **_claim(
            "fig8-no-collapse-pool",
            "5.3",
            "Figure 8",
            "Windows do not collapse (buffers in one pool).",
            "at most 1",
            "0 [0, 0]",
            "reproduced",
        ),
        "seeds": 19,
        "of_seeds": 20,
    },
    _claim(
        "control-fair-endless",
        "5.2",
        "Figure 6",
        "A control of ours: endless transfers share fairly.",
        "at least 0.95",
        "0.99 [0.98, 1]",
        "reproduced",
    ),
]

if __name__ == "__main__":
    print(folder(Path(sys.argv[1])))
