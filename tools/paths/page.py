"""The page of paths from captures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import inf

from paths.judge import LIMITS, Judged

WIDTH = 118
"""The width of lines outside of tables."""
NAMES = {"rate": "rate", "rtt": "round trip", "buffer": "buffer"}
UNITS = {"rate": (1e-6, "Mbit/s"), "rtt": (1e3, "ms"), "buffer": (1e-3, "kB")}


def _shown(name: str, value: float) -> str:
    return f"{value * UNITS[name][0]:.4g}"


def _cell(judged: Judged, name: str) -> str:
    found = judged.interval(name)
    error = judged.error(name)
    if found is None or error is None:
        return "withheld"
    value, low, high = found
    ends = f"{_shown(name, low)} or more" if high == inf else f"{_shown(name, low)} to {_shown(name, high)}"
    mark = "" if name not in judged.outside else " **outside**"
    return f"{_shown(name, value)} ({ends}), {100 * error:+.1f} %{mark}"


def _truth(judged: Judged) -> str:
    path = judged.path
    share = path.buffer / path.product
    parts = [f"{path.rate:g} Mbit/s", f"{path.rtt:g} ms", f"{path.buffer / 1e3:.4g} kB ({share:.2g} BDP)"]
    parts += [f"loss {path.loss:g} %"] if path.loss else []
    parts += [f"back {path.back * path.rate:.3g} Mbit/s"] if path.back != 1 else []
    return ", ".join([*parts, path.control])


def _counts(all_judged: Sequence[Judged]) -> list[str]:
    lines = [
        "| | values | close | largest error | bounds | withheld | interval has the truth |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, limit in LIMITS.items():
        close = [judged.is_close(name) for judged in all_judged]
        given = [abs(judged.error(name) or 0) for judged in all_judged if judged.is_close(name) is not None]
        covers = [covered for judged in all_judged if (covered := judged.covers(name)) is not None]
        bounds = sum(judged.is_bound(name) for judged in all_judged)
        withheld = sum(judged.interval(name) is None for judged in all_judged)
        largest = f"{100 * max(given):.1f} %" if given else "-"
        lines.append(
            f"| {NAMES[name]}, within {100 * limit:.0f} % | {len(given)} | {close.count(True)} | {largest} "
            f"| {bounds} | {withheld} | {sum(covers)} of {len(covers)} |"
        )
    return lines


def _table(all_judged: Sequence[Judged], named: bool) -> list[str]:
    lines = ["| path | capture | rate (Mbit/s) | round trip (ms) | buffer (kB) |", "|---|---|---|---|---|"]
    for judged in all_judged:
        name = f"{judged.path.name}: " if named else ""
        cells = " | ".join(_cell(judged, value) for value in LIMITS)
        lines.append(f"| {name}{_truth(judged)} | {judged.end} | {cells} |")
    return lines


def _item(text: str) -> list[str]:
    return textwrap.wrap(f"- {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def page(drawn: Sequence[Judged], unfriendly: Sequence[Judged], seed: int, reasons: dict[str, str]) -> str:
    """Returns the page, in Markdown."""
    paths = len({judged.path.name for judged in drawn})
    lines = [
        "# Paths from captures",
        "",
        "`cellway path from-pcap` [estimates a path](../guide/workloads.md#a-path) from a capture of transfers. Here",
        f"it is checked with {paths} paths that were drawn at random: rate of 2 to 200 Mbit/s, round trip of 5 to 300",
        "ms, buffer of 0.3 to 3 bandwidth-delay products, no loss or 0.01 to 0.1 %, the rate towards the sender equal",
        "or 1 to 50 % of it. Each is emulated in real time; `iperf3` sends over the kernel's TCP (cubic, reno or bbr),",
        "and `tcpdump` captures at both ends. The sender's kernel passes segments of several packets to its device,",
        "and the receiver's device joins packets, so both captures have longer packets than the link.",
        "",
        f"`make paths` repeats all of it and writes this page. Its seed is {seed}; the estimator was made with others,",
        "but for the rate of acknowledgements at the receiver, which was added after the first run with this seed.",
        "",
        *_counts(drawn),
        "",
        "A value is a bound if its interval ends at 0 or has no end: the estimate says that it cannot know more. It is",
        "withheld if the capture does not show it: a buffer without a loss in front of a full queue.",
        "",
        "## Outside",
        "",
    ]
    outside = [judged for judged in [*drawn, *unfriendly] if judged.outside]
    for judged in outside:
        values = " and ".join(NAMES[name] for name in judged.outside)
        reason = reasons.get(f"{judged.path.name}, {judged.end}", "unexplained")
        lines += _item(f"{judged.path.name}, {judged.end}: {values}. {reason[0].upper()}{reason[1:]}.")
    lines += ["None."] if not outside else []
    lines += ["", "## Paths drawn at random", "", *_table(drawn, named=True), ""]
    lines += [
        "## Unfriendly transfers",
        "",
        "These paths are chosen, and the estimator was made with some of them. The true rate is that of the link.",
        "",
    ]
    lines += [*_table(unfriendly, named=True), "", "The warnings of these estimates:", ""]
    for judged in unfriendly:
        said = "; ".join(judged.warnings) or "none"
        lines += _item(f"{judged.path.name}, {judged.end}: {said}.")
    return "\n".join(lines) + "\n"
