"""The page that a run of the whole grid makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean, median, stdev

from cross.judge import (
    CAUSES,
    FEWEST,
    FILLED,
    MOST,
    MOST_TIMEOUTS,
    NARROW,
    TOGETHER,
    TOLERANCE,
    UNEXPLAINED,
    Compared,
    alone,
    deviation,
    t_95,
)
from cross.kernel import LONG, NEAR, Emulated, Judged
from cross.runs import HAIR, Figures

UNEXPLAINED_TEXT = (
    "None of the differences above, nor two or all of them together, makes it vanish. They are known, listed with the "
    "tool, and a further one fails the run."
)
RACK = (
    "**RACK's timer.** Linux takes a segment for lost a quarter of the least round trip after one that was sent later "
    "has arrived (RFC 8985; since Linux 6.17 it cannot be switched off), the simulator by the third duplicate "
    "acknowledgement. Where packets take so long that the quarter ends first, Linux sends the segment again by a timer "
    "and not in place of a packet that has left the network, into a queue that is still full: that segment or the next "
    "is lost too, and the window is reduced twice. Over a round trip of "
    f"{LONG} packet times the third duplicate comes first: that row shows what is left."
)


def page(compared: Sequence[Compared], emulated: Sequence[Judged] | str, wrong: Sequence[str]) -> str:
    """Return the page, in Markdown."""
    deviating = [one for one in compared if one.cause]
    least = min(compared, key=lambda one: one.deviation)
    largest = max(compared, key=lambda one: one.deviation)
    agreeing = len(compared) - len(deviating)
    runs = [len(one.ours) for one in compared]
    halves = [deviation(one.ours, one.peer)[1] for one in compared]
    parts = [
        "# TCP against other implementations",
        "Made by `make cross`; do not edit. The grid is in `tools/cross/grid.py`, the settings of ns-2 in "
        "`tools/cross/line.tcl`.",
        "## Against ns-2",
        f"Bulk transfers over one line with a drop-tail buffer of packets, {len(compared)} settings. Runs come in "
        "pairs: where packets are lost at random, both simulators lose the same ones, by their number on the line; "
        f"else both have the same round trip, of up to {HAIR:.1%} more than the setting's. The goodput of all flows "
        "together over the last three quarters of a run is compared. Reno is ns-2's Reno, NewReno its Newreno, SACK "
        "its Sack1, Tahoe its Tahoe.",
        f"{FEWEST} pairs are run, and more, up to {MOST}, while the 95 % confidence interval of the deviation has "
        f"{TOLERANCE:.0%} inside it and reaches farther than {NARROW:.1%} to either side. {sum(runs)} pairs were run; "
        f"the interval of half the settings is within ± {median(halves):.1%}, the widest is ± {max(halves):.1%}.",
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
    def row(title: str, text: str, count: int) -> str:
        return f"| {title} | {count} | {text} |" if count else ""

    found = Counter(one.cause for one in deviating)
    rows = [row(cause.title, cause.text, found[name]) for name, cause in CAUSES.items()]
    for name, count in sorted(found.items()):
        if TOGETHER in name:
            titles = " and ".join(CAUSES[part].title.lower() for part in name.split(TOGETHER))
            rows.append(row(f"Together: {titles}", "Neither suffices alone.", count))
    rows.append(row("**Unexplained**", UNEXPLAINED_TEXT, found[UNEXPLAINED]))
    return "\n".join(["| cause | settings | |", "|---|---|---|", *filter(None, rows)])


def _together(compared: Sequence[Compared]) -> str:
    """The mean deviation of each variant, as it is and with the causes found taken away."""
    as_it_is = _means(compared, lambda one: one.deviation)
    left = _means(compared, lambda one: one.tried.get(one.cause, (one.deviation, 0.0))[0])
    biased = [variant for variant, (mean, half) in left.items() if abs(mean) > half]
    found = f"That of {' and '.join(biased)} leaves out 0, which is not explained." if biased else "All include 0."

    def listed(means: dict[str, tuple[float, float]]) -> str:
        return ", ".join(f"{variant} {mean:+.1%} ± {half:.1%}" for variant, (mean, half) in means.items())

    return (
        "Mean deviation over all settings of a variant, with the 95 % confidence interval over its families: "
        f"{listed(as_it_is)}. With what is left of each setting that has a cause in place of its deviation: "
        f"{listed(left)}. {found}"
    )


def _means(compared: Sequence[Compared], of: Callable[[Compared], float]) -> dict[str, tuple[float, float]]:
    """The mean of each variant, with the spread over its families, which share all but the buffer."""
    found = {}
    for variant in ("tahoe", "reno", "newreno", "sack"):
        families: dict[int, list[float]] = {}
        for one in compared:
            if one.point.variant == variant:
                families.setdefault(one.point.family, []).append(of(one))
        means = [fmean(values) for values in families.values()]
        if len(means) > 1:
            found[variant] = fmean(means), t_95(len(means) - 1) * stdev(means) / len(means) ** 0.5
    return found


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


def _kernel(judged: Sequence[Judged] | str) -> str:
    if isinstance(judged, str):
        return f"Skipped: {judged}"
    lines = [
        '`profile = "linux-6"` in the simulator, and the TCP of the kernel over the same line in real time, 20 s; '
        f"three runs where the first deviates by more than {NEAR:.1%}, as the kernel's runs are not alike. A run whose "
        "lateness is above a tenth of the round trip is not judged. What Linux does beside the profile is in "
        "[TCP](../models/tcp.md#profiles). An early repair is a loss event whose first segment is sent again before "
        "the third duplicate acknowledgement, by the capture at the sender.",
        "",
        "| setting | simulated (Mbit/s) | kernel (Mbit/s) | deviation | early repairs | lateness, p99 | |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in judged:
        lines.append(_kernel_row(one.emulated, kernel_verdict(one)))
        if one.without:
            lines.append(_kernel_row(one.without, "the same with a longer round trip"))
    if any(one.without for one in judged):
        lines += ["", RACK]
    return "\n".join(lines)


def _kernel_row(one: Emulated, verdict: str) -> str:
    point = one.point
    name = f"{point.rate / 1e6:g} Mbit/s, {point.rtt * 1e3:g} ms, {point.buffer} packets"
    kernel = ", ".join(f"{goodput / 1e6:.3f}" for goodput in one.kernel)
    early = f"{one.resent.early} of {one.resent.events}"
    late = f"{one.lateness * 1e3:.2f} ms"
    return f"| {name} | {one.simulated / 1e6:.3f} | {kernel} | {one.deviation:+.1%} | {early} | {late} | {verdict} |"


def kernel_verdict(one: Judged) -> str:
    """Describe an emulated point."""
    if not one.emulated.valid:
        return "late: not judged"
    if one.emulated.agrees:
        return "agrees"
    if one.without and one.without.valid and one.without.agrees and not one.without.resent.early:
        return "RACK's timer"
    return UNEXPLAINED


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
        left = ", ".join(f"{name} {value:+.1%} ± {wide:.1%}" for name, (value, wide) in one.tried.items())
        lines.append(
            f"| {one.point.name} | {_mean(one.ours, 'goodput') / 1e6:.3f} | {_mean(one.peer, 'goodput') / 1e6:.3f} | "
            f"{middle:+.1%} ± {half:.1%} | {_mean(one.ours, 'timeouts'):.1f}, {_mean(one.peer, 'timeouts'):.1f} | "
            f"{one.cause} | {left} |"
        )
    return "\n".join(lines)


def _mean(runs: Sequence[Figures], name: str) -> float:
    return fmean(getattr(run, name) for run in runs)
