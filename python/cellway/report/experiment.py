"""The section on the experiment, with its networks drawn from the scenarios that were run."""

from __future__ import annotations

from cellway.plot import select
from cellway.plot.network import network
from cellway.plot.topology import topology
from cellway.report.plates import Plate, Section, Studies

MOST = 4
"""Networks that are drawn; further ones are in the scenarios under Methods."""


def experiment(studies: Studies) -> Section:
    """Return the experiment of the paper, and a drawing of each network that differs from the others."""
    section = Section("experiment", "The experiment", str(studies.about.get("experiment") or ""))
    alike: dict[str, list[tuple[int, str]]] = {}
    for name in (name for name in studies.entries if name in studies.present):
        try:
            graph = network(studies[name].scenario)
        except select.MissingDataError:
            continue
        alike.setdefault(graph.form, []).append((graph.groups, name))
    for index, users in enumerate(list(alike.values())[:MOST], start=1):
        # Of studies on the same network the one with most kinds of traffic is drawn.
        name = max(users, key=lambda user: user[0])[1]
        users_text = "; ".join(studies.title(user) for _, user in users)
        section.plates.append(
            Plate(
                f"network-{index}",
                f"Network {index}" if len(alike) > 1 else "Network",
                f"As in the scenario of “{studies.title(name)}”, before a study changes it. Used by: {users_text}.",
                topology(studies[name].scenario),
                wide=True,
            )
        )
    if not section.plates:
        section.missing.append("no study of this folder has a scenario to draw the network from")
    return section
