"""Pages in the browser of the desktop, and those of the lab, of which a package that was built with them has a copy."""

from __future__ import annotations

import base64
import os
import shutil
import sys
import tempfile
import webbrowser
import zlib
from contextlib import suppress
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from cellway import _native

PAGES = Path(__file__).parent / "_lab"
"""The folder of the pages. The build of the package fills it, if it can build them."""

LONGEST = 200_000
"""The longest scenario that an address may hold (octets), as `web/src/address.ts` has it."""

NO_PAGES = (
    "this package was built without the pages of the lab. Where Node and the target wasm32-unknown-unknown of Rust "
    "are installed, `make wheel` in a checkout builds a package with them, and `make lab` shows them at once"
)


def show(page: Path) -> bool:
    """Open a page with the browser of the desktop; return false if there is none."""
    screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if sys.platform == "linux" and not screen:
        # A browser for terminals would take this one.
        return False
    with suppress(webbrowser.Error):
        if type(webbrowser.get()) is webbrowser.GenericBrowser and not os.environ.get("BROWSER"):
            # The only one is for terminals, too.
            return False
    return webbrowser.open(page.resolve().as_uri())


class NoPagesError(_native.Error):
    """The package has no pages of the lab."""


def pages() -> Path:
    """Return the folder of the pages."""
    if not (PAGES / "index.html").is_file():
        raise NoPagesError(f"{PAGES}: there is no lab: {NO_PAGES}")
    return PAGES


def fragment(text: str, name: str) -> str:
    """Return the part of an address that holds a scenario, from `#` on; `name` is that of the text in a message."""
    octets = text.encode()
    if len(octets) > LONGEST:
        raise _native.Error(
            f"{name}: the scenario has {len(octets)} octets; accepted in an address: up to {LONGEST}. "
            "Paste the text into the lab instead"
        )
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = base64.urlsafe_b64encode(packer.compress(octets) + packer.flush()).decode().rstrip("=")
    return "#" + urlencode({"scenario": packed, "point": 0, "replication": 0})


def address(text: str | None, name: str, folder: Path | None = None) -> str:
    """Return the address of the lab that shows a text, or of the lab as it begins; `folder` has the pages."""
    index = ((folder or pages()) / "index.html").resolve().as_uri()
    return index if text is None else index + fragment(text, name)


def page(text: str | None, where: str) -> Path:
    """Return a page that shows an address: programs that open files drop its part after `#`, so a page leads there."""
    if text is None:
        return pages() / "index.html"
    file = Path(tempfile.mkdtemp(prefix="cellway-lab-")) / "lab.html"
    target = escape(where, quote=True)
    file.write_text(
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Cellway lab</title>\n'
        f'<meta http-equiv="refresh" content="0; url={target}">\n<p><a href="{target}">The lab</a></p></html>\n',
        encoding="utf-8",
    )
    return file


def copy(out: Path, *, force: bool) -> Path:
    """Copy the pages to a folder and return it. With `force` those of an earlier copy are replaced, and no others."""
    source = pages()
    if out.is_symlink() or out.exists():
        if not force:
            raise _native.Error(f"{out} exists; --force replaces an earlier copy of the lab")
        if out.is_symlink() or not (out / "index.html").is_file() or not (out / "engine.cjs").is_file():
            raise _native.Error(f"{out} is no copy of the lab, so it is kept; accepted: a new folder")
    shutil.copytree(source, out, dirs_exist_ok=force)
    return out
