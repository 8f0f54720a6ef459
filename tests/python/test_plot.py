from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cellway
import matplotlib as mpl
import polars as pl
import pytest
import synthetic
from cellway import plot
from cellway.plot import select
from cellway.plot.buffers import buffers_table
from cellway.plot.load import per_load_table
from cellway.plot.window import thin
from cellway.results import Results
from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def study(reproduction: Path) -> Callable[[str], Results]:
    whole = cellway.load_reproduction(reproduction)
    return whole.study


def test_a_line_goes_through_the_means(study: Callable[[str], Results]) -> None:
    summary = study("policies").summary
    axes = plot.delay(summary, xlabel="Concurrent FTP conversations").axes[0]
    line = next(line for line in axes.lines if line.get_label() == "per destination")
    expected = summary.filter((pl.col(synthetic.CHANNEL) == "per-destination") & (pl.col("metric") == "delay_mean_rtt"))
    for count, drawn in zip(line.get_xdata(), line.get_ydata(), strict=True):
        mean = expected.filter(pl.col(synthetic.COUNT) == count)["value"].mean()
        assert drawn == pytest.approx(mean)
    assert axes.get_ylabel() == "Delay (RTT)"
    assert axes.get_xlabel() == "Concurrent FTP conversations"


def test_policies_differ_in_colour_dashes_and_marker(study: Callable[[str], Results]) -> None:
    lines = plot.throughput(study("policies").summary, subject="ftp").axes[0].lines
    assert len(lines) == 3
    for of in (lambda x: x.get_color(), lambda x: str(x._unscaled_dash_pattern), lambda x: x.get_marker()):
        assert len({of(line) for line in lines}) == 3


def test_fairness_leaves_out_single_conversations(study: Callable[[str], Results]) -> None:
    assert per_load_table(study("policies").summary, "jain", "ftp", start=2)[synthetic.COUNT].min() == 2


@pytest.mark.parametrize("names", [("variant", "traffic.source.count"), ("kind", "conversations")])
def test_the_only_axes_are_taken_whatever_they_are_called(
    study: Callable[[str], Results], names: tuple[str, str]
) -> None:
    rows = study("load").summary.rename({"variant": names[0], "traffic.source.count": names[1]})
    table = plot.offered_load_table(rows)
    assert table.columns[:2] == list(names)
    assert table[names[0]].unique(maintain_order=True).to_list() == ["ftp", "nntp", "smtp", "telnet"]
    assert table.height == 40


def test_a_choice_that_the_table_leaves_is_refused_with_what_there_is(study: Callable[[str], Results]) -> None:
    policies = study("policies")
    ftp = select.values(policies.summary, "throughput_mean", "ftp")
    both = pl.concat([ftp, ftp.with_columns(subject=pl.lit("www"))])
    with pytest.raises(plot.ChoiceError, match=r"several subjects have throughput_mean: ftp, www; .* subject="):
        plot.throughput(both)
    more = policies.summary.with_columns(half=pl.col(synthetic.COUNT) % 2)
    with pytest.raises(plot.ChoiceError, match=r"several axes have numbers: traffic\.ftp\.count, half; .* x="):
        plot.delay(more)
    with pytest.raises(plot.ChoiceError, match=r"vary .*: multiplexing\.channel, half; .* lines="):
        plot.delay(more, x=synthetic.COUNT)
    with pytest.raises(plot.ChoiceError, match=r"differ in multiplexing\.channel, traffic\.ftp\.count"):
        plot.throughput_over_time(policies.series("throughput"), group="ftp")


def test_what_is_missing_is_named_with_what_there_is(study: Callable[[str], Results]) -> None:
    policies = study("policies")
    summary, series = policies.summary, policies.series()
    with pytest.raises(plot.MissingDataError, match=r"no delay_mean_rtt of telnet-9; it has that of telnet-1$"):
        plot.delay(summary, subject="telnet-9")
    with pytest.raises(plot.MissingDataError, match=r"no goodput_total; its metrics: .*throughput_mean"):
        plot.per_load(summary, "goodput_total")
    with pytest.raises(
        plot.MissingDataError, match=r"no throughput_mean of the www conversations; it has that of ftp$"
    ):
        select.values(summary, "throughput_mean", slots_of="www")
    with pytest.raises(plot.MissingDataError, match=r"no column subject; its columns: run, point, seed"):
        plot.delay(policies.runs)
    with pytest.raises(plot.MissingDataError, match=r"no axis of several numbers .*: variant, multiplexing\.channel"):
        plot.delay(study("choices").summary)
    with pytest.raises(plot.MissingDataError, match=r"no axis buffer\.size; its axes: multiplexing\.channel, traffic"):
        plot.delay(summary, x="buffer.size")
    with pytest.raises(plot.MissingDataError, match=r"no value of jain of ftp where .* is 99 or more; .*: 1, 2, "):
        plot.fairness(summary, subject="ftp", start=99)
    with pytest.raises(plot.MissingDataError, match=r"no row at multiplexing\.channel = x; its values: per-"):
        select.where(summary, {synthetic.CHANNEL: "x"})
    one = select.where(select.highest(series, synthetic.COUNT), {synthetic.CHANNEL: "per-type"})
    with pytest.raises(plot.MissingDataError, match=r"no throughput of ftp after .* 9999 s; the last value is at "):
        plot.throughput_over_time(one, warmup=9999.0)
    with pytest.raises(plot.MissingDataError, match=r"no column line; its columns: x"):
        plot.curve(pl.DataFrame({"x": [1]}), "x", "y")
    changes = pl.DataFrame({"t": [1.0, 2.0], "value": [3.0, 4.0]})
    with pytest.raises(
        plot.MissingDataError, match=r"no change of the queue at or after 5 s, up to 4 s; the last .* 2 s"
    ):
        plot.content(changes, start=5.0, until=4.0)


def test_quantities_are_drawn_at_their_sizes_with_their_texts(study: Callable[[str], Results]) -> None:
    sizes = {1.0: "16 KiB", 2.0: "8 KiB", 3.0: "32 KiB"}
    rows = study("policies").summary.filter(pl.col(synthetic.COUNT).is_in(list(sizes)))
    rows = rows.with_columns(pl.col(synthetic.COUNT).replace_strict(sizes)).rename({synthetic.COUNT: "tcp.window"})
    axes = plot.throughput(rows, subject="ftp").axes[0]
    assert list(axes.lines[0].get_xdata()) == [8192.0, 16384.0, 32768.0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["8 KiB", "16 KiB", "32 KiB"]
    assert axes.get_xlabel() == "tcp.window"
    assert plot.contrast(rows, rows, "jain", "ftp", names=("a", "b")).axes[0].lines[0].get_xdata()[0] == 8192.0


def test_a_metric_is_labelled_in_words_with_its_unit(study: Callable[[str], Results]) -> None:
    summary = study("policies").summary
    label = lambda figure: figure.axes[0].get_ylabel()  # noqa: E731
    assert label(plot.utilisation(summary)) == "Utilisation"
    assert label(plot.per_load(summary, "delay_sd_rtt")) == "Standard deviation of the delay (rtt)"


def test_conversations_are_drawn_after_the_warm_up_only(study: Callable[[str], Results]) -> None:
    series = select.highest(study("policies").series("throughput"), synthetic.COUNT)
    one = select.where(series, {synthetic.CHANNEL: "per-type"})
    figure = plot.throughput_over_time(one, rtt=synthetic.RTT, warmup=1000 * synthetic.RTT)
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 2]
    assert len(lines) == 5
    assert min(line.get_xdata()[0] for line in lines) == pytest.approx(1100)
    assert max(line.get_xdata()[-1] for line in lines) == pytest.approx(4000)


def test_conversations_are_in_the_order_of_their_numbers() -> None:
    table = pl.DataFrame({"subject": ["ftp-10", "ftp-2", "ftp-1", "ftp-2"]})
    assert select.slots(table) == ["ftp-1", "ftp-2", "ftp-10"]


def test_thinning_keeps_every_peak_and_dip() -> None:
    y = [8.0] * 50_000
    y[12_345], y[40_000] = 0.5, 9.0
    table = pl.DataFrame({"x": [float(i) for i in range(50_000)], "y": y})
    few = thin(table, 500)
    assert few.height <= 2000
    assert few.filter(pl.col("x") == 12_345)["y"].item() == 0.5
    assert few.filter(pl.col("x") == 40_000)["y"].item() == 9.0
    assert few["x"].is_sorted()
    assert thin(table.head(100), 500).equals(table.head(100))


def test_buffer_sizes_in_one_unit_are_placed_by_their_numbers(study: Callable[[str], Results]) -> None:
    rows = select.values(study("buffers").summary, "jain", "ftp")
    table, unit = buffers_table(rows)
    assert unit == "bdp"
    assert table["x"].unique().sort().to_list() == [0.25, 0.5, 1, 2, 4]
    mixed = rows.with_columns(pl.col("buffer.size").replace({"4 bdp": "640 cell"}))
    table, unit = buffers_table(mixed)
    assert unit is None
    assert table["x"].unique().sort().to_list() == [0, 1, 2, 3, 4]


def every_figure(study: Callable[[str], Results]) -> dict[str, Figure]:
    policies, series = study("policies").summary, study("policies").series()
    return {
        "load": plot.offered_load(study("load").summary),
        "deviation": plot.delay_deviation(policies),
        "fairness": plot.fairness(policies, subject="ftp", start=2),
        "transient": plot.transient(
            {"Utilisation": select.values(select.highest(series, synthetic.COUNT), "utilisation", "r1>s1")},
            rtt=synthetic.RTT,
            warmup=45.0,
        ),
        "window": plot.window(
            select.where(study("windows").series("window"), {synthetic.CHANNEL: "per-destination"}),
            rtt=synthetic.RTT,
            warmup=45.0,
        ),
        "contrast": plot.contrast(policies, study("corrected").summary, "jain", "ftp", "J", names=("a", "b")),
        "choices": plot.choices(select.values(study("choices").summary, "jain", "ftp"), "J"),
    }


def test_figures_are_the_same_bytes_each_time(study: Callable[[str], Results]) -> None:
    first = {name: plot.svg(figure) for name, figure in every_figure(study).items()}
    assert first == {name: plot.svg(figure) for name, figure in every_figure(study).items()}


def test_text_stays_inside_the_figure(study: Callable[[str], Results]) -> None:
    for name, figure in every_figure(study).items():
        plot.svg(figure)
        box, page = figure.get_tightbbox(), figure.get_size_inches()
        assert box.x0 >= -0.01, name
        assert box.y0 >= -0.01, name
        assert box.x1 <= page[0] + 0.01, name
        assert box.y1 <= page[1] + 0.01, name


def test_the_settings_of_the_caller_stay_as_they_are(study: Callable[[str], Results]) -> None:
    before = dict(mpl.rcParams)
    plot.svg(plot.delay(study("policies").summary))
    assert dict(mpl.rcParams) == before
