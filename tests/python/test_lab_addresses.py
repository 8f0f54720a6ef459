"""Addresses of the lab: scenarios in them that are wrong, hostile or large, and links that are followed in place."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable

import pytest
from lab_browser import ENDED, PATIENCE, ROOT, Open, hash_of, state
from playwright.sync_api import expect


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


def test_a_link_to_another_scenario_is_opened_in_place(pages: Open) -> None:
    page = pages("index.html")
    text = (ROOT / "web/course/01-window.toml").read_text(encoding="utf-8")
    page.evaluate("(hash) => { location.hash = hash; }", hash_of(text))
    expect(page.locator("#text")).to_have_value(text, timeout=PATIENCE)
