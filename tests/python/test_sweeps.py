"""Sweeps over a store, in this process and on a cluster that loses a worker, its scheduler and its client."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import cellway
import polars as pl
import pytest
from cellway import Scenario, _native
from guides import GUIDE, blocks

TABLES = ("runs", "summary", "series")


def study(duration: str = "2 s") -> Scenario:
    made = Scenario("sweep", duration=duration, buffer="20 KiB").node("a", "host").node("r").node("b", "host")
    made = made.link("a", "r", rate="10 Mbit/s", delay="5 ms", framing="packet", loss="0.5 %")
    made = made.link("r", "b", rate="100 Mbit/s", delay="0 s", framing="packet")
    made = made.traffic("t", "a", "b")
    return made.sweep({"link.a-r.delay": ["5 ms", "20 ms"], "tcp.variant": ["reno", "cubic"]})


def octets(folder: Path) -> list[bytes]:
    return [(folder / f"{name}.parquet").read_bytes() for name in TABLES]


def simulated(scenario: Scenario, seeds: int, folder: Path) -> list[bytes]:
    scenario.simulate(seeds=seeds, out=folder)
    return octets(folder)


def test_a_sweep_is_a_lazy_frame_over_its_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    frame = study().run(store, seeds=3)
    assert isinstance(frame, pl.LazyFrame)
    got = frame.collect()
    results = study().simulate(seeds=3, cache=store)
    assert got.columns == results.summary.columns
    assert got.height == results.summary.height
    assert got["value"].equals(results.summary["value"])
    assert octets(store / "results") == simulated(study(), 3, tmp_path / "out")
    goodput = frame.filter(pl.col("metric") == "goodput", pl.col("subject") == "t-1")
    means = goodput.group_by("tcp.variant", maintain_order=True).agg(pl.col("value").mean()).collect()
    assert means["tcp.variant"].to_list() == ["reno", "cubic"]
    # More seeds run only these; the module function is the method.
    assert cellway.sweep(study(), store, seeds=5).select(pl.col("seed").n_unique()).collect().item() == 5


def test_replications_until_an_interval_is_narrow(tmp_path: Path) -> None:
    frame = study().run(tmp_path / "store", seeds=4, until="ci95(goodput[subject=t-1]) < 10 %", max_seeds=40)
    goodput = frame.filter(pl.col("metric") == "goodput", pl.col("subject") == "t-1").collect()
    for _, of_point in goodput.group_by("point"):
        values = of_point["value"]
        low, high = _native.confidence_interval(values.to_list(), 0.95, None)  # type: ignore[misc]
        assert (high - low) / 2 <= 0.1 * values.mean() or len(values) == 40  # type: ignore[operator]
    with pytest.raises(ValueError, match='accepted: "ci95'):
        study().run(tmp_path / "store", until="narrow")
    with pytest.raises(cellway.Error, match="accepted: a subject with goodput: t-1"):
        study().run(tmp_path / "store", until="ci95(goodput[subject=u]) < 10 %")


def test_stores_and_arguments_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("text")
    with pytest.raises(cellway.Error, match="is no store of runs"):
        study().run(tmp_path)
    with pytest.raises(cellway.Error, match="is no store of runs"):
        study().simulate(cache=tmp_path)
    with pytest.raises(ValueError, match="accepted: one of them"):
        study().run(tmp_path / "store", until="ci95(goodput[subject=t-1]) < 1 %", client="local:2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex"]


def guide(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    text = (GUIDE / "sweeps.md").read_text(encoding="utf-8")
    study = text.split("<!-- file: study.toml -->\n```toml\n")[1].split("```")[0]
    (folder / "study.toml").write_text(study)
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for block in blocks("sweeps.md", name):
        exec(block, names)
    return names


def test_the_frame_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    guide("frame", tmp_path, monkeypatch)
    assert "shape: (6, 3)" in capsys.readouterr().out


distributed = pytest.importorskip("distributed", reason="distributed is not installed (pip install 'cellway[dask]')")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A scheduler and workers, each a process."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler = self.start_scheduler()
        self.workers = [self.start_worker() for _ in range(3)]

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dask", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self.start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")

    def start_worker(self) -> subprocess.Popen[bytes]:
        return self.start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.stop()


def finished(store: Path) -> int:
    """Return the number of runs in a store, whatever process writes it."""
    return sum(path.read_bytes().count(b"run:") for path in store.glob("runs/*.runs"))


def wait_for(store: Path, runs: int, client: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while finished(store) < runs:
        assert client.poll() is None, "the client has ended"
        assert time.monotonic() < end, f"{finished(store)} runs after 120 s"
        time.sleep(0.02)


CLIENT = """
import sys
sys.path.insert(0, sys.argv[1])
import test_sweeps
test_sweeps.study(sys.argv[4]).run(sys.argv[2], seeds=75, client=sys.argv[3], progress=False)
"""


def test_a_cluster_loses_a_worker_its_scheduler_and_its_client(tmp_path: Path, cluster: Cluster) -> None:
    """300 runs with three workers: the tables are those of one process, to the octet."""
    store, duration = tmp_path / "store", "20 s"

    def client() -> subprocess.Popen[bytes]:
        here = str(Path(__file__).parent)
        return subprocess.Popen([sys.executable, "-c", CLIENT, here, str(store), cluster.address, duration])

    first = client()
    wait_for(store, 20, first)
    cluster.workers[0].send_signal(signal.SIGKILL)
    wait_for(store, 60, first)
    cluster.scheduler.send_signal(signal.SIGKILL)
    cluster.scheduler.wait()
    # Workers end with their scheduler.
    for worker in cluster.workers:
        worker.kill()
        worker.wait()
    before = finished(store)
    cluster.scheduler = cluster.start_scheduler()
    cluster.workers = [cluster.start_worker() for _ in range(3)]
    wait_for(store, before + 20, first)
    first.kill()
    first.wait()
    kept = finished(store)
    assert kept < 300
    second = client()
    assert second.wait(timeout=300) == 0
    assert octets(store / "results") == simulated(study(duration), 75, tmp_path / "out")
    # No run was done twice, but for those at work in shards that were lost.
    assert finished(store) >= 300
    assert sum(1 for _ in store.glob("runs/dask-*.runs")) >= 3


def test_processes_of_this_machine_and_failures_of_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    study().run(store, seeds=5, client="local:2", progress=False)
    assert octets(store / "results") == simulated(study(), 5, tmp_path / "out")
    for name, message in [
        ("tcp://127.0.0.1:1", "cannot be reached: .*accepted: the address of a scheduler"),
        ("local:0", "is no number of workers"),
        ("NoCluster:4", "no package has a cluster NoCluster; accepted:"),
    ]:
        with pytest.raises(cellway.Error, match=message):
            study().run(tmp_path / "other", seeds=2, client=name, progress=False)
    from cellway import cluster as module

    with pytest.raises(cellway.Error, match=r"the client 0 with 0; accepted: the same on all machines"):
        module.shard(str(store), [0], False, ("0", 0))
    with pytest.raises(cellway.Error, match=r"cannot read .*accepted: a folder that all workers see"):
        module.shard(str(tmp_path / "elsewhere"), [0], False, (_native.version, _native.result_version))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(cellway.Error, match=r"accepted: pip install 'cellway\[dask\]'"):
        study().run(tmp_path / "third", seeds=2, client="local:2", progress=False)


def test_the_command_runs_on_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study().to_toml())
    command = [sys.executable, "-m", "cellway", "sweep", "study.toml", "--seeds", "4", "--out", "store"]
    done = subprocess.run(
        [*command, "--scheduler", "local:2"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "0 runs done, 16 of 16 were in the store store" in done.stderr
    assert any(path.name.startswith("dask-") for path in (tmp_path / "store" / "runs").iterdir())
    refused = subprocess.run(
        [*command[:-4], "--seeds", "5", "--out", "store", "--scheduler", "tcp://127.0.0.1:1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert refused.returncode != 0


def test_the_cluster_of_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = guide("scheduler", tmp_path, monkeypatch)["frame"]
    assert isinstance(frame, pl.LazyFrame)
    assert frame.select(pl.col("run").n_unique()).collect().item() == 30
