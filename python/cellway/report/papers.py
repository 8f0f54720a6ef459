"""The papers that are reproduced: what was done, what was found, and the sections of the report on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cellway.report import cellsim, kdd, magic, nasa, spacing
from cellway.report.plates import Section, Studies
from cellway.results import Reproduction


@dataclass(frozen=True)
class Paper:
    """One paper: `experiment` says what was set up and measured, `finding` what came out, in one sentence."""

    name: str
    title: str
    finding: str
    experiment: str
    order: tuple[Callable[[Studies], Section], ...] = ()


PAPERS = (
    Paper(
        "kdd",
        "High-speed TCP/IP experiment over the US-Japan ATM testbed",
        "A pair of TCP gateways, one on each side of the Pacific, lifts one TCP connection from 1.42 to 21.2 Mbit/s "
        "without a change to the hosts.",
        "In 1996 and 1997 workstations in Holmdel (USA) and Shinjuku and Yokosuka (Japan) exchanged files over a "
        "DS-3 link across the Pacific, with a round trip of 175 ms (section 3). Hosts were on ATM LANs or on "
        "Ethernet behind ATM routers and kept their default windows, which are far smaller than what the link can "
        "hold. A gateway on each side ends the TCP connections of its hosts and carries their data to its peer by a "
        "transport of its own with a large window, at a peak cell rate of 30.0 Mbit/s (section 4.2). WWW, ftp and "
        "memory-to-memory transfers (ttcp) were timed with and without the gateways, over one to eight connections.",
        kdd.ORDER,
    ),
    Paper(
        "cellsim",
        "Multiplexing TCP Traffic over Wide-Area ATM Networks",
        "One virtual circuit for each conversation, served round robin, keeps interactive delay low and bulk "
        "throughput fair where circuits shared by destination do neither.",
        "A simulation: sources behind a router, a switch, and sinks behind another router, on links of 1.5 Mbit/s "
        "with a round trip of 45 ms (section 2.4). One TELNET conversation runs beside zero to five file transfers "
        "whose sizes are drawn from traffic that was recorded on the Internet. Three ways to map conversations to "
        "virtual circuits are compared: one for each conversation, one for each type of traffic, one for each "
        "destination.",
        cellsim.ORDER,
    ),
    Paper(
        "nasa",
        "TCP over ATM Performance in NASA NREN and CTI",
        "Throughput follows the window over the round trip up to what the hosts can do; with a contract that "
        "changes, a window that matched before no longer does.",
        "In 1996 workstations with ATM and FDDI adapters were tested at Goddard over an OC-3 ATM network looped at "
        "JPL (round trip 66 ms), and in a laboratory with a channel simulator that adds 60 ms to the round trip. "
        "ttcp sent 350 Mbyte over one connection, or over three at once to three receivers, with windows of 262 144 "
        "and 524 250 bytes and writes of 4096 and 8192 bytes. VBR and ABR services were tried on slower contracts.",
        nasa.ORDER,
    ),
    Paper(
        "spacing",
        "Analysis of Cell Spacing on a TCP Flow Mapped onto an ATM Connection",
        "A cell spacer with room for one window makes a TCP connection send at the spacing rate without loss, and "
        "its buffer content follows closed formulas.",
        "Two workstations on a link of 34 Mbit/s exchange data through a cell spacer, a queue that releases the "
        "cells of one connection at a set rate (section 2). The content of its buffer is computed through slow start"
        " and congestion avoidance (Theorems 1 and 2), and with one acknowledgement for two segments (Theorem 3). In"
        " the experiment of section 6 the rate is changed while an animation is shown: 33.92, then 5, then 10 "
        "Mbit/s.",
        spacing.ORDER,
    ),
    Paper(
        "magic",
        "Why TCP Is Broken in ATM WANs, and How Traffic Shaping Can Fix It",
        "Where an OC-3c host sends to a TAXI link behind a small switch buffer TCP collapses to below 1 Mbit/s, and "
        "pacing its cells restores more than 50 Mbit/s.",
        "In 1994 workstations on the MAGIC testbed sent over 600 km with a round trip of 8.8 ms. Table 1 gives the "
        "throughput between two OC-3c hosts against the TCP window. Table 2 puts a TAXI link of 100 Mbit/s at the "
        "end of the path: one or two OC-3c senders, whose cards can pace cells or not, and two senders on TAXI "
        "(scenario 3a), with windows of 128 kB each.",
        magic.ORDER,
    ),
)
"""In the order in which the page over all papers lists them."""


def paper_of(reproduction: Reproduction) -> Paper:
    """What is known of the paper of a folder; of an unknown one, what its `study.json` says."""
    name = str(reproduction.about.get("paper", "paper"))
    known = next((paper for paper in PAPERS if paper.name == name), None)
    return known or Paper(name, str(reproduction.about.get("title", name)), "", "")
