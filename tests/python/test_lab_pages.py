"""The pages of the lab in a browser, opened from the disk: figures, sliders, keyboard, addresses that are wrong.

Skipped where the lab cannot be built, or without Chromium. Nothing waits for a fixed time.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import zlib
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
AXE = ROOT / "web/node_modules/axe-core/axe.min.js"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ENDED = re.compile("simulated in")
# The longest wait for a condition (ms): two cores may be busy with other tests.
PATIENCE = 60_000
MOST_OCTETS = 3_000_000

# Functions of a page: its security policy forbids texts that would be evaluated.
IMAGES = "() => [...document.querySelectorAll('.figure canvas')].map((canvas) => canvas.toDataURL())"
DIFFER = f"(before) => ({IMAGES})().some((image, index) => image !== before[index])"
COLOURS = """(canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""
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


def raw(octets: bytes) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return base64.urlsafe_b64encode(packer.compress(octets) + packer.flush()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("scenario", "why"),
    [
        ("%25%25%25", "cannot be read"),
        ("AAAA", "it is no compressed text"),
        (raw(b"version = 1\n# " + b"x" * 200_000), "longer than 200000 octets"),
        # 100 MB: decompressing ends at the limit.
        (raw(bytes(100_000_000)), "longer than 200000 octets"),
        (raw(b"\xff\xfe"), "cannot be read"),
    ],
    ids=["garbage", "no-stream", "too-long", "bomb", "no-utf-8"],
)
def test_an_address_that_is_wrong_is_an_error_in_place(pages: Open, scenario: str, why: str) -> None:
    page = pages("index.html", f"#scenario={scenario}", ran=False)
    expect(page.locator("#address")).to_contain_text(why, timeout=PATIENCE)
    # The lab works all the same.
    expect(page.locator("#state")).to_have_text(ENDED, timeout=PATIENCE)


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


EVIL = "<img src=x onerror=document.title=1>"
HTML = [
    # In the name of the scenario, of a node, of a key, and in an axis.
    ("name", lambda text: re.sub(r"(?m)^name = .*", f"name = '{EVIL}'", text, count=1)),
    ("node", lambda text: re.sub(r'(?m)^name = "\w+"\nkind', f"name = '{EVIL}'\nkind", text, count=1)),
    ("key", lambda text: f"'{EVIL}' = 1\n{text}"),
    ("axis", lambda text: f'{text}\n[sweep]\naxes = {{ "buffer.size" = ["{EVIL}", "64 KiB"] }}\n'),
]


@pytest.mark.parametrize("change", [change for _, change in HTML], ids=[where for where, _ in HTML])
def test_no_text_of_an_address_is_html(pages: Open, change: Callable[[str], str]) -> None:
    text = change((ROOT / "web/course/01-window.toml").read_text(encoding="utf-8"))
    assert EVIL in text
    page = pages("index.html", hash_of(text), ran=False)
    # It is refused, or runs.
    expect(page.locator("#state")).to_have_text(re.compile("simulated in|cannot be run"), timeout=PATIENCE)
    refused = state(page).startswith("This")
    assert refused == (page.locator("#problems .problem").count() > 0)
    assert page.locator("img").count() == 0
    assert page.title() == "Cellway lab"
    # It is shown as text.
    assert page.locator("#text").input_value() == text
    fields = page.locator("#form input").evaluate_all("(all) => all.map((one) => one.value)")
    assert EVIL in " ".join([*page.locator("#problems, #state").all_text_contents(), *fields])


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


def test_a_link_to_another_scenario_is_opened_in_place(pages: Open) -> None:
    page = pages("index.html")
    text = (ROOT / "web/course/01-window.toml").read_text(encoding="utf-8")
    page.evaluate("(hash) => { location.hash = hash; }", hash_of(text))
    expect(page.locator("#text")).to_have_value(text, timeout=PATIENCE)


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
