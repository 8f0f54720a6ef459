"""Files of runs as a test reads and writes them, by the description in docs/reference/store.md."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

TITLE = b"cellway-runs 1\n"
HEAD = struct.Struct("<4sB3xI32s8s")


def frames(file: Path) -> list[tuple[int, bytes, bytes]]:
    """Return kind, key and outcome of each frame, whose checksums must be right."""
    octets = file.read_bytes()
    assert octets.startswith(TITLE)
    at, found = len(TITLE), []
    while at < len(octets):
        mark, kind, length, key, check = HEAD.unpack_from(octets, at)
        at += HEAD.size
        outcome = octets[at : at + length]
        at += length
        assert (mark, check) == (b"run:", hashlib.sha256(bytes([kind]) + key + outcome).digest()[:8])
        found.append((kind, key, outcome))
    return found


def write(file: Path, outcomes: list[tuple[int, bytes, bytes]]) -> None:
    """Write a file of these frames."""
    octets = TITLE
    for kind, key, outcome in outcomes:
        check = hashlib.sha256(bytes([kind]) + key + outcome).digest()[:8]
        octets += HEAD.pack(b"run:", kind, len(outcome), key, check) + outcome
    file.write_bytes(octets)


def fail(file: Path, messages: dict[int, str]) -> None:
    """Replace the outcomes of these numbers in a file by failures."""
    outcomes = frames(file)
    for number, message in messages.items():
        outcomes[number] = (1, outcomes[number][1], message.encode())
    write(file, outcomes)
