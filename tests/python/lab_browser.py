"""The pages of the lab in a browser, opened from the disk: fixtures and parts that several tests share.

Tests are skipped where the lab cannot be built, or without Chromium. Nothing waits for a fixed time.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lab
import pytest
from cellway import browser as addresses
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
COURSE = sorted((ROOT / "web/course").glob("*.md"))
COURSE_PAGES = [re.sub(r"^\d+-", "", path.stem) + ".html" for path in COURSE]
PAGES = ["index.html", *COURSE_PAGES]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ENDED = re.compile("simulated in")
# The longest wait for a condition (ms): two cores may be busy with other tests.
PATIENCE = 60_000

# Functions of a page: its security policy forbids texts that would be evaluated.
IMAGES = "() => [...document.querySelectorAll('.figure canvas')].map((canvas) => canvas.toDataURL())"
DIFFER = f"(before) => ({IMAGES})().some((image, index) => image !== before[index])"
COLOURS = """(canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""


@pytest.fixture(scope="module")
def folder() -> Path:
    """The built pages."""
    return lab.built()


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    """A browser of the system."""
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no browser is installed (Debian: chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


Open = Callable[..., Page]


@contextmanager
def pages_of(browser: Browser, folder: Path) -> Iterator[Open]:
    """Open pages that may not print an error, nor load anything but the files of the folder."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def check(url: str) -> None:
        if not url.startswith((folder.as_uri(), "blob:", "data:")):
            faults.append(f"request of {url}")

    def opened(name: str, hash: str = "", *, ran: bool = True, **options: Any) -> Page:
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type == "error" and faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: check(request.url))
        page.goto((folder / name).as_uri() + hash)
        if ran:
            expect(page.locator("#state")).to_have_text(ENDED, timeout=PATIENCE)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def pages(browser: Browser, folder: Path) -> Iterator[Open]:
    """Open pages; see `pages_of`."""
    with pages_of(browser, folder) as opened:
        yield opened


def hash_of(text: str) -> str:
    return addresses.fragment(text, "text")


def sliders(page: Page) -> Locator:
    return page.locator("#sliders input[type=range]")


def state(page: Page) -> str:
    return page.locator("#state").text_content() or ""
