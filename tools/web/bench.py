"""Measure the built lab in Chromium: first paint from the disk, the time of a run, figures while a slider is dragged.

    python tools/web/bench.py [--pages target/web/lab] [--times 9]

The run is `three-hops.toml`: 60 s of three transfers over three links of cells at 1.5 Mbit/s. Let the machine be idle.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
from pathlib import Path

from cellway.browser import fragment
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = Path(__file__).with_name("three-hops.toml")
SECONDS = re.compile(r"simulated in ([\d.]+) s")
# The length of a drag (ms), and the time between two positions of the slider.
DRAG, STEP = 3000, 50

# Moves the first slider to and fro as a hand would, and counts the frames in which the figures have changed.
DRAGGED = """async ([length, step]) => {
  const slider = document.querySelector('#sliders input[type=range]');
  const image = () => [...document.querySelectorAll('.figure canvas')].map((canvas) => canvas.toDataURL()).join();
  const [start, middle] = [performance.now(), Number(slider.value)];
  let [before, frames, moved, position] = [image(), 0, start, 0];
  for (;;) {
    const now = await new Promise(requestAnimationFrame);
    const after = image();
    frames += after !== before;
    before = after;
    if (now - start > length) {
      return frames / ((now - start) / 1000);
    }
    if (now - moved > step) {
      moved = now;
      position += 1;
      slider.value = String(middle + (position % 8) - 4);
      slider.dispatchEvent(new Event('input', { bubbles: true }));
    }
  }
}"""
PAINT = """() => performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)[0]"""


def opened(browser: Browser, address: str) -> Page:
    """Open the lab and wait for its first run."""
    page = browser.new_context().new_page()
    page.goto(address)
    page.wait_for_function("() => /simulated in/.test(document.getElementById('state').textContent)")
    return page


def seconds(page: Page) -> float:
    """Return the time of the last run, as the page prints it."""
    found = SECONDS.search(page.locator("#state").text_content() or "")
    assert found is not None
    return float(found[1])


def again(page: Page) -> float:
    """Run the scenario once more."""
    page.evaluate("() => { document.getElementById('state').textContent = ''; }")
    page.locator("#run").press("Enter")
    page.wait_for_function("() => /simulated in/.test(document.getElementById('state').textContent)")
    return seconds(page)


def row(name: str, unit: str, values: list[float]) -> str:
    """Return a line of the table."""
    least, middle, most = min(values), statistics.median(values), max(values)
    return f"| {name} | {middle:.3g} {unit} | {least:.3g} to {most:.3g} | {len(values)} |"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="Measure the built lab in Chromium.")
    parser.add_argument("--pages", type=Path, default=ROOT / "target/web/lab", help="the folder of the pages")
    parser.add_argument("--times", type=int, default=9, help="repetitions of each measurement")
    given = parser.parse_args()
    index = given.pages.resolve() / "index.html"
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if not index.is_file() or program is None:
        raise SystemExit(f"{index} or Chromium is missing: make lab-pages; Debian: chromium")
    address = index.as_uri() + fragment(SCENARIO.read_text(encoding="utf-8"), SCENARIO.name)
    paints: list[float] = []
    first: list[float] = []
    warm: list[float] = []
    rates: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        version = browser.version
        for _ in range(given.times):
            page = opened(browser, address)
            paints.append(page.evaluate(PAINT))
            first.append(1000 * seconds(page))
            warm.extend(1000 * again(page) for _ in range(5))
            rates.append(page.evaluate(DRAGGED, [DRAG, STEP]))
            page.context.close()
        browser.close()
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Chromium {version} without a display")
    print("| measurement | median | range | times |\n|---|---|---|---|")
    print(row("first contentful paint, from the disk", "ms", paints))
    print(row("60 s of three hops, first run of a page", "ms", first))
    print(row("the same, later runs", "ms", warm))
    print(row("frames with new figures while a slider moves", "1/s", rates))


if __name__ == "__main__":
    main()
