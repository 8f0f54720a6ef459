"""The figures of this package: matplotlib figures that a notebook shows."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import matplotlib as mpl
from matplotlib.backend_bases import RendererBase
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from cellway.plot.measured import measured_once

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

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure; while a file is written and the panels are not laid out yet, only lay them out.

        To write a file matplotlib draws a figure twice: for its layout, and then without a layout engine into the file.
        The first drawing is thrown away.
        """
        if not self.canvas.is_saving():
            super().draw(renderer)
            return
        engine = self.get_layout_engine()
        with measured_once(self):
            if not isinstance(engine, ConstrainedLayoutEngine):
                super().draw(renderer)
            elif self.axes:
                # As in `Figure.draw`: a figure that is too small for its panels is drawn without a layout.
                with suppress(ValueError):
                    engine.execute(self)

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        out = io.BytesIO()
        with mpl.rc_context({"savefig.bbox": None}):
            self.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
        width, height = (round(DOTS * SCALE * inches) for inches in self.get_size_inches())
        return out.getvalue(), {"width": width, "height": height}
