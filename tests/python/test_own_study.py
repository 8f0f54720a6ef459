"""Figures and reports of somebody's own study: every documented call on tables that are not a paper's."""

from __future__ import annotations

import json
import re
import shutil
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellway
import polars as pl
import pytest
from cellway import plot
from cellway.__main__ import main
from cellway.plot import files, select
from cellway.report import chosen, study
from cellway.report.html import picture
from matplotlib.figure import Figure
from pages import Page

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"

STUDY = """
version = 1
name = "two offices"
description = "Two controls over three buffers <beside> a call"

[run]
duration = "4 s"
warmup = "1 s"
seeds = 2

[buffer]
size = "32 KiB"
per = "port"

[[node]]
name = "a"
kind = "router"

[[node]]
name = "b"
kind = "router"

[[link]]
name = "line"
between = ["a", "b"]
rate = "4 Mbit/s"
delay = "10 ms"

[[traffic]]
name = "call"
from = "a"
to = "b"
access = { rate = "100 Mbit/s", delay = "0 s" }
udp = { packet = "200 B", rate = "80 kbit/s" }

[[traffic]]
name = "copy"
app = "bulk"
count = 2
from = "a"
to = "b"
stagger = "100 ms"
access = { rate = "100 Mbit/s", delay = "0 s" }

[observe]
interval = "200 ms"
fairness-window = "500 ms"
queue = ["a>b"]
trace = ["copy"]

[sweep]
axes = { "tcp.variant" = ["cubic", "newreno"], "buffer.size" = ["16 KiB", "64 KiB", "256 KiB"] }
"""


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `study.toml`, and its results in `out/study`."""
    at = tmp_path_factory.mktemp("own")
    (at / "study.toml").write_text(STUDY)
    cellway.simulate(at / "study.toml", out=at / "out" / "study", progress=False)
    return at


@pytest.fixture(scope="session")
def results(place: Path) -> cellway.Results:
    return cellway.load(place / "out" / "study")


@pytest.fixture(scope="session")
def one_point(results: cellway.Results) -> cellway.Results:
    text = STUDY[: STUDY.index("[sweep]")]
    return cellway.simulate(text, progress=False)


def test_the_code_of_the_guide_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GUIDE.read_text()
    text = text[text.index("## Figures") :]
    monkeypatch.chdir(place)
    names: dict[str, Any] = {"cellway": cellway}
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, "python.md", "exec"), names)
    saved = set(re.findall(r'savefig\("([^"]+)"\)', text))
    assert len(saved) >= 5
    assert all((place / name).stat().st_size > 1000 for name in saved)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages that a browser was asked to open; there is a screen."""
    pages: list[str] = []
    monkeypatch.setenv("DISPLAY", ":7")
    monkeypatch.setattr("webbrowser.get", lambda: webbrowser.BackgroundBrowser("none"))
    monkeypatch.setattr("webbrowser.open", lambda page: pages.append(page) is None)
    return pages


def test_the_command_draws_lists_and_refuses_figures(
    place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = str(place / "out" / "study")
    assert main(["plot", folder, "--list"]) == 0
    assert re.search(r"^window +time +B +copy-1, copy-2$", capfd.readouterr().out, re.MULTILINE)
    out = tmp_path / "queue.pdf"
    words = ["--at", "a>b", "--x", "size", "--by", "variant", "--out", str(out)]
    assert main(["plot", folder, "queue_mean", *words]) == 0
    assert capfd.readouterr().out == f"{out}\n"
    assert out.is_file()
    assert (
        main(["plot", folder, "goodput", "--form", "time", "--where", "size=16 KiB", "--where", "variant=cubic"]) == 0
    )
    assert (place / "out" / "study" / "goodput.svg").is_file()
    worded = str(tmp_path / "slide.svg")
    words = ["--title", "Two offices", "--xlabel", "Buffer", "--ylabel", "Rate", "--width", "4"]
    assert main(["plot", folder, "goodput_total", "--at", "copy", "--out", worded, *words]) == 0
    assert 'width="288pt"' in Path(worded).read_text()
    assert main(["plot", folder, "goodput_total", "--at", "copy", "--out", worded, "--force", "--width", "50"]) == 2
    assert (
        main(["plot", folder, "queue", "--where", "size=16KiB", "--where", "size=256 KiB", "--where", "variant=cubic"])
        == 0
    )
    capfd.readouterr()
    assert main(["plot", folder, "goodptu"]) == 2
    assert capfd.readouterr().err.startswith("cellway: the results have no goodptu (did you mean goodput")


def test_a_figure_replaces_a_file_only_by_force(place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = str(place / "out" / "study")
    out = tmp_path / "thesis.svg"
    out.write_text("mine", encoding="utf-8")
    words = ["plot", folder, "queue_mean", "--at", "a>b", "--out"]
    assert main([*words, str(out)]) == 2
    assert f"{out} exists; --force replaces it" in capfd.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
    assert main([*words, str(out), "--force"]) == 0
    assert "<svg" in out.read_text(encoding="utf-8")
    missing = tmp_path / "missing"
    assert main([*words, str(missing / "queue.svg")]) == 2
    assert f"there is no folder {missing}" in capfd.readouterr().err


def test_a_figure_that_cannot_be_written_is_a_failure(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = place / "out" / "study"
    taken = folder / "queue_max.svg"
    taken.mkdir()
    try:
        assert main(["plot", str(folder), "queue_max"]) == 1
        assert str(taken) in capfd.readouterr().err
    finally:
        taken.rmdir()


def test_the_command_opens_a_report(
    place: Path,
    tmp_path: Path,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    folder = place / "out" / "study"
    assert main(["report", str(folder), "--open"]) == 0
    assert opened == [(folder / "report.html").as_uri()]
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    capfd.readouterr()
    simulate = ["simulate", str(place / "study.toml"), "--seeds", "1", "--open"]
    assert main(simulate) == 0
    (page,) = tmp_path.glob("cellway-two-offices-*/results/report.html")
    assert opened[1:] == [page.as_uri()]
    assert capfd.readouterr().out.endswith(f"\n\n{page}\n")
    # Once more in the same process: another folder.
    assert main(["-q", *simulate]) == 0
    printed = capfd.readouterr()
    assert printed.err == ""
    second = Path(printed.out.splitlines()[-1])
    assert second.is_file()
    assert second != page
    assert opened[2:] == [second.as_uri()]
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert main(["report", str(folder), "--open"]) == 0
    assert f"no browser was found; the report is in {folder / 'report.html'}" in capfd.readouterr().err
    assert len(opened) == 3


@pytest.mark.parametrize("json_too", [False, True])
def test_results_are_printed_if_their_report_fails(
    json_too: bool,
    place: Path,
    tmp_path: Path,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def build(folder: str, seed: int | None = None) -> Path:
        raise ValueError("no ink")

    monkeypatch.setattr("cellway.report.build", build)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    simulate = ["simulate", str(place / "study.toml"), "--seeds", "1", "--open"]
    assert main([*simulate, *(["--json"] if json_too else [])]) == 1
    printed = capfd.readouterr()
    (folder,) = tmp_path.glob("cellway-two-offices-*/results")
    failure = f"cellway: the results are in {folder}, but their report cannot be drawn: no ink"
    assert printed.err.splitlines()[-1] == failure
    assert (folder / "manifest.json").is_file()
    assert opened == []
    if json_too:
        told = json.loads(printed.out)
        assert (told["folder"], told["report"]) == (str(folder), None)
    else:
        assert "a>b" in printed.out
    one = tmp_path / "one.toml"
    one.write_text(STUDY[: STUDY.index("[sweep]")], encoding="utf-8")
    compare = ["compare", str(one), "--no-emulate", "--seeds", "1", "--out", str(tmp_path / "compared")]
    assert main([*compare, *(["--json"] if json_too else [])]) == 1
    printed = capfd.readouterr()
    assert printed.err.endswith("their report cannot be drawn: no ink\n")
    assert "goodput" in printed.out


def rows_of(results: cellway.Results, metric: str, subject: str) -> pl.DataFrame:
    return results.summary.filter(metric=metric, subject=subject)


def comparison() -> cellway.Comparison:
    return cellway.compare(STUDY[: STUDY.index("[sweep]")], emulate=False, progress=False)


CALLS: dict[str, Callable[[cellway.Results], Figure]] = {
    "metric": lambda r: plot.metric(r, "goodput_total"),
    "timeline": lambda r: plot.timeline(r, "window", at="copy-1"),
    "distribution": lambda r: plot.distribution(r, "delay"),
    "per_load": lambda r: plot.per_load(r, "queue_mean", "a>b"),
    "throughput": lambda r: plot.throughput(r, subject="copy"),
    "fairness": lambda r: plot.fairness(r),
    "utilisation": lambda r: plot.utilisation(r, port="a>b"),
    "offered_load": lambda r: plot.offered_load(r, port="a>b", x="buffer.size"),
    "contrast": lambda r: plot.contrast(
        r, r, "queue_mean", "a>b", names=("one", "the other"), x="buffer.size", panels="tcp.variant"
    ),
    "choices": lambda r: plot.choices(
        rows_of(r, "queue_mean", "a>b").rename({"tcp.variant": "variant"}), "Queue", lines="buffer.size"
    ),
    "transient": lambda r: plot.transient({"Queue": r.series("queue_mean", at="a>b").filter(pl.col("point") < 3)}),
    "window": lambda r: plot.window(r.series("window", at="copy-1").filter(point=0)),
    "throughput_over_time": lambda r: plot.throughput_over_time(r.series("throughput").filter(point=0), group="copy"),
    "curve": lambda r: plot.curve(
        cellway.stats.summarise(
            select.amounts(rows_of(r, "queue_mean", "a>b"), "buffer.size").rename({"tcp.variant": "line"}),
            ["line", "x"],
        ),
        "Buffer (B)",
        "Queue",
    ),
    "over_time": lambda r: plot.over_time(
        [plot.Panel("Queue", r.series("queue", at="a>b").filter(point=0, seed=r.runs["seed"].min()), changes=True)]
    ),
    "content": lambda r: plot.content(r.series("queue", at="a>b").filter(point=0, seed=r.runs["seed"].min())),
    "topology": plot.topology,
    "sources": lambda _: plot.sources(comparison()),
}
"""The documented figures, drawn of a study that is not a paper's."""

LACKING: dict[str, tuple[Callable[[cellway.Results], Figure], str]] = {
    "delay": (plot.delay, "no delay_mean_rtt.*utilisation"),
    "delay_deviation": (plot.delay_deviation, "no delay_sd_rtt.*utilisation"),
    "buffers": (
        lambda r: plot.buffers(rows_of(r, "queue_mean", "a>b"), "Queue"),
        "no axis buffer.sharing.*buffer.size",
    ),
    "compare": (lambda r: plot.compare(r.summary, "Goodput"), "no column label"),
    "deviations": (lambda r: plot.deviations(r.summary), "no column strip"),
}
"""The others, with what they say that the study lacks."""


def documented() -> set[str]:
    text = GUIDE.read_text()
    text = text[text.index("## Figures") : text.index("## Reports")]
    rows = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}


def test_every_documented_figure_is_tried_here() -> None:
    assert documented() == set(CALLS) | set(LACKING)


@pytest.mark.parametrize("name", CALLS)
def test_a_documented_figure_draws_a_study_that_is_not_a_papers(name: str, results: cellway.Results) -> None:
    figure = CALLS[name](results)
    assert figure.axes
    assert "<path" in plot.svg(figure)


@pytest.mark.parametrize("name", LACKING)
def test_a_figure_that_cannot_be_drawn_says_what_is_missing(name: str, results: cellway.Results) -> None:
    call, message = LACKING[name]
    with pytest.raises(plot.MissingDataError, match=message):
        call(results)


def test_everything_that_is_listed_can_be_drawn(results: cellway.Results) -> None:
    listed = plot.drawable(results)
    assert {"sweep", "time", "cdf"} == set(listed["form"])
    for name, form, _, subjects, _ in listed.iter_rows():
        if form == "sweep":
            figure = plot.metric(results, name, at=subjects[0])
        elif form == "time":
            figure = plot.timeline(results, name, at=subjects[0])
        else:
            figure = plot.distribution(results, name, at=subjects[0])
        assert figure.axes, (name, form)


def test_a_metric_is_laid_out_along_the_sweep(results: cellway.Results, place: Path) -> None:
    figure = plot.metric(place / "out" / "study", "queue_mean")
    (axes,) = figure.axes
    # Quantities are the scale, in their units; the idle direction is left out.
    assert axes.get_xlabel() == "buffer size"
    assert axes.get_ylabel() == "Mean queue (packet)"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["16 KiB", "64 KiB", "256 KiB"]
    assert len(axes.lines) == 2
    panels = plot.metric(results, "goodput", at=["copy-1", "copy-2"], by="variant")
    assert [axes.get_title(loc="left") for axes in panels.axes] == ["copy-1", "copy-2"]
    dots = plot.metric(results, "queue_mean", where={"size": "16 KiB"})
    assert [label.get_text() for label in dots.axes[0].get_yticklabels()] == ["cubic", "newreno"]


def test_without_a_sweep_each_subject_has_a_dot(one_point: cellway.Results) -> None:
    (axes,) = plot.metric(one_point, "goodput_total").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["call", "copy"]
    assert axes.get_xlabel() == "Goodput (Mbit/s)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: plot.metric(r, "goodptu"), r"no goodptu \(did you mean goodput"),
        (lambda r: plot.metric(r, "queue"), "queue over time only: use timeline"),
        (lambda r: plot.timeline(r, "queue_max"), "queue_max in the summary only: use metric"),
        (lambda r: plot.metric(r, "goodput", at="copy-9"), "no goodput of copy-9; they have that of call-1, copy-1"),
        (lambda r: plot.metric(r, "goodput", x="rate"), "no axis rate; its axes: tcp.variant, buffer.size"),
        (lambda r: plot.metric(r, "goodput", where={"size": "1 KiB"}), "its values: 16 KiB, 64 KiB, 256 KiB"),
        (lambda r: plot.metric(r, "goodput", x="size", by="size"), "must be two axes"),
        (lambda r: plot.timeline(r, "goodput"), "differ in more than two ways.*tcp.variant: cubic"),
        (lambda r: plot.timeline(r, "queue", seed=77), "no run of seed 77; their seeds: 1, 2"),
        (lambda r: plot.distribution(r, "window"), "no distribution of window; they have that of .*delay"),
    ],
)
def test_errors_list_what_there_is(call: Callable[[cellway.Results], Figure], message: str, results: Any) -> None:
    with pytest.raises(ValueError, match=message):
        call(results)


def test_a_figure_is_written_in_the_format_of_its_name(place: Path, tmp_path: Path) -> None:
    folder = place / "out" / "study"
    heads = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}
    for ending, head in heads.items():
        written = files.write(folder, "goodput_total", out=tmp_path / f"x{ending}")
        assert written.read_bytes().startswith(head)
        again = files.write(folder, "goodput_total", out=tmp_path / f"y{ending}")
        assert written.read_bytes() == again.read_bytes()
    with pytest.raises(ValueError, match=r"\.svg, \.pdf, \.png"):
        files.write(folder, "goodput_total", out=tmp_path / "x.gif")
    with pytest.raises(plot.ChoiceError, match="along the sweep"):
        files.write(folder, "queue", x="size", out=tmp_path / "x.svg")


@pytest.fixture(scope="session")
def document(place: Path) -> str:
    return cellway.report.build(place / "out" / "study").read_text()


def test_the_report_needs_nothing_else_and_is_small(document: str) -> None:
    assert len(document) < 2_000_000
    page = Page(document)
    assert all(link.startswith(("#", "data:")) for _, _, link in page.references)
    assert len(page.ids) == len(set(page.ids))
    assert "`" not in re.sub(r"<script.*?</script>|<pre.*?</pre>", "", document, flags=re.DOTALL)


def test_the_report_shows_what_was_asked_and_what_came_of_it(document: str) -> None:
    for part in ("network", "results", "time", "distributions", "numbers", "scenario", "manifest"):
        assert f'<section id="{part}">' in document, part
    for figure in ("goodput_total", "utilisation", "queue_mean", "jain", "cdf-delay"):
        assert f'id="figure-{figure}"' in document, figure
    assert "Two controls over three buffers &lt;beside&gt; a call" in document


def test_the_report_has_the_seeds_of_points_that_differ_in_them(place: Path, tmp_path: Path) -> None:
    whole = place / "out" / "study"
    assert "Seeds 2Duration" in Page(study.page(cellway.Results.from_folder(whole), "x")).text
    # As a sweep with --until leaves it: one point has a run less.
    folder = tmp_path / "study"
    shutil.copytree(whole, folder)
    runs = pl.read_parquet(folder / "runs.parquet")
    last = runs["run"].max()
    for name in ("runs", "summary", "series"):
        rows = pl.read_parquet(folder / f"{name}.parquet")
        rows.filter(pl.col("run") != last).write_parquet(folder / f"{name}.parquet")
    text = Page(study.page(cellway.Results.from_folder(folder), "x")).text
    assert "Seeds 1 to 2Duration" in text
    assert "Means of 1 to 2 seeds" in text


def data_of(document: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', document, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_series_of_every_point_are_in_the_page(document: str, results: cellway.Results) -> None:
    data = data_of(document, "traces-data")
    assert data["axes"] == ["tcp variant", "buffer size"]
    assert [point["at"] for point in data["points"]][:2] == [["cubic", "16 KiB"], ["cubic", "64 KiB"]]
    assert [panel["names"] for panel in data["panels"]][:2] == [["a>b"], ["copy-1", "copy-2"]]
    first = select.first_seed(results.series("queue", at="a>b")).filter(point=0)
    times, values = data["points"][0]["panels"][0][0]
    assert max(values) == first["value"].max()
    assert times == sorted(times)


def test_the_numbers_are_those_of_the_summary(document: str, results: cellway.Results) -> None:
    columns = {column["name"]: column for column in data_of(document, "numbers-data")}
    text = {name: [c["texts"][i] for i in c["rows"]] for name, c in columns.items() if "texts" in c}
    at = [
        row
        for row in range(len(columns["mean"]["rows"]))
        if (text["metric"][row], text["subject"][row]) == ("queue_mean", "a>b")
    ]
    expected = cellway.stats.summarise(rows_of(results, "queue_mean", "a>b"), results.axes)["mean"]
    assert [columns["mean"]["rows"][row] for row in at] == pytest.approx(expected.to_list(), rel=1e-4)


def test_a_study_without_a_sweep_or_series_has_a_page(one_point: cellway.Results) -> None:
    bare = cellway.Results(
        one_point.runs, one_point.arrow(), one_point.arrow("series").head(0), one_point.manifest, ["a `key` is odd"]
    )
    text = study.page(bare, "folder")
    assert '<section id="time">' not in text
    assert "1 warning" in text
    assert "a <code>key</code> is odd" in text


def test_another_seed_can_be_shown(place: Path, tmp_path: Path) -> None:
    text = study.page(cellway.load(place / "out" / "study"), "study", seed=2)
    assert "Seed 2." in text
    with pytest.raises(plot.MissingDataError, match="seeds: 1, 2"):
        study.page(cellway.load(place / "out" / "study"), "study", seed=3)


def test_a_figure_of_the_page_is_that_of_a_file(results: cellway.Results) -> None:
    # Letters were measured as for PNG, and those of long names were cut at the edge.
    on_page, alone = (chosen.figures(results)[0][0] for _ in range(2))
    framed = picture(plot.svg(alone.figure), f"{alone.title}: {alone.caption}", width=study._pixels(alone.figure))
    assert framed in study._plate(on_page)
