"""The section that says what the experiment was, with its networks drawn from the scenarios that were run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellway.plot import select
from cellway.plot.network import network
from cellway.plot.topology import topology
from cellway.report.plates import Plate, Section, Studies
from cellway.results import Reproduction

if TYPE_CHECKING:
    from cellway.report.papers import Paper

MOST = 4
"""Networks that are drawn; further ones are in the scenarios under Methods."""


def experiment(studies: Studies, reproduction: Reproduction, paper: Paper) -> Section:
    """What was set up and measured, and a drawing of each network that differs from the others."""
    section = Section("experiment", "The experiment", paper.experiment)
    titles = {str(entry["id"]): str(entry.get("title") or entry["id"]) for entry in reproduction.about["studies"]}
    drawn: dict[str, tuple[str, list[str]]] = {}
    for name in reproduction.studies:
        scenario = studies[name].scenario
        try:
            # Two scenarios with the same picture are one network.
            key = repr(network(scenario))
        except select.MissingDataError:
            continue
        drawn.setdefault(key, (name, []))[1].append(titles[name])
    for index, (name, users) in enumerate(list(drawn.values())[:MOST], start=1):
        scenario = studies[name].scenario
        section.plates.append(
            Plate(
                f"network-{index}",
                f"Network {index}" if len(drawn) > 1 else "Network",
                f"As the scenario has it before a study changes it. Used by: {'; '.join(users)}.",
                topology(scenario),
                wide=True,
            )
        )
    if not section.plates:
        section.missing.append("no study of this folder has a scenario to draw the network from")
    return section
