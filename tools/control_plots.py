"""The figures of congestion controls: BBR beside CUBIC by buffer, and L4S beside classic traffic over time."""

from __future__ import annotations

import polars as pl
from cellway.plot import style
from cellway.results import Results
from matplotlib.figure import Figure

WIDTH = 5.2
MBIT = 1e6
MS = 1e3


def values(results: Results, subject: str, metric: str) -> list[float]:
    """Return one metric of a subject at each point."""
    rows = results.summary.filter((pl.col("subject") == subject) & (pl.col("metric") == metric))
    return rows["value"].to_list()


def series(results: Results, subject: str, metric: str) -> tuple[list[float], list[float]]:
    """Return times (s) and values of a series."""
    rows = results.series(metric, at=subject).sort("t")
    return rows["t"].to_list(), rows["value"].to_list()


def beside(results: Results) -> Figure:
    """Draw the rates of BBR and of CUBIC, and the wait in their queue, against the size of the buffer."""
    sizes = [float(size.split()[0]) for size in results.summary["buffer.size"].unique(maintain_order=True)]
    with style.styled():
        figure, (left, right) = style.panels(2.4, 1, 2, width=WIDTH)
        for order, (slot, label) in enumerate([("bbr-1", "BBR"), ("cubic-1", "CUBIC")]):
            mark = style.numbered(order)
            rates = [rate / MBIT for rate in values(results, slot, "goodput")]
            print(label, [round(rate, 1) for rate in rates])
            left.plot(sizes, rates, color=mark.color, linestyle=mark.dashes, marker="o", markersize=3, label=label)
        left.set_ylabel("Goodput (Mbit/s)")
        left.set_ylim(bottom=0)
        left.legend(frameon=False)
        waits = [wait * MS for wait in values(results, "site>provider", "sojourn_mean")]
        print("wait", [round(wait, 1) for wait in waits])
        right.plot(sizes, waits, color="black", marker="o", markersize=3)
        right.set_ylabel("Mean wait in the queue (ms)")
        right.set_yscale("log")
        right.set_yticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
        right.minorticks_off()
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(sizes, [f"{size:g}" for size in sizes])
            axes.set_xlabel("Buffer (bandwidth-delay products)")
        return figure


def low_latency(results: Results) -> Figure:
    """Draw the rates of Prague and of CUBIC over time, above the wait of the packets of each."""
    flows = [("prague-1", "Prague"), ("cubic-1", "CUBIC")]
    with style.styled():
        figure, (upper, lower) = style.panels(3.4, 2, 1, width=WIDTH, sharex=True)
        for order, (slot, label) in enumerate(flows):
            mark = style.numbered(order)
            look = {"color": mark.color, "linestyle": mark.dashes, "linewidth": 1.2}
            times, rates = series(results, slot, "goodput")
            upper.plot(times, [rate / MBIT for rate in rates], label=label, **look)
            times, waits = series(results, slot, "sojourn_mean")
            lower.plot(times, [wait * MS for wait in waits], **look)
            late = [wait for time, wait in zip(times, waits, strict=True) if time > (results.warmup or 0)]
            rate, wait = sum(rates) / len(rates), sum(late) / len(late)
            print(f"{label}: {rate / MBIT:.1f} Mbit/s, {wait * MS:.2f} ms")
        upper.axhline(40, color="0.6", linewidth=1, label="line rate", zorder=1)
        upper.set_ylim(bottom=0)
        upper.set_ylabel("Goodput (Mbit/s)")
        lower.set_yscale("log")
        lower.set_ylim(0.05, 100)
        lower.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        lower.set_ylabel("Mean wait (ms)")
        lower.set_xlabel("Time (s)")
        lower.set_xlim(0, 60)
        style.legend(figure, upper, columns=3)
        return figure
