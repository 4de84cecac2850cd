"""Our command, which kills itself -9 at an SQL statement that a test names.

    python -I dying.py POINT ARGS...

The program knows nothing of this: its connections are watched from outside. POINT is
`trace:FILE`, which kills nothing and writes one line for each statement, or `before:N` or
`after:N` with the number of a statement as `trace` counts them, from 0.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_count = 0
_point = ""


class Watched(sqlite3.Connection):
    """A connection that tells of each statement before and after it is carried out."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        return _watched(sql, lambda: super(Watched, self).execute(sql, *values))

    def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
        return _watched(sql, lambda: super(Watched, self).executemany(sql, *values))


def _watched(sql: str, do: Callable[[], sqlite3.Cursor]) -> sqlite3.Cursor:
    global _count  # noqa: PLW0603  (one process, one program, one point)
    number = _count
    _count += 1
    if _point.startswith("trace:"):
        with Path(_point.removeprefix("trace:")).open("a", encoding="utf-8") as file:
            file.write(" ".join(sql.split()) + "\n")
    if _point == f"before:{number}":
        os.kill(os.getpid(), signal.SIGKILL)
    done = do()
    if _point == f"after:{number}":
        os.kill(os.getpid(), signal.SIGKILL)
    return done


if __name__ == "__main__":
    _point = sys.argv[1]
    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **how: connect(*args, **{**how, "factory": Watched})
    sys.argv[:] = [str(ROOT / "workstream_entry.py"), *sys.argv[2:]]
    sys.path.insert(0, str(ROOT))
    import workstream_entry

    sys.exit(workstream_entry.main())
