"""The change of a number with one parameter that the paper does not give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cellway.plot import select
from cellway.plot.curve import curve
from cellway.report.plates import Plate, Studies
from cellway.report.sources import MEGA, ONLY, Curve, Line, curve_table


@dataclass(frozen=True)
class Sensitivity:
    """A study of one axis, and of `variant` where it has several lines; `claim` holds the published value."""

    study: str
    title: str
    caption: str
    xlabel: str
    x_scale: float
    metric: str
    claim: str = ""
    ylabel: str = "Throughput (Mbit/s)"
    scale: float = MEGA
    total: bool = True
    logx: bool = False
    logy: bool = False


def sensitivity(studies: Studies, of: Sensitivity) -> Callable[[], Plate]:
    """Return a function that draws it, with the published value as a dashed line."""

    def make() -> Plate:
        results = studies[of.study]
        variants = select.in_order(results.runs, "variant") if "variant" in results.axes else []
        # A study whose only axis is `variant` has its amounts in the names of the variants.
        named = variants if len(results.axes) > 1 else []
        lines = tuple(Line(str(name), of.study, {"variant": name}) for name in named) or (Line("simulated", of.study),)
        drawn = Curve(lines, ONLY, of.metric, total=of.total, scale=of.scale, x_scale=of.x_scale)
        table = curve_table(studies, drawn)
        claim = studies.claim(of.claim)
        level = None if claim is None or claim.published is None else (claim.published, "published")
        figure = curve(table, of.xlabel, of.ylabel, level=level, logx=of.logx, logy=of.logy)
        return Plate(of.study, of.title, of.caption, figure, table)

    return make
