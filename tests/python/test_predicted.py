"""Typed results, read from the documents of the command line."""

from __future__ import annotations

from cellway.predicted import Answer, ScenarioPrediction, UdpPrediction

VOICE = {
    "group": "voice",
    "sources": 2,
    "rate": 160_000.0,
    "path_delay": 0.0215,
    "line": "access",
    "utilisation": 0.08,
    "delay_mean": {"none": "several sources meet in phases that chance decides"},
    "loss_ratio": {"value": 0.0},
}


def test_groups_of_datagrams_are_typed_objects() -> None:
    document = {"name": "calls", "points": [{"axes": {}, "groups": [], "udp": [VOICE]}, {"axes": {}, "groups": []}]}
    predicted = ScenarioPrediction.read(document)
    voice = UdpPrediction(
        group="voice",
        sources=2,
        rate=160_000.0,
        path_delay=0.0215,
        line="access",
        utilisation=0.08,
        delay_mean=Answer(None, "several sources meet in phases that chance decides"),
        loss_ratio=Answer(0.0, None),
    )
    assert [point.udp for point in predicted.points] == [(voice,), ()]
    assert repr(predicted) == "<cellway.ScenarioPrediction: calls, 2 points, groups: voice>"
    assert repr(voice) == "<cellway.UdpPrediction: voice, 160 kbit/s, 0.08 of access>"
