from __future__ import annotations

import math

import polars as pl
import pytest
from cellway import stats


def test_an_interval_by_hand() -> None:
    # Mean 4, standard deviation 2; half width 4.3027 * 2 / sqrt(3).
    frame = pl.DataFrame({"g": ["a", "a", "a"], "value": [2.0, 4.0, 6.0]})
    row = stats.summarise(frame, ["g"]).row(0, named=True)
    assert (row["mean"], row["sd"], row["n"]) == (4.0, 2.0, 3)
    assert row["high"] - row["mean"] == pytest.approx(4.968, abs=1e-3)
    assert row["mean"] - row["low"] == pytest.approx(4.968, abs=1e-3)


def test_a_share_stays_between_zero_and_one() -> None:
    # As worked out beside the rule: logit(0.76) = 1.152680, and 12.706205 * 0.06 / (0.76 * 0.24) = 4.179673.
    frame = pl.DataFrame({"g": ["a", "a"], "metric": ["jain", "jain"], "value": [0.7, 0.82]})
    row = stats.summarise(frame, ["g"]).row(0, named=True)
    ends = [1 / (1 + math.exp(-(1.152680 + sign * 4.179673))) for sign in (-1, 1)]
    assert (row["low"], row["high"]) == pytest.approx(ends, abs=1e-5)
    count = stats.summarise(frame.with_columns(metric=pl.lit("timeouts"), value=pl.Series([0.0, 1.0])), ["g"])
    assert count["low"].to_list() == [0.0]


def test_a_run_is_no_two_replications() -> None:
    frame = pl.DataFrame({"g": ["a", "a", "b"], "run": [0, 0, 0], "value": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="several rows in one group"):
        stats.summarise(frame, ["g"])
    assert stats.summarise(frame.with_columns(run=pl.Series([0, 1, 0])), ["g"])["n"].to_list() == [2, 1]


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


def test_pairs_are_of_one_point() -> None:
    rows = [{"policy": p, "load": x, "seed": s, "value": 1.0 * x + s} for p in "ab" for x in (1, 2) for s in (1, 2, 3)]
    frame = pl.DataFrame(rows)
    with pytest.raises(ValueError, match="they differ in load: filter them, or name the columns in by"):
        stats.paired(frame, "policy", "a", "b")
    assert stats.paired(frame, "policy", "a", "b", by=["load"])["n"].to_list() == [3, 3]
