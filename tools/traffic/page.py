"""The page of a run, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellway.plot import style
from cross.words import percent, signed, wrapped
from matplotlib.figure import Figure

from traffic.classes import Class
from traffic.compared import ERRORS, FIGURES, TOLERANCE, Compared
from traffic.runs import BUFFER, RATE, RTT, Conversations, Real

WIDTH = 5.2


@dataclass(frozen=True)
class Run:
    """All that a page shows."""

    classes: Sequence[Class]
    missing: dict[str, str]
    """Classes that were left out, with what the machine lacks."""
    seconds: float
    real: Real
    derived: str
    """The table of `cellway workload from-pcap`."""
    whole: Sequence[Conversations]
    """Simulated runs that play whole conversations."""
    drawn: Sequence[Conversations]
    """Simulated runs that draw each exchange on its own."""
    compared: Sequence[Compared]
    compared_drawn: Sequence[Compared]
    notes: Sequence[str]
    """Reasons of deviations, and other remarks."""


def page(run: Run) -> str:
    """Return the page, in Markdown."""
    agreeing = sum(one.verdict == "yes" for one in run.compared)
    near = sum(one.verdict == "within its error" for one in run.compared)
    off = [one for one in run.compared if one.verdict == "**no**"]
    judgement = f"**{agreeing} of {len(run.compared)} figures agree within {percent(TOLERANCE, 0)}"
    judgement += f"; {near} differ by more, within their error" if near else ""
    judgement += f"; {len(off)} do not.**" if off else ".**"
    parts = [
        "# Real traffic, and the same simulated",
        wrapped("Made by `make traffic`; do not edit. The programs are in `tools/traffic/near.py`."),
        wrapped(
            f"Real programs run between two namespaces behind `cellway shell`, over {RATE}, {RTT * 1e3:g} ms and a "
            f"buffer of {BUFFER}, all classes at once; they start at random in {run.seconds:g} s. `tcpdump` captures "
            "at the client. `cellway workload from-pcap --messages` derives a workload from the capture, with a rule "
            f"for each class, and `cellway simulate` plays it over the same path with {len(run.whole)} seeds. Both "
            "captures are read alike: octets of payload, each counted once, and the completion time from the first "
            "packet of a conversation to its last octet. Conversations without payload do not count. A simulated class "
            "arrives for as many mean gaps as the capture has conversations of it."
        ),
        wrapped(
            "TCP is alike: the routes of the namespaces have CUBIC, which is that of the profile `linux-6`, whatever "
            "the machine's default is; the kernel saves no metrics of a path from one connection to the next; and the "
            "simulation is without Nagle's algorithm, as all of these programs set `TCP_NODELAY`. Linux's Nagle holds "
            "a part of a segment only behind another part, the simulator's behind any data: with it the last segment "
            "of a simulated response waited for an acknowledgement, and the median time of `curl` was 38 % longer (in "
            "a run of its own)."
        ),
        _programs(run),
        "## Side by side",
        wrapped(
            f"{judgement} Conversations and octets are those of a run. Simulated values are over all seeds, with the "
            "standard error: the real run is one sample, from which the workload is made, so that the error is that of "
            "the simulated arrivals and of which conversations are drawn. A deviation is within its error if less than "
            f"{ERRORS:g} standard errors of it exceed {percent(TOLERANCE, 0)}."
        ),
        _table(run.compared),
        "![Completion times of real and simulated conversations](../images/traffic.svg)",
    ]
    if run.notes:
        parts += ["\n".join(map(wrapped, (f"- {note}" for note in run.notes)))]
    parts += [
        "## Whole conversations, and exchanges",
        wrapped(
            "Without `--messages` each request, response and pause is drawn on its own from the distribution of its "
            "class. The means are the same, but conversations become alike: the deviations of both ways, from the same "
            "capture. A class without a value has no conversation in which both ends take turns."
        ),
        _both(run),
        "## The workload",
        wrapped("What `cellway workload from-pcap` prints:"),
        _printed(run.derived),
        wrapped("What `cellway shell` prints at the end, with the lateness of the emulated path:"),
        _printed(run.real.summary),
    ]
    return "\n\n".join(parts) + "\n"


def _programs(run: Run) -> str:
    lines = ["| class | programs |", "|---|---|"]
    lines += [f"| {one.name} | {one.starts} × {one.made_by} |" for one in run.classes]
    text = "\n".join(lines)
    if run.missing:
        lacking = "; ".join(f"{name}: {what}" for name, what in run.missing.items())
        text += "\n\n" + wrapped(f"Left out, as programs are missing: {lacking}.")
    if run.real.failed:
        text += "\n\n" + wrapped(f"{len(run.real.failed)} programs failed: {'; '.join(run.real.failed)}")
    return text


def _printed(text: str) -> str:
    return "```text\n" + "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n```"


def _number(value: float, figure: str) -> str:
    unit = FIGURES[figure][0]
    if not unit:
        return f"{value:.1f}"
    return f"{value:,.1f} {unit}".replace(",", " ") if unit == "kB" else f"{value:.3f} {unit}"


def _table(compared: Sequence[Compared]) -> str:
    lines = ["| class | figure | real | simulated | deviation | agrees |", "|---|---|---|---|---|---|"]
    for one in compared:
        error = _number(one.error, one.figure)
        lines.append(
            f"| {one.name} | {one.figure} | {_number(one.real, one.figure).removesuffix('.0')} | "
            f"{_number(one.simulated, one.figure)} ± {error} | {signed(one.deviation)} | {one.verdict} |"
        )
    return "\n".join(lines)


def _both(run: Run) -> str:
    drawn = {(one.name, one.figure): one for one in run.compared_drawn}
    lines = ["| class | figure | whole conversations | exchanges |", "|---|---|---|---|"]
    for one in run.compared:
        other = drawn.get((one.name, one.figure))
        if one.figure.startswith("time"):
            alone = signed(other.deviation) if other else "-"
            lines.append(f"| {one.name} | {one.figure} | {signed(one.deviation)} | {alone} |")
    return "\n".join(lines)


def draw(run: Run) -> Figure:
    """Draw the distributions of the completion times of each class."""
    names = [one.name for one in run.classes if run.real.conversations.get(one.name)]
    rows = (len(names) + 2) // 3
    with style.styled():
        figure, panels = style.panels(1.6 * rows, rows, 3, width=WIDTH, sharey=True)
        flat = list(panels.flat if hasattr(panels, "flat") else panels)
        for axes, name in zip(flat, names, strict=False):
            for order, (label, conversations) in enumerate(
                [
                    ("real", run.real.conversations[name]),
                    ("simulated", [one for each in run.whole for one in each.get(name, [])]),
                ]
            ):
                mark = style.numbered(order)
                times = sorted(one.took for one in conversations)
                shares = [(number + 1) / len(times) for number in range(len(times))]
                look = {"color": mark.color, "linestyle": mark.dashes, "linewidth": 1.2}
                axes.step(times, shares, where="post", label=label, **look)
            axes.set_title(name)
            axes.set_xlim(0, 1.05 * max(one.took for one in run.real.conversations[name]))
            axes.set_ylim(0, 1)
        for axes in flat[len(names) :]:
            axes.set_visible(False)
        for axes in flat[-3:]:
            axes.set_xlabel("Completion time (s)")
        for axes in flat[::3]:
            axes.set_ylabel("Share")
        style.legend(figure, flat[0], columns=2)
        return figure
