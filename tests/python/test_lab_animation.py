"""The animation of the lab: it plays, steps, goes to any time, and follows the sliders."""

from __future__ import annotations

import re

import pytest
from lab_browser import COLOURS, PATIENCE, Open, sliders
from playwright.sync_api import Page, expect


def go_to(page: Page, seconds: int) -> None:
    """Move the time of the animation, and wait until it is shown."""
    page.locator("#stage-time").evaluate(
        "(one, to) => { one.value = String(to); one.dispatchEvent(new Event('input')); }", seconds
    )
    spoken = re.compile(rf"at {seconds}\.0+ s:")
    expect(page.locator("#stage canvas").first).to_have_attribute("aria-label", spoken, timeout=PATIENCE)


def test_the_animation_follows_the_sliders_and_goes_to_the_end(pages: Open) -> None:
    page = pages("one-queue.html")
    stage = page.locator("#stage")
    stage.get_by_role("button", name="Watch it move").press("Enter")
    expect(stage.get_by_role("button", name="Step")).to_be_enabled(timeout=PATIENCE)
    go_to(page, 6)
    canvas = stage.locator("canvas").first
    of_one_queue = canvas.get_attribute("aria-label")
    # Two moves one after the other: it shows the same time of the newest scenario.
    sliders(page).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([canvas, before]) => /at 6\\.0+ s:/.test(canvas.ariaLabel) && canvas.ariaLabel !== before",
        arg=[canvas.element_handle(), of_one_queue],
    )
    followed = canvas.get_attribute("aria-label")
    fresh = pages("one-queue.html", "#multiplexing.channel=per-conversation")
    fresh.locator("#stage").get_by_role("button", name="Watch it move").press("Enter")
    expect(fresh.locator("#stage").get_by_role("button", name="Step")).to_be_enabled(timeout=PATIENCE)
    go_to(fresh, 6)
    assert fresh.locator("#stage canvas").first.get_attribute("aria-label") == followed
    go_to(page, 60)
    expect(stage.locator(".note")).to_have_text("The run has ended.", timeout=PATIENCE)


@pytest.mark.parametrize("name", ["one-queue.html", "gateways.html", "index.html"])
def test_the_animation_plays_steps_and_shows_what_waits(pages: Open, name: str) -> None:
    page = pages(name)
    stage = page.locator("#stage")
    stage.get_by_role("button", name="Watch it move").press("Enter")
    canvas = stage.locator("canvas").first
    expect(stage.get_by_role("button", name="Step")).to_be_enabled(timeout=PATIENCE)
    seek = stage.get_by_label("Time")
    go_to(page, 4)
    assert canvas.evaluate(COLOURS) > 3, "the picture is blank"
    # The first queue and the first flow of the list.
    choice = stage.get_by_label("Look at")
    options = choice.locator("option").all_text_contents()
    assert options[0] == "nothing"
    choice.select_option(next(option for option in options if option.startswith("Queue ")))
    expect(stage.locator(".inspected")).to_have_text(re.compile(r"(cell|packet)s? waits? ?"))
    choice.select_option(next(option for option in options if option.startswith("Flow ")))
    expect(stage.locator(".inspected")).to_have_text(re.compile("window|no open connection"))
    # Play to a later time; a step then ends it, and goes on by less than a packet takes.
    image = canvas.evaluate("(one) => one.toDataURL()")
    before = float(seek.input_value())
    stage.get_by_role("button", name="Play").press("Enter")
    page.wait_for_function("(t) => Number(document.getElementById('stage-time').value) > t + 0.01", arg=before)
    stage.get_by_role("button", name="Pause").press("Enter")
    expect(stage.get_by_role("button", name="Play")).to_be_visible()
    assert canvas.evaluate("(one) => one.toDataURL()") != image
    # From a known time, a step ends at the next event: there is one in each round trip, of at most 175 ms.
    go_to(page, 5)
    stage.get_by_role("button", name="Step").press("Enter")
    page.wait_for_function("() => Number(document.getElementById('stage-time').value) > 5")
    assert float(seek.input_value()) < 5.175
    # Back is the same state again.
    go_to(page, 4)
    page.wait_for_function("([canvas, image]) => canvas.toDataURL() === image", arg=[canvas.element_handle(), image])
