"""Sweeps in an object store: a server of S3 on this machine, and failures of one."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import cellway
import pytest
from cellway import objects
from test_sweeps import free_port, octets, simulated, study

pytest.importorskip("moto", reason="moto is not installed (pip install 'moto[server]')")
pytest.importorskip("s3fs", reason="s3fs is not installed (pip install 'cellway[s3]')")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the name of a bucket on a server that all processes of the test find by their environment."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    end = time.monotonic() + 60
    while True:
        try:
            request = urllib.request.Request(f"{address}/runs", method="PUT")
            with urllib.request.urlopen(request, timeout=5):
                break
        except OSError:
            assert time.monotonic() < end, "the server has not begun"
            time.sleep(0.1)
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
    yield "s3://runs"
    s3fs.S3FileSystem.clear_instance_cache()
    server.kill()
    server.wait()


def fetched(address: str, folder: Path) -> list[bytes]:
    """Return the tables of a store."""
    import fsspec

    files, root = fsspec.core.url_to_fs(address)
    files.invalidate_cache()
    (folder / "results").mkdir(parents=True)
    for path in files.ls(f"{root}/results"):
        (folder / "results" / path.rsplit("/", 1)[1]).write_bytes(files.cat_file(path))
    return octets(folder / "results")


def pieces(address: str) -> list[str]:
    import fsspec

    files, root = fsspec.core.url_to_fs(address)
    files.invalidate_cache()
    return sorted(files.glob(f"{root}/runs/*.runs"))


def test_a_store_in_a_bucket_has_the_tables_of_a_simulation(bucket: str, tmp_path: Path) -> None:
    address = f"{bucket}/a study"
    frame = study().run(address, seeds=3, progress=False)
    expected = simulated(study(), 3, tmp_path / "out")
    assert fetched(address, tmp_path / "one") == expected
    assert frame.collect().height == study().simulate(seeds=3).summary.height
    before = pieces(address)
    # Another process, in effect: nothing of it is in a folder here.
    study().run(address, seeds=3, progress=False)
    assert pieces(address) == before
    study().run(address, seeds=4, client="local:2", progress=False)
    assert len(pieces(address)) > len(before)
    assert fetched(address, tmp_path / "two") == simulated(study(), 4, tmp_path / "more")
    study().run(address, seeds=4, until="ci95(goodput[subject=t-1]) < 20 %", max_seeds=8, progress=False)
    assert set(before) < set(pieces(address))


def test_an_object_is_written_once(bucket: str, tmp_path: Path) -> None:
    store = objects.Objects(f"{bucket}/once", tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.runs").write_bytes(b"one")
    store.push_new("runs/a.runs")
    (tmp_path / "runs" / "a.runs").write_bytes(b"two")
    with pytest.raises(cellway.Error, match=r"cannot be used|written once"):
        store.push_new("runs/a.runs")
    (tmp_path / "runs" / "a.runs").unlink()
    store.pull()
    assert (tmp_path / "runs" / "a.runs").read_bytes() == b"one"


def test_a_piece_is_sent_although_a_run_fails(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What had ended before an error, or Ctrl-C, is in the store."""
    monkeypatch.setattr(objects, "PIECE_SECONDS", 0.0)
    address, calls = f"{bucket}/broken", [0]
    run = objects.Objects.run

    def broken(*args: object, **named: object) -> None:
        calls[0] += 1
        if calls[0] > 3:
            raise KeyboardInterrupt
        run(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(objects.Objects, "run", broken)
    with pytest.raises(KeyboardInterrupt):
        study().run(address, seeds=3, progress=False)
    assert len(pieces(address)) == 3
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nothing://bucket/name", "cannot be used: .*accepted: an address that fsspec reads"),
        ("s3://no-such-bucket/name", "cannot be used: "),
    ],
)
def test_stores_that_cannot_be_used(bucket: str, address: str, message: str) -> None:
    with pytest.raises(cellway.Error, match=message):
        study().run(address, seeds=2, progress=False)
