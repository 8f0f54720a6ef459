"""The compiled module, through the Python face: small scenarios that run in a blink."""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import cellway
import polars as pl
import pyarrow as pa
import pytest
from cellway import Checked, Equation, Evaluation, PathPrediction, _native
from cellway.plot.rates import RATES
from polars.testing import assert_frame_equal

TINY = """
version = 1
name = "tiny"
node = [{ name = "r1", kind = "router" }, { name = "s1", kind = "switch" }, { name = "r2", kind = "router" }]
[run]
duration = "300 rtt"
warmup = "100 rtt"
seed = 1
seeds = 2
rtt = "45 ms"
[multiplexing]
channel = "per-conversation"
[buffer]
size = "1 bdp"
[tcp]
profile = "classic"
variant = "tahoe"
mss = "512 B"
window = "8 KiB"
[[link]]
between = ["r1", "s1"]
rate = "1.5 Mbit/s"
delay = "22.5 ms"
[[link]]
between = ["s1", "r2"]
rate = "1.5 Mbit/s"
delay = "0 s"
[[traffic]]
name = "ftp"
app = "ftp"
count = 2
from = "r1"
to = "r2"
access = { rate = "1.5 Mbit/s", delay = "0 s" }
[sweep]
axes = { "multiplexing.channel" = ["per-conversation", "per-destination"], "traffic.ftp.count" = [1, 3] }
"""

SOURCE = (TINY, ".", "<text>")


@pytest.fixture(scope="module")
def results() -> cellway.Results:
    return cellway.simulate(TINY)


def test_the_version_is_that_of_the_package() -> None:
    assert cellway.__version__ == _native.version == version("cellway")


def test_each_point_runs_with_each_seed(results: cellway.Results) -> None:
    assert results.axes == ["multiplexing.channel", "traffic.ftp.count"]
    assert results.runs.height == 2 * 2 * 2
    assert results.runs["seed"].unique().sort().to_list() == [1, 2]
    assert results.runs["point"].n_unique() == 4


def test_the_summary_holds_what_was_measured(results: cellway.Results) -> None:
    use = results.summary.filter((pl.col("subject") == "r1>s1") & (pl.col("metric") == "utilisation"))
    assert use.height == results.runs.height
    assert use["value"].is_between(0.01, 1.0).all()
    assert use["t"].is_null().all()
    slots = results.summary.filter(pl.col("subject").str.contains(r"^ftp-\d$"))
    assert slots.filter(pl.col("traffic.ftp.count") == 3)["subject"].n_unique() == 3


def test_warnings_say_what_to_check_before_trusting_the_numbers(results: cellway.Results) -> None:
    assert all(isinstance(warning, str) for warning in results.warnings)


def test_series_are_binned_over_the_whole_run(results: cellway.Results) -> None:
    series = results.series("throughput", at="ftp-1")
    assert series.height == 3 * results.runs.height
    assert series["t"].unique().sort().to_list() == pytest.approx([4.5, 9.0, 13.5])
    assert results.rtt == pytest.approx(0.045)
    assert results.warmup == pytest.approx(4.5)


def test_results_do_not_depend_on_the_number_of_threads(results: cellway.Results) -> None:
    for threads in (1, 3):
        again = cellway.simulate(TINY, threads=threads)
        assert_frame_equal(again.summary, results.summary, check_exact=True)
        assert_frame_equal(again.series(), results.series(), check_exact=True)


def test_seeds_and_single_keys_can_be_changed(results: cellway.Results) -> None:
    changed = cellway.simulate(TINY, seeds=1, set={"tcp.mss": "256 B", "observe.series": False})
    assert changed.runs.height == 4
    assert changed.series().is_empty()
    use = pl.col("metric") == "utilisation"
    first = results.summary.filter(use & (pl.col("seed") == 1))["value"]
    assert changed.summary.filter(use)["value"].to_list() != first.to_list()


def test_tables_are_handed_over_without_a_copy() -> None:
    native = _native.simulate(SOURCE, [], 1, None, [], None, False, None, None)
    addresses = {pa.table(native.summary)["value"].chunk(0).buffers()[1].address for _ in range(3)}
    assert len(addresses) == 1
    ours = pl.DataFrame(native.summary)["value"]
    assert ours.to_arrow().buffers()[1].address in addresses


def test_progress_is_reported_after_each_run() -> None:
    reports: list[tuple[int, int]] = []
    _native.simulate(SOURCE, [], 3, 1, [], None, False, None, lambda done, total: reports.append((done, total)))
    assert reports[-1] == (12, 12)
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert {total for _, total in reports} == {12}


def test_an_error_in_the_progress_function_stops_the_run(tmp_path: Path) -> None:
    def fail(done: int, total: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _native.simulate(SOURCE, [], 2, 1, [], str(tmp_path / "out"), False, None, fail)
    assert list(tmp_path.iterdir()) == []


def test_a_result_folder_is_read_back_as_it_was_written(tmp_path: Path, results: cellway.Results) -> None:
    cellway.simulate(TINY, out=tmp_path / "out")
    read = cellway.load(tmp_path / "out")
    assert_frame_equal(read.summary, results.summary, check_exact=True)
    assert_frame_equal(read.series(), results.series(), check_exact=True)
    assert read.manifest["cellway"] == cellway.__version__
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_result_is_only_replaced_by_force(tmp_path: Path) -> None:
    cellway.simulate(TINY, seeds=1, out=tmp_path / "out")
    with pytest.raises(cellway.Error, match="out"):
        cellway.simulate(TINY, seeds=1, out=tmp_path / "out")
    cellway.simulate(TINY, seeds=2, out=tmp_path / "out", force=True)
    assert cellway.load(tmp_path / "out").runs.height == 8


def test_a_scenario_may_be_a_file(tmp_path: Path, results: cellway.Results) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY, encoding="utf-8")
    for source in (path, str(path)):
        assert_frame_equal(cellway.simulate(source).summary, results.summary, check_exact=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('rate = "1.5 Mbit/s"', "rate = 1500000"), r"rate"),
        (('channel = "per-conversation"', 'channel = "per-conversion"'), r"per-conversation"),
        (('warmup = "100 rtt"', 'warmup = "300 rtt"'), r"warmup"),
        (("seeds = 2", "sedes = 2"), r"seeds"),
        (("version = 1", "version = = 1"), r"line|:2"),
    ],
)
def test_scenarios_that_make_no_sense_are_refused(change: tuple[str, str], words: str) -> None:
    with pytest.raises(cellway.ScenarioError, match=words) as caught:
        cellway.check(TINY.replace(*change))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, cellway.Error)


def test_a_wrong_override_is_a_scenario_error() -> None:
    with pytest.raises(cellway.ScenarioError, match=r"tcp\.msss"):
        cellway.simulate(TINY, set={"tcp.msss": "256 B"})


def test_failures_name_what_failed_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(cellway.Error, match=r"absent\.toml"):
        cellway.simulate(tmp_path / "absent.toml")
    with pytest.raises(cellway.Error, match="cellsim"):
        cellway.reproduce("no-such-paper", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_check_says_what_would_run() -> None:
    checked = cellway.check(TINY)
    assert (checked.name, checked.points, checked.seeds, checked.runs) == ("tiny", 4, 2, 8)
    assert (checked.duration, checked.warmup, checked.rtt) == pytest.approx((13.5, 4.5, 0.045))
    assert [axis.name for axis in checked.axes] == ["multiplexing.channel", "traffic.ftp.count"]
    assert checked.axes[1].values == ("1", "3")
    assert checked.warnings == ()
    assert repr(checked) == "<cellway.Checked: tiny, 4 points x 2 seeds, axes: multiplexing.channel, traffic.ftp.count>"


def test_a_key_without_effect_is_a_typed_warning() -> None:
    (warning,) = cellway.check(TINY, set={"traffic.ftp.tcp.window": "8 KiB"}).warnings
    assert (warning.key, warning.message) == ("tcp.window", "has no effect: every [[traffic]] has its own")
    line = 1 + TINY.split("window = ")[0].count("\n")
    assert (warning.line, warning.setting) == (line, None)
    assert str(warning).endswith(": tcp.window: has no effect: every [[traffic]] has its own")


def test_losses_leave_a_path_what_its_congestion_control_makes_of_them() -> None:
    def equations(control: str | None) -> set[str]:
        predicted = cellway.predict(
            rate="1 Gbit/s", rtt="200 ms", window="64 MiB", framing="packet", loss=1e-5, control=control
        )
        return {bound.equation for bound in predicted.bounds if bound.limit == "loss"}

    assert equations(None) == equations("cubic") == {"cubic"}
    assert equations("reno") == {"mathis", "pftk"}
    assert equations("bbr") == set(), "no formula for the loss that a model of the path tolerates"
    with pytest.raises(cellway.Error, match=r"control: .*vegas.*accepted: .*cubic.*reno"):
        equations("vegas")


def test_a_path_is_predicted_as_a_typed_object() -> None:
    predicted = cellway.predict(rate="ds3", rtt="60 ms", window="64 KiB", buffer="256 cell")
    assert predicted.goodput == min(bound.value for bound in predicted.bounds)
    assert predicted.binding in {bound.limit for bound in predicted.bounds}
    assert predicted.round_trip == pytest.approx(0.06, rel=0.02)
    assert (predicted.buffer_needed.unit, predicted.spacer_buffer) == ("cell", None)
    assert isinstance(predicted.window_needed, int)
    assert all(bound.equation in {equation.id for equation in cellway.equations()} for bound in predicted.bounds)
    assert re.fullmatch(
        r"<cellway\.PathPrediction: [\d.]+ Mbit/s, set by the \w+, round trip 60\.\d+ ms>", repr(predicted)
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        predicted.goodput = 1.0  # type: ignore[misc]


def test_a_scenario_is_predicted_point_by_point() -> None:
    predicted = cellway.predict(TINY.replace('app = "ftp"', 'app = "bulk"'))
    assert [point.axes["traffic.ftp.count"] for point in predicted.points] == [1, 3, 1, 3]
    group = predicted.points[1].groups[0]
    assert (group.group, group.connections, len(group.legs)) == ("ftp", 3, 1)
    assert group.goodput == group.legs[group.binding].prediction.goodput
    assert repr(predicted) == "<cellway.ScenarioPrediction: tiny, 4 points, groups: ftp>"
    assert repr(group).startswith("<cellway.GroupPrediction: ftp, ")


def test_an_equation_is_evaluated_and_listed() -> None:
    given = cellway.evaluate("window-over-rtt", window="128 KiB", rtt="8.8 ms")
    assert given.value == pytest.approx(131072 * 8 / 8.8e-3)
    assert (given.equation, given.unit, given.caveats) == ("window-over-rtt", "bit/s", ())
    assert "Table 1" in given.source
    assert repr(given) == "<cellway.Evaluation: window-over-rtt = 1.19156e+08 bit/s>"
    listed = {equation.id: equation for equation in cellway.equations()}
    assert [argument.name for argument in listed["window-over-rtt"].arguments if argument.required] == ["window", "rtt"]
    assert listed["window-over-rtt"].source == given.source


def test_typed_objects_have_every_field_of_the_documents() -> None:
    documents = [
        (Checked, json.loads(_native.check(SOURCE, []))),
        (PathPrediction, json.loads(_native.predict_path({"rate": "ds3", "rtt": "60 ms", "window": "64 KiB"}))),
        (Evaluation, json.loads(_native.evaluate("window-over-rtt", {"window": "1 KiB", "rtt": "1 ms"}))),
        (Equation, json.loads(_native.equations())[0]),
    ]
    for kind, document in documents:
        fields = {field.name for field in dataclasses.fields(kind)}
        assert {name.removesuffix("_s") for name in document} - {"valid"} == fields, kind


def test_named_rates_of_figures_are_those_of_the_scenario_format() -> None:
    with pytest.raises(cellway.Error) as refused:
        cellway.predict(rate="x", rtt="60 ms", window="64 KiB")
    assert str(refused.value).endswith(f"or a line: {', '.join(RATES)}")
    for name, line in RATES.items():
        bounds = cellway.predict(rate=name, rtt="60 ms", window="64 KiB").bounds
        assert next(bound.value for bound in bounds if bound.limit == "line") == line.rate


def test_the_schema_describes_scenarios() -> None:
    schema = cellway.schema()
    assert {"run", "link", "traffic", "tcp", "sweep"} <= set(schema["properties"])
    assert json.dumps(schema)


def test_the_command_line_is_the_same_program(capfd: pytest.CaptureFixture[str]) -> None:
    from cellway.__main__ import main

    assert main(["--version"]) == 0
    assert cellway.__version__ in capfd.readouterr().out
    assert main(["no-such-command"]) != 0


@pytest.mark.parametrize("way", ["api", "command"])
def test_an_interrupt_stops_a_run_and_leaves_nothing(tmp_path: Path, way: str) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(TINY.replace('"300 rtt"', '"3000000 rtt"'), encoding="utf-8")
    out = tmp_path / "results" / "out"
    out.parent.mkdir()
    command = {
        "api": ["-c", f"import cellway; cellway.simulate({str(scenario)!r}, out={str(out)!r})"],
        "command": ["-m", "cellway", "simulate", str(scenario), "--out", str(out)],
    }[way]
    # In the background of a shell SIGINT is ignored, and programs inherit that.
    program = ["env", "--default-signal=INT", sys.executable, *command]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            time.sleep(2.0)
            assert process.poll() is None, process.communicate()[1].decode()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
        finally:
            process.kill()
    # Python ends an uncaught KeyboardInterrupt by the signal itself.
    assert process.returncode == (-signal.SIGINT if way == "api" else 130)
    assert list(out.parent.iterdir()) == []
