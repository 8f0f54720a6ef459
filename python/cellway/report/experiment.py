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
    alike: dict[str, list[tuple[int, str]]] = {}
    for name in reproduction.studies:
        try:
            graph = network(studies[name].scenario)
        except select.MissingDataError:
            continue
        alike.setdefault(graph.form, []).append((graph.groups, name))
    for index, users in enumerate(list(alike.values())[:MOST], start=1):
        # Of studies on the same network the one with most kinds of traffic is drawn.
        name = max(users, key=lambda user: user[0])[1]
        told = "; ".join(titles[user] for _, user in users)
        section.plates.append(
            Plate(
                f"network-{index}",
                f"Network {index}" if len(alike) > 1 else "Network",
                f"As in the scenario of “{titles[name]}”, before a study changes it. Used by: {told}.",
                topology(studies[name].scenario),
                wide=True,
            )
        )
    if not section.plates:
        section.missing.append("no study of this folder has a scenario to draw the network from")
    return section
