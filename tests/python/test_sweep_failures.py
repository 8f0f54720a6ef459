"""Sweeps over stores with failed runs, damage, other clocks, other versions, or that cannot be written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import cellway
import polars as pl
import pytest
import stores
from test_sweeps import octets, simulated, study

SEEDS = 3
RUNS = 4 * SEEDS


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cellway", "sweep", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """A folder with a study, and a store in which three of its runs have failed."""
    (tmp_path / "study.toml").write_text(study().to_toml())
    made = command(tmp_path, "study.toml", "--seeds", str(SEEDS), "--out", "store", "--threads", "1")
    assert made.returncode == 0, made.stderr
    stores.fail(tmp_path / "store/runs/sweep.runs", {2: "no memory", 5: "no route", 7: "no memory"})
    return tmp_path


def test_the_state_of_a_sweep_has_its_failures_and_its_damage(failed: Path) -> None:
    file = failed / "store/runs/sweep.runs"
    damaged = bytearray(file.read_bytes())
    damaged[-1] ^= 1
    file.write_bytes(damaged)
    told = command(failed, "status", "store")
    assert "12 runs: 8 finished, 3 failed, 1 missing" in told.stdout
    assert "2 runs failed, the first is run 2, seed 3: no memory\nrun 5, seed 3 failed: no route\n" in told.stdout
    assert "1 place of the store do" in told.stdout
    assert "damage at octet" in told.stderr
    state = json.loads(command(failed, "status", "store", "--json").stdout)
    assert state["failures"] == [
        {"message": "no memory", "runs": 2, "run": 2, "seed": 3},
        {"message": "no route", "runs": 1, "run": 5, "seed": 3},
    ]
    assert (state["finished"], state["failed"], state["missing"], state["damaged"]) == (8, 3, 1, 1)
    command(failed, "status", "store", "--html", "page.html")
    page = (failed / "page.html").read_text()
    assert "<li>2 runs, the first is run 2, seed 3: no memory</li>" in page
    assert "do not read back: 1." in page


def test_failed_runs_are_run_again_with_retry_only(failed: Path) -> None:
    arguments = ["study.toml", "--seeds", str(SEEDS), "--out", "store"]
    again = command(failed, *arguments)
    assert again.returncode == 1
    assert "0 runs done, 12 of 12 were in the store" in again.stderr
    assert "3 of 12 runs failed" in again.stderr
    assert "stopped" not in again.stderr
    retried = command(failed, *arguments, "--retry")
    assert retried.returncode == 0, retried.stderr
    assert "3 runs done, 9 of 12 were in the store" in retried.stderr
    assert octets(failed / "store/results") == simulated(study(), SEEDS, failed / "out")
    # They are done; their failures count no longer, in whatever file they are.
    assert "0 runs done, 12 of 12" in command(failed, *arguments, "--retry").stderr


def test_shards_retry_what_is_theirs(failed: Path) -> None:
    done = command(failed, "run", "store", "--shard", "1/2", "--retry")
    assert "1 run done, 5 of 6 were in the store" in done.stderr
    state = json.loads(command(failed, "status", "store", "--json").stdout)
    assert (state["finished"], state["failed"]) == (10, 2)


def test_failed_runs_are_run_again_from_python(failed: Path) -> None:
    store = failed / "store"
    with pytest.warns(
        UserWarning, match="3 of 12 runs failed and have no rows, retry=True runs them again; .*no memory"
    ):
        frame = study().run(store, seeds=SEEDS, progress=False)
    assert frame.select(pl.col("run").n_unique()).collect().item() == RUNS - 3
    study().run(store, seeds=SEEDS, retry=True, progress=False)
    assert octets(store / "results") == simulated(study(), SEEDS, failed / "out")


def test_failed_runs_are_run_again_by_workers(failed: Path) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed (pip install 'cellway[dask]')")
    store = failed / "store"
    study().run(store, seeds=SEEDS, retry=True, client="local:2", progress=False)
    assert octets(store / "results") == simulated(study(), SEEDS, failed / "out")
    added = [len(stores.frames(file)) for file in store.glob("runs/*.runs") if file.name != "sweep.runs"]
    assert sum(added) == 3


@pytest.mark.parametrize("hours", [-9, 9])
def test_clocks_that_differ_by_hours_change_nothing(failed: Path, hours: int) -> None:
    """The files of a machine with another clock, and a plan that is newer or older than they are."""
    moment = time.time() + 3600 * hours
    for number, path in enumerate(
        [failed / "store/plan.json", failed / "store/runs/sweep.runs", failed / "store/runs"]
    ):
        os.utime(path, (moment, moment - 1800 * number))
    done = command(failed, "study.toml", "--seeds", str(SEEDS + 1), "--out", "store", "--retry")
    assert "7 runs done, 9 of 16 were in the store" in done.stderr, done.stderr
    assert octets(failed / "store/results") == simulated(study(), SEEDS + 1, failed / "out")


def test_a_worker_reads_a_plan_again_that_has_changed_at_the_same_time(tmp_path: Path) -> None:
    """Of two plans that clocks give one time, a worker runs the present one."""
    pytest.importorskip("distributed", reason="distributed is not installed (pip install 'cellway[dask]')")
    from cellway import _native, api, cluster

    store, version = tmp_path / "store", (_native.version, _native.result_version)
    for seeds in (2, 3):
        sweep = _native.Sweep.plan(api.native(study()), [], seeds, str(store))
        os.utime(store / "plan.json", (1e9, 1e9))
        # The last run of the larger plan is none of the smaller one.
        assert cluster.shard(str(store), [sweep.runs - 1], False, version) == 1
    assert len(sweep.missing()) == 4 * 3 - 2


def test_stores_of_another_version_are_refused(failed: Path) -> None:
    file, plan = failed / "store/runs/sweep.runs", failed / "store/plan.json"
    whole, planned = file.read_bytes(), plan.read_text()
    file.write_bytes(whole.replace(b"cellway-runs 1", b"cellway-runs 7"))
    for words in (["status", "store"], ["study.toml", "--out", "store"], ["merge", "store"], ["gc", "store"]):
        refused = command(failed, *words)
        assert refused.returncode == 2, refused.stderr
        assert "sweep.runs has format 7; accepted: 1" in refused.stderr
    assert file.read_bytes() == whole.replace(b"cellway-runs 1", b"cellway-runs 7")
    file.write_bytes(whole)
    for old, new, message in [
        ('"format": 1', '"format": 7', "it has format 7; accepted: 1"),
        ('"results": ', '"results": 9', "with results of version 9"),
    ]:
        plan.write_text(planned.replace(old, new))
        refused = command(failed, "status", "store")
        assert refused.returncode == 2
        assert message in refused.stderr
    # Half a plan, as a file system that loses its end leaves it.
    plan.write_text(planned[: len(planned) // 2])
    refused = command(failed, "status", "store")
    assert refused.returncode == 2
    assert "plan.json" in refused.stderr
    assert "accepted:" in refused.stderr


def test_a_store_that_cannot_be_written_can_be_read(failed: Path) -> None:
    """A mount that is read-only, with root rights; else a folder without the right to write."""
    store = failed / "store"
    before = sorted((path.name, path.stat().st_size) for path in store.rglob("*"))
    if os.geteuid() == 0:
        if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], check=False).returncode:
            pytest.skip("no mount of its own can be made here (unshare --mount)")
        mount = 'mount --bind store store && mount -o remount,bind,ro store && exec "$@"'
        prefix = ["unshare", "--mount", "sh", "-c", mount, "sh"]
    else:
        prefix = []
        for path in (store / "runs/sweep.runs", store / "runs", store):
            path.chmod(0o555)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, "-m", "cellway", *words],
            cwd=failed,
            capture_output=True,
            text=True,
            check=False,
        )

    read = run("sweep", "status", "store")
    assert read.returncode == 0, read.stderr
    assert "12 runs: 9 finished, 3 failed, 0 missing" in read.stdout
    merged = run("sweep", "merge", "store", "--out", "elsewhere")
    assert merged.returncode == 0, merged.stderr
    for words in (
        ["sweep", "study.toml", "--seeds", "9", "--out", "store"],
        ["sweep", "run", "store", "--retry"],
        ["sweep", "gc", "store"],
        ["simulate", "study.toml", "--seeds", "9", "--cache", "store"],
    ):
        refused = run(*words)
        assert refused.returncode == 1, (words, refused.stderr)
        assert "store" in refused.stderr
        assert "Read-only file system" in refused.stderr or "Permission denied" in refused.stderr
    for path in (store, store / "runs", store / "runs/sweep.runs"):
        path.chmod(0o755)
    assert sorted((path.name, path.stat().st_size) for path in store.rglob("*")) == before


def test_other_text_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("text")
    with pytest.raises(cellway.Error, match="it is a file"):
        study().run(tmp_path / "store", progress=False)
