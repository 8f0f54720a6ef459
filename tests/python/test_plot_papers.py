"""Figures of the papers with printed numbers, and the drawings of networks."""

from __future__ import annotations

import io
import tomllib

import polars as pl
import pytest
import synthetic_scenarios as scenarios
from cellway import plot
from cellway.plot import measured, select, style
from cellway.plot.compare import compare
from cellway.plot.curve import curve
from cellway.plot.figure import Picture
from cellway.plot.network import changes, network, payload_rate
from cellway.plot.queue import content, deviations
from cellway.plot.steps import Panel, held_to, over_time
from cellway.plot.topology import topology
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure

SCENARIOS = {
    name: tomllib.loads(getattr(scenarios, name)) for name in ("KDD", "KDD_ETHERNET", "MAGIC", "NASA", "SPACING")
}


def points() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "line": ["a", "a", "b", "b"],
            "x": [1.0, 2.0, 1.0, 2.0],
            "mean": [1.0, 2.0, 3.0, 4.0],
            "low": [0.9, None, 2.9, 3.9],
            "high": [1.1, None, 3.1, 4.1],
            "published": [1.05, None, None, 4.4],
            "predicted": [None, 2.2, None, None],
        }
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (8, 8.0), (2.5, 2.5), ("128 KiB", 131072.0), ("8192 B", 8192.0), ("30 Mbit/s", 30e6), ("0.36 ms", 0.36e-3),
        ("256 cell", 256.0), ("oc3c", 149.76e6), ('["572101 B"]', 572101.0), ("1_000", 1000.0), ("50 us", 50e-6),
        ("1e6 bit/s", 1e6),
    ],
)  # fmt: skip
def test_amounts_are_read_in_base_units(value: object, expected: float) -> None:
    assert select.amount(value) == pytest.approx(expected)


def test_what_is_no_amount_is_refused() -> None:
    with pytest.raises(plot.MissingDataError, match="“fast” is no amount"):
        select.amount("fast")


def test_values_of_a_group_are_its_own_or_those_of_its_conversations() -> None:
    table = pl.DataFrame(
        {
            "run": [0, 0, 1, 1, 0],
            "subject": ["f-1", "f-2", "f-1", "f-2", "f"],
            "metric": ["m", "m", "m", "m", "n"],
            "value": [1.0, 3.0, 5.0, 5.0, 9.0],
        }
    )
    assert select.of_group(table, "m", "f", total=True)["value"].to_list() == [4.0, 10.0]
    assert select.of_group(table, "m", "f")["value"].to_list() == [2.0, 5.0]
    assert select.of_group(table, "n", "f")["value"].to_list() == [9.0]
    with pytest.raises(plot.MissingDataError, match="no m of g"):
        select.of_group(table, "m", "g")


def test_axes_compare_as_what_they_mean() -> None:
    table = pl.DataFrame({"n": [8.0, 4.0], "v": ["true", "8"]})
    assert select.where(table, {"n": 8})["v"].to_list() == ["true"]
    assert select.where(table, {"v": "8"})["n"].to_list() == [4.0]
    with pytest.raises(plot.MissingDataError, match="no axis w"):
        select.where(table, {"w": 1})


def test_a_curve_shows_the_three_sources_of_numbers() -> None:
    axes = curve(points(), "x", "y", level=(2.5, "level")).axes[0]
    drawn = {str(line.get_label()): line for line in axes.lines}
    assert list(drawn["a"].get_ydata()) == [1.0, 2.0]
    assert list(drawn["b"].get_ydata()) == [3.0, 4.0]
    assert list(drawn["published"].get_ydata()) == [1.05, 4.4]
    assert list(drawn["predicted"].get_ydata()) == [2.2]
    assert list(drawn["level"].get_ydata()) == [2.5, 2.5]
    assert len({drawn[name].get_marker() for name in ("a", "b", "published", "predicted")}) == 4
    assert axes.get_ylim()[0] == 0


def test_a_comparison_has_a_row_for_each_known_number() -> None:
    rows = pl.DataFrame(
        {
            "label": ["one", "two", "none"],
            "published": [1.0, 2.0, None],
            "predicted": [None, 2.1, None],
            "simulated": [1.1, None, None],
            "low": [1.0, None, None],
            "high": [1.3, None, None],
        }
    )
    for bars in (False, True):
        axes = compare(rows, "x", bars=bars).axes[0]
        assert [text.get_text() for text in axes.get_yticklabels()] == ["one", "two"]
        drawn = {str(line.get_label()): line for line in axes.lines}
        assert list(drawn["published"].get_xdata()) == [1.0, 2.0]
        assert list(drawn["predicted"].get_ydata()) == [1]
    with pytest.raises(plot.MissingDataError):
        compare(rows.tail(1), "x")


def test_changes_are_steps_from_the_first_rate() -> None:
    assert changes(SCENARIOS["SPACING"]).rows() == [
        ("spacer", 0.0, 33.92e6), ("spacer", 20.0, 5e6), ("spacer", 40.0, 10e6),
    ]  # fmt: skip
    assert changes(SCENARIOS["NASA"])["rate"].to_list() == [20e6, 10e6, 20e6]
    assert changes(SCENARIOS["KDD"]).is_empty()


def test_the_payload_of_the_slowest_atm_line() -> None:
    assert payload_rate(SCENARIOS["NASA"]) == pytest.approx(36.864e6)
    only_packets = {"node": [{"name": "a"}, {"name": "b"}], "link": [{"between": ["a", "b"], "rate": "10 Mbit/s"}]}
    assert payload_rate(only_packets) is None
    at_switch = {**only_packets, "node": [{"name": "a", "kind": "switch"}, {"name": "b"}]}
    assert payload_rate(at_switch) == pytest.approx(10e6 * 48 / 53)


def test_a_network_goes_from_senders_to_receivers() -> None:
    drawn = network(SCENARIOS["KDD"])
    order = sorted(drawn.vertices.values(), key=lambda vertex: vertex.column)
    assert [vertex.name for vertex in order] == [
        "ttcp ×8", "lan-jp", "gw-jp", "jp", "us", "gw-us", "lan-us", "ttcp ×8",
    ]  # fmt: skip
    assert drawn.rows == 1
    assert {edge.framing for edge in drawn.edges} == {"atm"}
    assert {edge.framing for edge in network(SCENARIOS["KDD_ETHERNET"]).edges} == {"atm", "ethernet"}


def test_senders_that_share_a_switch_are_above_each_other() -> None:
    vertices = network(SCENARIOS["MAGIC"]).vertices
    assert vertices["alpha-1"].column == vertices["alpha-2"].column == 0
    assert vertices["alpha-1"].row != vertices["alpha-2"].row
    assert vertices["sparc-10"].column == 3


def test_a_sender_from_the_other_side_is_on_the_other_side() -> None:
    scenario = tomllib.loads("""
node = [{ name = "ks", kind = "host" }, { name = "a", kind = "switch" }, { name = "kc", kind = "switch" },
        { name = "onyx", kind = "host" }, { name = "b", kind = "switch" }, { name = "sd", kind = "host" }]
link = [{ between = ["ks", "a"], rate = "taxi" }, { between = ["a", "kc"], rate = "oc3c", delay = "1 ms" },
        { between = ["kc", "onyx"], rate = "taxi" }, { between = ["kc", "b"], rate = "oc3c", delay = "3 ms" },
        { between = ["b", "sd"], rate = "taxi" }]
traffic = [{ name = "x", from = "ks", to = "onyx" }, { name = "y", from = "sd", to = "onyx" }]
""")
    columns = {name: vertex.column for name, vertex in network(scenario).vertices.items()}
    assert columns == {"ks": 0, "a": 1, "kc": 2, "onyx": 3, "b": 3, "sd": 4}
    topology(scenario)


def test_hosts_are_outside_of_their_nodes_in_both_directions() -> None:
    scenario = tomllib.loads("""
node = [{ name = "l" }, { name = "r" }]
link = [{ between = ["l", "r"], rate = "ds3", delay = "1 ms" }]
traffic = [{ name = "x", from = "l", to = "r", access = { rate = "10 Mbit/s" } },
           { name = "y", from = "r", to = "l", access = { rate = "1 Mbit/s" } }]
""")
    vertices = network(scenario).vertices
    ends = {vertex.column for vertex in vertices.values() if vertex.kind == "host"}
    assert ends == {0, 3}
    assert (vertices["l"].column, vertices["r"].column) == (1, 2)


def test_shapers_and_policers_are_at_their_lines() -> None:
    assert network(SCENARIOS["SPACING"]).marks == [("s1", "b", "shaper", "spacer 33.92 Mbit/s")]
    assert network(SCENARIOS["NASA"]).marks == [("s1", "s2", "policer", "upc 20 Mbit/s")]


def test_networks_differ_by_form_and_not_by_rate_or_traffic() -> None:
    other = tomllib.loads(scenarios.KDD.replace("ds3", "e3").replace("count = 8", "count = 2"))
    assert network(other).form == network(SCENARIOS["KDD"]).form
    assert network(SCENARIOS["KDD_ETHERNET"]).form != network(SCENARIOS["KDD"]).form


def test_a_contract_is_held_to_the_end() -> None:
    steps = pl.DataFrame({"t": [0.0, 20.0], "value": [20.0, 10.0]})
    assert held_to(steps, 60.0).rows() == [(0.0, 20.0), (20.0, 10.0), (60.0, 10.0)]


def queue() -> pl.DataFrame:
    return pl.DataFrame({"t": [0.1 * n for n in range(50)], "value": [float(min(n, 30)) for n in range(50)]})


def test_the_content_is_drawn_from_what_stood_at_the_start() -> None:
    axes = content(queue(), start=1.05, until=2.0, lines=[(29.0, "theory 29")]).axes[0]
    line = next(line for line in axes.lines if line.get_label() == "simulated")
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0.0, 10.0)
    assert max(line.get_xdata()) <= 950.0 + 1e-6
    assert [text.get_text() for text in axes.texts] == ["theory 29"]


def test_points_inside_and_outside_the_condition_are_distinct() -> None:
    rows = pl.DataFrame({"strip": ["s", "s", "t"], "deviation": [0.5, 0.5, -1.0], "inside": [True, False, True]})
    axes = deviations(rows).axes[0]
    drawn = {line.get_label(): line for line in axes.lines}
    inside, outside = drawn["inside the domain"], drawn["outside the domain"]
    assert list(inside.get_xdata()) == [0.5, -1.0]
    assert inside.get_marker() != outside.get_marker()
    # Equal values do not hide each other.
    assert inside.get_ydata()[0] != outside.get_ydata()[0]


def every_figure() -> dict[str, Figure]:
    rows = pl.DataFrame(
        {
            "label": ["a label that is long enough to be wrapped in one column", "b"],
            "published": [0.9, 68.0],
            "predicted": [1.0, 70.0],
            "simulated": [0.93, 67.0],
            "low": [0.9, 66.0],
            "high": [1.0, 68.0],
        }
    )
    rate = pl.DataFrame({"t": [1.0, 2.0, 3.0], "value": [5.0, 6.0, 7.0], "line": ["x-1"] * 3})
    return {
        **{f"network {name}": topology(scenario) for name, scenario in SCENARIOS.items()},
        "curve": curve(points(), "x", "y", level=(2.0, "level"), chosen=(1.5, "chosen"), ticks=True),
        "log": curve(points(), "x", "y", logx=True, logy=True, ticks=True, width=style.WIDE),
        "dots": compare(rows, "x"),
        "bars": compare(rows, "x", bars=True),
        "logarithmic dots": compare(rows, "x", log=True, width=style.WIDE),
        "over time": over_time([Panel("a", rate, contract=True), Panel("b", rate)], contract=rate.select("t", "value")),
        "content": content(queue(), lines=[(29.0, "theory 29"), (28.0, "theory 28")], zero=False),
    }


def test_figures_are_the_same_bytes_each_time() -> None:
    first = {name: plot.svg(figure) for name, figure in every_figure().items()}
    assert first == {name: plot.svg(figure) for name, figure in every_figure().items()}


def test_text_stays_inside_the_figure() -> None:
    for name, figure in every_figure().items():
        plot.svg(figure)
        page = figure.get_size_inches()
        box = figure.get_tightbbox()
        assert box.x0 >= -0.01, name
        assert box.y0 >= -0.01, name
        assert box.x1 <= page[0] + 0.01, name
        assert box.y1 <= page[1] + 0.01, name


def test_labels_of_a_network_do_not_touch() -> None:
    for name, scenario in SCENARIOS.items():
        figure = topology(scenario)
        figure.draw_without_rendering()
        boxes = [(text.get_text(), text.get_window_extent()) for text in figure.axes[0].texts if text.get_text()]
        for index, (first, box) in enumerate(boxes):
            for second, other in boxes[index + 1 :]:
                assert not box.overlaps(other), f"{name}: {first!r} and {second!r}"


@pytest.mark.parametrize(
    "options",
    [{"format": "svg"}, {"format": "png"}, {"format": "png", "bbox_inches": "tight"}, {"format": "pdf"}],
    ids=str,
)
def test_a_file_is_the_same_as_if_matplotlib_drew_the_figure_twice(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def written() -> dict[str, bytes]:
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        out = {}
        for name, figure in every_figure().items():
            file = io.BytesIO()
            with style.styled():
                figure.savefig(file, metadata=dates.get(options["format"]), **options)
            out[name] = file.getvalue()
        return out

    once = written()
    monkeypatch.delattr(Picture, "draw")
    assert once == written()


def test_a_figure_is_drawn_once_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Axes] = []
    draw = Axes.draw

    def counted(self: Axes, renderer: RendererBase) -> None:
        drawn.append(self)
        draw(self, renderer)

    monkeypatch.setattr(Axes, "draw", counted)
    for name, figure in every_figure().items():
        drawn.clear()
        plot.svg(figure)
        assert drawn == figure.axes, name


def test_a_figure_that_is_too_small_for_its_panels_is_drawn() -> None:
    figure, _ = style.panels(0.1, 9, 1)
    with pytest.warns(UserWarning, match="constrained_layout not applied"):
        assert "<path" in plot.svg(figure)


def test_the_ticks_of_an_axis_are_set_once_for_each_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    times: dict[Axis, int] = {}
    update = Axis._update_ticks  # type: ignore[attr-defined]

    def counted(self: Axis) -> list[Tick]:
        times[self] = times.get(self, 0) + 1
        return list(update(self))

    monkeypatch.setattr(Axis, "_update_ticks", counted)
    for name, figure in every_figure().items():
        times.clear()
        plot.svg(figure)
        # The layout is made twice, as labels change it; then the figure is drawn.
        assert max(times.values(), default=0) <= 3, name
        for axis in times:
            assert vars(axis).keys().isdisjoint(measured.REPEATED)


def test_a_panel_of_another_size_has_ticks_of_its_own() -> None:
    figure, (axes,) = style.new()
    axes.set_xlim(0, 100)
    with measured.measured_once(figure):
        few = len(axes.xaxis._update_ticks())  # type: ignore[attr-defined]
        axes.set_xlim(0, 100 / 3)
        assert len(axes.xaxis._update_ticks()) != few  # type: ignore[attr-defined]
        before = axes.xaxis._update_ticks()  # type: ignore[attr-defined]
        axes.set_position((0.4, 0.4, 0.1, 0.1))
        assert len(axes.xaxis._update_ticks()) < len(before)  # type: ignore[attr-defined]


def test_figures_are_the_same_with_a_matplotlib_that_has_other_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    first = {name: plot.svg(figure) for name, figure in every_figure().items()}
    monkeypatch.setattr(measured, "REPEATED", ("_renamed",))
    assert first == {name: plot.svg(figure) for name, figure in every_figure().items()}
