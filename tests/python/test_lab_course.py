"""The course of the lab: its exercises, and its pages as scenarios in the lab."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from lab_browser import COURSE_PAGES, ENDED, PATIENCE, Open, sliders
from playwright.sync_api import Locator, Page, expect


def test_an_exercise_counts_the_run_of_the_sliders_only(pages: Open) -> None:
    """A run that ends after its slider has moved on is no answer."""
    page = pages("bufferbloat.html")
    box = page.locator("fieldset.exercise").nth(1)
    page.evaluate(
        """() => {
          const slider = document.querySelector('#sliders input');
          for (const position of ['3', '0']) {
            slider.value = position;
            slider.dispatchEvent(new Event('input', { bubbles: true }));
          }
          [...document.querySelectorAll('fieldset.exercise')][1].querySelector('button').click();
        }"""
    )
    expect(box.locator(".verdict")).to_have_text(re.compile("^Not yet"), timeout=PATIENCE)


# All have the same script.
@pytest.mark.parametrize("name", COURSE_PAGES[::4])
def test_a_page_of_the_course_opens_in_the_lab_as_it_is(pages: Open, name: str) -> None:
    page = pages(name)
    spec = data(page)
    slider = spec["sliders"][0]
    position = next(index for index in range(len(slider["values"])) if index != slider["start"])
    other = slider["values"][position]
    page.evaluate(
        "([key, value]) => { location.hash = new URLSearchParams({ [key]: value }).toString(); }",
        [slider["key"], other],
    )
    expect(sliders(page).first).to_have_value(str(position), timeout=PATIENCE)
    page.locator("#open").click()
    expect(page.locator("#text")).to_have_value(re.compile(re.escape(other)), timeout=PATIENCE)
    expect(page.locator("#state")).to_have_text(ENDED, timeout=PATIENCE)


def data(page: Page) -> dict[str, Any]:
    """Return the front matter of a page of the course."""
    spec = json.loads(page.locator("#page").text_content() or "")
    assert isinstance(spec, dict)
    return spec


def checked(box: Locator, button: str) -> str:
    """Press the button until the run that it needs has ended; return the verdict."""
    verdict = box.locator(".verdict")
    handle = box.get_by_role("button", name=button).element_handle()
    box.page.wait_for_function(
        """([button, verdict]) => {
          if (!button.disabled) {
            button.click();
          }
          return /^(Right|Not yet)\\./.test(verdict.textContent);
        }""",
        arg=[handle, verdict.element_handle()],
    )
    return verdict.text_content() or ""


@pytest.mark.parametrize("name", COURSE_PAGES)
def test_the_exercises_accept_their_solution_and_not_the_start(pages: Open, name: str) -> None:
    page = pages(name)
    exercises = data(page)["exercise"]
    boxes = page.locator("fieldset.exercise")
    assert boxes.count() == len(exercises) == 3
    for index, exercise in enumerate(exercises):
        box = boxes.nth(index)
        if exercise["kind"] == "set":
            page.locator("#reset").press("Enter")
            assert checked(box, "Check").startswith("Not yet."), exercise["ask"]
            box.locator("summary").press("Enter")
            box.get_by_role("button", name="Set the sliders so").press("Enter")
            assert checked(box, "Check").startswith("Right."), exercise["ask"]
        else:
            predicts(page, box, "-1")
            said = box.locator(".verdict").text_content() or ""
            assert said.startswith("Not yet."), exercise["ask"]
            simulated = re.search(r"([-\d.e+]+) \S* ?simulated", said)
            assert simulated is not None, said
            predicts(page, box, simulated[1])
            expect(box.locator(".verdict")).to_have_text(re.compile(r"^Right\."))


def predicts(page: Page, box: Locator, number: str) -> None:
    """Type a prediction and wait for its verdict."""
    box.locator("input").clear()
    box.locator("input").press_sequentially(number)
    button = box.get_by_role("button", name="Run and compare")
    button.press("Enter")
    expect(box.locator(".verdict")).to_contain_text(f"{float(number):g}", timeout=PATIENCE)
    expect(button).to_be_enabled(timeout=PATIENCE)
