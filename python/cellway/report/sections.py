"""What the report shows, in the order of the paper, and then beyond it."""

from __future__ import annotations

from cellway.report import beyond, paper
from cellway.report.plates import Section, Studies
from cellway.results import Reproduction

ORDER = (
    paper.load,
    paper.delay,
    paper.average,
    paper.fairness,
    paper.windows,
    paper.faster,
    paper.sizes,
    beyond.choices,
    beyond.buffers,
    beyond.transient,
)


def sections(reproduction: Reproduction) -> list[Section]:
    """Every section, with the figures that the folder has data for."""
    studies = Studies(reproduction)
    return [make(studies) for make in ORDER]
