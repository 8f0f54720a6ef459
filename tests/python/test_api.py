"""The functions of the Python side alone: overrides as TOML, progress, folders."""

from __future__ import annotations

import io
import tomllib
from collections.abc import Sequence
from pathlib import Path

import cellway
import polars as pl
import pytest
import synthetic
from cellway import __main__, progress, source, toml_text


@pytest.mark.parametrize(
    "value",
    ["1460 B", 'a "quoted" \\ path', "Zürich\n\t\x7f", True, False, 3, 0.25, 1e-9, [1, 2, 3], ["a", "b"], (1.5,),
     {"rate": "3 Mbit/s", "odd key": [True]}],
)  # fmt: skip
def test_overrides_are_read_back_from_toml_as_they_were(value: object) -> None:
    assert tomllib.loads(f"x = {toml_text.value(value)}")["x"] == (list(value) if isinstance(value, tuple) else value)


def test_a_value_without_a_toml_form_is_refused_by_its_key() -> None:
    with pytest.raises(TypeError, match=r"tcp\.mss: a NoneType has no TOML form"):
        source.overrides({"tcp.mss": None})


@pytest.mark.parametrize("text", ['version = 1\nname = "x"', "version=1"])
def test_text_is_distinguished_from_a_path(text: str) -> None:
    assert source.native(text) == (text, ".", "<text>")


@pytest.mark.parametrize("path", ["scenario.toml", Path("a=b.toml")])
def test_a_path_is_distinguished_from_text(path: source.Source) -> None:
    assert source.native(path) == str(path)


def test_an_equals_sign_in_a_path_does_not_make_it_text(tmp_path: Path) -> None:
    named = tmp_path / "seed=1"
    assert source.native(str(named)) == (str(named), ".", "<text>")
    named.write_text("version = 1\n")
    assert source.native(str(named)) == str(named)
    assert source.native("out/seed=1/missing.toml") == "out/seed=1/missing.toml"
    for text in ("x = " + "1" * 10_000, "x = \0"):
        assert source.native(text) == (text, ".", "<text>")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_silent_unless_a_person_watches() -> None:
    with progress.reporter("simulate", stream=io.StringIO()) as tick:
        assert tick is None
    with progress.reporter("simulate", enabled=False, stream=Terminal()) as tick:
        assert tick is None


def test_progress_clears_its_line_even_after_an_error() -> None:
    out = Terminal()

    def fail_after_one() -> None:
        with progress.reporter("simulate", stream=out) as tick:
            assert tick is not None
            tick(1, 4)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_one()
    assert "simulate [######..................] 1/4 runs" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")


def test_progress_says_how_long_is_left() -> None:
    assert progress.line("run", 10, 40, 30.0).endswith("10/40 runs, 30 s, 1 min 30 s left")
    assert progress.line("run", 40, 40, 30.0).endswith("40/40 runs, 30 s")
    assert progress.line("run", 0, 0, 0.0).endswith("0/0 runs, 0 s")
    assert progress.clock(3_780) == "1 h 03 min"


def test_a_study_is_read_with_its_axes_joined(reproduction: Path) -> None:
    results = cellway.load_reproduction(reproduction).study("policies")
    assert results.axes == [synthetic.CHANNEL, synthetic.COUNT]
    assert results.summary.columns[:5] == ["run", "point", "seed", synthetic.CHANNEL, synthetic.COUNT]
    assert results.summary.schema["subject"] == pl.String
    one = results.summary.filter((pl.col("run") == 5) & (pl.col("metric") == "utilisation"))
    assert one.height == 1
    assert one[synthetic.COUNT].item() == results.runs.filter(pl.col("run") == 5)[synthetic.COUNT].item()


def test_series_are_chosen_by_metric_and_subject(reproduction: Path) -> None:
    results = cellway.load(reproduction / "tables" / "policies")
    delay = results.series("delay_mean", at="telnet-1")
    assert set(delay["metric"]) == {"delay_mean"}
    assert set(delay["subject"]) == {"telnet-1"}
    assert 0 < delay.height < results.series().height
    assert delay["t"].is_not_null().all()


def test_tables_go_to_other_libraries_through_arrow(reproduction: Path) -> None:
    import pyarrow as pa

    results = cellway.load(reproduction / "tables" / "load")
    table = pa.table(results.arrow("summary"))
    assert table.num_rows == results.summary.height


def test_an_unknown_study_is_refused_with_those_there_are(tmp_path: Path) -> None:
    some = cellway.load_reproduction(synthetic.folder(tmp_path / "f", seeds=1, only=["load"]))
    assert some.studies == ["load"]
    with pytest.raises(KeyError, match=r"no study 'polices' .*load"):
        some.study("polices")
    assert some.claims.height == len(synthetic.CLAIMS)


class FakeNative:
    """A substitute for the compiled module: records how the command line calls it."""

    def __init__(self, result: int | BaseException) -> None:
        self.result = result
        self.argv: list[str] = []

    def cli_main(self, argv: list[str], face: object) -> int:
        self.argv = argv
        assert all(callable(getattr(face, name)) for name in ("report", "figure", "figures", "open", "flent"))
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


@pytest.mark.parametrize("argv", [[], ["check", "x.toml"]])
def test_the_command_line_hands_over_arguments_and_status(monkeypatch: pytest.MonkeyPatch, argv: Sequence[str]) -> None:
    fake = FakeNative(3)
    monkeypatch.setattr(cellway, "_native", fake, raising=False)
    monkeypatch.setitem(__import__("sys").modules, "cellway._native", fake)
    assert __main__.main(argv) == 3
    assert fake.argv == list(argv)


def test_an_interrupted_command_has_the_status_of_the_signal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = FakeNative(KeyboardInterrupt())
    monkeypatch.setattr(cellway, "_native", fake, raising=False)
    monkeypatch.setitem(__import__("sys").modules, "cellway._native", fake)
    assert __main__.main(["simulate", "x.toml"]) == 130
    assert capsys.readouterr().err == ""


def test_the_times_of_a_scenario_are_found_in_its_manifest(reproduction: Path) -> None:
    results = cellway.load(reproduction / "tables" / "load")
    assert results.rtt == pytest.approx(0.045)
    assert results.warmup == pytest.approx(45.0)
    assert results.scenario["name"] == "load"


def test_without_a_manifest_no_time_is_made_up(reproduction: Path) -> None:
    results = cellway.load(reproduction / "tables" / "load")
    results.manifest.clear()
    assert results.rtt is None
    assert results.warmup is None


def test_tables_of_the_engine_are_taken_over_as_arrow() -> None:
    import pyarrow as pa

    def words(*values: str) -> pa.DictionaryArray:
        return pa.array(values).dictionary_encode()

    columns = {
        "source": words("simulate"),
        "subject": words("ftp-1"),
        "metric": words("goodput"),
        "unit": words("bit/s"),
    }
    rest = {"run": pa.array([0], pa.uint32()), "value": pa.array([1.5e6])}

    class Native:
        runs = pa.table(
            {"run": rest["run"], "point": rest["run"], "seed": pa.array([1], pa.uint64()), "a.b": words("x")}
        )
        summary = pa.table({**columns, **rest, "t": pa.array([None], pa.float64())})
        series = pa.table({**columns, **rest, "t": pa.array([4.5])})
        manifest = "{}"
        warnings = ("look",)

    results = cellway.Results.from_native(Native())  # type: ignore[arg-type]
    assert results.axes == ["a.b"]
    assert results.summary.row(0) == (0, 0, 1, "x", "simulate", "ftp-1", "goodput", "bit/s", 1.5e6, None)
    assert results.series("goodput", at="ftp-1")["t"].to_list() == [4.5]
    assert results.warnings == ["look"]
    assert (results.rtt, results.warmup) == (None, None)
