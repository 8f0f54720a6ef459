"""The form and the text of a scenario in the lab: problems at their lines, sliders, and runs that take minutes."""

from __future__ import annotations

import re

from lab_browser import ENDED, PATIENCE, ROOT, Open, hash_of, sliders
from playwright.sync_api import expect


def test_a_wrong_scenario_has_its_problems_at_their_lines(pages: Open) -> None:
    text = (ROOT / "scenarios/bufferbloat.toml").read_text(encoding="utf-8").replace("duration", "duratoin")
    page = pages("index.html", hash_of(text), ran=False)
    problems = page.locator("#problems li")
    expect(problems.filter(has_text="did you mean duration?")).to_have_count(1, timeout=PATIENCE)
    expect(page.locator("#run")).to_be_disabled()
    line = 1 + text.split("duratoin")[0].count("\n")
    problems.get_by_role("button", name=f"line {line}").first.click()
    selected = page.locator("#text").evaluate("(text) => text.value.slice(text.selectionStart, text.selectionEnd)")
    assert selected.startswith("duratoin")
    page.locator("#text").fill(text.replace("duratoin", "duration"))
    expect(page.locator("#run")).to_be_enabled(timeout=PATIENCE)


# Ten transfers that fill 1 Gbit/s: hours.
LONG = """version = 1
name = "long"
run = { duration = "20000 s" }
buffer = { size = "1 MB" }
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]
link = [{ name = "l", between = ["a", "b"], rate = "1 Gbit/s", delay = "1 ms" }]
[[traffic]]
name = "t"
app = "bulk"
from = "a"
to = "b"
count = 10
access = { rate = "1 Gbit/s", delay = "1 ms" }
"""


def test_a_run_of_minutes_asks_first_and_can_be_stopped(pages: Open) -> None:
    page = pages("index.html", hash_of(LONG), ran=False)
    question = page.locator("#question")
    expect(question).to_be_visible(timeout=PATIENCE)
    expect(question).to_contain_text(re.compile(r"takes about \d+ s"))
    page.locator("#go-on").click()
    expect(question).to_be_hidden()
    done = float(page.locator("#progress").get_attribute("value") or 0)
    page.wait_for_function("(done) => Number(document.getElementById('progress').value) > done", arg=done)
    # While it runs the page does what is asked of it.
    page.locator("#numbers summary").click()
    expect(page.locator("#numbers")).to_have_attribute("open", "")
    expect(page.locator("#stop")).to_be_enabled()
    page.locator("#stop").click()
    expect(page.locator("#state")).to_have_text("Stopped.")
    page.locator("#shipped").select_option("bufferbloat")
    expect(page.locator("#run")).to_be_enabled(timeout=PATIENCE)
    expect(page.locator("#text")).to_have_value(re.compile("bufferbloat"))
    page.locator("#run").click()
    expect(page.locator("#state")).to_have_text(ENDED, timeout=PATIENCE)


def test_ten_strokes_on_a_slider_are_ten_positions(pages: Open) -> None:
    page = pages("index.html")
    slider = sliders(page).first
    start = int(slider.input_value())
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(slider).to_have_value(str(start + 10))
    value = slider.get_attribute("aria-valuetext")
    assert value is not None
    # The text follows, and the slider stays where it is.
    expect(page.locator("#text")).to_have_value(re.compile(re.escape(f'"{value}"')), timeout=PATIENCE)
    expect(page.locator("#state")).to_have_text(ENDED, timeout=PATIENCE)
    expect(slider).to_have_value(str(start + 10))


def test_a_field_of_the_form_keeps_focus_and_a_text_stays_one(pages: Open) -> None:
    page = pages("index.html")
    field = page.locator("[id='key-name']")
    field.fill("123")
    field.press("Tab")
    expect(page.locator("#text")).to_have_value(re.compile('name = "123"'), timeout=PATIENCE)
    assert page.evaluate("() => document.activeElement.className") == "place"
    expect(page.locator("#state")).to_have_text(re.compile("^123, "), timeout=PATIENCE)


def test_no_slider_is_offered_for_what_a_sweep_sets(pages: Open) -> None:
    page = pages("index.html")
    # Its variants set the buffer.
    page.locator("#shipped").select_option("incast")
    expect(page.locator("#state")).to_have_text(re.compile("^incast.*simulated in"), timeout=PATIENCE)
    field = page.locator(".key", has=page.locator("[id='key-buffer.size']"))
    expect(field).to_have_count(1)
    expect(field.locator(".pin")).to_have_count(0)
    assert page.locator("[id='slider-buffer.size']").count() == 0
