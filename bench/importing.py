"""Rows of importing: a cold import with its floors, and the second one."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Final

from bench import stores
from bench.measure import OURS, Row, Used, environment, interleaved, ms, run
from bench.stores import Native

_FLOOR_JSON: Final = """
import json, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.jsonl"):
    with open(path, "rb") as file:
        for line in file:
            json.loads(line)
"""
_FLOOR_ROWS: Final = """
import sqlite3, sys
old = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
new = sqlite3.connect(sys.argv[2], isolation_level=None)
new.execute("PRAGMA journal_mode = WAL")
for table in ("event", "body", "membership"):
    for (sql,) in old.execute(
        "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND type <> 'trigger'"
        " AND sql IS NOT NULL ORDER BY type DESC", (table,)
    ):
        new.execute(sql)
    rows = old.execute(f"SELECT * FROM {table} ORDER BY rowid" if table != "membership"
                       else f"SELECT * FROM {table}")
    while batch := rows.fetchmany(1000):
        new.execute("BEGIN")
        marks = ",".join("?" * len(batch[0]))
        new.executemany(f"INSERT INTO {table} VALUES ({marks})", batch)
        new.execute("COMMIT")
"""


def _import(folder: Path, native: Native, state: Path) -> Used:
    return run(
        [*OURS, "import", native.harness, "--home", str(native.home)],
        environment(folder / "home", state),
        folder / "project",
        log=folder / "import.log",
    )


def _fresh(state: Path) -> Path:
    shutil.rmtree(state, ignore_errors=True)
    return state


def cold(folder: Path, natives: list[Native], repeats: int) -> list[Row]:
    """Import each store into an empty state; the floors read and insert the same."""
    rows, total, peak, size, events = [], 0.0, 0.0, 0, 0
    for native in natives:
        state = folder / f"cold-{native.harness}"
        copy = folder / "copy.db"
        _import(folder, native, _fresh(state))
        events += _events(state)

        def floor_rows(state: Path = state, copy: Path = copy) -> Used:
            for path in (copy, copy.with_name("copy.db-wal"), copy.with_name("copy.db-shm")):
                path.unlink(missing_ok=True)
            script = ["-c", _FLOOR_ROWS, str(state / "workstream.db"), str(copy)]
            return run([sys.executable, *script], environment(folder / "home"), folder)

        def floor_json(native: Native = native) -> Used:
            script = ["-c", _FLOOR_JSON, str(native.home)]
            return run([sys.executable, *script], environment(folder / "home"), folder)

        def ours(native: Native = native, state: Path = state) -> Used:
            return _import(folder, native, _fresh(state))

        parsing, inserting, used = interleaved(repeats, floor_json, floor_rows, ours)
        total, peak, size = total + used.cpu, max(peak, used.rss), size + native.size
        floor = parsing.cpu + inserting.cpu
        rows.append(
            Row(
                name=f"cold import, {native.harness}, {native.size / 1e6:.0f} MB"
                f" in {native.files} files",
                figure=f"{used.cpu:.1f} s CPU, {used.wall:.1f} s wall, {used.rss:.0f} MB",
                target="",
                floor=f"{parsing.cpu:.1f} s json.loads + {inserting.cpu:.1f} s rows",
                ratio=f"{used.cpu / floor:.1f}x",
            )
        )
    rows.append(
        Row(
            name=f"cold import, both, {size / 1e6:.0f} MB, {events:,} events",
            figure=f"{total:.1f} s CPU ({size / 1e6 / total:.1f} MB/s), {peak:.0f} MB",
            target="7 s CPU per 210 MB, <= 60 MB",
            ok=total <= 7 * size / 210e6 and peak <= 60,
        )
    )
    return rows


def _events(state: Path) -> int:
    db = sqlite3.connect(f"file:{state / 'workstream.db'}?mode=ro", uri=True)
    try:
        return int(db.execute("SELECT count(*) FROM event").fetchone()[0])
    finally:
        db.close()


def again(folder: Path, natives: list[Native], repeats: int) -> list[Row]:
    """Import the stores of `cold` once more: nothing new, then one record more in each."""
    unchanged = appended = start = start_wall = 0.0
    wall_nothing = wall_one = 0.0
    files = sum(native.files for native in natives)
    for native in natives:
        copied = folder / f"again-{native.harness}"
        shutil.rmtree(copied, ignore_errors=True)
        shutil.copytree(native.home, copied)
        grown = Native(harness=native.harness, home=copied, size=native.size, files=native.files)
        state = _fresh(folder / f"again-state-{native.harness}")
        _import(folder, grown, state)
        empty = folder / "empty-store"
        (empty / "projects").mkdir(parents=True, exist_ok=True)
        (empty / "sessions").mkdir(parents=True, exist_ok=True)
        nothing = Native(harness=native.harness, home=empty, size=0, files=0)

        def one(grown: Native = grown, state: Path = state) -> Used:
            stores.APPENDERS[grown.harness](grown.home)
            return _import(folder, grown, state)

        floor, same, more = interleaved(
            repeats,
            lambda nothing=nothing, state=state: _import(folder, nothing, state),  # type: ignore[misc]
            lambda grown=grown, state=state: _import(folder, grown, state),  # type: ignore[misc]
            one,
        )
        start, unchanged, appended = (
            start + floor.cpu,
            unchanged + same.cpu - floor.cpu,
            appended + more.cpu - floor.cpu,
        )
        start_wall += floor.wall
        wall_nothing += same.wall - floor.wall
        wall_one += more.wall - floor.wall
    beyond = f"{ms(start)} CPU (two commands on empty stores)"
    return [
        Row(
            name=f"re-import, nothing new, {files} files of both, beyond start-up",
            figure=f"{ms(unchanged)} CPU, {ms(wall_nothing)} wall",
            target="<= 20 ms",
            floor=beyond,
            ok=unchanged <= 0.020,
        ),
        Row(
            name=f"re-import, one record new in each store, {files} files, beyond start-up",
            figure=f"{ms(appended)} CPU, {ms(wall_one)} wall",
            target="<= 30 ms",
            floor=beyond,
            ok=appended <= 0.030,
        ),
    ]


def growth(folder: Path, size: int) -> Row:
    """CPU of a cold import of one store and of one twice as large, start-up taken off."""
    costs = []
    for times in (1, 2):
        native = stores.prepare(folder / "stores", size * times)[1]
        state = folder / "growth"
        tries = [_import(folder, native, _fresh(state)).cpu for _ in range(3)]
        costs.append(min(tries))
    empty = Native(harness="codex", home=folder / "empty-store", size=0, files=0)
    base = min(_import(folder, empty, _fresh(folder / "growth")).cpu for _ in range(3))
    ratio = (costs[1] - base) / (costs[0] - base)
    return Row(
        name=f"growth: import of twice the records ({size / 1e6:.0f} MB)",
        figure=f"{costs[0] - base:.2f} -> {costs[1] - base:.2f} s CPU",
        target="linear (<= 2.4x)",
        ratio=f"{ratio:.2f}x",
        ok=ratio <= 2.4,
    )
