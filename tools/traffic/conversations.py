"""The conversations of a capture of IP packets, each with its octets and its completion time.

Captures of the kernel and of the simulator are read alike. Retransmissions count once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

RAW, ETHERNET = (12, 14, 101, 228), 1
"""Link types of captures."""
FIN, SYN, ACK = 1, 2, 16
TCP, UDP = 6, 17


@dataclass
class Conversation:
    """A connection, or the datagrams between two ports."""

    start: float
    """The time of the first packet (s)."""
    end: float
    """The time of the last packet with new octets (s)."""
    octets: list[int] = field(default_factory=lambda: [0, 0])
    """Octets of payload from the originator and from the responder."""
    packets: list[int] = field(default_factory=lambda: [0, 0])
    """Datagrams, likewise."""
    first: list[int | None] = field(default_factory=lambda: [None, None])
    """The sequence numbers of the SYNs."""

    @property
    def took(self) -> float:
        """The completion time (s)."""
        return self.end - self.start


@dataclass(frozen=True)
class Packet:
    """A packet of TCP or UDP."""

    time: float
    protocol: int
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    payload: int
    sequence: int = 0
    flags: int = 0


def conversations(capture: Path, class_of: Callable[[Packet], str | None]) -> dict[str, list[Conversation]]:
    """Return the conversations with payload by class; `class_of` takes the first packet of one."""
    found: dict[str, list[Conversation]] = {}
    open_now: dict[tuple[object, ...], tuple[Conversation, tuple[bytes, int]]] = {}
    for packet in packets(capture.read_bytes()):
        key = (packet.protocol, *sorted((packet.source, packet.target)))
        begins = packet.flags & (SYN | ACK) == SYN if packet.protocol == TCP else key not in open_now
        known = open_now.get(key)
        if begins and not (known and known[0].first[0] == packet.sequence):
            known = Conversation(packet.time, packet.time), packet.source
            open_now[key] = known
            name = class_of(packet)
            if name is not None:
                found.setdefault(name, []).append(known[0])
        if known:
            _add(known[0], packet, int(packet.source != known[1]))
    return {name: [one for one in all_of if sum(one.octets)] for name, all_of in found.items()}


def _add(one: Conversation, packet: Packet, side: int) -> None:
    """Add a packet from the originator (0) or the responder (1)."""
    if packet.protocol == UDP:
        one.octets[side] += packet.payload
        one.packets[side] += 1
        one.end = packet.time
        return
    first = one.first[side]
    if packet.flags & SYN:
        one.first[side] = packet.sequence
    elif first is not None:
        octets = (packet.sequence + packet.payload - first - 1) % 2**32
        # Half of the space of numbers is before the SYN.
        if packet.payload and one.octets[side] < octets < 2**31:
            one.octets[side], one.end = octets, packet.time


def packets(data: bytes) -> Iterator[Packet]:
    """Read a classic capture in little-endian order: IPv4 packets, of whose headers all are there."""
    units = {b"\x4d\x3c\xb2\xa1": 1e9, b"\xd4\xc3\xb2\xa1": 1e6}
    unit, link = units.get(data[:4]), int.from_bytes(data[20:24], "little")
    if unit is None or link not in (*RAW, ETHERNET):
        raise RuntimeError(f"not a capture of IP packets in little-endian order: link type {link}")
    at, skip = 24, 14 if link == ETHERNET else 0
    while at + 16 <= len(data):
        seconds, fraction, length, _ = struct.unpack_from("<IIII", data, at)
        start, at = at + 16 + skip, at + 16 + length
        if at > len(data) or start + 28 > at or data[start] >> 4 != 4:
            continue
        header, protocol = (data[start] & 15) * 4, data[start + 9]
        ports = start + header
        source, target = struct.unpack_from(">HH", data, ports)
        ends = (data[start + 12 : start + 16], source), (data[start + 16 : start + 20], target)
        whole, now = int.from_bytes(data[start + 2 : start + 4], "big"), seconds + fraction / unit
        if protocol == UDP:
            yield Packet(now, UDP, *ends, whole - header - 8)
        elif protocol == TCP:
            sequence = int.from_bytes(data[ports + 4 : ports + 8], "big")
            offset = (data[ports + 12] >> 4) * 4
            yield Packet(now, TCP, *ends, whole - header - offset, sequence, data[ports + 13])
