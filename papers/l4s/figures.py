"""Sections of the report of the study `l4s`: its rows by subject."""

from __future__ import annotations

from cellway.report import Section, Studies

SECTIONS = (
    ("delay", "Delay of the low-latency queue", "Packets of L4S beside CUBIC, by rate and round trip.", ("delay-",)),
    ("shares", "Shares", "Prague and CUBIC get about the same rate.", ("ratio-",)),
    ("line", "The line", "It is full, and one queue for all waits long.", ("line-", "classic-")),
    ("steps", "Changes of the rate", "The rate falls to a quarter and returns.", ("steps-",)),
    ("overload", "Overload", "Datagrams with ECT(1) that do not react.", ("overload-",)),
)


def sections(studies: Studies) -> list[Section]:
    """Return the sections of the report, those that have rows."""
    ids = [claim.id for claim in studies.claims]
    return [
        Section(name, title, text, ids=prefixes)
        for name, title, text, prefixes in SECTIONS
        if any(found.startswith(prefixes) for found in ids)
    ]
