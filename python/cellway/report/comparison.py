"""The page of a comparison: its figure, its rows, and notes about them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cellway import plot
from cellway.comparison import SCHEMA, Comparison
from cellway.plot.sources import left_out
from cellway.report import shell
from cellway.report.html import details, escape, number, picture, plain, table, tag, warned

FIGURE_NAME = "compare.svg"
PAGE_NAME = "compare.html"

EMULATION = {
    "valid": "every run kept its time",
    "invalid": "invalid: runs were late, and the numbers are not those of the network",
    "impossible": "not possible here",
    "left out": "left out",
}

NAMES = {
    "simulated_text": "simulated",
    "emulated_text": "emulated",
    "difference": "emulated − simulated, %",
}


def pages(comparison: Comparison) -> dict[str, str]:
    """Return the files of a comparison by name: the page, and its figure alone."""
    drawn: str | None = None
    if not comparison.rows.filter("main").is_empty():
        drawn = plot.svg(comparison.figure())
    files = {PAGE_NAME: page(comparison, drawn)}
    return files if drawn is None else files | {FIGURE_NAME: drawn}


def page(comparison: Comparison, drawn: str | None) -> str:
    """Return the whole document, around a figure as SVG text."""
    about = comparison.about
    name = str(about["name"])
    manifest = comparison.results.manifest
    facts = [
        ("Cellway", about.get("version")),
        ("Made", manifest.get("started")),
        ("Emulation", EMULATION.get(comparison.emulation, comparison.emulation)),
    ]
    header = tag(
        "header",
        tag("p", "Comparison", class_="kicker"),
        tag("h1", escape(name)),
        tag("p", escape(_sources(comparison)), class_="lead"),
        tag("ul", *(tag("li", tag("span", key), " ", escape(str(value))) for key, value in facts if value),
            class_="facts"),
        warned(comparison.warnings),
    )  # fmt: skip
    rows = comparison.rows
    if rows.is_empty():
        parts = [tag("section", tag("p", "No figure has two sources."))]
    else:
        main, others = rows.filter("main"), rows.filter(~pl.col("main"))
        parts = [
            _figure(name, drawn, left_out(main)) if drawn else "",
            tag("section", tag("h2", "The numbers"), _table(main)),
        ]
        if not others.is_empty():
            parts.append(tag("section", details(f"All other figures: {others.height} rows", _table(others))))
    if about["caveats"]:
        caveats = "".join(tag("li", plain(str(caveat))) for caveat in about["caveats"])
        parts.append(tag("section", tag("h2", "Effects that the predictions leave out"), tag("ul", caveats)))
    if manifest.get("scenario"):
        parts.append(tag("section", details("The scenario", tag("pre", escape(str(manifest["scenario"]))))))
    return shell.document(f"{name}: a comparison", header, '<div class="page single">', tag("main", *parts), "</div>")


def _sources(comparison: Comparison) -> str:
    """Return what was compared."""
    names = {"predicted": "theory", "simulated": "simulation", "emulated": "real hosts", "published": "a publication"}
    found = [words for name, words in names.items() if comparison.rows[name].is_not_null().any()]
    return f"Values of {', '.join(found[:-1])} and {found[-1]}." if len(found) > 1 else ""


def _figure(name: str, drawn: str, missing: int) -> str:
    caption = (
        "Crosses are theory (where it is no upper bound), dots the simulation, squares the emulation. Bars are "
        "95 % confidence intervals over the repetitions, if there were several."
    )
    if missing:
        caption += f" There is no room for {missing} more panels, whose numbers are in the table."
    framed = picture(drawn, f"{name}: predicted, simulated and emulated")
    return tag("section", tag("figure", framed, tag("figcaption", escape(caption)), class_="wide"))


def _table(rows: pl.DataFrame) -> str:
    axes = [name for name in rows.columns if name not in SCHEMA]
    predicted = pl.when(pl.col("bound").fill_null(value=False)).then(pl.lit("≤ ")).otherwise(pl.lit(""))
    texts = rows.with_columns(
        (predicted + pl.col("predicted").map_elements(number, return_dtype=pl.String)).alias("predicted"),
        *(
            pl.struct(source, f"{source}_low", f"{source}_high")
            .map_elements(_interval, return_dtype=pl.String)
            .alias(f"{source}_text")
            for source in ("simulated", "emulated")
        ),
        pl.col("difference") * 100,
    )
    shown = [*axes, "subject", "metric", "unit", "predicted", "simulated_text", "emulated_text", "published",
             "difference"]  # fmt: skip
    filled = [name for name in shown if texts[name].is_not_null().any()]
    return table(texts.select(filled), NAMES)


def _interval(of: dict[str, float | None]) -> str | None:
    mean, low, high = of.values()
    if mean is None:
        return None
    if low is None or high is None:
        return number(mean)
    below, above = number(mean - low, 2), number(high - mean, 2)
    return f"{number(mean)} ± {above}" if below == above else f"{number(mean)} [{number(low)}, {number(high)}]"


def write(folder: Path) -> Path:
    """Draw the page of a folder and return its path."""
    for name, text in pages(Comparison.from_folder(folder)).items():
        shell.write(folder / name, text)
    return folder / PAGE_NAME
