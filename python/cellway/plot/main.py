"""The metrics and the subjects that are shown unless others are chosen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

METRICS = (
    "goodput_total",
    "utilisation",
    "queue_mean",
    "sojourn_p95",
    "delay_mean",
    "delay_p95",
    "loss_ratio",
    "fct_p50",
    "fct_p99",
    "item_time_mean",
    "page_time_p50",
    "page_time_p95",
    "response_time_p50",
    "response_time_p95",
    "rtt_p95",
    "jain",
    "frames_late",
    "goodput",
    "srtt_mean",
    "window_mean",
    "retransmissions",
    "timeouts_mean",
)
"""The main metrics, in the order in which they are shown."""


def metrics(known: Iterable[str]) -> list[str]:
    """Return the main metrics among those that are known. The sum of a group is the goodput of its flow, too."""
    names = set(known)
    found = [name for name in METRICS if name in names]
    if "goodput_total" in found and "goodput" in found:
        found.remove("goodput")
    return found


def subjects(known: Sequence[str], idle: Iterable[str] = ()) -> list[str]:
    """Return the subjects but the slots of a group that is there too, idle lines, and the sum of all traffic.

    If all would be left out, all are returned.
    """
    left_out = set(idle)
    groups = set(known)
    kept = [
        name
        for name in known
        if name not in left_out
        and name != "network"
        and not (re.fullmatch(r".+-[0-9]+", name) and name.rpartition("-")[0] in groups)
    ]
    return kept or list(known)


def idle_lines(summary: pl.DataFrame) -> list[str]:
    """Return the lines that are hardly used in every run, and that lost, marked and discarded nothing."""
    from cellway import _native

    least, events = _native.signs_of_use()
    used = (pl.col("metric") == "utilisation") & (pl.col("value") >= least)
    busy = summary.filter(used | (pl.col("metric").is_in(events) & (pl.col("value") > 0)))["subject"].unique()
    lines = summary.filter(metric="utilisation")["subject"].unique(maintain_order=True)
    return lines.filter(~lines.is_in(busy.implode())).to_list()
