"""The figures of this package: matplotlib figures that a notebook shows."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

DOTS = 240
"""Dots per inch of the picture in a notebook; it is shown at half of its size, sharp on fine screens."""

SCALE = 0.5
"""The part of its dots that the picture takes on the page."""


class Picture(Figure):
    """A figure that is the output of a cell by itself.

    A notebook shows a plain `Figure` only if pyplot has set the inline backend up, which these functions do not touch.
    `heading` is written above the title of its first panel.
    """

    heading: str = ""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        out = io.BytesIO()
        with mpl.rc_context({"savefig.bbox": None}):
            self.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
        width, height = (round(DOTS * SCALE * inches) for inches in self.get_size_inches())
        return out.getvalue(), {"width": width, "height": height}
