"""The course of the lab: front matters, scenarios, sliders, exercises and numbers of theory, by the compiled module."""

from __future__ import annotations

import functools
import re
import tomllib
from pathlib import Path
from typing import Any

import cellway
import polars as pl
import pytest

COURSE = Path(__file__).resolve().parents[2] / "web/course"
NAMES = sorted(path.stem for path in COURSE.glob("*.md"))
KEYS = {"title", "about", "figures", "sliders", "command", "exercise"}
EXERCISE = {"kind", "ask", "subject", "metric", "unit", "why"}
KINDS = {"set": {"solution"}, "number": {"setting", "answer_unit", "answer_factor", "within"}}
OPTIONAL = {"set": {"least", "most", "limits"}, "number": {"least", "most"}}


@functools.cache
def front(name: str) -> dict[str, Any]:
    """Return the front matter of a page."""
    found = re.match(r"\+\+\+\n(.*?)\n\+\+\+\n", (COURSE / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, f"{name}.md: a front matter between two lines +++"
    return tomllib.loads(found[1])


def value(text: str) -> Any:
    """Return a value as `--set` reads it."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


@functools.cache
def results(name: str, settings: tuple[tuple[str, str], ...]) -> cellway.Results:
    """Return the results of a page's scenario with settings."""
    changes = {key: value(text) for key, text in settings}
    return cellway.simulate(COURSE / f"{name}.toml", seeds=1, set=changes, progress=False)


def rows(name: str, settings: dict[str, str]) -> dict[tuple[str, str], tuple[float, str]]:
    """Return the summary of a run: value and unit by subject and metric."""
    words = [pl.col(word).cast(pl.String) for word in ("subject", "metric", "unit")]
    table = results(name, tuple(settings.items())).arrow("summary").select(*words, "value")
    return {(subject, metric): (number, unit) for subject, metric, unit, number in table.iter_rows()}


def start(name: str) -> dict[str, str]:
    """Return the settings of the sliders at the beginning."""
    return {slider["key"]: slider["values"][slider["start"]] for slider in front(name)["sliders"]}


def is_within(exercise: dict[str, Any], number: float) -> bool:
    return exercise.get("least", -1e300) <= number <= exercise.get("most", 1e300)


def test_the_course_has_ten_pages() -> None:
    assert [name[:2] for name in NAMES] == [f"{number:02}" for number in range(1, 11)]


@pytest.mark.parametrize("name", NAMES)
def test_the_front_matter_is_complete(name: str) -> None:
    page = front(name)
    assert KEYS <= set(page) <= KEYS | {"theory"}
    assert len(page["exercise"]) == 3
    assert {exercise["kind"] for exercise in page["exercise"]} == {"set", "number"}
    for exercise in page["exercise"]:
        required = EXERCISE | KINDS[exercise["kind"]]
        assert required <= set(exercise) <= required | OPTIONAL[exercise["kind"]]
        assert "least" in exercise or "most" in exercise
    # The command takes the file that the page copies.
    assert page["command"].split()[-2] == f"{name[3:]}.toml"


@pytest.mark.parametrize("name", NAMES)
def test_the_scenario_has_no_problems_and_no_warnings(name: str) -> None:
    checked = cellway.check(COURSE / f"{name}.toml")
    assert not checked.warnings
    scenario = tomllib.loads((COURSE / f"{name}.toml").read_text(encoding="utf-8"))
    assert scenario["name"] == name[3:]


@pytest.mark.parametrize("name", NAMES)
def test_the_figures_have_their_series(name: str) -> None:
    words = [pl.col(word).cast(pl.String) for word in ("subject", "metric")]
    series = set(results(name, tuple(start(name).items())).arrow("series").select(*words).unique().iter_rows())
    for figure in front(name)["figures"]:
        assert any(metric in figure["metrics"] for _, metric in series), figure
        for subject in figure.get("subjects", []):
            assert any((subject, metric) in series for metric in figure["metrics"]), (figure, subject)


# A queue without marks, by which the page shows why marks are better.
WARNS = {("10-l4s", "buffer.queue", "fifo"): "has no effect: no queue marks packets"}


@pytest.mark.parametrize("name", NAMES)
def test_sliders_begin_with_the_scenario_and_each_position_is_accepted(name: str) -> None:
    assert rows(name, {}) == rows(name, start(name))
    for slider in front(name)["sliders"]:
        for text in slider["values"]:
            checked = cellway.check(COURSE / f"{name}.toml", set={slider["key"]: value(text)})
            expected = WARNS.get((name, slider["key"], text))
            assert all(expected is not None and expected in warning.message for warning in checked.warnings)
            assert bool(checked.warnings) == (expected is not None)


@pytest.mark.parametrize("name", NAMES)
def test_every_slider_changes_the_result(name: str) -> None:
    """At the beginning, or with the solution of an exercise."""
    solutions = [exercise["solution"] for exercise in front(name)["exercise"] if "solution" in exercise]
    for slider in front(name)["sliders"]:
        changed = False
        for settings in ({}, *solutions):
            of = [rows(name, {**start(name), **settings, slider["key"]: text}) for text in slider["values"]]
            changed = changed or any(one != of[0] for one in of[1:])
        assert changed, slider["key"]


@pytest.mark.parametrize("name", NAMES)
def test_exercises_can_be_solved_and_are_not_solved_at_the_start(name: str) -> None:
    begin = start(name)
    sliders = {slider["key"]: slider["values"] for slider in front(name)["sliders"]}
    for exercise in front(name)["exercise"]:
        row = exercise["subject"], exercise["metric"]
        settings = exercise["solution"] if exercise["kind"] == "set" else exercise["setting"]
        for key, text in settings.items():
            assert text in sliders[key], (exercise["ask"], key)
        number, unit = rows(name, {**begin, **settings})[row]
        assert unit == exercise["unit"], exercise["ask"]
        assert is_within(exercise, number), (exercise["ask"], number)
        if exercise["kind"] == "set":
            limits = exercise.get("limits", {})
            assert all(text in sliders[key] for key, texts in limits.items() for text in texts)
            assert all({**begin, **settings}[key] in texts for key, texts in limits.items())
            solved = all(begin[key] in texts for key, texts in limits.items())
            assert not (solved and is_within(exercise, rows(name, begin)[row][0])), exercise["ask"]


def test_the_spacer_has_the_content_of_the_theorem() -> None:
    """Theorem 3 with a segment of 32 cells, two segments for an acknowledgement, and the delay of the scenario."""
    name, cell, cells = "05-spacer", 424.0, 32
    before = 33.92e6 / cell
    # Four times the delay of a link and the time of a cell, and that of one more cell before the spacer.
    around = 4 * (446.875e-6 + 1 / before) + 1 / before
    for theory in front(name)["theory"]:
        sliders = {slider["key"]: slider["values"] for slider in front(name)["sliders"]}
        rate_key, window_key = theory["keys"]
        for rate, numbers in zip(sliders[rate_key], theory["values"], strict=True):
            behind = float(rate.split()[0]) * 1e6 / cell
            for window, number in zip(sliders[window_key], numbers, strict=True):
                segments = int(window.split()[0]) / 1476
                delta = around - 1 / behind
                least = max(0.0, segments * cells - behind * (delta + 2 * cells / behind))
                largest = least + 2 * cells * (1 - behind / before)
                expected = {"queue_min": least, "queue_max": largest}[theory["metric"]]
                assert number == pytest.approx(expected, abs=0.051), (theory["label"], rate, window)
                simulated, unit = rows(name, {rate_key: rate, window_key: window})[theory["subject"], theory["metric"]]
                assert unit == theory["unit"]
                # The theorem counts fluid, the simulator whole cells.
                assert simulated == pytest.approx(number, abs=1.0), (theory["label"], rate, window)
