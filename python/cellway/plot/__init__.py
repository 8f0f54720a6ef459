"""Figures, as functions of tables.

Each function takes a table of `cellway.Results` (`summary`, or `series(...)`), or one made of it, and returns a
matplotlib `Figure`, in the width of a journal column; `topology` takes a scenario. Nothing global is touched, so they
serve scripts and notebooks alike:

    cellway.plot.delay(results.summary).savefig("delay.pdf")

A function raises `MissingDataError` when the table does not hold what it draws.
"""

from cellway.plot.buffers import buffers
from cellway.plot.choices import choices
from cellway.plot.compare import compare
from cellway.plot.contrast import contrast
from cellway.plot.curve import curve
from cellway.plot.load import delay, delay_deviation, fairness, per_load, throughput, utilisation
from cellway.plot.select import MissingDataError
from cellway.plot.sources import sources
from cellway.plot.spacer import content, deviations
from cellway.plot.steps import Panel, over_time
from cellway.plot.style import svg
from cellway.plot.time import throughput_over_time, transient
from cellway.plot.topology import topology
from cellway.plot.traffic import offered_load
from cellway.plot.window import window

__all__ = [
    "MissingDataError",
    "Panel",
    "buffers",
    "choices",
    "compare",
    "content",
    "contrast",
    "curve",
    "delay",
    "delay_deviation",
    "deviations",
    "fairness",
    "offered_load",
    "over_time",
    "per_load",
    "sources",
    "svg",
    "throughput",
    "throughput_over_time",
    "topology",
    "transient",
    "utilisation",
    "window",
]
