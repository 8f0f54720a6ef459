"""The command line: `cellway` and `python -m cellway`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

INTERRUPTED = 130
"""Exit status of a command that the user stopped: 128 + SIGINT, as shells count."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Every command is Rust; only the report is drawn in Python, by a function that Rust calls.
    """
    from cellway import _native

    try:
        return _native.cli_main(list(sys.argv[1:] if argv is None else argv), _report)
    except KeyboardInterrupt:
        # The command has printed its result.
        return INTERRUPTED


def _report(folder: str) -> str:
    from cellway.report import build

    return str(build(folder))


if __name__ == "__main__":
    sys.exit(main())
