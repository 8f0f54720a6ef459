"""Comparisons: their rows, figures and pages from a made-up folder; small ones through the compiled module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cellway
import polars as pl
import pytest
from cellway import inside, plot
from cellway.plot import MissingDataError, sources
from cellway.plot.sources import left_out
from cellway.report import comparison as page_of_comparison

SMALL = """
version = 1
name = "small <b>"
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
[run]
duration = "3 s"
warmup = "1 s"
seeds = 2
[run.emulate]
lateness-limit = "10 s"
[buffer]
size = "1 bdp"
[tcp]
profile = "linux-6"
window = "16 KiB"
[[link]]
between = ["a", "b"]
rate = "8 Mbit/s"
framing = "atm"
delay = "20 ms"
[[traffic]]
name = "bulk"
app = "bulk"
from = "a"
to = "b"
access = { rate = "fast-ethernet", delay = "0 s" }
[sweep]
axes = { "tcp.window" = ["16 KiB", "24 KiB"] }
"""


def record(subject: str, metric: str, unit: str, mean: float, **more: Any) -> dict[str, Any]:
    row = {
        "subject": subject, "metric": metric, "unit": unit, "predicted": None, "published": None, "difference": 0.1,
        "main": True, "simulated": {"mean": mean, "interval_95": [0.95 * mean, 1.05 * mean], "runs": 3},
        "emulated": {"mean": 1.1 * mean, "interval_95": None, "runs": 1},
    }  # fmt: skip
    return row | more


def about(points: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "made up", "version": "0", "emulation": "valid", "reason": None, "points": points,
            "warnings": ["be <careful>"], "caveats": ["bulk: none"]}  # fmt: skip


POINT = [
    record("bulk", "goodput_total", "bit/s", 23e6, predicted={"value": 25e6, "bound": False}, published=24e6),
    record("telnet", "goodput_total", "bit/s", 1900.0, predicted={"value": 29e6, "bound": True}),
    record("a>b", "utilisation", "1", 0.8),
]


def comparison(points: list[dict[str, Any]]) -> cellway.Comparison:
    return cellway.Comparison(None, about(points))  # type: ignore[arg-type]


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left") or axes.get_xlabel() for axes in figure.axes]


def test_rows_are_flat_and_axes_have_one_type() -> None:
    made = comparison([{"axes": {"n": 1, "w": "8 KiB"}, "rows": POINT}, {"axes": {"n": 2, "w": 3}, "rows": POINT[:1]}])
    rows = made.rows
    assert rows.columns[:5] == ["n", "w", "subject", "metric", "unit"]
    assert rows.schema["n"] == pl.Float64
    assert rows["w"].to_list() == ["8 KiB"] * 3 + ["3"]
    first = rows.row(0, named=True)
    assert (first["predicted"], first["bound"], first["simulated"], first["emulated_low"]) == (25e6, False, 23e6, None)
    assert "made up, 2 points, 4 rows, emulation valid" in repr(made)


def test_one_point_is_drawn_as_dots_without_upper_bounds() -> None:
    figure = comparison([{"axes": {}, "rows": POINT}]).figure()
    assert titles(figure) == ["Goodput (Mbit/s)", "Goodput (kbit/s)", "Utilisation"]
    xs = [[line.get_xdata()[0] for line in axes.lines if len(line.get_xdata())] for axes in figure.axes]
    assert sorted(xs[0]) == pytest.approx([23.0, 24.0, 25.0, 25.3])
    assert sorted(xs[1]) == pytest.approx([1.9, 2.09])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.texts] == ["predicted", "simulated", "emulated", "published"]


@pytest.mark.parametrize(
    ("windows", "ticks"),
    [
        (["64 KiB", "8 KiB", "16 KiB"], [8 * 1024.0, 16 * 1024.0, 64 * 1024.0]),
        (["per-type", "per-conversation"], [0.0, 1.0]),
        ([2, 1], [1.0, 2.0]),
    ],
)
def test_a_sweep_is_drawn_over_its_values(windows: list[Any], ticks: list[float]) -> None:
    figure = comparison([{"axes": {"tcp.window": window}, "rows": POINT} for window in windows]).figure()
    assert titles(figure) == ["Goodput, bulk", "Goodput, telnet", "Utilisation, a>b"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["Mbit/s", "kbit/s", ""]
    assert list(figure.axes[0].get_xticks()) == ticks
    texts = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert sorted(texts) == sorted(str(window) for window in windows)


def test_values_of_a_second_axis_have_panels_of_their_own() -> None:
    points = [{"axes": {"a": a, "b": b}, "rows": POINT} for a in (1, 2) for b in ("x", "y")]
    figure = comparison(points).figure()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert sum(title.endswith("x") for title in titles) == sum(title.endswith("y") for title in titles) > 0
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["1", "2"]


def test_panels_without_room_are_counted() -> None:
    points = [{"axes": {"a": a, "b": f"value {b}"}, "rows": POINT} for a in (1, 2) for b in range(20)]
    many = comparison(points)
    drawn, missing = len(many.figure().axes), left_out(many)
    assert missing > 0
    assert drawn + missing == many.rows.filter("main").select("metric", "unit", "subject", "b").n_unique()
    assert f"no room for {missing} more panels" in page_of_comparison._figure("many", plot.svg(many.figure()), missing)
    assert "no room" not in page_of_comparison._figure("few", plot.svg(many.figure()), 0)
    assert left_out(comparison(points[:2])) == 0
    # Both axes have numbers: that with more values is the scale, and all panels have room.
    assert left_out(comparison([{"axes": {"a": a, "b": b}, "rows": POINT} for a in (1, 2) for b in range(20)])) == 0


def test_a_value_that_is_missing_has_a_place() -> None:
    figure = comparison([{"axes": {"a": a}, "rows": POINT} for a in (1, None, 3)]).figure()
    ticks = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert ticks == ["1", "–", "3"]


def test_words_are_not_joined_by_lines() -> None:
    points = [{"axes": {"b": b}, "rows": POINT} for b in ("x", "y")]
    assert all(line.get_linestyle() == "None" for line in comparison(points).figure().axes[0].lines)
    numbers = [{"axes": {"a": a}, "rows": POINT} for a in (1, 2)]
    assert any(line.get_linestyle() != "None" for line in comparison(numbers).figure().axes[0].lines)


def test_an_upper_bound_is_marked_in_the_table() -> None:
    rows = comparison([{"axes": {}, "rows": POINT}]).rows
    bound = rows.with_columns(bound=pl.lit(value=True), predicted=pl.lit(5.0))
    assert "≤ 5" in page_of_comparison._table(bound)
    assert "≤" not in page_of_comparison._table(bound.with_columns(bound=pl.lit(value=False)))


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(MissingDataError):
        sources(comparison([]).rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "out"
    published = out.parent / "p.csv"
    published.write_text("subject,metric,unit,value\nbulk,goodput_total,Mbit/s,3\n")
    made = cellway.compare(SMALL, emulate=False, published=published, out=out, threads=2)
    assert made.emulation == "left out"
    return out


def test_a_comparison_is_read_back(folder: Path) -> None:
    made = cellway.load_comparison(folder)
    goodput = made.rows.filter(subject="bulk", metric="goodput_total")
    assert goodput["tcp.window"].to_list() == ["16 KiB", "24 KiB"]
    assert goodput["published"].to_list() == [3e6, 3e6]
    assert (goodput["simulated"] / goodput["predicted"] - 1).abs().max() < 0.05
    assert set(made.results.summary["source"]) == {"predict", "simulate", "published"}
    assert made.results.valid
    with pytest.raises(cellway.Error, match=r"compare\.json: no such file; accepted: a folder that `compare` wrote"):
        cellway.load_comparison(folder.parent)


def test_the_page_needs_nothing_beside_it_and_is_drawn_again(folder: Path) -> None:
    page = folder / "compare.html"
    first = page.read_text(encoding="utf-8")
    assert "small &lt;b&gt;" in first
    assert "<b>: a comparison" not in first
    assert "http" not in first.split("</style>")[1].split("<img")[0]
    assert (folder / "compare.svg").read_text(encoding="utf-8").startswith("<?xml")
    page.unlink()
    assert cellway.report.build(folder) == page
    assert page.read_text(encoding="utf-8") == first


def test_what_is_wrong_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="repeat is 0"):
        cellway.compare(SMALL, repeat=0)
    with pytest.raises(ValueError, match="seeds is 0"):
        cellway.emulate(SMALL, seeds=0)
    with pytest.raises(cellway.ScenarioError):
        cellway.emulate("version = 1")
    (tmp_path / "p.csv").write_text("a,b\n")
    with pytest.raises(cellway.Error, match=r"no column \"subject\""):
        cellway.compare(SMALL, emulate=False, published=tmp_path / "p.csv")


class NoEmulation:
    """A compiled module on a machine that cannot emulate."""

    def __init__(self, native: Any) -> None:
        self.native = native

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)

    def emulates_here(self) -> bool:
        raise self.native.EmulationError("/dev/net/tun is missing")


def test_a_machine_that_cannot_emulate_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from cellway import _native

    monkeypatch.setattr(cellway, "_native", NoEmulation(_native))
    assert issubclass(cellway.EmulationError, cellway.Error)
    with pytest.raises(cellway.EmulationError, match="/dev/net/tun is missing"):
        cellway.emulate(SMALL)
    with pytest.raises(cellway.EmulationError, match="/dev/net/tun is missing"):
        cellway.compare(SMALL, emulate=True)


def test_a_process_of_its_own_gives_the_same(tmp_path: Path) -> None:
    options = ["--no-emulate", "--seeds", "1"]
    changes = [("run.duration", '"2 s"')]
    read = cellway.load_comparison
    made = inside.run("compare", (SMALL, ".", ""), changes, options, None, read, force=False)
    assert made.rows.height == 2
    out = tmp_path / "out"
    inside.run("compare", (SMALL, ".", ""), [], options, out, read, force=False)
    assert json.loads((out / "compare.json").read_text())["emulation"] == "left out"
    with pytest.raises(cellway.Error, match="--force"):
        inside.run("compare", (SMALL, ".", ""), [], options, out, read, force=False)


def test_an_emulation_is_compared_with_the_simulation() -> None:
    try:
        cellway._native.emulates_here()
    except cellway.EmulationError as missing:
        pytest.skip(f"skipped: {missing}")
    one = SMALL.split("[sweep]")[0]
    emulated = cellway.emulate(one, seeds=1)
    assert emulated.valid, emulated.warnings
    assert set(emulated.summary["source"]) == {"emulate"}
    made = cellway.compare(one, seeds=1, repeat=1)
    assert made.emulation == "valid", made.warnings
    row = made.rows.row(by_predicate=(pl.col("subject") == "bulk") & (pl.col("metric") == "goodput_total"), named=True)
    assert 0.3 < row["emulated"] / row["simulated"] < 1.3
