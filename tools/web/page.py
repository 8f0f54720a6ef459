"""Make the lab page: `python tools/web/page.py ENGINE.wasm PAGE.html`.

One file, so that it works from a disk, too, where browsers fetch no other: the parts in `web/`, the simulator,
compressed, and the shipped scenarios that need no file.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Recorded links.
NEEDS_FILE = re.compile(r"^\s*(forward|back|both) = \{ trace = ", re.MULTILINE)


def scenarios() -> str:
    """Return the texts of the scenarios by name, as JSON that no text of them can end."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "scenarios").glob("*.toml"))}
    without = {name: text for name, text in texts.items() if not NEEDS_FILE.search(text)}
    return json.dumps(without).replace("<", "\\u003c")


def page(wasm: bytes) -> str:
    """Return the page."""
    parts = {
        "wasm": base64.b64encode(gzip.compress(wasm, 9, mtime=0)).decode(),
        "scenarios": scenarios(),
        **{path.name: path.read_text(encoding="utf-8") for path in (ROOT / "web").iterdir()},
    }
    for name in ("engine.js", "worker.js", "page.js"):
        if "</script" in parts[name]:
            sys.exit(f"web/{name} has the end of a script in it")
    return re.sub(r"\{\{([\w.]+)\}\}", lambda part: parts[part[1]], parts["index.html"])


if __name__ == "__main__":
    engine, target = map(Path, sys.argv[1:])
    text = page(engine.read_bytes())
    target.write_text(text, encoding="utf-8")
    print(f"{target}: {len(text.encode())} octets")
