"""The figures of pages of the documentation: the calculations next to them, and checks of the figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import cellway
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plots() -> ModuleType:
    spec = importlib.util.spec_from_file_location("validation_plots", ROOT / "tools" / "validation_plots.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_water_fills_the_tightest_line_first(plots):
    assert plots.max_min([36, 27], [[0, 1], [0], [0], [1]]) == [12, 12, 12, 15]
    assert plots.max_min([36, 9], [[0, 1], [0], [0], [1]]) == pytest.approx([4.5, 15.75, 15.75, 4.5])


def test_bursts_end_at_a_pause_and_at_a_missing_cell(plots):
    times = [20.0, 5000.0, 5010.0, 5020.0, 5040.0, 9000.0]
    assert plots.longest_burst(times) == [0.0, 10.0, 20.0, 40.0]
    assert plots.before_first_gap([0.0, 10.0, 20.0, 40.0]) == 3
    assert plots.before_first_gap([0.0]) == 1


def test_a_policer_passes_n_cells_back_to_back_and_all_paced_ones(plots):
    results = cellway.simulate(ROOT / "scenarios" / "policed.toml", progress=False)
    bursts = plots.bursts(results)
    for variant, increment in plots.INCREMENTS.items():
        points = plots.counts(bursts, variant)
        assert len(points) == 22
        assert [count for _, count in points] == [plots.most_back_to_back(tau, increment) for tau, _ in points]
    # The acknowledgement that opens the connection, 192 cells of data, and the segment that closes it.
    assert all(len(times) == 194 for (variant, _), times in bursts.items() if variant == plots.PACED)
    assert plots.discarded(results, plots.PACED) == 0
    assert plots.discarded(results, "10.6 Mbit/s") > 0


def test_rates_under_load_are_means_of_seconds(plots):
    shorter = {"run.duration": "8 s", "run.warmup": "2 s"}
    results = cellway.simulate(ROOT / "scenarios" / "rrul.toml", set=shorter, progress=False)
    *rates, pings = plots.under_load(results).axes
    for axes, group in zip(rates, ["download", "upload"], strict=True):
        *drawn, _line_rate = axes.lines
        for line, queue in zip(drawn, ["fifo", "fq-codel"], strict=True):
            assert line.get_label() == queue
            assert line.get_xdata().tolist() == [second + 0.5 for second in range(8)]
            bits = results.series("goodput").filter(
                (pl.col("buffer.queue") == queue) & pl.col("subject").str.starts_with(f"{group}-")
            )
            # Bins of 0.2 s: what arrives in a second is a fifth of the sum of rates in five of them, in bit.
            assert sum(line.get_ydata()) == pytest.approx(bits["value"].sum() / 5 / 1e6)
            # The transfers begin at 5 s.
            assert not line.get_ydata()[:5].any()
            assert line.get_ydata()[5] > 10
    fifo, fair = (line.get_ydata() for line in pings.lines)
    # The path takes 20 ms and 42 us for packets of 84 B; with fifo there is also a queue of up to 0.4 s.
    assert max(fair) < 22 < 200 < max(fifo) < 450
