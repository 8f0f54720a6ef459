from __future__ import annotations

import math

import polars as pl
import pytest
from cellway import stats

# Two-sided 95 % and 99 % points as statistical tables print them.
TABLE = [
    (0.975, 1, 12.7062),
    (0.975, 2, 4.3027),
    (0.975, 4, 2.7764),
    (0.975, 9, 2.2622),
    (0.975, 19, 2.0930),
    (0.975, 30, 2.0423),
    (0.975, 120, 1.9799),
    (0.995, 5, 4.0321),
    (0.995, 19, 2.8609),
    (0.95, 10, 1.8125),
]


@pytest.mark.parametrize(("p", "df", "expected"), TABLE)
def test_quantiles_are_those_of_the_tables(p: float, df: int, expected: float) -> None:
    assert stats.t_quantile(p, df) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("p", [0.51, 0.6, 0.9, 0.975, 0.9999])
def test_one_degree_of_freedom_is_the_cauchy_distribution(p: float) -> None:
    assert stats.t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-10)


@pytest.mark.parametrize("p", [0.55, 0.75, 0.99])
def test_two_degrees_of_freedom_have_a_closed_form(p: float) -> None:
    a = 2 * p - 1
    assert stats.t_quantile(p, 2) == pytest.approx(a * math.sqrt(2 / (1 - a * a)), rel=1e-10)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert stats.t_quantile(0.975, 1e7) == pytest.approx(1.959964, abs=1e-5)


def test_the_distribution_is_symmetric() -> None:
    assert stats.t_quantile(0.025, 7) == -stats.t_quantile(0.975, 7)
    assert stats.t_cdf(-1.3, 7) == pytest.approx(1 - stats.t_cdf(1.3, 7), rel=1e-14)
    assert stats.t_quantile(0.5, 7) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("p", "df"), [(0.0, 5), (1.0, 5), (0.9, 0), (0.9, -1), (math.nan, 5)])
def test_what_has_no_quantile_is_refused(p: float, df: float) -> None:
    with pytest.raises(ValueError, match=r"probability|degrees of freedom"):
        stats.t_quantile(p, df)


def test_an_interval_by_hand() -> None:
    # Mean 4, standard deviation 2; half width 4.3027 * 2 / sqrt(3).
    frame = pl.DataFrame({"g": ["a", "a", "a"], "value": [2.0, 4.0, 6.0]})
    row = stats.summarise(frame, ["g"]).row(0, named=True)
    assert (row["mean"], row["sd"], row["n"]) == (4.0, 2.0, 3)
    assert row["high"] - row["mean"] == pytest.approx(4.968, abs=1e-3)
    assert row["mean"] - row["low"] == pytest.approx(4.968, abs=1e-3)


def test_groups_keep_their_order_and_one_seed_has_no_interval() -> None:
    frame = pl.DataFrame({"g": ["z", "a", "z"], "value": [1.0, 5.0, 3.0]})
    table = stats.summarise(frame, ["g"])
    assert table["g"].to_list() == ["z", "a"]
    assert table["n"].to_list() == [2, 1]
    assert table["low"].to_list()[1] is None


def test_runs_without_a_value_do_not_count() -> None:
    frame = pl.DataFrame({"g": ["a"] * 4, "value": [1.0, None, math.nan, 3.0]})
    row = stats.summarise(frame, ["g"]).row(0, named=True)
    assert (row["n"], row["mean"]) == (2, 2.0)


def test_pairing_removes_what_the_seeds_share() -> None:
    # The seeds differ by 100 times the effect; the difference is exactly 1 in each.
    base = [{"policy": "a", "seed": s, "value": 100.0 * s} for s in range(1, 6)]
    other = [{"policy": "b", "seed": s, "value": 100.0 * s + 1} for s in range(1, 6)]
    row = stats.paired(pl.DataFrame(base + other), "policy", "a", "b").row(0, named=True)
    assert (row["mean"], row["low"], row["high"], row["n"]) == (1.0, 1.0, 1.0, 5)


def test_pairing_needs_both_sides_of_a_seed() -> None:
    frame = pl.DataFrame({"policy": ["a", "b", "a"], "seed": [1, 1, 2], "load": [3, 3, 3], "value": [1.0, 4.0, 9.0]})
    table = stats.paired(frame, "policy", "a", "b", by=["load"])
    assert table.row(0, named=True) == {"load": 3, "mean": 3.0, "sd": None, "n": 1, "low": None, "high": None}


def test_about_95_of_100_intervals_hold_the_true_mean() -> None:
    import random

    rng = random.Random(7)
    rows = [{"g": g, "value": rng.gauss(10, 3)} for g in range(4000) for _ in range(5)]
    table = stats.summarise(pl.DataFrame(rows), ["g"])
    held = table.filter((pl.col("low") <= 10) & (pl.col("high") >= 10)).height
    # 3800 expected with a standard deviation of 13.8; normal quantiles in place of Student's would hold about 3510.
    assert 3745 <= held <= 3855
