"""What the report of one paper shows, in its order."""

from __future__ import annotations

from cellway.report.experiment import experiment
from cellway.report.papers import paper_of
from cellway.report.plates import Section, Studies
from cellway.results import Reproduction


def sections(reproduction: Reproduction) -> list[Section]:
    """Every section, with the figures that the folder has data for."""
    studies = Studies(reproduction)
    paper = paper_of(reproduction)
    return [experiment(studies, reproduction, paper), *(make(studies) for make in paper.order)]
