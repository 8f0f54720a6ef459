"""The page that a run of the whole grid makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, stdev

from cross.judge import (
    BEYOND,
    CAUSES,
    FEWEST,
    FILLED,
    MOST,
    MOST_LEFT,
    MOST_TIMEOUTS,
    NARROW,
    TOGETHER,
    TOLERANCE,
    UNEXPLAINED,
    Compared,
    Left,
    alone,
    deviation,
    t_95,
)
from cross.kernel import LONG, NEAR, Emulated, Judged, Ran
from cross.runs import HAIR, Figures
from cross.words import interval, percent, signed, wrapped

UNEXPLAINED_TEXT = (
    "None of the differences above, nor two or all of them together, explains it. The table below names those that "
    "account for a significant part of it. These settings are listed with the tool (`tools/cross/unexplained.txt`), "
    "and a further one fails the run."
)
ROUNDED = (
    "A packet trace of NewReno shows a difference that no setting of either takes away: ns-2 rounds ssthresh down to "
    "whole segments ([TCP](../models/tcp.md#variants))."
)
RACK = (
    "**RACK's timer.** Linux takes a segment for lost a quarter of the least round trip after one that was sent later "
    "has arrived (RFC 8985; since Linux 6.17 it cannot be switched off), the simulator by the third duplicate "
    "acknowledgement.",
    "",
    "Where packets take so long that the quarter ends first, Linux sends the segment again by a timer and not in place "
    "of a packet that has left the network, into a queue that is still full: that segment or the next is lost too, and "
    f"the window is reduced twice. Over a round trip of {LONG} packet times the third duplicate comes first: that row "
    "shows what is left.",
)


def page(compared: Sequence[Compared], emulated: Ran | str, violated: Sequence[str]) -> str:
    """Return the page, in Markdown; `violated` are the bounds that do not hold."""
    deviating = [one for one in compared if one.cause]
    parts = [
        "# TCP against other implementations",
        wrapped(
            "Made by `make cross`; do not edit. The grid is in `tools/cross/grid.py`, the settings of ns-2 in "
            "`tools/cross/line.tcl`."
        ),
        "## Against ns-2",
        *_ns2(compared, deviating),
        "### Causes",
        *_causes(deviating),
        "### Means",
        *_together(compared),
        "## Without a peer",
        _bounds(compared, violated),
        "## CUBIC against the kernel",
        _kernel(emulated),
        "## Every setting that deviates",
        _table(deviating),
    ]
    return "\n\n".join(parts) + "\n"


def _ns2(compared: Sequence[Compared], deviating: Sequence[Compared]) -> list[str]:
    least = min(compared, key=lambda one: one.deviation)
    largest = max(compared, key=lambda one: one.deviation)
    agreeing = [deviation(one.ours, one.peer) for one in compared if not one.cause]
    wide = sum(abs(middle) + half > BEYOND for middle, half in agreeing)
    halves = [deviation(one.ours, one.peer)[1] for one in compared]
    five = percent(TOLERANCE, 0)
    paragraphs = [
        f"Bulk transfers over one line with a drop-tail buffer of packets, {len(compared)} settings. The goodput of "
        "all flows together over the last three quarters of a run is compared. Reno is ns-2's Reno, NewReno its "
        "Newreno, SACK its Sack1, Tahoe its Tahoe.",
        "Runs come in pairs: where packets are lost at random, both simulators lose the same ones, by their number on "
        f"the line; else both have the same round trip, of up to {percent(HAIR)} more than the setting's.",
        f"{FEWEST} pairs are run, and more, up to {MOST}, while the 95 % confidence interval of the deviation has "
        f"{five} inside it and reaches farther than {percent(NARROW)} to either side. "
        f"{sum(len(one.ours) for one in compared)} pairs were run; the interval of half the settings is within "
        f"± {percent(median(halves))}, the widest is ± {percent(max(halves))}.",
        f"**{len(agreeing)} of {len(compared)} agree within {five}.** That is by their mean; of {wide} of them the "
        f"interval reaches beyond {percent(BEYOND)}. The deviations lie between {signed(least.deviation)} "
        f"({least.point.name}) and {signed(largest.deviation)} ({largest.point.name}).",
    ]
    return [wrapped(text) for text in paragraphs]


def _causes(deviating: Sequence[Compared]) -> list[str]:
    found = Counter(one.cause for one in deviating)
    rows = [f"| {cause.title} | {found[name]} |" for name, cause in CAUSES.items() if found[name]]
    for name, count in sorted(found.items()):
        if TOGETHER in name:
            titles = " and ".join(CAUSES[part].title.lower() for part in name.split(TOGETHER))
            rows.append(f"| Together: {titles} | {count} |")
    partly = sum(bool(one.part) for one in deviating)
    if partly:
        rows.append(f"| **Explained in part** | {partly} |")
    if found[UNEXPLAINED] > partly:
        rows.append(f"| **Unexplained** | {found[UNEXPLAINED] - partly} |")
    used = {part for one in deviating for name in (one.cause, one.part) for part in name.split(TOGETHER)}
    texts = [f"- **{cause.title}.** {cause.text}" for name, cause in CAUSES.items() if name in used]
    if found[UNEXPLAINED]:
        texts.append(f"- **Unexplained.** {UNEXPLAINED_TEXT}")
    return [
        wrapped(
            "A cause is taken away in runs of their own. It explains a deviation if that brings it significantly "
            f"nearer to 0, what is left is at most {percent(TOLERANCE, 0)}, and its interval reaches to "
            f"{percent(BEYOND)} at most. Significant is what is above 95 % by Student's t, over pairs with and without "
            f"the cause that have the same losses and round trips. Up to {MOST_LEFT} pairs are run with it and "
            "without, until they decide. The differences are tried one after the other, then two at a time, then all; "
            "the first that explains a deviation is named."
        ),
        "\n".join(["| cause | settings |", "|---|---|", *rows]),
        "\n".join(map(wrapped, texts)),
    ]


def _together(compared: Sequence[Compared]) -> list[str]:
    """Return the mean deviation of each variant, as it is and with the causes found taken away."""

    def rest(one: Compared) -> float:
        return one.tried[one.cause].deviation if one.cause in one.tried else one.deviation

    as_it_is, left = _means(compared, lambda one: one.deviation), _means(compared, rest)
    biased = [variant for variant, (mean, half) in left.items() if abs(mean) > half]
    found = (
        f"That of {' and '.join(biased)} leaves out 0, which no cause above explains." if biased else "All include 0."
    )
    found += f" {ROUNDED}" if "newreno" in biased else ""
    rows = [f"| {name} | {interval(*as_it_is[name])} | {interval(*left[name])} |" for name in as_it_is]
    return [
        wrapped(
            "The mean deviation over all settings of a variant, with the 95 % confidence interval over its families, "
            "and the same with what is left of each setting whose cause was found in place of its deviation."
        ),
        "\n".join(["| variant | mean deviation | without the causes found |", "|---|---|---|", *rows]),
        wrapped(found),
    ]


def _means(compared: Sequence[Compared], of: Callable[[Compared], float]) -> dict[str, tuple[float, float]]:
    """Return the mean of each variant, with the spread over its families, which share all but the buffer."""
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


def _bounds(compared: Sequence[Compared], violated: Sequence[str]) -> str:
    single = [one for one in compared if alone(one.point)]
    filled = [one for one in single if one.point.share >= 0.5]
    used = min((fmean(run.utilisation or 0 for run in one.ours) for one in filled), default=0.0)
    lines = [
        f"- One flow of NewReno or SACK without random loss uses at least {percent(FILLED, 0)} of the line over a "
        "buffer of half a bandwidth-delay product or more, once the first quarter of the run is over. A window that "
        "falls from 1.5 to 0.75 of the product uses 96 % in the long run. Tahoe and Reno begin with one segment after "
        f"many losses and are not held to it. {len(filled)} settings, the least {percent(used)}.",
        f"- Such a flow has at most {MOST_TIMEOUTS:g} timeouts a minute, and one; {len(single)} settings.",
        f"- Its goodput does not fall by more than {percent(TOLERANCE, 0)} from one buffer of a family to the next "
        f"larger one: the 95 % interval, of up to {MOST} pairs of runs, ends at {percent(BEYOND)}.",
        f"- No flow has more timeouts than packets were lost, in any of {len(compared)} settings, but for one at the "
        "end of the warm-up.",
    ]
    result = "\n".join(["**Violated:**", "", *(f"- {text}" for text in violated)]) if violated else "All hold."
    return "\n".join(map(wrapped, lines)) + "\n\n" + "\n".join(map(wrapped, result.splitlines()))


def _kernel(emulated: Ran | str) -> str:
    if isinstance(emulated, str):
        return wrapped(f"Skipped: {emulated}")
    lines = [
        wrapped(
            '`profile = "linux-6"` in the simulator, and the TCP of the kernel over the same line in real time, 20 s; '
            f"three runs where the first deviates by more than {percent(NEAR)}, as the kernel's runs are not alike. A "
            "run whose lateness is above a tenth of the round trip is not judged. What Linux does beside the profile "
            "is in [TCP](../models/tcp.md#profiles)."
        ),
        "",
        wrapped(
            "An early repair is a loss event whose first segment is sent again before the third duplicate "
            "acknowledgement, by the capture at the sender."
        ),
        "",
        "| setting | simulated (Mbit/s) | kernel (Mbit/s) | deviation | early repairs | lateness, p99 | |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in emulated.judged:
        lines.append(_kernel_row(one.emulated, kernel_verdict(one)))
        if one.without:
            lines.append(_kernel_row(one.without, "the same with a longer round trip"))
    if emulated.failed:
        lines += ["", "**Failed:**", "", *(wrapped(f"- {text}") for text in emulated.failed)]
    if any(one.without for one in emulated.judged):
        lines += ["", *map(wrapped, RACK)]
    return "\n".join(lines)


def _kernel_row(one: Emulated, verdict: str) -> str:
    point = one.point
    name = f"{point.rate / 1e6:g} Mbit/s, {point.rtt * 1e3:g} ms, {point.buffer} packets"
    kernel = ", ".join(f"{goodput / 1e6:.3f}" for goodput in one.kernel)
    early = f"{one.resent.early} of {one.resent.events}"
    late = f"{one.lateness * 1e3:.2f} ms"
    return f"| {name} | {one.simulated / 1e6:.3f} | {kernel} | {signed(one.deviation)} | {early} | {late} | {verdict} |"


def kernel_verdict(one: Judged) -> str:
    """Describe an emulated point."""
    if not one.emulated.valid:
        return "late: not judged"
    if one.emulated.agrees:
        return "agrees"
    if one.without and one.without.valid and one.without.agrees and not one.without.resent.early:
        return "RACK's timer"
    return UNEXPLAINED


def left_over(tried: Mapping[str, Left]) -> str:
    """List the deviations that remained with each cause removed, in the order of the trials."""
    return ", ".join(f"{name} {interval(left.deviation, left.half)}" for name, left in tried.items())


def _table(deviating: Sequence[Compared]) -> str:
    lines = [
        wrapped(
            "Goodput in Mbit/s, timeouts in a run; what is left of the deviation where a cause was taken away, in the "
            "order in which they were tried. Partly: a cause that removes a significant part and leaves too much."
        ),
        "",
        "| setting | Cellway | ns-2 | deviation | timeouts | cause | left |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.point.name} | {_mean(one.ours, 'goodput') / 1e6:.3f} | {_mean(one.peer, 'goodput') / 1e6:.3f} | "
        f"{interval(*deviation(one.ours, one.peer))} | "
        f"{_mean(one.ours, 'timeouts'):.1f}, {_mean(one.peer, 'timeouts'):.1f} | "
        f"{f'partly {one.part}' if one.part else one.cause} | {left_over(one.tried)} |"
        for one in deviating
    ]
    return "\n".join(lines)


def _mean(runs: Sequence[Figures], name: str) -> float:
    return fmean(getattr(run, name) for run in runs)
