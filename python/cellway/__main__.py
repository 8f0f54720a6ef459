"""The command line: `cellway` and `python -m cellway`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""Exit status of a command that the user stopped: 128 + SIGINT, as shells count."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Every command is Rust; only reports and files of flent are written in Python, by functions that Rust calls.
    """
    from cellway import _native

    try:
        return _native.cli_main(list(sys.argv[1:] if argv is None else argv), _report, _flent)
    except KeyboardInterrupt:
        # The command has printed its result.
        return INTERRUPTED


def _report(folder: str) -> str:
    from cellway.report import build

    return str(build(folder))


def _flent(folder: str, path: str, run: int | None, node: str | None, force: bool) -> list[str]:
    from cellway import load

    return [str(file) for file in load(folder).to_flent(path, run=run, node=node, force=force)]


if __name__ == "__main__":
    sys.exit(main())
