"""Data files of flent, which then plots runs of Cellway as its own.

They have version 4 of the format in https://flent.org/data-format.html. A run becomes a test that flent has run at one
node: transfers from this node are uploads, those to it are downloads.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from cellway.results import Results

VERSION = 4
SUFFIX = ".flent.gz"

LONGEST = 200
"""The longest name of a file before the suffix, in bytes: file systems take 255 in all."""

ICMP = re.compile(r"84(\.0*)? *B")
"""The packet of a ping that stands for one of ICMP: 56 B of data and 8 B of header in IPv4."""

UPLOAD, DOWNLOAD, UDP, ECHO = "TCP upload", "TCP download", "Ping (ms) UDP", "Ping (ms) ICMP"
"""The beginnings of the names of flent's series."""


@dataclass(frozen=True)
class Sample:
    """A metric of Cellway as values of flent."""

    metric: str
    factor: float
    unit: str


GOODPUT = Sample("goodput", 1e-6, "Mbits/s")
ROUND_TRIP = Sample("response_time_mean", 1e3, "ms")
SAMPLES = {UPLOAD: GOODPUT, DOWNLOAD: GOODPUT, UDP: ROUND_TRIP, ECHO: ROUND_TRIP}


CLASSES = {"cs0": "BE", "cs1": "BK", "cs5": "CS5", "ef": "EF"}
"""The classes of flent's test rrul, by the key `dscp`."""

RRUL = {UPLOAD: {"BE", "BK", "CS5", "EF"}, DOWNLOAD: {"BE", "BK", "CS5", "EF"}, UDP: {"BE", "BK", "EF"}}
"""The classes that this test has one series of."""


@dataclass(frozen=True)
class Group:
    """A traffic group with an end at the node."""

    name: str
    kind: str
    """One of `SAMPLES`."""
    peer: str
    """The node at the other end."""
    dscp: str


@dataclass(frozen=True)
class Slot:
    """One conversation of a group."""

    name: str
    dscp: str


@dataclass(frozen=True)
class Series:
    """A slot under its name at flent."""

    name: str
    unit: str
    values: dict[float, float]
    """By the end of the bin, in seconds from the start of the run."""
    round_trips: dict[float, float]
    """The smoothed round-trip time of TCP likewise, in milliseconds; empty unless it was observed."""


def write(
    results: Results, path: str | os.PathLike[str], *, run: int | None, node: str | None, force: bool
) -> list[Path]:
    """Write a data file for each run, as `Results.to_flent` says, and return their paths."""
    groups, here = _groups(results, node)
    rows = results.series().sort("t")
    slots = pl.col("subject").str.replace(r"-\d+$", "").is_in([group.name for group in groups])
    sampled = pl.col("metric").is_in([sample.metric for sample in SAMPLES.values()]) & (pl.col("value") > 0)
    runs = results.runs.filter(pl.col("run").is_in(rows.filter(slots & sampled)["run"].to_list()))
    if runs.is_empty():
        named = ", ".join(group.name for group in groups)
        raise _wrong(
            "series", f"no run has values over time of {named}; accepted: runs with series = true in [observe]"
        )
    if run is not None:
        known = runs["run"].to_list()
        if run not in known:
            raise _wrong("run (--run)", f"{run!r} is no run with series; accepted: a number of `runs`, like {known[0]}")
        runs = runs.filter(pl.col("run") == run)
    files = _files(results, runs, Path(path))
    taken = [file for file in files.values() if os.path.lexists(file)]
    if taken and not force:
        raise _wrong(str(taken[0]), "the file exists; accepted: another path, or force (--force) to replace it")
    for row in runs.iter_rows(named=True):
        file = files[row["run"]]
        metadata = {"LOCAL_HOST": here, "DATA_FILENAME": file.name}
        _save(file, _document(results, row, rows.filter(pl.col("run") == row["run"]), groups, metadata))
    return [*files.values()]


def _groups(results: Results, node: str | None) -> tuple[list[Group], str]:
    """Return the groups with an end at the node, and the node: that given, else where pings or transfers start."""
    traffic = results.scenario.get("traffic", [])
    pings = [group for group in traffic if group.get("udp", {}).get("source") == "ping"]
    transfers = [group for group in traffic if group.get("app") == "bulk" or "flows" in group]
    ends = [*(group["from"] for group in pings), *(group[end] for group in transfers for end in ("from", "to"))]
    if not ends:
        accepted = 'a group with app = "bulk", with flows, or with udp = { source = "ping" }'
        raise _wrong("traffic", f"the scenario has no transfers and no pings; accepted: {accepted}")
    here = ends[0] if node is None else node
    if here not in ends:
        accepted = ", ".join(dict.fromkeys(ends))
        raise _wrong(
            "node (--node)", f"no transfer has an end at {here!r}, and no ping starts there; accepted: {accepted}"
        )
    found = []
    for group in traffic:
        name, start, end, dscp = group["name"], group["from"], group["to"], group.get("dscp", "cs0")
        if group in transfers and here in (start, end):
            up = start == here
            found.append(Group(name, UPLOAD if up else DOWNLOAD, end if up else start, dscp))
        elif group in pings and start == here:
            echo = ICMP.fullmatch(group["udp"].get("packet", ""))
            found.append(Group(name, ECHO if echo else UDP, end, dscp))
    return found, here


def _files(results: Results, runs: pl.DataFrame, at: Path) -> dict[int, Path]:
    """Return the path of the file of each run."""
    if at.name.endswith(SUFFIX):
        if runs.height > 1:
            raise _wrong(str(at), f"a file holds one run, not {runs.height}; accepted: a folder, or one run (--run)")
        return {runs["run"].item(): at}
    if at.exists() and not at.is_dir():
        raise _wrong(str(at), f"it is no folder; accepted: a folder, or for one run a file that ends in {SUFFIX}")
    study = str(results.scenario.get("name", "run"))
    stems = {}

    def clean(text: str) -> str:
        return re.sub(r"[^\w.,=+-]+", "_", text)

    for row in runs.iter_rows(named=True):
        words = [study, *(f"{axis}={_text(row[axis])}" for axis in results.axes), f"seed={row['seed']}"]
        stems[row["run"]] = clean(",".join(words))
    taken = Counter(stems.values())
    for number, stem in stems.items():
        # Two sources of a comparison have the same point and seed.
        if taken[stem] > 1 or len(stem.encode()) > LONGEST:
            begin = clean(study).encode()[:LONGEST].decode(errors="ignore")
            stems[number] = f"{begin},run={number}"
    return {number: at / f"{stem}{SUFFIX}" for number, stem in stems.items()}


def _document(
    results: Results, run: Mapping[str, Any], rows: pl.DataFrame, groups: list[Group], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a data file as JSON has it, with more metadata than that given."""
    test, series = _series(groups, rows)
    # Of every slot there is a goodput for each bin; a bin without a ping has no round trip.
    ends = rows.filter(pl.col("metric") == GOODPUT.metric)["t"].unique().sort().to_list()
    started = datetime.fromisoformat(results.manifest["started"]).astimezone(UTC)
    time = started.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    title = ", ".join(_text(run[axis]) for axis in results.axes) or results.scenario.get("name", "")
    streams = {"upload_streams": UPLOAD, "download_streams": DOWNLOAD}
    return {
        "version": VERSION,
        "x_values": ends,
        "results": {one.name: [one.values.get(t) for t in ends] for one in series},
        "raw_values": {one.name: _raw(one, started.timestamp()) for one in series},
        "metadata": {
            "NAME": test,
            "TITLE": title if results.runs["seed"].n_unique() == 1 else f"{title}, seed {run['seed']}",
            "NOTE": f"Cellway {results.manifest['cellway']}: {rows['source'][0]}, run {run['run']}, seed {run['seed']}",
            "HOST": groups[0].peer,
            "HOSTS": list(dict.fromkeys(group.peer for group in groups)),
            "TIME": time,
            "T0": time,
            "LENGTH": ends[-1],
            "TOTAL_LENGTH": ends[-1],
            "STEP_SIZE": ends[0],
            "TEST_PARAMETERS": {key: str(sum(one.name.startswith(w) for one in series)) for key, w in streams.items()},
            "SERIES_META": {
                one.name: {"UNITS": one.unit, "MEAN_VALUE": sum(one.values.values()) / len(one.values)}
                for one in series
            },
            **metadata,
        },
    }


def _raw(series: Series, start: float) -> list[dict[str, float]]:
    """Return the values with their times in seconds since 1970, as flent keeps single samples."""
    return [
        {"t": start + t, "val": value} | ({"tcp_rtt": series.round_trips[t]} if t in series.round_trips else {})
        for t, value in series.values.items()
    ]


def _series(groups: list[Group], rows: pl.DataFrame) -> tuple[str, list[Series]]:
    """Return the name of flent's test, and the series under the names that it has there."""
    slots: dict[str, list[Slot]] = {kind: [] for kind in SAMPLES}
    subjects = rows["subject"].unique().to_list()
    for group in groups:
        numbers = [s.removeprefix(f"{group.name}-") for s in subjects if s.startswith(f"{group.name}-")]
        numbers = sorted((number for number in numbers if number.isdigit()), key=int)
        slots[group.kind] += [Slot(f"{group.name}-{number}", group.dscp) for number in numbers]
    test = _test(slots)
    found = []
    for kind, those in slots.items():
        sample = SAMPLES[kind]
        for index, slot in enumerate(those):
            values = _values(rows, slot.name, sample.metric, sample.factor)
            if sample is GOODPUT:
                # Nothing before the first byte: flent has no value of a transfer that has not begun.
                begun = next((t for t, value in values.items() if value), None)
                values = {t: value for t, value in values.items() if begun is not None and t >= begun}
            if values:
                name = _name(test, kind, slot, index + 1)
                found.append(Series(name, sample.unit, values, _values(rows, slot.name, "srtt", ROUND_TRIP.factor)))
    return test, found


def _test(slots: Mapping[str, list[Slot]]) -> str:
    """Return the test of flent that has such series."""
    count = {kind: len(those) for kind, those in slots.items()}
    if count == {UPLOAD: 4, DOWNLOAD: 4, UDP: 3, ECHO: 1}:
        if all({CLASSES.get(slot.dscp) for slot in slots[kind]} == classes for kind, classes in RRUL.items()):
            return "rrul"
        if all(slot.dscp == "cs0" for those in slots.values() for slot in those):
            return "rrul_be"
    if count[UPLOAD] and count[DOWNLOAD]:
        return "rrul_be_nflows"
    if count[UPLOAD] or count[DOWNLOAD]:
        return "tcp_nup" if count[UPLOAD] else "tcp_ndown"
    return "ping"


def _name(test: str, kind: str, slot: Slot, number: int) -> str:
    """Return the name that a test has for the series of a slot, which has this number among its kind."""
    transfer = SAMPLES[kind] is GOODPUT
    if test == "rrul" and kind != ECHO:
        return f"{kind} {CLASSES[slot.dscp]}"
    if test == "rrul_be" and kind != ECHO:
        # Transfers are BE, BE2, BE3 and BE4, pings BE1, BE2 and BE3.
        return f"{kind} BE{'' if transfer and number == 1 else number}"
    if transfer:
        return f"{kind} BE::{number}" if test == "rrul_be_nflows" else f"{kind}::{number}"
    first = f"{kind} BE" if test == "rrul_be_nflows" and kind == UDP else kind
    return first if number == 1 else f"{first} {number}"


def _values(rows: pl.DataFrame, slot: str, metric: str, factor: float) -> dict[float, float]:
    """Return the values of a slot in the unit of flent, by the end of the bin."""
    of = rows.filter((pl.col("subject") == slot) & (pl.col("metric") == metric))
    return dict(zip(of["t"].to_list(), (of["value"] * factor).to_list(), strict=True))


def _text(value: str | float) -> str:
    """Return the value of an axis; a number without the point of a whole one."""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _save(file: Path, document: Mapping[str, Any]) -> None:
    """Write a file, whole or not at all: the same document gives the same bytes."""
    text = json.dumps(document, allow_nan=False, indent=1, sort_keys=True)
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(gzip.compress(text.encode(), mtime=0))
        part.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise _wrong(str(file), f"it cannot be written: {error.strerror or error}") from None


def _wrong(what: str, message: str) -> Exception:
    from cellway import _native

    return _native.Error(f"{what}: {message}")
