"""The objects of the package as the output of a cell in a notebook: HTML without scripts.

Colours are of half transparency or inherited, so that they suit light and dark pages; a drawing has a white ground.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from cellway.comparison import Comparison
    from cellway.results import Reproduction, Results
    from cellway.scenario import Scenario

ROWS = 24
"""The most rows of a table; the rest is in the data frames."""

COLUMNS = 8
"""The most metrics of a table."""

PERCENT = ("utilisation", "loss_ratio")
"""Shares that read better in per cent."""

BORDER = "1px solid rgba(128,128,128,.35)"
CELL = f"padding:.15em .6em;border-bottom:{BORDER};"
SOFT = "opacity:.7;"


def scenario(shown: Scenario) -> str:
    """Return the network as a drawing, and the main keys."""
    from cellway.plot import MissingDataError, style

    document = shown.to_dict()
    try:
        drawn = style.svg(shown.draw())
        picture = _drawing(drawn[drawn.index("<svg") :])
    except (MissingDataError, AttributeError, KeyError, TypeError, ValueError):
        # A scenario that is half built, or wrong: the checker says what, a drawing does not.
        picture = ""
    try:
        rows = [[_strong(key), value] for key, value in _main_keys(document)]
    except (AttributeError, KeyError, TypeError):
        rows = []
    toml = f'<pre style="text-align:left">{escape(shown.to_toml())}</pre>'
    return _box(f"Scenario <b>{escape(shown.name)}</b>", picture, _table([], rows), _folded("TOML", toml))


def results(shown: Results) -> str:
    """Return what ran, and the main metrics of each point with their intervals."""
    points = shown.runs["point"].n_unique()
    seeds = shown.runs["seed"].n_unique()
    sources = ", ".join(shown.summary["source"].unique().sort().to_list())
    name = shown.scenario.get("name", "") if shown.manifest.get("scenario") else ""
    head = f"Results of <b>{escape(str(name))}</b>: {_count(points, 'point')}, {_count(seeds, 'seed')} ({sources})"
    if not shown.valid:
        head += " – <b>invalid</b>: a run was late"
    more = [_warnings(shown.warnings)] if shown.warnings else []
    return _box(head, *_metrics(shown), *more)


def reproduction(shown: Reproduction) -> str:
    """Return the claims of a paper with the verdict on each."""
    claims = shown.claim_records
    heads = ["claim", "expected", "measured", "verdict"]
    rows = [
        [
            escape(str(claim.get("claim") or claim.get("id", ""))),
            escape(_plain(claim.get("expected"))),
            escape(_plain(claim.get("measured_text") or claim.get("measured"))),
            escape(str(claim.get("verdict", ""))),
        ]
        for claim in claims[:ROWS]
    ]
    good = sum(claim.get("verdict") == "reproduced" for claim in claims)
    name = escape(str(shown.about.get("paper", "?")))
    head = f"Reproduction of <b>{name}</b>: {good} of {_count(len(claims), 'claim')} reproduced"
    return _box(head, _table(heads, rows), _rest(len(claims), ".claims"))


def comparison(shown: Comparison) -> str:
    """Return the main rows of theory, simulation and emulation."""
    from cellway.plot.scale import scale

    rows = shown.rows.filter("main")
    sources = [name for name in ("predicted", "simulated", "emulated", "published") if rows[name].is_not_null().any()]
    axes = rows.columns[: rows.columns.index("subject")]
    body = []
    for row in rows.head(ROWS).iter_rows(named=True):
        divisor, unit = scale(
            max((abs(row[name]) for name in sources if row[name] is not None), default=0), row["unit"]
        )
        cells = [
            _amount(
                row[name],
                divisor,
                row.get(f"{name}_low"),
                row.get(f"{name}_high"),
                bound=name == "predicted" and row["bound"],
            )
            for name in sources
        ]
        body.append(
            [*(escape(_plain(row[axis])) for axis in axes), escape(row["subject"]), escape(row["metric"]), *cells, unit]
        )
    head = f"Comparison of <b>{escape(str(shown.about['name']))}</b>, emulation {escape(shown.emulation)}"
    more = [_warnings(shown.warnings)] if shown.warnings else []
    heads = [*axes, "subject", "metric", *sources, ""]
    return _box(head, _table(heads, body, numbers=len(axes) + 2), _rest(rows.height, ".rows"), *more)


def _main_keys(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    run = document.get("run", {})
    yield "run", escape(f"{run.get('duration', '?')}, measured after {run.get('warmup', '0 s')}")
    for group in document.get("traffic", ()):
        kind = group.get("app") or ("udp" if "udp" in group else "flows")
        tcp = group.get("tcp", {}).get("control") or document.get("tcp", {}).get("control") or ""
        words = f"{group.get('count', 1)} × {kind} {tcp}, {group.get('from', '?')} → {group.get('to', '?')}"
        yield f"traffic {group.get('name', '')}", escape(words.replace(" ,", ","))
    buffer = document.get("buffer", {})
    if buffer:
        yield "buffer", escape(", ".join(str(buffer[key]) for key in ("size", "queue") if key in buffer))
    for axis, values in document.get("sweep", {}).get("axes", {}).items():
        yield f"sweep of {axis}", escape(", ".join(str(value) for value in values))
    names = [variant.get("name", "?") for variant in document.get("sweep", {}).get("variant", ())]
    if names:
        yield "variants", escape(", ".join(names))


def _metrics(shown: Results) -> list[str]:
    """Return a table for the traffic and one for the lines: a row for each point and subject, a column per metric."""
    import polars as pl

    from cellway import stats
    from cellway.plot import main

    summary = shown.summary
    wanted = summary.filter(pl.col("metric").is_in(main.METRICS))
    if wanted.is_empty():
        return []
    names = [str(name) for name in wanted["subject"].unique(maintain_order=True)]
    wanted = wanted.filter(pl.col("subject").is_in(main.subjects(names, main.idle_lines(summary))))
    by = ["point", *shown.axes, "subject", "metric", "unit"]
    means = pl.concat([stats.summarise(part, by) for _, part in wanted.group_by("metric", maintain_order=True)])
    at_line = means["subject"].str.contains(">")
    parts = [means.filter(~at_line), means.filter(at_line)]
    return [text for part in parts if not part.is_empty() for text in _wide(part, shown.axes)]


def _wide(means: pl.DataFrame, axes: Sequence[str]) -> Iterator[str]:
    """Yield a table with a column for each of the main metrics that some subject has."""
    import polars as pl

    from cellway.plot import labels, main
    from cellway.plot.scale import scale

    found = main.metrics(means.filter(pl.col("mean") != 0)["metric"])[:COLUMNS]
    means = means.filter(pl.col("metric").is_in(found))
    scales: dict[str, tuple[float, str]] = {}
    for name in found:
        of_metric = means.filter(pl.col("metric") == name)
        scales[name] = (0.01, "%") if name in PERCENT else scale(of_metric["mean"].abs().max(), of_metric["unit"][0])  # type: ignore[arg-type]
    keys = ["point", *axes, "subject"]
    cells = {
        (row["point"], row["subject"], row["metric"]): _amount(
            row["mean"], scales[row["metric"]][0], row["low"], row["high"]
        )
        for row in means.iter_rows(named=True)
    }
    subjects = means.select(keys).unique(maintain_order=True).sort("point", maintain_order=True)
    rows = [
        [
            *(escape(_plain(row[axis])) for axis in axes),
            escape(row["subject"]),
            *(cells.get((row["point"], row["subject"], name), "") for name in found),
        ]
        for row in subjects.head(ROWS).iter_rows(named=True)
    ]
    heads = [labels.label(name, scales[name][1]) for name in found]
    names = [labels.axis(axis) for axis in axes]
    yield _table([*names, "", *heads], rows, numbers=len(axes) + 1)
    yield _rest(subjects.height, ".summary")


def _amount(mean: float | None, divisor: float, low: float | None, high: float | None, *, bound: bool = False) -> str:
    """Return a mean with half of the width of its interval."""
    if mean is None:
        return ""
    text = f"{'≤ ' if bound else ''}{_number(mean / divisor)}"
    if low is None or high is None or high - low == 0:
        return text
    return f'{text} <span style="{SOFT}">± {_number((high - low) / 2 / divisor, 2)}</span>'


def _number(value: float, digits: int = 3) -> str:
    from cellway.report.html import number

    return number(float(f"{value:.{digits}g}"), digits)


def _plain(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, Mapping):
        return _plain(value.get("value", value.get("mean")))
    return str(value)


def _box(head: str, *parts: str) -> str:
    return f'<div style="max-width:60em"><div style="margin:.3em 0">{head}</div>{"".join(parts)}</div>'


def _drawing(svg: str) -> str:
    return f'<div style="background:white;max-width:42em;border-radius:4px">{_responsive(svg)}</div>'


def _responsive(svg: str) -> str:
    """Return an SVG that takes the width of its box: its `viewBox` keeps the proportions."""
    opening, rest = svg.split(">", 1)
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    return f'{opening} style="width:100%;height:auto">{rest}'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], numbers: int | None = None) -> str:
    """Return a table whose columns from `numbers` on hold numbers. Cells are HTML, heads are text."""
    if not rows:
        return ""

    def side(place: int) -> str:
        return "text-align:right;" if numbers is not None and place >= numbers else "text-align:left;"

    def wrap(place: int) -> str:
        return "white-space:nowrap;" if numbers is not None and place >= numbers else ""

    head = "".join(f'<th style="{CELL}{side(i)}">{escape(text)}</th>' for i, text in enumerate(heads))
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}{side(i)}{wrap(i)}">{cell}</td>' for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    thead = f"<thead><tr>{head}</tr></thead>" if heads else ""
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:.3em 0;font-size:.92em">'
        f"{thead}<tbody>{body}</tbody></table></div>"
    )


def _rest(rows: int, where: str) -> str:
    return f'<div style="{SOFT}">{rows - ROWS} more rows in <code>{where}</code></div>' if rows > ROWS else ""


def _warnings(warnings: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(warning)}</li>" for warning in warnings)
    return _folded(_count(len(warnings), "warning"), f"<ul>{items}</ul>")


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def _strong(text: str) -> str:
    return f"<b>{escape(text)}</b>"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
