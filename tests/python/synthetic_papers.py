"""Folders like those that `cellway reproduce` writes for kdd, magic, nasa and spacing, with invented numbers.

python tests/python/synthetic_papers.py DIR
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import synthetic
from synthetic_contracts import nasa, spacing
from synthetic_rows import Study
from synthetic_transfers import kdd, magic

PAPERS: dict[str, Callable[[], tuple[list[Study], list[dict[str, Any]]]]] = {
    "kdd": kdd,
    "magic": magic,
    "nasa": nasa,
    "spacing": spacing,
}


def folder(at: Path, paper: str, only: Iterable[str] | None = None) -> Path:
    """Write the folder of one paper: all studies, or those named in `only`."""
    studies, claims = PAPERS[paper]()
    chosen = None if only is None else set(only)
    listed = []
    at.mkdir(parents=True, exist_ok=True)
    for name, scenario, rtt, made in studies:
        listed.append({"id": name, "title": f"The study {name}", "folder": f"tables/{name}"})
        if chosen is not None and name not in chosen:
            continue
        target = at / "tables" / name
        target.mkdir(parents=True)
        for table, frame in made.items():
            frame.write_parquet(target / f"{table}.parquet")
        manifest = synthetic.manifest(name, made["runs"]) | {
            "scenario": scenario,
            "rtt_seconds": rtt,
            "warmup_seconds": 0.0,
        }
        (target / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    about = {
        "paper": paper,
        "title": f"The paper {paper}",
        "citation": f"The authors of {paper}",
        "version": "0.1.0",
        "quick": False,
        "host": "linux",
        "studies": listed,
        "remarks": [],
        "warnings": [],
    }
    (at / "study.json").write_text(json.dumps(about), encoding="utf-8")
    (at / "claims.json").write_text(json.dumps(claims), encoding="utf-8")
    synthetic.add_recipe(at, paper)
    return at


def every(at: Path) -> Path:
    """All five papers in one folder."""
    for paper in PAPERS:
        folder(at / paper, paper)
    synthetic.folder(at / "cellsim", seeds=2)
    return at


if __name__ == "__main__":
    print(every(Path(sys.argv[1])))
