"""Clusters by their names: Slurm through dask-jobqueue and a Kubernetes job, without machines of either.

Slurm is dask-jobqueue's own, with commands `sbatch` and `scancel` that run its job scripts on this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cellway
import pytest
from test_sweeps import octets, simulated, study

SBATCH = """#!/bin/sh
jobs=$(dirname "$0")
number=$$
cp "$1" "$jobs/$number.job"
setsid sh "$jobs/$number.job" >"$jobs/$number.log" 2>&1 </dev/null &
echo $! >"$jobs/$number.pid"
echo "Submitted batch job $number"
"""
SCANCEL = """#!/bin/sh
kill -- "-$(cat "$(dirname "$0")/$1.pid")"
"""


def sweep(folder: Path, *, scheduler: str, path: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a scheduler, where programs are searched in `path` first."""
    (folder / "study.toml").write_text(study().to_toml())
    words = ["sweep", "study.toml", "--seeds", "4", "--out", "store", "--scheduler", scheduler]
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", **more}
    return subprocess.run(
        [sys.executable, "-m", "cellway", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


SIZES = {"DASK_JOBQUEUE__SLURM__CORES": "1", "DASK_JOBQUEUE__SLURM__MEMORY": "1GB"}


def test_a_sweep_on_a_cluster_of_slurm(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed (pip install dask-jobqueue)")
    slurm = tmp_path / "slurm"
    program(slurm, "sbatch", SBATCH)
    program(slurm, "scancel", SCANCEL)
    done = sweep(tmp_path, scheduler="SLURMCluster:2", path=str(slurm), **SIZES)
    assert done.returncode == 0, done.stderr
    assert octets(tmp_path / "store/results") == simulated(study(), 4, tmp_path / "out")
    # Both jobs were submitted, and it was their workers that have run the sweep.
    jobs = [path.read_text() for path in slurm.glob("*.job")]
    assert len(jobs) == 2
    assert all("#SBATCH -n 1" in job and "distributed.cli.dask_worker" in job for job in jobs)
    assert list((tmp_path / "store/runs").glob("dask-*.runs"))


def test_a_cluster_of_slurm_that_cannot_start_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed (pip install dask-jobqueue)")
    slurm = tmp_path / "slurm"
    program(slurm, "sbatch", "#!/bin/sh\necho 'invalid partition' >&2\nexit 1\n")
    for sizes, message in [({}, "You must specify"), (SIZES, "invalid partition")]:
        refused = sweep(tmp_path, scheduler="SLURMCluster:2", path=str(slurm), **sizes)
        assert refused.returncode == 1, refused.stderr
        assert "the cluster SLURMCluster cannot be started" in refused.stderr
        assert message in refused.stderr
        assert "accepted: one that starts with the settings of Dask's configuration files" in refused.stderr


def test_a_cluster_of_kubernetes_is_found_by_its_name(tmp_path: Path) -> None:
    """Without a cluster: that its class is made, and that its error has words."""
    pytest.importorskip("dask_kubernetes", reason="dask-kubernetes is not installed (pip install dask-kubernetes)")
    none = {"KUBECONFIG": str(tmp_path / "none"), "HOME": str(tmp_path)}
    refused = sweep(tmp_path, scheduler="KubeCluster:2", path=str(tmp_path), **none)
    assert refused.returncode == 1, refused.stderr
    assert "the cluster KubeCluster cannot be started" in refused.stderr


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", "cannot be reached"),
        ("tcp://no-such-host.invalid:8786", "cannot be reached"),
        ("nonsense", "missing port number"),
        ("foo://host:1", "unknown address scheme"),
    ],
)
def test_a_scheduler_that_cannot_be_reached(tmp_path: Path, address: str, message: str) -> None:
    pytest.importorskip("distributed", reason="distributed is not installed (pip install 'cellway[dask]')")
    refused = sweep(tmp_path, scheduler=address, path=str(tmp_path))
    assert refused.returncode == 1, refused.stderr
    last = refused.stderr.strip().splitlines()[-1]
    assert message in last
    assert "accepted: the address of a scheduler" in last
    assert "Traceback" not in refused.stderr


def test_the_job_of_kubernetes_has_the_published_form(tmp_path: Path) -> None:
    validator = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed (pip install kubernetes-validate)"
    )
    import yaml

    (tmp_path / "study.toml").write_text(study().to_toml())
    command = [sys.executable, "-m", "cellway", "sweep"]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    subprocess.run([*command, "plan", "study.toml", "--out", "a store"], **options)  # type: ignore[call-overload]
    made = subprocess.run(  # type: ignore[call-overload]
        [*command, "script", "kubernetes", "a store", "--shards", "4"], **options
    )
    job = yaml.safe_load(made.stdout)
    validator.validate(job, validator.latest_version(), strict=True)
    job["spec"]["completion"] = 1
    with pytest.raises(validator.ValidationError):
        validator.validate(job, validator.latest_version(), strict=True)


def test_a_name_of_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(cellway.Error, match="no package has a cluster NoCluster; accepted:"):
        study().run(tmp_path / "store", seeds=2, client="NoCluster:4", progress=False)
