"""`python -m bench [--quick] [--only WORD] [--folder DIR]`."""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import history, importing, launch, leasing, stores
from bench.measure import ROOT, Row, write

Part = tuple[str, Callable[[], list[Row]]]


def main() -> int:
    """Measure, print the table, write `bench-results.json`. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small stores, under a minute")
    parser.add_argument("--only", default="", help="only parts whose name holds this word")
    parser.add_argument("--folder", type=Path, help="keep stores here for later runs")
    parser.add_argument("--out", type=Path, default=ROOT / "bench-results.json")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder: Path = (asked.folder or Path(scratch)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        rows: list[Row] = []
        for name, part in _parts(folder, quick=asked.quick):
            if asked.only in name:
                print(f"… {name}", file=sys.stderr, flush=True)
                rows += part()
    print(table(rows))
    about = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "load": os.getloadavg()[0],
        "quick": asked.quick,
    }
    write(asked.out, rows, about)
    return 0


def _parts(folder: Path, *, quick: bool) -> list[Part]:
    size = 4 * stores.MEGABYTE if quick else 105 * stores.MEGABYTE
    few, many = (3, 50) if quick else (5, 300)

    def natives() -> list[stores.Native]:
        return stores.prepare(folder / "stores", size)

    stores.repository(folder / "project")
    return [
        ("start", lambda: [launch.start(folder, 5 if quick else 15)]),
        ("hook", lambda: [launch.hook(folder, 5 if quick else 15)]),
        ("turn", lambda: launch.turns(folder, 2 if quick else 7)),
        ("cold", lambda: importing.cold(folder, natives(), 1 if quick else 3)),
        ("again", lambda: importing.again(folder, natives(), few)),
        ("history", lambda: history.rows(folder, 20_000 if quick else 1_000_000, 9)),
        ("lease", lambda: [leasing.row(folder, many)]),
        ("growth", lambda: [] if quick else [importing.growth(folder, 10 * stores.MEGABYTE)]),
    ]


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| what | figure | target | floor in the same run | ratio | met |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        met = {True: "yes", False: "NO", None: ""}[row.ok]
        lines.append(
            f"| {row.name} | {row.figure} | {row.target} | {row.floor} | {row.ratio} | {met} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
