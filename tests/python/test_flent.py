"""Data files of flent: the rules of its format, the values of the tables in them, and flent itself on them."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import cellway
import polars as pl
import pytest
from cellway.__main__ import main

RRUL = Path(__file__).parents[2] / "scenarios" / "rrul.toml"
SHORT = {"run.duration": "8 s", "run.warmup": "2 s"}
BEGIN = 5.0
"""When the transfers of rrul begin, in seconds."""

NAMES = {
    **{f"download-{n}": f"TCP download BE{n if n > 1 else ''}" for n in range(1, 5)},
    **{f"upload-{n}": f"TCP upload BE{n if n > 1 else ''}" for n in range(1, 5)},
    **{f"ping-{n}": f"Ping (ms) UDP BE{n}" for n in range(1, 4)},
    "icmp-1": "Ping (ms) ICMP",
}
"""The data sets of flent's test rrul_be that are measured and not computed from others, by slot."""

Document = dict[str, Any]


def run(**changes: object) -> cellway.Results:
    return cellway.simulate(RRUL, set={**SHORT, **changes}, progress=False)


@pytest.fixture(scope="module")
def results() -> cellway.Results:
    return run()


def read(file: Path) -> Document:
    return json.loads(gzip.decompress(file.read_bytes()))


@pytest.fixture(scope="module")
def files(results: cellway.Results, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return results.to_flent(tmp_path_factory.mktemp("flent") / "new" / "folder")


def test_each_run_has_a_file_named_by_its_parameters(files):
    assert [file.name for file in files] == [
        "rrul,buffer.queue=fifo,seed=1.flent.gz",
        "rrul,buffer.queue=fq-codel,seed=1.flent.gz",
    ]
    about = [read(file)["metadata"] for file in files]
    assert [one["TITLE"] for one in about] == ["fifo", "fq-codel"]
    assert [one["DATA_FILENAME"] for one in about] == [file.name for file in files]


def test_a_file_follows_the_rules_of_the_format(files, results):
    for file in files:
        document = read(file)
        assert set(document) == {"version", "x_values", "results", "metadata", "raw_values"}
        assert document["version"] == 4
        x = document["x_values"]
        assert x == sorted(set(x))
        assert set(document["results"]) == set(document["raw_values"]) == set(NAMES.values())
        about = document["metadata"]
        assert (about["NAME"], about["LOCAL_HOST"], about["HOST"], about["HOSTS"]) == (
            "rrul_be", "home", "provider", ["provider"],
        )  # fmt: skip
        assert (about["LENGTH"], about["TOTAL_LENGTH"], about["STEP_SIZE"]) == (8, 8, 0.2)
        time = datetime.strptime(about["T0"] + "+0000", "%Y-%m-%dT%H:%M:%S.%fZ%z")
        assert time == datetime.fromisoformat(results.manifest["started"])
        for name, values in document["results"].items():
            assert len(values) == len(x)
            raw = document["raw_values"][name]
            # Without a conversion of clocks: the times of raw values count from T0.
            assert [one["val"] for one in raw] == [value for value in values if value is not None]
            assert [one["t"] - time.timestamp() for one in raw] == pytest.approx(
                [t for t, value in zip(x, values, strict=True) if value is not None], abs=1e-6
            )
            of = about["SERIES_META"][name]
            assert of["UNITS"] == ("Mbits/s" if name.startswith("TCP") else "ms")
            assert of["MEAN_VALUE"] == pytest.approx(sum(one["val"] for one in raw) / len(raw))


def test_the_values_are_those_of_the_tables(files, results):
    for file, queue in zip(files, ["fifo", "fq-codel"], strict=True):
        document = read(file)
        for slot, name in NAMES.items():
            metric, factor = ("goodput", 1e6) if name.startswith("TCP") else ("response_time_mean", 1e-3)
            rows = results.series(metric, at=slot).filter(pl.col("buffer.queue") == queue)
            expected = dict(rows.select("t", "value").iter_rows())
            for t, value in zip(document["x_values"], document["results"][name], strict=True):
                if value is None:
                    # A transfer that has not begun, or a bin in which no ping has returned.
                    assert expected.get(t, 0) == 0
                    assert t <= BEGIN or metric == "response_time_mean"
                else:
                    assert value * factor == pytest.approx(expected[t])
            begun = [t for t, value in zip(document["x_values"], document["results"][name], strict=True) if value]
            assert begun[0] == pytest.approx(BEGIN + 0.2 if metric == "goodput" else 0.2)


def test_the_same_results_give_the_same_bytes(files, results, tmp_path):
    assert [file.read_bytes() for file in results.to_flent(tmp_path)] == [file.read_bytes() for file in files]


@pytest.mark.parametrize(
    ("upload", "download", "ping", "test", "names"),
    [
        (2, 1, 2, "rrul_be_nflows", ["TCP upload BE::1", "TCP upload BE::2", "TCP download BE::1",
                                     "Ping (ms) UDP BE", "Ping (ms) UDP BE 2", "Ping (ms) ICMP"]),
        (11, 0, 0, "tcp_nup", [*(f"TCP upload::{n}" for n in range(1, 12)), "Ping (ms) ICMP"]),
        (0, 1, 0, "tcp_ndown", ["TCP download::1", "Ping (ms) ICMP"]),
        (0, 0, 2, "ping", ["Ping (ms) UDP", "Ping (ms) UDP 2", "Ping (ms) ICMP"]),
    ],
)  # fmt: skip
def test_other_numbers_of_transfers_are_other_tests(tmp_path, upload, download, ping, test, names):
    counts = {"traffic.upload.count": upload, "traffic.download.count": download, "traffic.ping.count": ping}
    results = run(**counts)
    document = read(results.to_flent(tmp_path)[1])
    about = document["metadata"]
    assert about["NAME"] == test
    assert set(document["results"]) == set(names)
    assert about["TEST_PARAMETERS"] == {"upload_streams": str(upload), "download_streams": str(download)}
    # Numbers of slots, not of letters: the eleventh is the last.
    last = results.series("goodput", at="upload-11") if upload > 10 else None
    if last is not None:
        rate = last.filter(pl.col("buffer.queue") == "fq-codel")["value"][-1]
        assert document["results"]["TCP upload::11"][-1] == pytest.approx(rate / 1e6)


def by_class(classes: dict[str, list[str]]) -> cellway.Results:
    """Run rrul with one slot of each of these classes in place of several of one class, by group."""
    traffic, rest = RRUL.read_text().split("[observe]")
    text, *groups = traffic.split("[[traffic]]\n")
    for group in groups:
        name = group.split('"')[1]
        for dscp in classes.get(name, ["cs0"]):
            own = re.sub(r"\ncount = .*", "", group.replace(f'"{name}"', f'"{name}-{dscp}"', 1), count=1)
            text += f'[[traffic]]\ndscp = "{dscp}"\n{own}'
    return cellway.simulate(f"{text}\n[observe]{rest}", set=SHORT, progress=False)


def test_classes_are_those_of_the_test_rrul(tmp_path):
    four, three = ["ef", "cs5", "cs1", "cs0"], ["cs0", "ef", "cs1"]
    results = by_class({"upload": four, "download": four, "ping": three})
    document = read(results.to_flent(tmp_path)[0])
    assert document["metadata"]["NAME"] == "rrul"
    ways = [f"TCP {way} {name}" for way in ("upload", "download") for name in ("BE", "BK", "CS5", "EF")]
    assert set(document["results"]) == {
        *ways,
        *(f"Ping (ms) UDP {name}" for name in ("EF", "BK", "BE")),
        "Ping (ms) ICMP",
    }
    rates = results.series("goodput", at="upload-cs1-1").filter(pl.col("buffer.queue") == "fifo")["value"]
    assert document["results"]["TCP upload BK"][-1] == pytest.approx(rates[-1] / 1e6)


def test_other_classes_are_no_test_of_best_effort(tmp_path):
    results = by_class({"upload": ["cs1", "af11", "ef", "cs0"], "download": ["cs0", "cs1", "cs2", "cs3"],
                        "ping": ["cs0", "cs1", "ef"]})  # fmt: skip
    assert read(results.to_flent(tmp_path)[0])["metadata"]["NAME"] == "rrul_be_nflows"


def test_at_the_other_node_uploads_are_downloads(results, files, tmp_path):
    there = read(results.to_flent(tmp_path, node="provider")[0])
    here = read(files[0])
    assert (there["metadata"]["LOCAL_HOST"], there["metadata"]["HOST"]) == ("provider", "home")
    # Four in each direction, but the pings start at the other node.
    assert there["metadata"]["NAME"] == "rrul_be_nflows"
    assert there["results"]["TCP download BE::2"] == here["results"]["TCP upload BE2"]
    assert not [name for name in there["results"] if name.startswith("Ping")]


def test_round_trips_of_tcp_are_written_where_they_are_observed(tmp_path):
    results = run(**{"observe.flows": ["upload-2"]})
    document = read(results.to_flent(tmp_path)[0])
    with_rtt = [name for name, raw in document["raw_values"].items() if any("tcp_rtt" in one for one in raw)]
    assert with_rtt == ["TCP upload BE2"]
    srtt = results.series("srtt", at="upload-2").filter(pl.col("buffer.queue") == "fifo")
    assert document["raw_values"]["TCP upload BE2"][-1]["tcp_rtt"] == pytest.approx(srtt["value"][-1] * 1e3)


def test_one_run_is_written_to_one_file(results, files, tmp_path):
    file = tmp_path / "fair.flent.gz"
    with pytest.raises(
        cellway.Error, match=r"fair.flent.gz: a file holds one run, not 2; accepted: a folder, or one run \(--run\)"
    ):
        results.to_flent(file)
    assert results.to_flent(file, run=1) == [file]
    assert read(file)["results"] == read(files[1])["results"]
    with pytest.raises(
        cellway.Error, match=r"run \(--run\): 7 is no run with series; accepted: a number of `runs`, like 0"
    ):
        results.to_flent(file, run=7)


def swept(sweep: str, seeds: int) -> cellway.Results:
    """Run with another sweep: none can be set by path."""
    return cellway.simulate(RRUL.read_text().split("[sweep]")[0] + sweep, seeds=seeds, set=SHORT, progress=False)


def test_seeds_are_in_names_and_titles(tmp_path):
    written = swept("", seeds=2).to_flent(tmp_path)
    assert [file.name for file in written] == ["rrul,seed=1.flent.gz", "rrul,seed=2.flent.gz"]
    assert read(written[1])["metadata"]["TITLE"] == "rrul, seed 2"


def test_letters_that_a_file_name_should_not_have_are_replaced(tmp_path):
    written = swept('[sweep]\naxes = { "link.access.rate" = ["50 Mbit/s"] }', seeds=1).to_flent(tmp_path)
    assert [file.name for file in written] == ["rrul,link.access.rate=50_Mbit_s,seed=1.flent.gz"]
    assert read(written[0])["metadata"]["TITLE"] == "50 Mbit/s"


def test_a_name_that_is_too_long_has_the_number_of_the_run(tmp_path):
    variants = "".join(f'[[sweep.variant]]\nname = "{"long " * 50}{n}"\nset = {{}}\n' for n in range(2))
    written = swept(variants, seeds=1).to_flent(tmp_path)
    assert [file.name for file in written] == ["rrul,run=0.flent.gz", "rrul,run=1.flent.gz"]


def test_existing_files_are_replaced_only_by_force(results, tmp_path):
    first, second = results.to_flent(tmp_path)
    first.unlink()
    second.write_text("mine")
    with pytest.raises(cellway.Error, match=r"seed=1.flent.gz: the file exists; accepted: another path, or force"):
        results.to_flent(tmp_path)
    assert not first.exists()
    assert second.read_text() == "mine"
    results.to_flent(tmp_path, force=True)
    assert read(second)["version"] == 4


def test_a_path_that_cannot_be_written_is_refused(results, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(cellway.Error, match=r"/file: it is no folder; accepted: a folder, or .* ends in .flent.gz"):
        results.to_flent(tmp_path / "file")
    with pytest.raises(cellway.Error, match=r"seed=1.flent.gz: it cannot be written: "):
        results.to_flent(tmp_path / "file" / "below")


def test_results_without_series_are_refused(tmp_path):
    results = run(**{"observe.series": False})
    with pytest.raises(
        cellway.Error,
        match=r"series: no run has values .* of ping, icmp, download, upload; accepted: runs with .* in \[observe\]",
    ):
        results.to_flent(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_node_without_transfers_is_refused(results, tmp_path):
    with pytest.raises(
        cellway.Error, match=r"node \(--node\): no transfer has an end at 'garden', .*; accepted: home, provider"
    ):
        results.to_flent(tmp_path, node="garden")


def test_only_the_start_of_pings_is_a_node_of_flent(tmp_path):
    text = re.sub(r'(?s)\[\[traffic\]\]\nname = "download".*?(?=\[observe\])', "", RRUL.read_text())
    results = cellway.simulate(text, set=SHORT, progress=False)
    with pytest.raises(
        cellway.Error, match=r"node \(--node\): .* at 'provider', and no ping starts there; accepted: home$"
    ):
        results.to_flent(tmp_path, node="provider")


def test_runs_without_transfers_and_pings_have_no_file(tmp_path):
    none = {"traffic.ping.count": 0, "traffic.icmp.count": 0, "traffic.download.count": 0}
    text = RRUL.read_text().split("[sweep]")[0] + '[sweep]\naxes = { "traffic.upload.count" = [0, 1] }'
    results = cellway.simulate(text, set={**SHORT, **none}, progress=False)
    assert [file.name for file in results.to_flent(tmp_path)] == ["rrul,traffic.upload.count=1,seed=1.flent.gz"]


def test_a_scenario_without_transfers_and_pings_is_refused(tmp_path):
    calls = {"source": "constant", "packet": "200 B", "rate": "80 kbit/s"}
    text = RRUL.read_text().split("[[traffic]]")[0]
    ends = 'from = "home"\nto = "provider"\naccess = { rate = "1 Gbit/s", delay = "0 s" }'
    udp = ", ".join(f'{key} = "{value}"' for key, value in calls.items())
    results = cellway.simulate(
        f'{text}[[traffic]]\nname = "call"\n{ends}\nudp = {{ {udp} }}', set=SHORT, progress=False
    )
    with pytest.raises(cellway.Error, match="traffic: the scenario has no transfers and no pings; accepted: a group"):
        results.to_flent(tmp_path)


def test_the_command_writes_the_same_files(files, tmp_path, capfd):
    folder, out = str(tmp_path / "result"), tmp_path / "out"
    cellway.simulate(RRUL, set=SHORT, out=folder, progress=False)
    assert main(["export", folder, "--flent", str(out)]) == 0
    assert capfd.readouterr().out.splitlines() == [str(out / file.name) for file in files]
    for file in files:
        assert read(out / file.name)["results"] == read(file)["results"]
    one = tmp_path / "one.flent.gz"
    assert main(["export", folder, "--flent", str(one), "--run", "1", "--node", "provider"]) == 0
    about = read(one)["metadata"]
    assert (about["TITLE"], about["LOCAL_HOST"]) == ("fq-codel", "provider")
    capfd.readouterr()
    for arguments, reason in [
        (["--flent", str(out)], f"cellway: {out / files[0].name}: the file exists; accepted: another path, or force"),
        (
            ["--flent", str(tmp_path / "new"), "--node", "garden"],
            "cellway: node (--node): no transfer has an end at 'garden', ",
        ),
    ]:
        assert main(["export", folder, *arguments]) == 2
        captured = capfd.readouterr()
        assert captured.err.startswith(reason)
        assert captured.out == ""
    assert main(["export", folder, "--flent", str(out), "--force"]) == 0


def flent(*arguments: str | Path) -> str:
    program = shutil.which("flent")
    if program is None:
        pytest.skip("flent is not installed (Debian: flent): the files were not given to it")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr + done.stdout
    return done.stdout


def test_flent_has_the_means_of_the_tables(files, results):
    for file, queue in zip(files, ["fifo", "fq-codel"], strict=True):
        lines = [line.split(":") for line in flent("-i", file, "-f", "summary").splitlines() if " : " in line]
        means = {name.strip(): float(numbers.split()[0]) for name, numbers in lines}
        assert {*NAMES.values(), "TCP download sum", "Ping (ms) avg"} <= set(means)
        goodput = results.series("goodput").filter((pl.col("buffer.queue") == queue) & (pl.col("t") > BEGIN + 0.1))
        for way in ("download", "upload"):
            of = goodput.filter(pl.col("subject").str.starts_with(way))
            total = of.group_by("t").agg(pl.col("value").sum())["value"].mean() / 1e6
            # Flent prints two digits.
            assert means[f"TCP {way} sum"] == pytest.approx(total, abs=0.0051)


def test_flent_has_the_series_of_its_test_rrul(tmp_path):
    four = ["cs0", "cs1", "cs5", "ef"]
    results = by_class({"upload": four, "download": four, "ping": ["cs0", "cs1", "ef"]})
    printed = flent("-i", results.to_flent(tmp_path)[1], "-f", "summary")
    # Flent computes the sum from the series that its own definition of the test names.
    total = results.series("goodput").filter(
        pl.col("subject").str.starts_with("upload")
        & (pl.col("buffer.queue") == "fq-codel")
        & (pl.col("t") > BEGIN + 0.1)
    )
    mean = total.group_by("t").agg(pl.col("value").sum())["value"].mean() / 1e6
    shown = re.search(r"TCP upload sum +: +([\d.]+)", printed)
    assert shown is not None
    assert float(shown[1]) == pytest.approx(mean, abs=0.0051)


def test_flent_plots_the_files(files, tmp_path):
    # Without the library it ends with 0 and leaves an empty file.
    if "No matplotlib found" in flent("--version"):
        pytest.skip("flent has no matplotlib (Debian: python3-matplotlib): it plotted no file")
    for plot in ("all_scaled", "ping_cdf", "totals"):
        picture = tmp_path / f"{plot}.svg"
        flent("-i", files[1], "-p", plot, "-o", picture)
        assert picture.stat().st_size > 10_000
