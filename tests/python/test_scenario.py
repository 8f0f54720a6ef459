"""Scenarios built in Python: their TOML, their changes, their errors, and what a notebook shows of them."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import cellway
import polars as pl
import pytest
from cellway import Scenario, notebook, quantity, toml_text
from guides import blocks
from pages import Page

EXAMPLES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))


def two() -> Scenario:
    made = Scenario("two", duration="6 s", warmup="1 s", buffer={"size": "32 KiB", "per": "port"})
    made = made.node("a").node("b").link("a", "b", rate="8 Mbit/s", delay="5 ms")
    return made.traffic("bulk", "a", "b", count=2)


def small() -> Scenario:
    return Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms", flows=2, duration="6 s", warmup="2 s")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_the_same_after_a_round_trip(path: Path) -> None:
    read = Scenario.from_file(path)
    assert read.to_dict() == tomllib.loads(path.read_text(encoding="utf-8"))
    assert Scenario.from_toml(read.to_toml(), folder=path.parent) == read
    assert read.check() == cellway.check(path)


def test_toml_has_tables_with_headers_and_short_ones_in_a_line() -> None:
    assert two().sweep({"tcp.mss": ["536 B"]}).to_toml() == (
        'version = 1\nname = "two"\n\n[run]\nduration = "6 s"\nwarmup = "1 s"\n\n'
        '[buffer]\nsize = "32 KiB"\nper = "port"\n\n[[node]]\nname = "a"\nkind = "router"\n\n'
        '[[node]]\nname = "b"\nkind = "router"\n\n[[link]]\nbetween = ["a", "b"]\nrate = "8 Mbit/s"\n'
        'delay = "5 ms"\n\n[[traffic]]\nname = "bulk"\napp = "bulk"\nfrom = "a"\nto = "b"\n'
        'access = { rate = "10 Gbit/s", delay = "0 s" }\ncount = 2\n\n'
        '[sweep]\naxes = { "tcp.mss" = ["536 B"] }\n'
    )


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"a": {}, "b": []},
        {"a": {"b": {"c": {"d": [1, 2.5, True, "x"]}}}},
        {"odd key": {"a.b": 1}, "élan": "\u007f\n\t\"\\"},
        {"list": ["a value of some length, number " + str(n) for n in range(9)]},
        {"a": [{"b": [{"c": 1}, {"c": {"d": "x" * 120}}]}, {}]},
        {"deep": {"first": {"x": "y" * 120}, "then": 1, "last": [{"a": "z" * 120}, {"a": 2}]}},
        {"mixed": [1, {"a": 2}], "tables": [[{"a": 1}], []]},
        {"small": 1e-9, "large": 1e300, "none": float("inf")},
    ],
)  # fmt: skip
def test_any_table_is_read_back_as_it_was(table: dict[str, object]) -> None:
    assert tomllib.loads(toml_text.document(table)) == table


def test_lines_of_the_text_are_short_enough_to_read() -> None:
    longest = max(len(line) for path in EXAMPLES for line in str(Scenario.from_file(path)).splitlines())
    assert longest <= 110


def test_a_scenario_never_changes() -> None:
    one = two()
    before = one.to_toml()
    one.node("c").link("b", "c", rate="1 Mbit/s")
    one.set("tcp.window", "1 MiB").sweep({"tcp.mss": ["536 B"]}).variants({"deep": {"buffer.size": "1 MB"}})
    one.to_dict()["node"].clear()
    assert one.to_toml() == before
    assert one == two()
    assert hash(one) == hash(two())
    assert one != one.set("tcp.window", "1 MiB")
    assert one != "two"


def test_what_is_given_is_copied() -> None:
    buffer = {"size": "1 MB"}
    made = Scenario("x", buffer=buffer)
    buffer["size"] = "2 MB"
    assert made.to_dict()["buffer"] == {"size": "1 MB"}


def test_keys_are_set_by_the_paths_of_sweeps() -> None:
    made = (
        two()
        .traffic("more", "a", "b")
        .set({"link.a-b.delay": "7 ms", "traffic.*.stagger": "1 s", "traffic.more.count": 5, "tcp.window": "1 MiB"})
    )
    document = made.to_dict()
    assert document["link"][0]["delay"] == "7 ms"
    assert [group["stagger"] for group in document["traffic"]] == ["1 s", "1 s"]
    assert [group.get("count") for group in document["traffic"]] == [2, 5]
    assert document["tcp"] == {"window": "1 MiB"}
    assert made.set("observe", {"interval": "1 s"}).to_dict()["observe"] == {"interval": "1 s"}


def test_set_and_the_sweep_of_the_engine_mean_the_same_key() -> None:
    path, value = "traffic.bulk.tcp.delayed-ack", "off"
    ours = cellway.simulate(two().set(path, value), seeds=1)
    theirs = cellway.simulate(two(), set={path: value}, seeds=1)
    assert ours.summary["value"].to_list() == theirs.summary["value"].to_list()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("link.b-a.rate", r"link\.b-a: there is no link 'b-a'; accepted: a-b"),
        ("link.2.rate", r"link\.2: there is no link '2'; accepted: a-b"),
        ("link.1.rate", r"link\.1: there is no link '1'; accepted: a-b"),
        ("traffic.x.y.z", r"traffic\.x: there is no traffic 'x'; accepted: bulk"),
        ("link.rate", r"link: a list, whose elements have names; accepted: a-b, \*"),
        ("name.first", r"name: 'two' is no table"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, message: str) -> None:
    with pytest.raises(cellway.ScenarioError, match=message):
        two().set(path, "1 Mbit/s")


def test_the_checker_names_keys_and_no_lines_of_a_text() -> None:
    wrong = two().set({"run.duration": "1000", "tcp.windw": "8 KiB"})
    with pytest.raises(cellway.ScenarioError) as refused:
        wrong.check()
    duration, window = str(refused.value).splitlines()
    assert duration.startswith('run.duration: "1000" has no unit; accepted: a number and one of ps')
    assert window.startswith("tcp.windw: there is no such key; did you mean window?; accepted: ")
    for action in (wrong.simulate, wrong.predict, wrong.compare, wrong.emulate):
        with pytest.raises(ValueError, match=r"^run\.duration: "):
            action()
    # Those who gave text get its lines.
    with pytest.raises(cellway.ScenarioError, match=r"^<text>:5:12: run\.duration: "):
        cellway.check(wrong.to_toml())


def test_warnings_of_a_run_name_keys_too() -> None:
    idle = two().set("multiplexing", {"channel": "per-destination"})
    begin = "multiplexing.channel: has no effect"
    assert [warning.key for warning in idle.check().warnings] == ["multiplexing.channel"]
    assert [warning.line for warning in idle.check().warnings] == [None]
    for done in (idle.simulate(seeds=4, progress=False), idle.compare(seeds=1, emulate=False, progress=False).results):
        assert any(warning.removeprefix("simulation: ").startswith(begin) for warning in done.warnings), done.warnings
        assert not any("<text>" in warning for warning in done.warnings)


def test_a_fault_in_a_setting_keeps_its_key() -> None:
    with pytest.raises(cellway.ScenarioError, match=r"^in the sweep, with tcp\.mss = .*: tcp\.mss: "):
        two().sweep({"tcp.mss": ["536 B", "5 apples"]}).check()
    with pytest.raises(cellway.ScenarioError, match=r"^override tcp\.mss = .*: tcp\.mss: "):
        cellway.simulate(two(), set={"tcp.mss": "5 apples"})


def test_a_file_that_does_not_exist_is_what_python_expects(tmp_path: Path) -> None:
    for absent in (
        lambda: Scenario.from_file(tmp_path / "absent.toml"),
        lambda: cellway.check(tmp_path / "absent.toml"),
        lambda: cellway.simulate(tmp_path / "absent.toml"),
        lambda: cellway.load(tmp_path / "absent"),
        lambda: cellway.load_reproduction(tmp_path),
        lambda: cellway.load_comparison(tmp_path / "absent"),
        lambda: cellway.reproduce(str(tmp_path / "absent")),
        lambda: small().compare(emulate=False, published=tmp_path / "absent.csv"),
    ):
        with pytest.raises(FileNotFoundError) as missing:
            absent()
        assert isinstance(missing.value, cellway.Error)
        assert isinstance(missing.value, cellway.MissingFileError)
        assert str(tmp_path) in str(missing.value)


def test_text_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(cellway.ScenarioError, match="not TOML"):
        Scenario.from_toml("a = ")
    file = tmp_path / "x.toml"
    file.write_text("a = ", encoding="utf-8")
    with pytest.raises(cellway.ScenarioError, match=r"x\.toml: not TOML"):
        Scenario.from_file(file)
    with pytest.raises(TypeError, match="accepted: a Scenario, the path of a file, or TOML text; for a dict"):
        cellway.check({"version": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"x: a NoneType has no TOML form"):
        Scenario("n", x=None).to_toml()


def test_relative_paths_start_at_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "mine.down").write_text("1\n2\n3\n", encoding="utf-8")
    traced = two().set("link.a-b.forward", {"trace": {"rate": "mine.down"}})
    file = traced.save(tmp_path / "traced.toml")
    with pytest.raises(FileExistsError):
        traced.save(file)
    traced.save(file, force=True)
    read = Scenario.from_file(file)
    assert read.folder == str(tmp_path)
    assert read.set("run.duration", "5 s").folder == str(tmp_path)
    assert read.check().runs == 1
    # The file sends a packet of 1500 B in each ms.
    assert read.simulate(seeds=1).summary.filter(metric="goodput_total", subject="bulk")["value"].item() > 8e6
    with pytest.raises(cellway.Error, match=r"mine\.down"):
        traced.check()


def test_a_dumbbell_has_the_path_that_was_asked_for() -> None:
    checked = small().check()
    assert checked.rtt == pytest.approx(0.02)
    assert checked.warnings == ()
    results = small().simulate(seeds=1, progress=False)
    assert results.warmup == pytest.approx(2.0)
    goodput = results.summary.filter(metric="goodput_total", subject="flow")["value"].item()
    assert 0.9 * 4e6 < goodput < 4e6
    for metric, at in (("cwnd", "flow-2"), ("srtt", "flow-1"), ("queue", "left>right")):
        assert results.series(metric, at=at).height > 10


def test_each_control_or_round_trip_of_a_dumbbell_is_a_group() -> None:
    made = Scenario.dumbbell(rate="8 Mbit/s", rtt="20 ms", control=["reno", "cubic"], flows=2)
    assert [(group["name"], group["tcp"]["control"], group["count"]) for group in made.to_dict()["traffic"]] == [
        ("reno", "reno", 2),
        ("cubic", "cubic", 2),
    ]
    trips = Scenario.dumbbell(rate="8 Mbit/s", rtt=["20 ms", "0.1 s"], duration="4 s", warmup="1 s")
    predicted = {group.group: group for group in trips.predict().points[0].groups}
    assert predicted["rtt-20ms"].legs[0].prediction.round_trip == pytest.approx(0.02, rel=0.1)
    assert predicted["rtt-0-1s"].legs[0].prediction.round_trip == pytest.approx(0.1, rel=0.1)
    with pytest.raises(ValueError, match="accepted: a single value of the other"):
        Scenario.dumbbell(rate="8 Mbit/s", rtt=["1 ms", "2 ms"], control=["reno", "bbr"])
    with pytest.raises(ValueError, match=r'rtt: "20" has no unit; add one of ps, ns, us, .*h, like "22.5 ms"'):
        Scenario.dumbbell(rate="8 Mbit/s", rtt="20")
    with pytest.raises(TypeError, match=r'rtt is \[20\]; accepted: a string like "60 ms", or a list of them'):
        Scenario.dumbbell(rate="8 Mbit/s", rtt=[20])  # type: ignore[list-item]


def test_axes_have_short_names_and_the_names_of_their_keys() -> None:
    swept = small().sweep(buffer=["0.5 bdp", "2 bdp"], rtt=["10 ms", "21 ms"]).sweep({"tcp.mss": ["536 B"]})
    assert swept.to_dict()["sweep"]["axes"] == {
        "buffer.size": ["0.5 bdp", "2 bdp"],
        "link.line.delay": ["5 ms", "10.5 ms"],
        "tcp.mss": ["536 B"],
    }
    assert [axis.name for axis in swept.check().axes] == ["buffer.size", "link.line.delay", "tcp.mss"]
    variants = small().variants({"as it is": {}, "deep": {"buffer.size": "4 bdp"}})
    assert variants.check().axes[0].values == ("as it is", "deep")
    with pytest.raises(TypeError, match="depth is no short name of an axis; accepted: rtt, rate, buffer"):
        small().sweep(depth=["1 bdp"])
    with pytest.raises(TypeError, match="accepted: a list of values"):
        small().sweep(buffer="1 bdp")


@pytest.mark.parametrize("short", [*cellway.scenario.SHORT])
def test_every_short_name_is_a_key_of_a_dumbbell(short: str) -> None:
    values = {
        "rate": ["1 Mbit/s"], "buffer": ["1 bdp"], "queue": ["codel"], "window": ["64 KiB"], "control": ["bbr"],
        "flows": [3],
    }  # fmt: skip
    assert small().sweep(**{short: values[short]}).check().points == 1


def test_hosts_need_no_access_link_and_datagrams_no_application() -> None:
    made = Scenario("h").node("a", "host").node("r").node("b", "host")
    made = made.link("a", "r", rate="8 Mbit/s").link("r", "b", rate="8 Mbit/s", delay="1 ms", name="far")
    made = made.traffic("t", "a", "b").traffic("call", "a", "b", udp={"packet": "200 B", "rate": "80 kbit/s"})
    bulk, call = made.to_dict()["traffic"]
    assert bulk == {"name": "t", "app": "bulk", "from": "a", "to": "b"}
    assert "app" not in call
    assert made.check().runs == 1
    assert made.add("change", at="1 s", link="far", rate="2 Mbit/s").check().runs == 1
    with pytest.raises(cellway.ScenarioError, match="run: it is no list of elements; accepted: set"):
        made.add("run", duration="1 s")


@pytest.mark.parametrize(
    ("text", "halved"),
    [("60 ms", "30 ms"), ("1 s", "500 ms"), ("41ms", "20.5 ms"), ("1 ms", "500 us"), ("2 min", "60 s"), ("0 s", "0 s"),
     ("1.000000000003 s", "500000000.002 ns")],
)  # fmt: skip
def test_times_are_exact(text: str, halved: str) -> None:
    exact = quantity.picoseconds("rtt", text)
    assert quantity.time_text(Fraction(exact, 2)) == halved
    assert quantity.picoseconds("x", quantity.time_text(exact)) == exact
    assert quantity.picoseconds("x", "0.1 s") == 10**11


def test_a_scenario_shows_its_network_and_its_main_keys() -> None:
    shown = small().sweep(buffer=["0.5 bdp", "<b>"])._repr_html_()
    assert shown.count("<svg") == 1
    assert "2 × bulk, left → right" in shown
    assert "0.5 bdp, &lt;b&gt;" in shown
    assert "<b>,</b>" not in shown
    assert "[[traffic]]" in shown
    # One that is half built, or wrong, shows what there is.
    assert "<svg" not in Scenario("empty")._repr_html_()
    assert "Scenario" in Scenario("odd", link="x", node=[{"name": "a"}], traffic=[])._repr_html_()


def test_results_show_what_ran_and_the_main_metrics_with_intervals() -> None:
    swept = small().set("traffic.flow.jitter", "1 s").sweep(buffer=["4 KiB", "64 KiB"])
    shown = swept.simulate(seeds=3, progress=False)._repr_html_()
    assert "2 points, 3 seeds (simulate)" in shown
    for words in ("4 KiB", "64 KiB", "Goodput (Mbit/s)", "Utilisation (%)", "±", "left&gt;right"):
        assert words in shown
    assert "flow-1" not in shown
    assert "right&gt;left" not in shown


def test_results_of_many_points_show_the_first() -> None:
    sizes = [f"{n} KiB" for n in range(8, 40)]
    shown = small().set("run.duration", "3 s").sweep(buffer=sizes).simulate(seeds=1, progress=False)._repr_html_()
    assert f"{len(sizes) - notebook.ROWS} more rows" in shown
    assert "39 KiB" not in shown


def test_a_comparison_shows_its_sources() -> None:
    compared = small().compare(emulate=False, seeds=2, progress=False)
    shown = compared._repr_html_()
    assert "emulation left out" in shown
    assert "predicted" in shown
    assert "emulated</th>" not in shown


def test_a_reproduction_shows_its_claims(reproduction: Path) -> None:
    loaded = cellway.load_reproduction(reproduction)
    shown = loaded._repr_html_()
    assert shown.count("<tr>") == 1 + min(len(loaded.claim_records), notebook.ROWS)
    first = loaded.claim_records[0]
    text = Page(shown).text
    for key in ("claim", "expected", "measured_text", "verdict"):
        assert first[key] in text


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from cellway import results

    ran = small().simulate(seeds=1, progress=False)
    monkeypatch.setattr(results, "find_spec", lambda name: None if name == "pandas" else object())
    with pytest.raises(ModuleNotFoundError, match=r"to_pandas needs pandas: pip install pandas; .*polars") as missing:
        ran.to_pandas()
    assert missing.value.name == "pandas"


def test_a_figure_is_a_picture_of_its_size() -> None:
    figure = small().draw()
    data, about = figure._repr_png_()  # type: ignore[attr-defined]
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = figure.get_size_inches()
    assert about == {"width": round(120 * width), "height": round(120 * height)}
    assert small().draw()._repr_png_()[0] == data  # type: ignore[attr-defined]


def test_the_representation_is_one_line() -> None:
    assert repr(small()) == "<cellway.Scenario: dumbbell, 2 nodes, 1 link, 1 traffic>"
    assert repr(small().sweep(buffer=["1 bdp"])).endswith("1 traffic, axes: buffer.size>")


def test_the_same_scenario_gives_the_same_results_as_its_file(tmp_path: Path) -> None:
    ours = small().simulate(seeds=1, out=tmp_path / "out", progress=False)
    theirs = cellway.simulate(small().save(tmp_path / "s.toml"), seeds=1)
    assert ours.summary.select(pl.col("value")).equals(theirs.summary.select(pl.col("value")))
    assert cellway.load(tmp_path / "out").scenario == small().to_dict()


def test_the_code_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"cellway": cellway}
    for code in blocks("python.md", "scenarios"):
        exec(code, names)
    made = names["s"]
    assert isinstance(made, Scenario)
    assert made.check().warnings == ()
    assert (tmp_path / "window.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_what_a_notebook_shows_is_whole_html_with_escaped_text() -> None:
    swept = small().set("name", "a<b>&c").sweep(buffer=["8 KiB", "64 KiB"])
    results = swept.set("run.duration", "3 s").simulate(seeds=2, progress=False)
    for shown in (swept._repr_html_(), results._repr_html_()):
        assert "a<b>" not in shown
        assert "a<b>&c" in Page(shown).text


@pytest.mark.parametrize("more", [{}, {"control": ["cubic", "reno"]}, {"rtt": ["20 ms", "80 ms"]}, {"flows": 3}])
def test_a_dumbbell_has_no_key_without_effect(more: dict[str, Any]) -> None:
    made = Scenario.dumbbell(**{"rate": "4 Mbit/s", "rtt": "20 ms", **more})
    assert made.check().warnings == ()
    assert all(("stagger" in group) == (group["count"] > 1) for group in made.to_dict()["traffic"])


def test_flows_of_a_sweep_start_apart() -> None:
    made = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms").sweep(flows=[2, 8])
    assert made.to_dict()["traffic"][0]["stagger"] == "100 ms"
    kept = Scenario.dumbbell(rate="4 Mbit/s", rtt="20 ms").set("traffic.flow.stagger", "1 s").sweep(flows=[2, 8])
    assert kept.to_dict()["traffic"][0]["stagger"] == "1 s"
