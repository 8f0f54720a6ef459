"""The examples in Python of the pages of the guide."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def blocks(page: str, name: str) -> list[str]:
    """Return the blocks of code after `<!-- test: NAME -->`, of which a page has at least one."""
    text = (GUIDE / page).read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"<!-- test: {name} -->\n```python\n(.*?)```", text, re.DOTALL)
    assert found, f"{page} has no tested block {name}"
    return found
