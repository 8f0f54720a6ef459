"""Cellway: TCP over wide-area ATM, simulated exactly to the cell.

    import cellway

    results = cellway.simulate("scenario.toml", seeds=20)
    results.summary                          # polars: one row per run, subject and metric
    results.series("throughput", at="bulk-1")
    cellway.plot.delay(results.summary)      # matplotlib Figure

Importing this package loads neither polars nor matplotlib: each is loaded by the first call that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cellway.api import (
    check,
    compare,
    emulate,
    equations,
    evaluate,
    lab,
    load,
    load_comparison,
    load_reproduction,
    metrics,
    predict,
    reproduce,
    schema,
    simulate,
    sweep,
)

if TYPE_CHECKING:
    from cellway import plot, report, stats
    from cellway._native import Ack, EmulationError, Error, MissingFileError, ScenarioError
    from cellway._native import version as __version__
    from cellway.comparison import Comparison
    from cellway.controller import Controller
    from cellway.live import Emulation, emulation
    from cellway.predicted import Checked, Equation, Evaluation, PathPrediction, ScenarioPrediction
    from cellway.results import Reproduction, Results
    from cellway.scenario import Scenario

__all__ = [
    "Ack",
    "Checked",
    "Comparison",
    "Controller",
    "Emulation",
    "EmulationError",
    "Equation",
    "Error",
    "Evaluation",
    "MissingFileError",
    "PathPrediction",
    "Reproduction",
    "Results",
    "Scenario",
    "ScenarioError",
    "ScenarioPrediction",
    "__version__",
    "check",
    "compare",
    "emulate",
    "emulation",
    "equations",
    "evaluate",
    "lab",
    "load",
    "load_comparison",
    "load_reproduction",
    "metrics",
    "plot",
    "predict",
    "report",
    "reproduce",
    "schema",
    "simulate",
    "stats",
    "sweep",
]

# Attributes loaded on first use: attribute -> (module, name in it, or None for the module itself).
_LAZY: dict[str, tuple[str, str | None]] = {
    "Ack": ("cellway._native", "Ack"),
    "Checked": ("cellway.predicted", "Checked"),
    "Comparison": ("cellway.comparison", "Comparison"),
    "Controller": ("cellway.controller", "Controller"),
    "Emulation": ("cellway.live", "Emulation"),
    "EmulationError": ("cellway._native", "EmulationError"),
    "Equation": ("cellway.predicted", "Equation"),
    "Error": ("cellway._native", "Error"),
    "MissingFileError": ("cellway._native", "MissingFileError"),
    "Evaluation": ("cellway.predicted", "Evaluation"),
    "PathPrediction": ("cellway.predicted", "PathPrediction"),
    "ScenarioError": ("cellway._native", "ScenarioError"),
    "ScenarioPrediction": ("cellway.predicted", "ScenarioPrediction"),
    "__version__": ("cellway._native", "version"),
    "Reproduction": ("cellway.results", "Reproduction"),
    "Results": ("cellway.results", "Results"),
    "Scenario": ("cellway.scenario", "Scenario"),
    "emulation": ("cellway.live", "emulation"),
    "plot": ("cellway.plot", None),
    "report": ("cellway.report", None),
    "stats": ("cellway.stats", None),
}


def __getattr__(name: str) -> Any:
    try:
        module, attribute = _LAZY[name]
    except KeyError:
        raise AttributeError(f"module 'cellway' has no attribute {name!r}") from None
    loaded = import_module(module)
    value = loaded if attribute is None else getattr(loaded, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
