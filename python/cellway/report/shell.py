"""The document around a page: head, style, script. It has no reference to a network."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from cellway.report.html import escape, tag


def document(title: str, *body: str, script: str = "") -> str:
    """Return a whole, self-contained HTML document."""
    css = files("cellway.report").joinpath("page.css").read_text(encoding="utf-8")
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<link rel="icon" href="data:,">',
        tag("title", escape(title)),
        f"<style>\n{css}</style>",
        "</head>",
        "<body>",
        *body,
        f"<script>{script}</script>" if script else "",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def script(*names: str) -> str:
    """Return scripts of this package, one after the other."""
    return "\n".join(files("cellway.report").joinpath(name).read_text(encoding="utf-8") for name in names)


def write(path: Path, text: str) -> Path:
    """Write a page to a partial file and rename it: an existing page is complete. Returns the path."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    return path
