"""Draw the figures of docs/models (abr, bbr, flows, gcra, l4s, links, ...) and of docs/validation/romanow-floyd.md.

Each figure runs a scenario file; the numbers of the pages are printed. Those of ABR and GCRA are compared with a
calculation made here, apart from the simulator.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import cellway
import control_plots
import polars as pl
from cellway.plot import style
from cellway.results import Results
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 5.2
"""The width of a figure on a page of the documentation, in inches."""
MBIT = 1e6

# `scenarios/abr-parking-lot.toml`
LINES = [40e6, 30e6]
"""Rates in bit/s."""
TARGET = 0.9
"""The share of a line's rate that ERICA allocates."""
PATHS = {"long-1": [0, 1], "first-1": [0], "first-2": [0], "second-1": [1]}
"""The lines that each connection crosses."""
LABELS = {"long-1": "both lines", "first-1": "first line (1)", "first-2": "first line (2)", "second-1": "second line"}

# `scenarios/policed.toml`, in microseconds
CELL_TIME = 10.0
"""δ: between cells back to back."""
INCREMENTS = {"10.6 Mbit/s": 40.0, "21.2 Mbit/s": 20.0}
"""T: a cell time at the policed rate, by variant."""
PACED = "10.6 Mbit/s, paced"
CDVT = "policer.upc.cdvt"
PORT = "s1>s2"
SHOWN = 90.0
"""The tolerance of the burst that is drawn."""

# `docs/validation/romanow-floyd.toml`
LINE = 149.76e6
"""The cell rate of OC-3c in bit/s."""
DISCARDS = {"epd": "early packet discard", "ppd": "partial packet discard", "plain": "plain"}
"""Labels, by the first word of a variant."""
STUDY = "romanow-floyd"

# `scenarios/incast.toml`
SENDERS = "traffic.answer.count"
ANSWER = 256e3
"""The bytes of a sender."""
GIGABIT = 1e9
FRAME, SEGMENT = 1538, 1448
"""Octets of a full Ethernet frame on the line, and those of its payload."""

# `scenarios/rrul.toml`
RRUL_LINES = {"download": 100.0, "upload": 20.0}
"""The rate of the line in each direction in Mbit/s, by traffic group."""
PINGS = ["ping", "icmp"]

Bursts = dict[tuple[str, float], list[float]]
"""By variant and tolerance in microseconds."""


def max_min(capacity: Sequence[float], paths: Sequence[Sequence[int]]) -> list[float]:
    """Return max-min fair shares by water filling; a path is the numbers of the lines that it crosses.

    The line that leaves least to each of its users fixes their shares, and so on with what is left.
    """
    left = list(capacity)
    shares: dict[int, float] = {}
    while len(shares) < len(paths):
        waiting = {
            line: [user for user, path in enumerate(paths) if line in path and user not in shares]
            for line in range(len(left))
        }
        tightest = min((line for line in waiting if waiting[line]), key=lambda line: left[line] / len(waiting[line]))
        share = left[tightest] / len(waiting[tightest])
        for user in waiting[tightest]:
            shares[user] = share
            for line in paths[user]:
                left[line] -= share
    return [shares[user] for user in range(len(paths))]


def arrivals(queue: pl.DataFrame) -> list[float]:
    """Return the times at which cells joined a queue, in microseconds, from rows of each change of it."""
    steps = queue.with_columns(step=pl.col("value") - pl.col("value").shift(1, fill_value=0))
    return (steps.filter(pl.col("step") > 0)["t"] * 1e6).to_list()


def longest_burst(times: Sequence[float], pause: float = 1000.0) -> list[float]:
    """Return the most times without a pause of that many microseconds between them, counted from the first of these."""
    ends = [i for i in range(1, len(times)) if times[i] - times[i - 1] > pause]
    start, end = max(pairwise([0, *ends, len(times)]), key=lambda burst: burst[1] - burst[0])
    return [t - times[start] for t in times[start:end]]


def before_first_gap(times: Sequence[float], cell_time: float = CELL_TIME) -> int:
    """Return the number of these that follow each other back to back, from the first."""
    gaps = (i for i in range(1, len(times)) if times[i] - times[i - 1] > 1.5 * cell_time)
    return next(gaps, len(times))


def parking_lot(results: Results) -> Figure:
    """Draw the allowed cell rates over time, with explicit rates and with marks, against the max-min shares."""
    acr = results.series("acr")
    panels = [("explicit rates", TARGET, "ERICA"), ("marks", 1.0, "EFCI")]
    with style.styled():
        figure, grid = style.new(4.6, rows=2, width=WIDTH, sharex=True)
        for axes, (variant, part, switch) in zip(grid, panels, strict=True):
            shares = max_min([part * rate for rate in LINES], list(PATHS.values()))
            settled = acr.filter((pl.col("variant") == variant) & (pl.col("t") > results.warmup))
            for order, (slot, share) in enumerate(zip(PATHS, shares, strict=True)):
                rows = acr.filter((pl.col("variant") == variant) & (pl.col("subject") == slot))
                mark = style.numbered(order)
                axes.plot(rows["t"], rows["value"] / MBIT, color=mark.color, linestyle=mark.dashes, linewidth=1.1,
                          label=LABELS[slot])  # fmt: skip
                one = settled.filter(pl.col("subject") == slot)["value"].to_numpy() / MBIT
                print(f"{switch}: {LABELS[slot]}: max-min {share / MBIT:.2f}, ACR mean {one.mean():.2f}, "
                      f"{one.min():.2f} to {one.max():.2f} Mbit/s")  # fmt: skip
            for share in sorted(set(shares)):
                axes.axhline(share / MBIT, color=style.SOFT, linewidth=0.8, linestyle=(0, (4, 2)), zorder=1)
                axes.annotate(f"{share / MBIT:.1f}", (1, share / MBIT), xycoords=("axes fraction", "data"),
                              xytext=(3, 0), textcoords="offset points", va="center", color=style.SOFT)  # fmt: skip
            axes.set_ylabel(f"ACR (Mbit/s), {switch}")
            axes.set_ylim(0, 32)
        grid[-1].set_xlim(0, 1)
        grid[-1].set_xlabel("Time (s)")
        style.legend(figure, grid[0], columns=4)
        return figure


def bursts(results: Results) -> Bursts:
    """Return the burst of each run of `scenarios/policed.toml` behind the policer: the microsecond of each cell."""
    sent = results.summary.filter((pl.col("subject") == PORT) & (pl.col("metric") == "cells"))
    found: Bursts = {}
    for (variant, cdvt), rows in results.series("queue", at=PORT).group_by("variant", CDVT, maintain_order=True):
        times = arrivals(rows)
        cells = sent.filter((pl.col("variant") == variant) & (pl.col(CDVT) == cdvt))["value"].item()
        if cells != len(times):
            raise RuntimeError(f"{variant}, {cdvt}: {len(times)} cells joined the queue and {cells:.0f} left it")
        found[str(variant), microseconds(str(cdvt))] = longest_burst(times)
    return found


def counts(passed: Bursts, variant: str) -> list[tuple[float, int]]:
    """Return each tolerance in microseconds, with the cells that passed before the first discard."""
    return [(tau, before_first_gap(times)) for (of, tau), times in passed.items() if of == variant]


def most_back_to_back(tau: float, increment: float) -> int:
    """Return N = 1 + floor(τ / (T − δ)), of times in microseconds (ITU-T I.371, annex A)."""
    return 1 + int(tau / (increment - CELL_TIME) + 1e-9)


def discarded(results: Results, variant: str) -> float:
    """Return the cells that the policer discarded, at all tolerances together."""
    rows = results.summary.filter((pl.col("metric") == "policed_discarded") & (pl.col("variant") == variant))
    return float(rows["value"].sum())


def policed(results: Results) -> Figure:
    """Draw the cells until the first discard against the tolerance, and one burst over time."""
    passed = bursts(results)
    print(f"GCRA: paced cells discarded, all tolerances together: {discarded(results, PACED):.0f}")
    with style.styled():
        figure, (upper, lower) = style.new(4.9, rows=2, width=WIDTH)
        _counts(upper, passed)
        _burst(lower, passed)
        return figure


def _counts(axes: Axes, passed: Bursts) -> None:
    for order, (variant, increment) in enumerate(INCREMENTS.items()):
        points = counts(passed, variant)
        expected = [most_back_to_back(tau, increment) for tau, _ in points]
        same = sum(count == n for (_, count), n in zip(points, expected, strict=True))
        print(f"GCRA: {variant}: {same} of {len(points)} tolerances give N, from {min(expected)} to {max(expected)}")
        mark = style.numbered(order)
        end = max(tau for tau, _ in points)
        jumps = [n * (increment - CELL_TIME) for n in range(most_back_to_back(end, increment))]
        axes.step([*jumps, end], [*range(1, len(jumps) + 1), len(jumps)], where="post", color=mark.color,
                  linewidth=1.0, label=f"N, T = {increment:.0f} µs")  # fmt: skip
        axes.plot([tau for tau, _ in points], [count for _, count in points], color=mark.color, linestyle="none",
                  marker=mark.marker, label=f"simulated, {variant}")  # fmt: skip
    axes.set_xlabel("CDVT τ (µs)")
    axes.set_ylabel("Cells before the first discard")
    axes.set_ylim(0, 20)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.legend(loc="upper left", ncols=2)


def _burst(axes: Axes, passed: Bursts) -> None:
    increment, end = INCREMENTS["10.6 Mbit/s"], 600.0
    axes.plot([0, end], [1, 1 + end / CELL_TIME], color=style.SOFT, linewidth=0.8, linestyle=(0, (1, 1.6)),
              label="offered, one each δ")  # fmt: skip
    axes.plot([0, end], [1 + SHOWN / increment, 1 + (SHOWN + end) / increment], color=style.SOFT, linewidth=0.8,
              linestyle=(0, (4, 2)), label="most that conform, 1 + (t + τ) / T")  # fmt: skip
    drawn = [("10.6 Mbit/s", SHOWN, f"policed, τ = {SHOWN:.0f} µs"), (PACED, 0.0, "paced, τ = 0")]
    for order, (variant, tau, label) in enumerate(drawn):
        times = [t for t in passed[variant, tau] if t <= end]
        mark = style.numbered(2 * order)
        axes.step([*times, end], [*range(1, len(times) + 1), len(times)], where="post", color=mark.color,
                  linestyle=mark.dashes, linewidth=1.2, label=label)  # fmt: skip
    axes.set_xlim(0, end)
    axes.set_ylim(0, 22)
    axes.set_xlabel("Time from the first cell of the burst (µs)")
    axes.set_ylabel("Cells passed")
    axes.legend(loc="lower right")


def effective(results: Results) -> pl.DataFrame:
    """Return the share of the congested line for useful packets: by discard, buffer (cells) and packet (octets).

    Goodput counts each octet once, when TCP has received it in order. A packet of n octets with LLC/SNAP takes
    ceil((n + 16) / 48) cells of 424 bits.
    """
    rows = results.summary.filter((pl.col("subject") == "tcp") & (pl.col("metric") == "goodput_total"))
    mss = pl.col("tcp.mss").cast(pl.String).str.strip_suffix(" B").cast(pl.Int64)
    words = pl.col("variant").cast(pl.String).str.split(", ")
    return (
        rows.with_columns(
            discard=words.list.get(0),
            buffer=words.list.get(1).str.strip_suffix(" cells").cast(pl.Int64),
            packet=mss + 40,
        )
        .with_columns(value=pl.col("value") / (LINE * mss * 8 / (((mss + 40 + 16) / 48).ceil() * 424)))
        .group_by("discard", "buffer", "packet")
        .agg(
            mean=pl.col("value").mean(),
            low=pl.col("value").min(),
            high=pl.col("value").max(),
        )
        .sort("discard", "buffer", "packet")
    )


def discards(results: Results) -> Figure:
    """Draw the effective throughput against the buffer for each size of packet, by discard."""
    points = effective(results)
    packets = points["packet"].unique().sort().to_list()
    with pl.Config(tbl_rows=-1):
        print(points.pivot("packet", index=["discard", "buffer"], values="mean"))
    with style.styled():
        figure, grid = style.panels(4.4, 2, 2, width=WIDTH, sharex=True, sharey=True)
        for axes, packet in zip(grid, packets, strict=True):
            for order, (discard, label) in enumerate(DISCARDS.items()):
                rows = points.filter((pl.col("discard") == discard) & (pl.col("packet") == packet))
                mark = style.numbered(order)
                axes.plot(rows["buffer"], rows["mean"], color=mark.color, linestyle=mark.dashes, marker=mark.marker,
                          label=label)  # fmt: skip
                axes.fill_between(rows["buffer"], rows["low"], rows["high"], color=mark.color, alpha=0.2, linewidth=0)
            axes.set_title(f"packets of {packet} B")
            axes.set_ylim(0, 1)
            axes.set_xlim(0, 2100)
        for axes in grid[2:]:
            axes.set_xlabel("Buffer of the switch (cells)")
        for axes in grid[::2]:
            axes.set_ylabel("Effective throughput")
        style.legend(figure, grid[0], columns=3)
        return figure


def upper_half(axes: Axes, place: int, median: float, high: float) -> None:
    """Draw a median with the line to a high percentile."""
    axes.plot([median, high], [place, place], color=style.BLUE, linewidth=1.5, solid_capstyle="butt")
    axes.plot(median, place, color=style.BLUE, marker="o", linestyle="none")
    axes.plot(high, place, color=style.BLUE, marker="|", markersize=9, linestyle="none")


def cures(results: Results) -> Figure:
    """Draw the delay of the call and the goodput of the uploads, by queue discipline."""
    rows = results.summary.filter(pl.col("subject").is_in(["call", "upload"]))
    table = rows.pivot("metric", index=["buffer.queue", "subject"], values="value")
    with pl.Config(tbl_rows=-1):
        print(table.select("buffer.queue", "subject", "delay_p50", "delay_p99", "packets_lost", "goodput_total"))
    call, upload = (table.filter(pl.col("subject") == subject) for subject in ("call", "upload"))
    names = call["buffer.queue"].to_list()[::-1]
    places = range(len(names))
    with style.styled():
        figure, (left, right) = style.panels(2.6, 1, 2, width=WIDTH, sharey=True)
        for place, name in zip(places, names, strict=True):
            of = call.filter(pl.col("buffer.queue") == name)
            upper_half(left, place, of["delay_p50"][0] * 1e3, of["delay_p99"][0] * 1e3)
        goodput = [upload.filter(pl.col("buffer.queue") == name)["goodput_total"][0] / MBIT for name in names]
        right.barh(places, goodput, height=0.55, color=style.ORANGE)
        left.set_xscale("log")
        left.set_xlim(8, 1200)
        left.set_xticks([10, 100, 1000], ["10", "100", "1000"])
        left.set_yticks(places, names)
        left.set_xlabel("Delay of the call (ms)")
        right.set_xlim(0, 10)
        right.set_xlabel("Goodput of uploads (Mbit/s)")
        return figure


def series(results: Results, axis: str, name: str, subject: str, metric: str) -> tuple[list[float], list[float]]:
    """Return times (s) and values of a series of one point."""
    rows = results.series(metric, at=subject).filter(pl.col(axis) == name).sort("t")
    return rows["t"].to_list(), rows["value"].to_list()


def over_time(results: Results, axis: str, capacity: tuple[list[float], list[float]], top: float) -> Figure:
    """Draw the capacity of a link with the goodput of a download above the delay of a call, by value of an axis."""
    names = results.summary[axis].unique(maintain_order=True).to_list()
    inks = [style.ORANGE, style.BLUE, style.GREEN]
    with style.styled():
        figure, (upper, lower) = style.panels(3.6, 2, 1, width=WIDTH, sharex=True)
        upper.fill_between(*capacity, step="post", color="0.85", linewidth=0, label="capacity")
        for name, color in zip(names, inks, strict=False):
            times, goodput = series(results, axis, name, "download-1", "goodput")
            upper.plot(times, [rate / MBIT for rate in goodput], color=color, linewidth=1.1, label=name)
            times, delay = series(results, axis, name, "call-1", "delay_mean")
            lower.plot(times, [value * 1e3 for value in delay], color=color, linewidth=1.1)
        upper.set_ylim(0, top)
        upper.set_ylabel("Mbit/s")
        upper.legend(loc="upper center", bbox_to_anchor=(0.5, 1.22), ncols=4, frameon=False)
        lower.set_ylabel("Delay of the call (ms)")
        lower.set_xlabel("Time (s)")
        lower.set_xlim(0, 60)
        return figure


def satellite(results: Results) -> Figure:
    """Draw a download over a link that hands over each 15 s, by congestion control."""
    lines = (ROOT / "scenarios" / "traces" / "leo.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines]
    capacity = [float(row[0]) for row in rows], [float(row[1].split()[0]) for row in rows]
    return over_time(results, "traffic.download.tcp.control", capacity, 200)


def cellular(results: Results) -> Figure:
    """Draw a download over a mobile network, by queue discipline."""
    times = [int(line) for line in (ROOT / "scenarios" / "traces" / "lte.down").read_text().split()]
    bins = [0] * (2 * 60)
    for cycle in range(60 * 1000 // times[-1] + 1):
        for time in times:
            place = (cycle * times[-1] + time - 1) // 500
            if place < len(bins):
                bins[place] += 1
    capacity = [place / 2 for place in range(len(bins))], [count * 1500 * 8 * 2 / MBIT for count in bins]
    figure = over_time(results, "buffer.queue", capacity, 14)
    figure.axes[1].set_yscale("log")
    return figure


def incast(results: Results) -> Figure:
    """Draw the completion time of answers and the goodput while they last, by the number of senders."""
    rows = results.summary.filter(pl.col("subject") == "answer")
    answers = rows.pivot("metric", index=["variant", SENDERS], values="value").sort(SENDERS, maintain_order=True)
    with pl.Config(tbl_rows=-1):
        print(answers.select("variant", SENDERS, "fct_p50", "fct_p99", "timeouts_mean"))
    with style.styled():
        figure, (left, right) = style.panels(2.7, 1, 2, width=WIDTH)
        for order, variant in enumerate(answers["variant"].unique(maintain_order=True)):
            of = answers.filter(pl.col("variant") == variant)
            mark = style.numbered(order)
            look = {"color": mark.color, "linestyle": mark.dashes, "marker": mark.marker}
            left.plot(of[SENDERS], of["fct_p99"] * 1e3, label=variant, **look)
            right.plot(of[SENDERS], of[SENDERS] * ANSWER * 8 / of["fct_p99"] / MBIT, **look)
        senders = answers[SENDERS].unique().sort()
        # Full frames back to back on the line of the client.
        left.plot(senders, senders * ANSWER / SEGMENT * FRAME * 8 / GIGABIT * 1e3, color="0.6", linewidth=1,
                  label="line rate")  # fmt: skip
        for axes in (left, right):
            axes.set_xscale("log", base=2)
            axes.set_xticks(senders, [f"{count:g}" for count in senders])
            axes.set_xlabel("Senders")
        left.set_yscale("log")
        left.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
        left.set_ylabel("Completion time, p99 (ms)")
        right.set_ylim(0, 1000)
        right.set_ylabel("Goodput of a round (Mbit/s)")
        style.legend(figure, left, columns=4)
        return figure


def frames(results: Results) -> Figure:
    """Draw the delay of frames, and the frames that are late or incomplete, by queue discipline."""
    rows = results.summary.filter(pl.col("subject") == "video")
    table = rows.pivot("metric", index="buffer.queue", values="value")
    names = table["buffer.queue"].to_list()[::-1]
    places = range(len(names))
    with style.styled():
        figure, (left, right) = style.panels(2.0, 1, 2, width=WIDTH, sharey=True)
        for place, name in zip(places, names, strict=True):
            of = table.filter(pl.col("buffer.queue") == name)
            upper_half(left, place, of["frame_delay_p50"][0] * 1e3, of["frame_delay_p99"][0] * 1e3)
            late, incomplete = of["frames_late"][0] * 100, of["frames_incomplete"][0] * 100
            right.barh(place, late, height=0.55, color=style.ORANGE, label="late" if place == 0 else None)
            right.barh(
                place, incomplete, left=late, height=0.55, color="0.6", label="incomplete" if place == 0 else None
            )
        left.axvline(100, color="0.6", linewidth=0.8)
        left.set_xlim(0, 450)
        left.set_yticks(places, names)
        left.set_xlabel("Delay of a frame (ms)")
        right.set_xlim(0, 100)
        right.set_xlabel("Frames (%)")
        right.legend(loc="lower right", frameon=False)
        return figure


def of_groups(results: Results, metric: str, groups: Sequence[str]) -> pl.DataFrame:
    """Return the series of a metric of all slots of these groups, with the number of each bin's second from 1."""
    group = pl.col("subject").str.replace(r"-\d+$", "")
    # A bin belongs to the second in which it ends; its end is a sum of intervals, and may lie just above the second.
    second = (pl.col("t") - 1e-6).ceil()
    return results.series(metric).filter(group.is_in(groups)).with_columns(second=second)


def under_load(results: Results) -> Figure:
    """Draw the rates of all downloads and of all uploads and the round trip of pings over time, by queue discipline."""
    table = results.summary.filter(pl.col("subject").is_in([*RRUL_LINES, *PINGS]))
    table = table.pivot("metric", index=["buffer.queue", "subject"], values="value")
    with pl.Config(tbl_rows=-1, tbl_cols=-1):
        print(table.select("buffer.queue", "subject", "goodput_total", "response_time_p50", "response_time_p99"))
    names = table["buffer.queue"].unique(maintain_order=True).to_list()
    goodput, trips = of_groups(results, "goodput", [*RRUL_LINES]), of_groups(results, "response_time_mean", PINGS)
    with style.styled():
        figure, grid = style.panels(4.6, 3, 1, width=WIDTH, sharex=True)
        *rates, lower = grid
        for order, name in enumerate(names):
            mark = style.numbered(order)
            look = {"color": mark.color, "linestyle": mark.dashes, "linewidth": 1.2}
            of = goodput.filter(pl.col("buffer.queue") == name)
            for axes, group in zip(rates, RRUL_LINES, strict=True):
                slots = of.filter(pl.col("subject").str.starts_with(f"{group}-"))
                sums = slots.group_by("t", "second").agg(pl.col("value").sum()).group_by("second")
                mean = sums.agg(pl.col("value").mean()).sort("second")
                axes.plot(mean["second"] - 0.5, mean["value"] / MBIT, label=name, **look)
            ping = trips.filter(pl.col("buffer.queue") == name).group_by("t").agg(pl.col("value").mean()).sort("t")
            lower.plot(ping["t"], ping["value"] * 1e3, **look)
        for axes, (group, line) in zip(rates, RRUL_LINES.items(), strict=True):
            axes.axhline(line, color="0.6", linewidth=1, label="line rate", zorder=1)
            axes.set_ylim(bottom=0)
            axes.set_ylabel(f"{group.capitalize()}s (Mbit/s)")
        lower.set_yscale("log")
        lower.set_ylim(15, 600)
        lower.set_yticks([20, 50, 100, 200, 500], ["20", "50", "100", "200", "500"])
        lower.minorticks_off()
        lower.set_ylabel("Ping (ms)")
        lower.set_xlabel("Time (s)")
        lower.set_xlim(0, 60)
        style.legend(figure, rates[0], columns=3)
        return figure


def microseconds(text: str) -> float:
    """Return a time of the scenario file as a number."""
    value, unit = text.split()
    if unit != "us":
        raise ValueError(f"{text}: not in us")
    return float(value)


def main() -> int:
    """Draw all; `docs/images/NAME.svg` are written again."""
    drawn = [
        ("abr", "scenarios/abr-parking-lot.toml", parking_lot),
        ("gcra", "scenarios/policed.toml", policed),
        (STUDY, f"docs/validation/{STUDY}.toml", discards),
        ("bufferbloat", "scenarios/bufferbloat.toml", cures),
        ("leo", "scenarios/leo.toml", satellite),
        ("lte", "scenarios/lte.toml", cellular),
        ("incast", "scenarios/incast.toml", incast),
        ("video", "scenarios/video.toml", frames),
        ("rrul", "scenarios/rrul.toml", under_load),
        ("bbr", "scenarios/bbr-beside-cubic.toml", control_plots.beside),
        ("l4s", "scenarios/l4s.toml", control_plots.low_latency),
    ]
    for name, scenario, draw in drawn:
        results = cellway.simulate(ROOT / scenario)
        path = ROOT / "docs" / "images" / f"{name}.svg"
        path.write_text(style.svg(draw(results)), encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
