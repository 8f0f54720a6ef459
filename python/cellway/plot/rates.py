"""The rates that scenario files call by a word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NamedRate:
    """A line with a name."""

    rate: float
    """In bit/s; of an ATM line what is left for cells of 53 octets."""
    written: str
    """The name as it is written next to a line."""
    framing: str
    """`atm`, `ethernet` or `fddi`."""


RATES = {
    "e1": NamedRate(1.92e6, "E1", "atm"),
    "ds1": NamedRate(1.536e6, "DS-1", "atm"),
    "e3": NamedRate(33.92e6, "E3", "atm"),
    "ds3": NamedRate(40.704e6, "DS-3", "atm"),
    "oc3c": NamedRate(149.76e6, "OC-3c", "atm"),
    "oc12c": NamedRate(599.04e6, "OC-12c", "atm"),
    "taxi": NamedRate(98_148_148.0, "TAXI", "atm"),
    "ethernet": NamedRate(10e6, "Ethernet", "ethernet"),
    "fast-ethernet": NamedRate(100e6, "Fast Ethernet", "ethernet"),
    "fddi": NamedRate(100e6, "FDDI", "fddi"),
}
