"""Invented studies and rows of nasa and spacing."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import synthetic_scenarios as scenarios
from synthetic import Row
from synthetic_rows import Axes, M, Study, Tables, flat, grid, near, row, sweep


def nasa() -> tuple[list[Study], list[dict[str, Any]]]:
    def over_time(axes: Axes, rng: random.Random) -> list[Row]:
        rows: list[Row] = []
        for t in range(1, 121):
            low = 20 < t / 2 <= 40
            rows += [
                ("stream-1", "goodput", "bit/s", t / 2, near(rng, (6.5 if low else 17) * M)),
                ("s1>s2", "queue_mean", "cell", t / 2, near(rng, 180 if low else 40)),
                ("s1>s2", "dropped_cells", "cell", t / 2, 30.0 if low and t % 9 == 0 else 0.0),
            ]
            if axes["variant"] == "abr":
                rows.append(("stream-1", "acr", "bit/s", t / 2, (9.5 if low else 19.5) * M))
        return rows

    studies: list[Study] = [
        (
            "ds3",
            scenarios.NASA,
            0.06,
            sweep(
                grid(tcp__window=[f"{kib} KiB" for kib in (32, 64, 128, 192, 256, 320, 384, 512)]),
                flat("goodput", lambda a: min(int(a["tcp.window"][:-4]) * 1024 * 8 / 0.061, 35e6)),
            ),
        ),
        *(
            (f"{service}-changes", scenarios.NASA, 0.06, sweep(grid(variant=(service,)), over_time, 1))
            for service in ("vbr", "abr")
        ),
    ]
    single = [
        ("FDDI-ATM", 262144, 4096, 30.34),
        ("FDDI-ATM", 262144, 8192, 30.69),
        ("FDDI-ATM", 524250, 4096, 12.84),
        ("FDDI-ATM", 524250, 8192, 20.08),
        ("ATM", 262144, 4096, 31.73),
        ("ATM", 524250, 8192, 61.88),
    ]
    claims = [
        *(
            row(
                f"single-{path.lower()}-{w}-{u}",
                "Single TCP stream test",
                f"{path}, window {w}, writes of {u}",
                p,
                w * 8 / 0.066 / M,
                min(w * 8 / 0.068 / M, 61),
                "reproduced" if p > 21 else "not-reproduced",
                label=f"{path}, {w} B, writes of {u} B",
                unexplained="" if p > 21 else "Losses in the router give no dependence on the write size.",
            )
            for path, w, u, p in single
        ),
        *(
            row(f"three-{w}-{r}", "Three streams", f"Receiver {r}, window {w}", p, None, 1.1 * p, "undecided")
            for w, ps in ((262144, (20.70, 20.38, 19.07)), (524250, (31.79, 31.41, 31.05)))
            for r, p in enumerate(ps, 1)
        ),
        row("sim-vbr", "CTI Test", "VBR over 60 ms", 29.67, None, 29.5, "reproduced"),
    ]
    return studies, claims


def spacing() -> tuple[list[Study], list[dict[str, Any]]]:
    def rate(_: Axes, rng: random.Random) -> list[Row]:
        steps = lambda t: 16.0 if t <= 20 else 4.5 if t <= 40 else 9.0  # noqa: E731
        return [("anim-1", "goodput", "bit/s", t / 4, near(rng, steps(t / 4) * M)) for t in range(1, 241)]

    def queue(_: Axes, __: random.Random) -> list[Row]:
        rows: list[Row] = [("s1>b", "queue", "cell", 0.01 + n * 1e-4, 32.0 * (n % 3)) for n in range(100)]
        level = lambda t: min(1182.0, 18_000 * (t - 0.02))  # noqa: E731
        rows += [
            ("s1>b", "queue", "cell", t, level(t) + (35 if n % 2 else 0.0))
            for n, t in ((n, 0.02 + n * 0.9e-3) for n in range(1000))
        ]
        return rows

    def theorem(axes: Axes, rng: random.Random) -> list[Row]:
        metrics = ("queue_min", "queue_max", "threshold_queue_min", "threshold_queue_max", "oscillation_start")
        rows: list[Row] = [("s1>b", metric, "cell", None, 1182 + rng.uniform(-3, 3)) for metric in metrics]
        return [*rows, ("s1>b", "c1", "1", None, float(axes["tcp.window"] == "8 KiB"))]

    points = grid(
        shaper__spacer__rate=[f"{c} Mbit/s" for c in (5, 10, 15.264, 20, 25)], tcp__window=["8 KiB", "16 KiB"]
    )
    grids = with_theory(sweep([{**p, "link.source-spacer.rate": "e3"} for p in points], theorem, 1), 1182.0)
    studies: list[Study] = [
        ("animation", scenarios.SPACING, 0.0036, sweep(grid(variant=("5 Mbit/s", "all")), rate, 1)),
        ("spacer", scenarios.SPACING, 0.0036, sweep([{"v": 1.0}], queue, 1)),
        ("slow-start", scenarios.SPACING, 0.0036, sweep([{"v": 1.0}], queue, 1)),
        *((f"theorem{n}", scenarios.SPACING, 0.0036, grids) for n in (1, 2, 3)),
    ]
    claims = [
        row(
            "eq24-low",
            "Equation (24)",
            "The content swings down to 1182 cells.",
            1182,
            1182.4,
            1181,
            "reproduced",
            "cells",
        ),
        row(
            "eq24-high",
            "Equation (24)",
            "The content swings up to 1217 cells.",
            1217,
            1217.6,
            1216,
            "reproduced",
            "cells",
        ),
        row("fig2-5", "Figure 2", "TCP adapts to 0.5 Mbyte/s.", 0.5, 0.53, 0.54, "shape", "Mbyte/s"),
        row("theorem3-least", "Theorem 3", "All points", None, None, 3.0, "not-reproduced", "cells"),
    ]
    return studies, claims


def with_theory(made: Tables, value: float) -> Tables:
    """The tables with a row of theory beside each simulated one; of conditions, with their own value."""
    simulated = made["summary"].with_columns(pl.col(pl.Categorical).cast(pl.String))
    theory = simulated.with_columns(
        source=pl.lit("theory"), value=pl.when(pl.col("metric") == "c1").then(pl.col("value")).otherwise(value)
    )
    return {**made, "summary": pl.concat([simulated, theory]).cast(made["summary"].schema)}
