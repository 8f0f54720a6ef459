"""The page that a run of the whole grid makes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev

from cross.judge import CAUSES, FILLED, MOST_TIMEOUTS, SPREAD, T_95, TOLERANCE, UNEXPLAINED, Compared, alone, deviation
from cross.kernel import Emulated
from cross.runs import RUNS, Figures

SPREAD_TITLE = "Chance"
SPREAD_TEXT = (
    f"Random losses, and buffers that turn on single packets, spread the {RUNS} runs of either simulator so far that "
    "the 95 % confidence interval of the deviation reaches into 5 %: these runs cannot tell."
)
UNEXPLAINED_TEXT = (
    "None of the differences above, taken away alone, makes it vanish. They are known, listed with the tool, and a "
    "further one fails the run."
)


def page(compared: Sequence[Compared], emulated: Sequence[Emulated] | str, wrong: Sequence[str]) -> str:
    """All of it, in Markdown."""
    deviating = [one for one in compared if one.cause]
    least = min(compared, key=lambda one: one.deviation)
    largest = max(compared, key=lambda one: one.deviation)
    agreeing = len(compared) - len(deviating)
    parts = [
        "# TCP against other implementations",
        "Made by `make cross`; do not edit. The grid is in `tools/cross/grid.py`, the settings of ns-2 in "
        "`tools/cross/line.tcl`.",
        "## Against ns-2",
        f"Bulk transfers over one line with a drop-tail buffer of packets, {len(compared)} settings, {RUNS} runs of "
        "each in either simulator: with random loss by seed, else with round trips 0.4 % apart. The goodput of all "
        "flows together over the last three quarters of a run is compared. Reno is ns-2's Reno, NewReno its Newreno, "
        "SACK its Sack1, Tahoe its Tahoe.",
        f"**{agreeing} of {len(compared)} agree within {TOLERANCE:.0%}.** The others by cause; a cause counts where "
        "its removal, in runs of their own, leaves at most 5 %.",
        _causes(deviating),
        _together(compared),
        f"The deviations lie between {least.deviation:+.1%} ({least.point.name}) and {largest.deviation:+.1%} "
        f"({largest.point.name}).",
        "## Without a peer",
        _bounds(compared, wrong),
        "## CUBIC against the kernel",
        _kernel(emulated),
        "## Every setting that deviates",
        _table(deviating),
    ]
    return "\n\n".join(parts) + "\n"


def _causes(deviating: Sequence[Compared]) -> str:
    def row(name: str, title: str, text: str) -> str:
        found = [one for one in deviating if one.cause == name]
        return f"| {title} | {len(found)} | {text} |" if found else ""

    rows = [row(SPREAD, SPREAD_TITLE, SPREAD_TEXT)]
    rows += [row(name, cause.title, cause.text) for name, cause in CAUSES.items()]
    rows.append(row(UNEXPLAINED, "**Unexplained**", UNEXPLAINED_TEXT))
    return "\n".join(["| cause | settings | |", "|---|---|---|", *filter(None, rows)])


def _together(compared: Sequence[Compared]) -> str:
    """The mean deviation of each variant, with the spread over its families, which share all but the buffer."""
    words = []
    for variant in ("tahoe", "reno", "newreno", "sack"):
        families: dict[int, list[float]] = {}
        for one in compared:
            if one.point.variant == variant:
                families.setdefault(one.point.family, []).append(one.deviation)
        means = [fmean(values) for values in families.values()]
        if len(means) > 1:
            half = T_95[min(max(len(means) - 1, 2), 8)] * stdev(means) / len(means) ** 0.5
            words.append(f"{variant} {fmean(means):+.1%} ± {half:.1%}")
    return (
        "Mean deviation over all settings of a variant, with the 95 % confidence interval over its families: "
        + ", ".join(words)
        + ". A mean whose interval leaves out 0 is a difference that no single setting shows beyond chance; it is "
        "unexplained, too."
    )


def _bounds(compared: Sequence[Compared], wrong: Sequence[str]) -> str:
    single = [one for one in compared if alone(one.point)]
    filled = [one for one in single if one.point.share >= 0.5]
    used = min((fmean(run.utilisation or 0 for run in one.ours) for one in filled), default=0.0)
    lines = [
        f"- One flow of NewReno or SACK without random loss uses at least {FILLED:.0%} of the line over a buffer of "
        "half a bandwidth-delay product or more, once the first quarter of the run is over. A window that falls from "
        "1.5 to 0.75 of the product uses 96 % in the long run. Tahoe and Reno begin with one segment after many losses "
        f"and are not held to it. {len(filled)} settings, the least {used:.1%}.",
        f"- Such a flow has at most {MOST_TIMEOUTS:g} timeouts a minute, and one; {len(single)} settings.",
        "- Its goodput does not fall by more than 5 % from one buffer of a family to the next larger one.",
        f"- No flow has more timeouts than packets were lost, in any of {len(compared)} settings, but for one at the "
        "end of the warm-up.",
    ]
    lines.append("\n" + ("All hold." if not wrong else "**Violated:**\n\n" + "\n".join(f"- {text}" for text in wrong)))
    return "\n".join(lines)


def _kernel(emulated: Sequence[Emulated] | str) -> str:
    if isinstance(emulated, str):
        return f"Skipped: {emulated}"
    lines = [
        '`profile = "linux-6"` in the simulator, and the TCP of the kernel over the same line in real time, one run of '
        "20 s each. A run whose lateness is above a tenth of the round trip is not judged. What Linux does beside the "
        "profile is in [TCP](../models/tcp.md#profiles).",
        "",
        "| setting | simulated (Mbit/s) | kernel (Mbit/s) | deviation | lateness, p99 | |",
        "|---|---|---|---|---|---|",
    ]
    for one in emulated:
        point = one.point
        name = f"{point.rate / 1e6:g} Mbit/s, {point.rtt * 1e3:g} ms, {point.buffer} packets"
        verdict = kernel_verdict(one)
        lines.append(
            f"| {name} | {one.simulated / 1e6:.3f} | {one.goodput / 1e6:.3f} | {one.deviation:+.1%} | "
            f"{one.lateness * 1e3:.2f} ms | {verdict} |"
        )
    return "\n".join(lines)


def kernel_verdict(one: Emulated) -> str:
    """What an emulated point says."""
    if not one.valid:
        return "late: not judged"
    return "agrees" if abs(one.deviation) <= TOLERANCE else UNEXPLAINED


def _table(deviating: Sequence[Compared]) -> str:
    lines = [
        "Goodput in Mbit/s, timeouts in a run; what is left of the deviation where a cause was taken away, in the "
        "order in which they were tried.",
        "",
        "| setting | Cellway | ns-2 | deviation | timeouts | cause | left |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in deviating:
        middle, half = deviation(one.ours, one.peer)
        left = ", ".join(f"{name} {value:+.1%}" for name, value in one.tried.items())
        lines.append(
            f"| {one.point.name} | {_mean(one.ours, 'goodput') / 1e6:.3f} | {_mean(one.peer, 'goodput') / 1e6:.3f} | "
            f"{middle:+.1%} ± {half:.1%} | {_mean(one.ours, 'timeouts'):.1f}, {_mean(one.peer, 'timeouts'):.1f} | "
            f"{one.cause} | {left} |"
        )
    return "\n".join(lines)


def _mean(runs: Sequence[Figures], name: str) -> float:
    return fmean(getattr(run, name) for run in runs)
