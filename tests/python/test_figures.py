"""Figures of what users found hard: many axes, odd names and units, one value, choices, and files that fail."""

from __future__ import annotations

import threading
from pathlib import Path

import cellway
import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from cellway import Scenario, plot
from cellway.plot import files, held, labels, main, select, style
from cellway.plot.metric import layout, ticks
from cellway.plot.timeline import of_series
from cellway.report import chosen, traces


@pytest.fixture(scope="module")
def results() -> cellway.Results:
    """Two controls over three buffers and two numbers of flows, beside a call."""
    made = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", duration="3 s", warmup="1 s")
    made = made.traffic("call", "left", "right", udp={"packet": "200 B", "rate": "80 kbit/s"})
    axes = {"tcp.control": ["reno", "cubic"], "traffic.flow.count": [1, 2]}
    return made.sweep({"buffer.size": ["16kB", "1 MB", "1 GiB"], **axes}).simulate(seeds=1, progress=False)


def table(axis: list[object], **columns: object) -> pl.DataFrame:
    rows = {"subject": "t", "metric": "m", "unit": "1", "seed": 1, "run": 0, "point": 0, "source": "simulate"} | columns
    return pl.DataFrame({"axis": axis, "value": [float(n) for n in range(1, len(axis) + 1)]}).with_columns(
        **{name: pl.lit(value) for name, value in rows.items()}
    )


@pytest.mark.parametrize("value", [2, 2.0, "2", "2.0", ["2"]])
def test_numbers_of_an_axis_are_chosen_in_any_form(value: object, results: cellway.Results) -> None:
    assert select.where(results.summary, {"count": value})["traffic.flow.count"].unique().to_list() == [2]


def test_quantities_are_chosen_by_their_amount(results: cellway.Results) -> None:
    for size in ("16 kB", "16kB", "0.016 MB", "16000 B"):
        assert set(select.where(results.summary, {"size": size})["buffer.size"]) == {"16kB"}
    both = select.where(results.summary, {"buffer.size": ["16 kB"], "size": "1 MB"})
    assert set(both["buffer.size"]) == {"16kB", "1 MB"}
    with pytest.raises(select.MissingDataError, match=r"no row at buffer.size = 16 ms; its values: 16kB, 1 MB, 1 GiB"):
        select.where(results.summary, {"size": "16 ms"})


def test_a_truth_value_is_chosen_as_python_writes_it() -> None:
    assert select.where(table(["true", "false"]), {"axis": True})["value"].to_list() == [1.0]


@pytest.mark.parametrize(
    ("values", "one_scale"),
    [(["100 kB", "1 MB", "1 GB", "1 GiB"], True), (["2 s", "90000 ms", "1 min", "1 h"], True), ([1, 2.5], True),
     (["64 KiB", "1 bdp"], False), (["1 bdp", "2 bdp"], True), (["1 s", "100 rtt"], False),
     (["oc3c", "8 Mbit/s"], True), (["1 %", "2 %"], False)],
)  # fmt: skip
def test_values_share_a_scale_if_they_measure_the_same(values: list[object], one_scale: bool) -> None:
    assert select.are_amounts(values) is one_scale


def test_units_have_their_sizes() -> None:
    placed = [select.amount(text) for text in ("999 MB", "1 GB", "1 GiB", "1023 ms", "1 min", "59 min", "1 h")]
    assert placed == pytest.approx([999e6, 1e9, 2.0**30, 1.023, 60.0, 3540.0, 3600.0])


def test_a_figure_says_what_was_chosen(results: cellway.Results) -> None:
    drawn = layout(results, "goodput_total", at="flow", where={"tcp.control": "reno"})
    assert drawn.heading == "flow, tcp control reno"
    assert layout(results, "goodput_total", at="flow").heading == "flow"
    figure = plot.timeline(results, "queue", where={"control": "cubic", "count": 1})
    assert figure.axes[0].get_title(loc="left") == "left>right, tcp control cubic, flow count 1"
    assert figure.legends[0].get_title().get_text() == "buffer size"


def test_panels_that_are_compared_have_one_scale(results: cellway.Results) -> None:
    figure = plot.timeline(results, "queue", where={"count": 1}, by="buffer.size")
    tops = {axes.get_ylim()[1] for axes in figure.axes}
    assert len(figure.axes) == 2
    assert len(tops) == 1
    # A call and a transfer are not: on the scale of the other, one is a line along the axis.
    assert not held.alike(select.values(results.summary, "goodput_total"), "subject")


def test_ten_lines_look_different() -> None:
    marks = [style.numbered(n) for n in range(24)]
    assert len({(mark.color, str(mark.dashes), mark.marker) for mark in marks}) == len(marks)


@pytest.mark.parametrize(
    ("texts", "places", "shown"),
    [
        (["100 kB", "1 GB", "1 GiB"], [1e5, 1e9, 1.07e9], ["100 kB", "1 GiB"]),
        (["1", "2", "3"], [1.0, 2.0, 3.0], ["1", "2", "3"]),
    ],
)
def test_ticks_do_not_overlap(texts: list[str], places: list[float], shown: list[str]) -> None:
    with style.styled():
        _, (axes,) = style.new()
        ticks(axes, places, texts)
        drawn = [axes.xaxis.get_major_formatter()(at) for at in axes.xaxis.get_major_locator()()]
    assert drawn == shown


@pytest.mark.parametrize(("name", "share"), [("x_p50", 0.5), ("x_p5", 0.05), ("x_p999", 0.999), ("x_p100", 1.0)])
def test_percentiles_have_their_shares(name: str, share: float) -> None:
    assert held.quantile(name) == pytest.approx(share)


def test_values_that_begin_alike_are_two_lines() -> None:
    names = ["recordings/of/a/very/long/folder/name/down-1.trace", "recordings/of/a/very/long/folder/name/down-2.trace"]
    panel = plot.Panel(
        "x", pl.DataFrame({"t": [1.0, 2.0] * 2, "value": [1.0, 2.0, 3.0, 4.0], "line": [names[0]] * 2 + [names[1]] * 2})
    )
    figure = plot.over_time([panel])
    assert len(figure.axes[0].lines) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [labels.drawn(name) for name in names]
    assert labels.drawn(names[0]) != labels.drawn(names[1])
    assert labels.value(0.12345671) != labels.value(0.12345674)


def test_words_with_dollars_are_written_as_they_are() -> None:
    figure = plot.metric(table([1, 2]), "m", x="axis")
    files.reword(figure, r"a $\foo$", "cost $5 and $6", None)
    figure.canvas.draw()
    assert figure.axes[0].get_xlabel() == r"cost \$5 and \$6"


def test_the_maximum_is_the_end_of_a_distribution() -> None:
    figure = plot.distribution(_with_percentiles([("x_p50", 1.0), ("x_p100", 3.0)]), "x")
    ticks = [figure.axes[0].yaxis.get_major_formatter()(at) for at in figure.axes[0].yaxis.get_major_locator()()]
    assert ticks == ["50 %", "100 %"]
    tail = plot.distribution(_with_percentiles([("x_p50", 1.0), ("x_p99999", 2.0), ("x_p100", 3.0)]), "x")
    places = tail.axes[0].yaxis.get_major_locator()()
    assert sorted(set(places)) == list(places)
    assert len(places) == 3


def _with_percentiles(values: list[tuple[str, float]]) -> cellway.Results:
    runs = pl.DataFrame({"run": [0], "point": [0], "seed": [1]})
    schema = {"run": pl.Int64, "source": pl.String, "subject": pl.String, "metric": pl.String, "unit": pl.String,
              "t": pl.Float64, "value": pl.Float64}  # fmt: skip
    rows = [(0, "emulate", "program", name, "s", None, value) for name, value in values]
    empty = pl.DataFrame([], schema=schema)
    return cellway.Results(runs, pl.DataFrame(rows, schema=schema, orient="row"), empty, {})


def test_a_distribution_without_values_says_so_and_does_not_cost_the_page() -> None:
    early = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", duration="4 s", warmup="3 s")
    ended = early.set({"traffic.flow.repeat": False, "traffic.flow.workload": {"size": "10 kB"}})
    done = ended.simulate(seeds=1, progress=False)
    with pytest.raises(select.MissingDataError, match=r"no value of srtt after the warm-up of 3 s"):
        plot.distribution(done, "srtt")
    assert chosen.distributions(done) == []


def test_one_value_over_time_is_seen() -> None:
    rows = pl.DataFrame({"t": [1.0], "value": [2.0]})
    figure = plot.over_time([plot.Panel("one", rows)])
    assert figure.axes[0].lines[0].get_marker() == "o"


@pytest.mark.parametrize("name", ["_a", "$x_1$", "$", "n" * 300])
def test_names_are_drawn_as_they_are_written(name: str) -> None:
    figure = plot.metric(pl.concat([table([1, 2], by=name), table([1, 2], by="other")]), "m", x="axis", by="by")
    figure.canvas.draw()
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == 2
    assert len(texts[0]) <= labels.LONGEST
    if len(name) < 10:
        assert texts[0].strip().replace("\\$", "$") == name


def test_a_sweep_of_five_axes_has_figures_that_say_that_they_show_a_part() -> None:
    made = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", duration="2 s", warmup="1 s")
    link = {"link.line.rate": ["1 Mbit/s", "2 Mbit/s"], "link.line.delay": ["1 ms", "2 ms"]}
    axes = {**link, "tcp.mss": ["500 B", "1400 B"], "buffer.size": ["10 kB", "1 MB"], "tcp.control": ["reno", "cubic"]}
    drawn, missing = chosen.figures(made.sweep(axes).simulate(seeds=1, progress=False))
    assert missing == []
    assert any(one.name.startswith("goodput_total") for one in drawn)
    assert all("at some points of the sweep" in one.caption for one in drawn)


def test_lines_that_lose_are_shown_whatever_their_use() -> None:
    rows = [
        ("a>b", "utilisation", 0.9),
        ("b>a", "utilisation", 0.02),
        ("c>d", "utilisation", 0.02),
        ("b>a", "lost", 3.0),
    ]
    summary = pl.DataFrame(rows, schema=["subject", "metric", "value"], orient="row")
    assert main.idle_lines(summary) == ["c>d"]


def test_a_page_has_the_points_that_short_lines_leave() -> None:
    assert traces._most([10, 10]) == 10
    assert traces._most([traces.BUDGET]) == traces.BUDGET
    long = [traces.BUDGET * 2, traces.BUDGET * 2, 100]
    assert traces._most(long) == (traces.BUDGET - 100) // 2
    assert traces._most([10**6] * 10**5) == traces.FEWEST


def test_a_thinned_line_says_so(results: cellway.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = traces.traces(results)
    assert whole is not None
    assert not any("thinned" in panel for panel in whole.data["panels"])
    monkeypatch.setattr(traces, "BUDGET", 2000)
    thin = traces.traces(results)
    assert thin is not None
    queue = thin.data["panels"][0]
    assert queue["thinned"].startswith("first, least, most and last of each ")


def test_a_figure_is_whole_or_not_written(tmp_path: Path, results: cellway.Results) -> None:
    good = files.write_figure(plot.metric(results, "goodput_total", at="flow"), tmp_path / "fig.svg")
    before = good.read_bytes()
    with pytest.raises(OSError, match="cannot write the figure"):
        files.write_figure(plot.metric(results, "goodput_total", at="flow"), tmp_path / "absent" / "fig.svg")
    assert good.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["fig.svg"]


def test_options_that_a_form_lacks_are_refused(tmp_path: Path, results: cellway.Results) -> None:
    folder = tmp_path / "study"
    Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", duration="2 s", warmup="1 s").simulate(seeds=1, out=folder)
    with pytest.raises(select.ChoiceError, match="seed is for series over time"):
        files.write(folder, "goodput_total", seed=1)
    with pytest.raises(select.ChoiceError, match="pie is no form; accepted: sweep, time, cdf"):
        files.write(folder, "goodput_total", form="pie")
    with pytest.raises(select.MissingDataError, match="put quotes around a name with > in a shell"):
        files.write(folder, "queue_mean", at=["left"])


def test_threads_leave_the_settings_of_matplotlib_alone(results: cellway.Results) -> None:
    before = dict(mpl.rcParams)
    drawn: list[str] = []
    workers = [
        threading.Thread(target=lambda: drawn.append(plot.svg(plot.metric(results, "goodput_total", at="flow"))))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(drawn) == 4
    assert len(set(drawn)) == 1
    assert dict(mpl.rcParams) == before


def test_odd_numbers_of_numpy_are_refused() -> None:
    for odd in (np.longdouble(1), np.add):
        with pytest.raises(TypeError, match=r"tcp\.mss: a .* has no TOML form"):
            cellway.check(Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms"), set={"tcp.mss": odd})


def test_numbers_of_numpy_are_numbers() -> None:
    made = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", flows=1).set("traffic.flow.count", np.int64(2))
    made = made.sweep(flows=np.arange(1, 4))
    assert made.check().points == 3
    assert "count = 2" in made.to_toml()
    with pytest.raises(cellway.ScenarioError, match=r"tcp.initial-window: the number 3.0 does not fit here"):
        made.set("tcp.initial-window", np.float64(3)).check()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"rtt": 5}, 'rtt is 5; accepted: a string like "60 ms"'), ({"rtt": None}, "rtt is None"),
     ({"rtt": []}, r"rtt is \[\]"), ({"rtt": "1 ms", "control": 5}, 'control is 5; accepted: a string like "cubic"')],
)  # fmt: skip
def test_a_dumbbell_refuses_what_is_no_text(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Scenario.dumbbell(rate="4 Mbit/s", **arguments)  # type: ignore[arg-type]


def test_round_trips_of_groups_are_not_swept() -> None:
    with pytest.raises(ValueError, match=r"rtt: the groups of this dumbbell are named by their round trips"):
        Scenario.dumbbell(rate="4 Mbit/s", rtt=["10 ms", "50 ms"]).sweep(rtt=["20 ms"])
    one = Scenario.dumbbell(rate="4 Mbit/s", rtt="10 ms").traffic("rtt-probe", "left", "right")
    assert one.sweep(rtt=["20 ms", "40 ms"]).check().points == 2


@pytest.mark.parametrize("section", ["run", "node", "sweep", "traffic", "tcp", "link"])
def test_a_wrong_scenario_is_shown_all_the_same(section: str) -> None:
    wrong = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms").set(section, 5)
    assert "Scenario" in repr(wrong)
    assert "Scenario" in wrong._repr_html_()


def test_links_with_two_rates_show_both() -> None:
    made = Scenario("x").node("a").node("b").traffic("t", "a", "b")
    shown = made.link("a", "b", rate="50 Mbit/s", delay="20 ms", back={"rate": "10 Mbit/s"}).draw()
    assert "→ 50 Mbit/s\n← 10 Mbit/s" in [text.get_text() for text in shown.axes[0].texts]
    turned = made.link("b", "a", rate="50 Mbit/s", delay="20 ms", back={"rate": "10 Mbit/s"}).draw()
    assert "→ 10 Mbit/s\n← 50 Mbit/s" in [text.get_text() for text in turned.axes[0].texts]


def test_replications_that_are_alike_are_named() -> None:
    fixed = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", duration="2 s", warmup="1 s")
    warned = fixed.simulate(seeds=2, progress=False).warnings
    assert any(warning.startswith("all seeds gave the same figures, so their intervals") for warning in warned)
    varied = fixed.set("traffic.flow.jitter", "0.5 s").simulate(seeds=2, progress=False).warnings
    assert not any("same figures" in warning for warning in varied)


def test_series_of_the_timeline_are_those_of_a_seed(results: cellway.Results) -> None:
    rows = of_series(results, "queue")
    assert rows["seed"].unique().to_list() == [1]


def test_words_of_a_figure_can_be_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    made = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", duration="2 s", warmup="1 s")
    made.sweep(buffer=["8 kB", "1 MB"], control=["reno", "cubic"]).simulate(seeds=1, out=folder, progress=False)
    figure = plot.metric(folder, "goodput_total", where={"control": "reno"})
    files.reword(figure, "Mine", "Buffer", "Rate")
    axes = figure.axes[0]
    assert (axes.get_title(loc="left"), axes.get_xlabel(), axes.get_ylabel()) == ("Mine", "Buffer", "Rate")
    several = plot.metric(folder, "goodput_total", at=["flow", "network"], by="control")
    files.reword(several, "Mine", "Buffer", "Rate")
    assert several.axes[0].get_title(loc="left") == "Mine\nflow"
    assert (several.get_supxlabel(), several.get_supylabel()) == ("Buffer", "Rate")
    with pytest.raises(ValueError, match="width is 100 inches; accepted: 2 to 20"):
        files.write(folder, "goodput_total", width=100)


@pytest.mark.parametrize(
    ("name", "subject", "begin"),
    [
        ("goodput_total", "flow", "Data that the slots delivered per second"),
        ("loss_ratio", "a>b", "Share of the packets that were dropped or lost"),
        ("loss_ratio", "both", "Packets that the network lost"),
        ("loss_ratio", "call", "UDP only: packets lost"),
        ("mine", "x", "mine, as a program of the scenario defines it"),
    ],
)
def test_a_caption_is_the_meaning_for_its_subject(name: str, subject: str, begin: str) -> None:
    assert chosen.meaning(name, subject, sets=["both"]).startswith(begin)
