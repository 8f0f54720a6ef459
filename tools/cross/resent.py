"""Reads from a capture at the sender if losses are repaired before the third duplicate acknowledgement."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PORT = 5001
"""The port of the receiver (`docs/guide/captures.md`)."""
DUPLICATES = 3
END, NO_OPERATION, SACK = 0, 1, 5
"""Kinds of options: RFC 9293 section 3.1, RFC 2018 section 3."""


@dataclass(frozen=True)
class Resent:
    """The loss events of a capture: each is a first segment that is sent again."""

    events: int
    early: int
    """The loss events whose segment was resent before the third duplicate acknowledgement."""


@dataclass(frozen=True)
class _Segment:
    time: float
    sent: bool
    sequence: int
    acknowledgement: int
    payload: int
    selective: bool
    """True if it reports segments beyond a gap (SACK)."""


def resent(capture: Path, since: float) -> Resent:
    """Count loss events from `since` on (s)."""
    highest = last = duplicates = events = early = 0
    repaired = -1
    for segment in _segments(capture.read_bytes()):
        if not segment.sent:
            # An acknowledgement that advances counts, too, if it has SACK blocks (RFC 6675 section 2).
            duplicates = (duplicates if segment.acknowledgement == last else 0) + segment.selective
            last = segment.acknowledgement
        elif segment.payload:
            # Of several losses in a window only the first counts: the others are repaired with it.
            if segment.sequence < highest and segment.sequence == last and segment.sequence > repaired:
                repaired = highest
                events += segment.time >= since
                early += segment.time >= since and duplicates < DUPLICATES
            highest = max(highest, segment.sequence + segment.payload)
    return Resent(events, early)


def _segments(data: bytes) -> Iterator[_Segment]:
    """Read a classic capture of IPv4 packets with nanoseconds, in little-endian order."""
    if data[:4] != b"\x4d\x3c\xb2\xa1" or data[20:24] != b"\x65\0\0\0":
        raise RuntimeError("not a capture of IP packets with nanoseconds")
    at, base = 24, None
    while at < len(data):
        seconds, nanoseconds, length = struct.unpack_from("<III", data, at)
        packet = data[at + 16 : at + 16 + length]
        at += 16 + length
        tcp = packet[(packet[0] & 15) * 4 :]
        source, target, sequence, acknowledgement = struct.unpack_from(">HHII", tcp)
        header = (tcp[12] >> 4) * 4
        payload = int.from_bytes(packet[2:4], "big") - (packet[0] & 15) * 4 - header
        if base is None and target == PORT:
            base = sequence
        if base is None or PORT not in (source, target):
            continue
        # Relative to the SYN, as numbers wrap.
        first, acked = (sequence - base) % 2**32, (acknowledgement - base) % 2**32
        selective = SACK in _options(tcp[20:header])
        yield _Segment(seconds + nanoseconds / 1e9, target == PORT, first, acked, payload, selective)


def _options(data: bytes) -> Iterator[int]:
    """Return the kinds of the options of a TCP header."""
    at = 0
    while at < len(data) and data[at] != END:
        yield data[at]
        at += 1 if data[at] == NO_OPERATION else max(data[at + 1], 2)
