"""The document around a page: head, style, script. It has no reference to a network."""

from __future__ import annotations

from importlib.resources import files

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
