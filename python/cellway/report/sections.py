"""The sections of the report of one folder: the experiment, and the figures of its recipe or the general ones."""

from __future__ import annotations

from cellway.report import recipe
from cellway.report.experiment import experiment
from cellway.report.general import general
from cellway.report.plates import Section, Studies
from cellway.results import Reproduction


def sections(reproduction: Reproduction) -> list[Section]:
    """Return every section, with the figures that the folder has data for."""
    studies = Studies(reproduction)
    make = recipe.find(reproduction.folder) or general
    return [experiment(studies), *make(studies)]
