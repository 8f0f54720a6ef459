"""Every page of the lab in a browser: what it is made of, its figures and sliders, the keyboard, and its use without
sight or on a telephone."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_browser import COLOURS, DIFFER, ENDED, IMAGES, PAGES, PATIENCE, ROOT, Open, pages_of, sliders
from playwright.sync_api import Browser, Page, expect

AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
MOST_OCTETS = 3_000_000

# Functions of a page: its security policy forbids texts that would be evaluated.
FOCUS = """() => {
  const one = document.activeElement;
  const style = getComputedStyle(one);
  const hasOutline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
  const isVisible = one.matches(':focus-visible') && hasOutline;
  return [one === document.body ? 'BODY' : one.id || one.textContent.trim(), isVisible];
}"""
FINDINGS = """async () => {
  const { violations } = await axe.run(document, { preload: false });
  return violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html).join(' ')}`);
}"""


def test_the_lab_is_small_and_every_text_is_a_page(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()}
    assert names >= {*PAGES, "LICENCES.txt", "data.js", "engine.cjs", "style.css"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < MOST_OCTETS
    assert [name for name in names if name.endswith(".html") and name not in PAGES] == []


def test_the_pages_have_the_built_simulator_and_the_scenarios_without_files(folder: Path) -> None:
    script = (folder / "data.js").read_text(encoding="utf-8")
    data = json.loads(script.removeprefix("globalThis.cellwayData = ").rstrip().removesuffix(";"))
    built = (folder.parent / "cellway.wasm").read_bytes()
    assert gzip.decompress(base64.b64decode(data["wasm"])) == built
    shipped = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "scenarios").glob("*.toml")}
    files = ("trace = {", "workload:")
    without = {name: text for name, text in shipped.items() if not any(words in text for words in files)}
    assert data["scenarios"] == without
    licences = (folder / "LICENCES.txt").read_text(encoding="utf-8")
    assert all(name in licences for name in ("Cellway", "uPlot", "serde 1.", "toml_edit "))


@pytest.fixture(scope="module", params=PAGES)
def shown(request: pytest.FixtureRequest, browser: Browser, folder: Path) -> Iterator[Page]:
    """A page whose first run has ended. Tests with it are run page by page."""
    with pages_of(browser, folder) as opened:
        yield opened(request.param)


def test_a_slider_moves_the_figures(shown: Page) -> None:
    canvases = shown.locator(".figure canvas")
    assert max(canvases.evaluate_all(f"(all) => all.map({COLOURS})")) > 3, "the figures are blank"
    before = shown.evaluate(IMAGES)
    slider = sliders(shown).first
    slider.focus()
    value = slider.get_attribute("aria-valuetext")
    slider.press("ArrowRight")
    if slider.get_attribute("aria-valuetext") == value:
        slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") != value
    shown.wait_for_function(DIFFER, arg=before)
    expect(shown.locator("#state")).to_have_text(ENDED, timeout=PATIENCE)
    assert max(canvases.evaluate_all(f"(all) => all.map({COLOURS})")) > 3


def test_the_keyboard_reaches_every_control_and_shows_where_it_is(shown: Page) -> None:
    wanted = shown.locator("button:enabled:visible, select:visible, input:visible, textarea").evaluate_all(
        "(all) => all.filter((one) => !one.closest('#form')).map((one) => one.id || one.textContent.trim())"
    )
    # Only while a run is in progress.
    wanted = [one for one in wanted if one != "stop"]
    assert len(wanted) > 5
    shown.locator("h1").evaluate("(one) => { one.tabIndex = -1; one.focus(); }")
    reached: dict[str, bool] = {}
    # The form of a scenario has some 200 controls.
    for _ in range(400):
        shown.keyboard.press("Tab")
        where, is_visible = shown.evaluate(FOCUS)
        if where == "BODY":
            break
        reached[where] = is_visible
    assert set(wanted) - set(reached) == set()
    assert [where for where, is_visible in reached.items() if not is_visible] == []


def test_a_page_fits_a_telephone(shown: Page) -> None:
    wide = shown.viewport_size
    assert wide is not None
    shown.set_viewport_size({"width": 400, "height": 800})
    assert shown.evaluate("() => document.documentElement.scrollWidth") <= 400
    # The figures are as wide as there is room.
    shown.wait_for_function(
        """() => [...document.querySelectorAll('.figure canvas')]
          .every((one) => one.getBoundingClientRect().right <= 400)"""
    )
    assert shown.evaluate("() => document.documentElement.scrollWidth") <= 400
    shown.set_viewport_size(wide)


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(pages: Open, name: str) -> None:
    # The policy of the page would keep the program of the test out.
    page = pages(name, bypass_csp=True, color_scheme="light")
    page.locator("#stage").get_by_role("button", name="Watch it move").press("Enter")
    expect(page.locator("#stage").get_by_role("button", name="Step")).to_be_enabled(timeout=PATIENCE)
    page.locator("#stage").get_by_label("Look at").select_option(index=1)
    page.evaluate("(text) => { (0, eval)(text); }", AXE.read_text(encoding="utf-8"))
    assert page.evaluate(FINDINGS) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(FINDINGS) == []
