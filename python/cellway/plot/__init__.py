"""Figures, as functions of tables.

Each function takes `cellway.Results`, the folder of results, or a table made of them, and returns a matplotlib
`Figure`, in the width of a journal column. `drawable` lists what results hold; `metric`, `timeline` and `distribution`
draw any of it. Nothing global is touched, so they serve scripts and notebooks alike:

    cellway.plot.metric(results, "goodput_total").savefig("goodput.pdf")

A function takes the subject, axis or group that it draws from its arguments, or else the only one that the table has.
It raises `ChoiceError`, which lists them, where the table has several, and `MissingDataError` where it does not hold
what is drawn. `select` finds rows in tables, `style` has colours, marks and sizes.
"""

from cellway.plot import select, style
from cellway.plot.buffers import buffers, buffers_table
from cellway.plot.choices import choices, choices_table
from cellway.plot.compare import compare
from cellway.plot.contrast import contrast
from cellway.plot.curve import curve
from cellway.plot.distribution import distribution
from cellway.plot.held import drawable
from cellway.plot.load import delay, delay_deviation, fairness, per_load, per_load_table, throughput, utilisation
from cellway.plot.metric import metric
from cellway.plot.network import changes, payload_rate
from cellway.plot.queue import content, deviations
from cellway.plot.select import ChoiceError, MissingDataError
from cellway.plot.sources import sources
from cellway.plot.steps import Panel, over_time
from cellway.plot.style import svg
from cellway.plot.time import throughput_over_time, transient
from cellway.plot.timeline import timeline
from cellway.plot.topology import topology
from cellway.plot.traffic import offered_load, offered_load_table
from cellway.plot.window import window

__all__ = [
    "ChoiceError",
    "MissingDataError",
    "Panel",
    "buffers",
    "buffers_table",
    "changes",
    "choices",
    "choices_table",
    "compare",
    "content",
    "contrast",
    "curve",
    "delay",
    "delay_deviation",
    "deviations",
    "distribution",
    "drawable",
    "fairness",
    "metric",
    "offered_load",
    "offered_load_table",
    "over_time",
    "payload_rate",
    "per_load",
    "per_load_table",
    "select",
    "sources",
    "style",
    "svg",
    "throughput",
    "throughput_over_time",
    "timeline",
    "topology",
    "transient",
    "utilisation",
    "window",
]
