"""The page of a folder of `simulate` or `emulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from cellway import plot, stats
from cellway.plot import held, labels, main
from cellway.report import chosen, shell
from cellway.report.html import data_uri, details, escape, number, picture, table, tag, warned
from cellway.report.traces import Traces, traces
from cellway.results import Results

ROWS = 8_000
"""The most rows of the table of the page; a larger one has the main metrics only."""

SHOWN = 400
"""The most rows of numbers behind one figure."""


def write(folder: Path, seed: int | None = None) -> Path:
    """Draw the page of a folder and return its path."""
    return shell.write(folder / "report.html", page(Results.from_folder(folder), folder.name, seed))


def page(results: Results, folder: str, seed: int | None = None) -> str:
    """Return the whole document."""
    scenario = results.scenario
    name = str(scenario.get("name") or folder)
    drawn, missing = chosen.figures(results)
    shares = chosen.distributions(results)
    traced = traces(results, seed)
    parts = [
        ("network", "The network", _network(results, scenario)),
        ("results", "Results", _plates(drawn, missing)),
        ("time", "Over time", _traces(traced) if traced else ""),
        ("distributions", "Distributions", _plates(shares, [])),
        ("numbers", "Numbers", _numbers(results)),
        ("scenario", "Scenario", _scenario(results)),
        ("manifest", "Manifest", _manifest(results)),
    ]
    shown = [part for part in parts if part[2]]
    nav = tag("nav", tag("ol", *(tag("li", tag("a", title, href=f"#{anchor}")) for anchor, title, _ in shown)),
              aria_label="Sections")  # fmt: skip
    main = tag("main", *(tag("section", tag("h2", title), body, id_=anchor) for anchor, title, body in shown))
    script = shell.script("save.js", "chart.js", "numbers.js")
    return shell.document(name, _header(results, scenario, name), f'<div class="page">{nav}{main}</div>', script=script)


def _header(results: Results, scenario: dict[str, Any], name: str) -> str:
    manifest, runs = results.manifest, results.runs
    made = set(results.arrow("summary")["source"].unique().cast(pl.String))
    run = scenario.get("run") or {}
    facts = [
        ("Runs", runs.height),
        ("Points", runs["point"].n_unique()),
        ("Seeds", _seeds(runs)),
        ("Duration", run.get("duration")),
        ("Warm-up", run.get("warmup")),
        ("Made", str(manifest.get("started") or "").replace("T", " ").removesuffix("Z")),
        ("Cellway", manifest.get("cellway")),
    ]
    warnings = list(results.warnings)
    if not results.valid:
        warnings.insert(0, "Runs were late: the numbers are not those of the network.")
    kicker = "Emulation" if "emulate" in made else "Simulation"
    return tag(
        "header",
        tag("p", kicker, class_="kicker"),
        tag("h1", escape(name)),
        tag("p", escape(str(scenario.get("description") or "")), class_="lead"),
        tag("ul", *(tag("li", tag("span", key), " ", escape(str(value))) for key, value in facts if value),
            class_="facts"),
        warned(warnings),
    )  # fmt: skip


def _seeds(runs: pl.DataFrame) -> str:
    """Return the seeds of a point, or the fewest and the most of any, as a sweep with --until has them."""
    counts = runs.group_by("point").agg(pl.col("seed").n_unique())["seed"].unique().sort()
    return f"{counts[0]}" if counts.len() < 2 else f"{counts[0]} to {counts[-1]}"


def _network(results: Results, scenario: dict[str, Any]) -> str:
    values = {axis: results.runs[axis].unique(maintain_order=True) for axis in results.axes}
    rows = [(axis, ", ".join(map(labels.value, of))) for axis, of in values.items()]
    swept = ""
    if rows:
        frame = pl.DataFrame(rows, schema=["swept", "values"], orient="row")
        swept = table(frame)
    try:
        drawn = picture(plot.svg(plot.topology(scenario)), "The network: nodes, lines, rates and delays")
    except (KeyError, ValueError, TypeError, ZeroDivisionError):
        return swept
    return tag("figure", drawn, class_="wide") + swept


def _plates(drawn: list[chosen.Drawn], missing: list[str]) -> str:
    if not drawn and not missing:
        return ""
    left_out = "".join(tag("li", escape(why)) for why in missing)
    behind = details(f"{len(missing)} more metrics could not be drawn", tag("ul", left_out)) if missing else ""
    return tag("div", *map(_plate, drawn), class_="plates") + behind


def _plate(what: chosen.Drawn) -> str:
    svg = plot.svg(what.figure)
    links = tag("a", "SVG", download=f"{what.name}.svg", class_="svg", hidden="")
    numbers = ""
    if what.data is not None:
        csv = data_uri(what.data.write_csv(), "text/csv")
        links += " " + tag("a", "CSV", href=csv, download=f"{what.name}.csv")
        if what.data.height <= SHOWN:
            numbers = details("The numbers", table(what.data, alike=("mean", "low", "high")))
    caption = tag("figcaption", tag("strong", escape(what.title)), ". ", escape(what.caption), " ",
                  tag("span", links, class_="links"))  # fmt: skip
    kind = {"class_": "wide"} if what.wide else {}
    return tag("figure", picture(svg, f"{what.title}: {what.caption}", width=_pixels(what.figure)), caption, numbers,
               id_=f"figure-{what.name}", **kind)  # fmt: skip


def _pixels(figure: Figure) -> int:
    """Return the width at which the letters of a figure are as large as the text beside it."""
    return round(figure.get_figwidth() * 125)


def _traces(traced: Traces) -> str:
    text = (
        f"Seed {traced.seed}. Drag over a panel to choose a range, double-click for the whole; the fields do the same."
    )
    if traced.left_out:
        text += f" {traced.left_out} more lines are in the tables only."
    return (
        tag("p", escape(text), class_="meaning")
        + '<div class="traces" id="traces"><noscript>A script draws these; <code>cellway plot --form time</code> does '
        "so without one.</noscript></div>" + _json("traces-data", traced.data)
    )


def _numbers(results: Results) -> str:
    summary = held.summary_of(results)
    by = [*results.axes, "subject", "metric", "unit"]
    if summary["source"].n_unique() > 1:
        by.insert(len(results.axes), "source")
    rows = stats.summarise(summary, by).drop("sd")
    note = ""
    if rows.height > ROWS:
        kept = rows.filter(pl.col("metric").is_in(main.METRICS)).head(ROWS)
        note = f"The {kept.height} rows of the main metrics, of {rows.height}; the others are in summary.parquet."
        rows = kept
    columns: list[dict[str, Any]] = []
    for name in rows.columns:
        column = rows[name]
        if column.dtype == pl.String:
            known = column.unique(maintain_order=True).to_list()
            place = {value: index for index, value in enumerate(known)}
            columns.append({"name": labels.axis(name), "texts": known, "rows": [place[value] for value in column]})
        else:
            columns.append({"name": labels.axis(name), "rows": [_short(value) for value in column]})
    return (
        (tag("p", escape(note), class_="meaning") if note else "")
        + '<div class="numbers" id="numbers-table"><noscript>A script shows this table; the tables themselves are '
        "beside this page.</noscript></div>" + _json("numbers-data", columns)
    )


def _short(value: float | None) -> float | None:
    if value is None or value != value:
        return None
    return int(value) if value == int(value) else float(f"{value:.5g}")


def _json(name: str, data: Any) -> str:
    # No text of a file can end the element.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _scenario(results: Results) -> str:
    text = str(results.manifest.get("scenario") or "")
    if not text:
        return ""
    button = tag("button", "Copy", type="button", class_="copy", hidden="")
    return tag("div", button, tag("pre", escape(text), tabindex="0"), class_="copied")


def _manifest(results: Results) -> str:
    manifest = {key: value for key, value in results.manifest.items() if key not in ("scenario", "warnings")}
    rows = [
        (key.replace("_", " "), number(value, 6) if isinstance(value, int | float) else str(value))
        for key, value in manifest.items()
        if isinstance(value, str | int | float)
    ]
    facts = tag("div", tag("table", *(tag("tr", tag("th", escape(k), scope="row"), tag("td", tag("code", escape(v))))
                                     for k, v in rows)), class_="scroll manifest", tabindex="0")  # fmt: skip
    whole = json.dumps(manifest, indent=1)
    return facts + details("The files and their checksums", tag("pre", escape(whole), tabindex="0"))
