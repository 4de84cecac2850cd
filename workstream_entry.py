"""Console-script shim.

A repository may hold its own `ledger/` or `launcher/`, and PYTHONPATH may name it. This module
moves every search path that is not ours behind the directory it was itself loaded from, and only
then imports the program. It needs nothing but `sys` and `os`.
"""

from __future__ import annotations

import os
import sys


def isolate() -> None:
    """Put our own directory first on `sys.path` and drop the current directory's empty entry."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  (start-up time)
    sys.path[:] = [here, *(entry for entry in sys.path if entry not in ("", here))]


def open_streams() -> None:
    """Give standard streams that are closed to /dev/null: no file of ours may get their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def main() -> int:
    """Run the command line; the return value is the exit code."""
    isolate()
    open_streams()
    if sys.argv[1:] == ["--version"]:
        from launcher.version import VERSION

        print(f"workstream {VERSION}")
        return 0
    if sys.argv[1:] == ["status", "--short"]:
        from launcher.short import main as short

        return short()
    from launcher.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
