"""Results as tables: those of a simulation, or of a folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from cellway import documents

if TYPE_CHECKING:
    from cellway import _native

TableName = Literal["runs", "summary", "series"]

KEYS = ("run", "point", "seed")
"""Columns of the table of runs that are no axis."""

VALUES = ("run", "source", "subject", "metric", "unit", "t", "value")
"""Columns of the tables of values."""

FILES = ("runs.parquet", "summary.parquet", "series.parquet", "manifest.json")
"""The files of a result folder."""

FOLDER = "a folder that `reproduce` wrote"
"""The folder of a `Reproduction`, in the words of an error."""


class Results:
    """Three tidy tables and a manifest.

    `runs` has one row per simulation run: `run`, `point`, `seed` and one column per axis of the sweep.
    `summary` and `series` have one row per value: the columns of `runs` and then `source`, `subject`, `metric`, `unit`,
    `t` (seconds; the end of the bin; null in `summary`) and `value`. `warnings` lists what to check before trusting the
    numbers.
    """

    def __init__(
        self,
        runs: pl.DataFrame,
        summary: pl.DataFrame,
        series: pl.DataFrame,
        manifest: dict[str, Any],
        warnings: Sequence[str] = (),
    ) -> None:
        self.runs = _plain_text(runs)
        self.manifest = manifest
        self.warnings = list(warnings)
        self._summary = summary
        self._series = series

    @classmethod
    def from_native(cls, native: _native.Results) -> Results:
        """Take over the engine's tables, without copying them."""
        return cls(
            pl.DataFrame(native.runs),
            pl.DataFrame(native.summary),
            pl.DataFrame(native.series),
            documents.record(native.manifest, "the manifest"),
            native.warnings,
        )

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> Results:
        """Read `runs.parquet`, `summary.parquet`, `series.parquet` and `manifest.json`."""
        at = Path(folder)
        runs_file, summary_file, series_file, manifest_file = FILES
        manifest = documents.manifest(at / manifest_file)
        runs = documents.table(at / runs_file, KEYS)
        summary, series = (documents.table(at / name, VALUES) for name in (summary_file, series_file))
        return cls(runs, summary, series, manifest, manifest.get("warnings") or ())

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The scenario that was swept, as the manifest holds it."""
        return documents.toml(self.manifest.get("scenario") or "", "the scenario in the manifest")

    @cached_property
    def rtt(self) -> float | None:
        """The propagation round trip in seconds.

        Of a sweep that changes it, it is that of the scenario before the change. None without a manifest.
        """
        return self.manifest.get("rtt_seconds")

    @property
    def warmup(self) -> float | None:
        """The time before measurement starts, in seconds."""
        return self.manifest.get("warmup_seconds")

    @property
    def valid(self) -> bool:
        """True if the lateness of every emulated run was within its limit, or none was emulated."""
        verdicts = pl.col("subject").cast(pl.String).eq("emulation") & pl.col("metric").cast(pl.String).eq("valid")
        return bool(self._summary.filter(verdicts)["value"].eq(1.0).all())

    @property
    def axes(self) -> list[str]:
        """The columns of `runs` that the sweep varied."""
        return [name for name in self.runs.columns if name not in KEYS]

    @cached_property
    def summary(self) -> pl.DataFrame:
        """One value per run, subject and metric, measured after the warm-up."""
        return self._joined(self._summary)

    def series(self, metric: str | None = None, *, at: str | None = None) -> pl.DataFrame:
        """Return values over time, of one metric and at one subject if these are given."""
        chosen = self._series
        for column, sought in (("metric", metric), ("subject", at)):
            if sought is None:
                continue
            known = chosen[column].cast(pl.String).unique().sort().to_list()
            if known and sought not in known:
                raise ValueError(f"no series has the {column} {sought!r}; there are {', '.join(known)}")
            chosen = chosen.filter(pl.col(column).cast(pl.String) == sought)
        return self._joined(chosen)

    def arrow(self, table: TableName = "summary") -> pl.DataFrame:
        """Return a table as the engine made it, not joined with the axes. It exports the Arrow C stream interface."""
        return {"runs": self.runs, "summary": self._summary, "series": self._series}[table]

    def to_pandas(self, table: TableName = "summary") -> Any:
        """Return a joined table as a pandas DataFrame, through Arrow. Raises `ModuleNotFoundError` without pandas."""
        missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
        if missing:
            raise ModuleNotFoundError(
                f"to_pandas needs {' and '.join(missing)}: pip install {' '.join(missing)}; without, the tables are "
                "polars frames, as in results.summary",
                name=missing[0],
            )
        frame = self.runs if table == "runs" else self.summary if table == "summary" else self.series()
        return frame.to_pandas()

    def to_flent(
        self,
        path: str | os.PathLike[str],
        *,
        run: int | None = None,
        node: str | None = None,
        force: bool = False,
    ) -> list[Path]:
        """Write the series as data files of flent, one for each run, and return their paths.

        `path` is a folder, or a file that ends in `.flent.gz` for a single run: that of results with one, or `run`, its
        number in `runs`. `node` is the node at which flent would have run, by default the `from` of the first group of
        pings, or of transfers if there are none. Transfers from the node are uploads, those to it downloads, in
        Mbit/s; pings are in ms. Existing files are replaced only with `force`. Raises `Error`.
        """
        from cellway import flent

        return flent.write(self, path, run=run, node=node, force=force)

    def __repr__(self) -> str:
        axes = ", ".join(self.axes) or "none"
        return f"<cellway.Results: {self.runs.height} runs, {self.runs['point'].n_unique()} points, axes: {axes}>"

    def _repr_html_(self) -> str:
        from cellway import notebook

        return notebook.results(self)

    def _joined(self, table: pl.DataFrame) -> pl.DataFrame:
        rest = [name for name in table.columns if name != "run"]
        joined = _plain_text(table).join(self.runs, on="run", how="left", maintain_order="left")
        return joined.select(*self.runs.columns, *rest)


class Reproduction:
    """The studies of one paper, read from a folder that `reproduce` wrote."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        path = self.folder / "study.json"
        self.about: dict[str, Any] = documents.record(documents.text_of(path, FOLDER), str(path))

    @cached_property
    def claims(self) -> pl.DataFrame:
        """The paper's claims, the measured values, and the verdict on each."""
        return pl.DataFrame(self.claim_records, infer_schema_length=None)

    @cached_property
    def claim_records(self) -> list[dict[str, Any]]:
        """The same, as `claims.json` has them; none if there is no such file."""
        path = self.folder / "claims.json"
        return [*documents.records(documents.text_of(path, FOLDER), str(path))] if path.is_file() else []

    @property
    def studies(self) -> list[str]:
        """The names of the studies whose tables are in the folder."""
        return [entry["id"] for entry in self.entries]

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries of `study.json` for these studies."""
        return [entry for entry in self.about.get("studies", []) if self._path(entry).is_dir()]

    def study(self, name: str) -> Results:
        """Return the tables of one study."""
        return Results.from_folder(self._path(self._entry(name)))

    def manifest(self, name: str) -> dict[str, Any]:
        """Return the manifest of one study, without reading its tables."""
        return documents.manifest(self._path(self._entry(name)) / FILES[3])

    def report(self) -> Path:
        """Draw the report: one HTML file that needs nothing beside it. Returns its path."""
        from cellway.report import build

        return build(self.folder)

    def __repr__(self) -> str:
        studies = ", ".join(self.studies) or "none"
        return f"<cellway.Reproduction: {self.about.get('paper', '?')} in {self.folder}, studies: {studies}>"

    def _repr_html_(self) -> str:
        from cellway import notebook

        return notebook.reproduction(self)

    def _entry(self, name: str) -> dict[str, Any]:
        entries: list[dict[str, Any]] = self.about.get("studies", [])
        for entry in entries:
            if entry["id"] == name:
                return entry
        raise KeyError(f"no study {name!r} in {self.folder}; there are: {', '.join(self.studies) or 'none'}")

    def _path(self, entry: dict[str, Any]) -> Path:
        return self.folder / study_folder(entry)


def study_folder(entry: dict[str, Any]) -> str:
    """Return the folder of a study in that of its reproduction, by its entry in `study.json`."""
    return str(entry.get("folder", f"tables/{entry['id']}"))


def _plain_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with dictionary-encoded columns as plain strings, which compare and join with anything."""
    coded = [name for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)]
    return frame.with_columns(pl.col(coded).cast(pl.String)) if coded else frame
