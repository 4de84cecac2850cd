"""The search index: what goes into it, how it is kept in step, how it is built again.

The invariant this module protects: the index can be lost at any time without losing anything else.
Every event that has a body has one row in it, under its `eid`. When the index turns out to be
damaged, that is noted in the store, imports go on without it, searching says so, and `rebuild`
makes it anew from the bodies.

The table is contentless and SQLite before 3.43 cannot delete from such a table without being told
the old text, so a row is removed *before* its body is.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from ledger.content import decode_body
from ledger.errors import BusyError, StateError
from ledger.fold import fold
from ledger.model import EventKind
from ledger.schema import DDL

if TYPE_CHECKING:
    from ledger.store import Store

MESSAGE: Final = 64 * 1024
"""Characters of a message that are searchable."""
OUTPUT_END: Final = 2 * 1024
"""Characters of tool output that are searchable, at its beginning and at its end."""
REBUILD_HINT: Final = "Build it again with: workstream verify --rebuild-index"

IndexRow: TypeAlias = tuple[int, int, str, str, str | None, str | None]
"""(eid, workstream, kind, text as stored, tool, tool_input as stored)"""

_BATCH: Final = 2000
_STATE: Final = "search_state"
_DAMAGED: Final = "damaged"
_INSERT: Final = "INSERT INTO search (rowid, scope, text) VALUES (?,?,?)"
_DELETE: Final = "INSERT INTO search (search, rowid, scope, text) VALUES ('delete',?,?,?)"
_SHADOWS: Final = ("data", "idx", "content", "docsize", "config")
_SOURCE: Final = """
    SELECT event.eid, event.workstream, event.kind, event.tool, body.codec, body.data,
        body.tool_input
    FROM event JOIN body ON body.eid = event.eid
"""


def searchable(kind: str, text: str, tool: str | None, tool_input: str | None) -> str:
    """Return the folded text under which an event is found.

    Messages whole (to 64 Ki characters), everything else head and tail (2 Ki characters each), a
    tool call also by its tool's name and the values of its input (head and tail again).
    """
    if kind in (EventKind.USER_MESSAGE, EventKind.ASSISTANT_MESSAGE):
        return fold(text[:MESSAGE])
    parts = [_ends(text)]
    if tool is not None:
        parts.append(tool)
    if tool_input is not None:
        values = "\n".join(value for value in _strings(tool_input) if value not in text)
        parts.append(_ends(values))
    return fold("\n".join(parts))


def scope(workstream: int, kind: str) -> str:
    """Return the tokens that narrow a search inside the index."""
    return f"{workstream_token(workstream)} {kind_token(kind)}"


def workstream_token(workstream: int) -> str:
    """Return the index token of a workstream."""
    return f"w{workstream}"


def kind_token(kind: str) -> str:
    """Return the index token of an event kind: letters and digits only."""
    return "k" + "".join(character for character in kind.lower() if character.isalnum())


def index_rows(store: Store, rows: Sequence[IndexRow]) -> bool:
    """Add events that are new, inside the caller's transaction.

    False, and nothing added, when the index is damaged: the caller goes on, `rebuild` catches up.
    """
    if not rows or state(store) == _DAMAGED:
        return not rows
    return _write(store, _INSERT, (_entry(row) for row in rows))


def remove(store: Store, eids: Iterable[int]) -> bool:
    """Take events out of the index, inside the caller's transaction and before their bodies go.

    False when the index is damaged; only `rebuild` takes them out then. Their words leave the
    file when `compact` has run.
    """
    waiting = _rebuild_window(store)
    if waiting is None:
        return False
    first, last = waiting
    found = (
        row
        for eid in eids
        if not first <= eid <= last
        for row in store.all(_SOURCE + " WHERE event.eid = ?", eid)
    )
    return _write(store, _DELETE, (_entry(_index_row(row)) for row in found))


def compact(store: Store) -> bool:
    """Merge the index into one segment, so that it holds nothing of removed events any more.

    False when the index is damaged. Takes about a second per 250 MB.
    """
    if state(store) == _DAMAGED:
        return False
    with store.transaction():
        return _write(store, "INSERT INTO search (search) VALUES (?)", [("optimize",)])


def check(store: Store) -> str | None:
    """Return what is wrong with the index, in a few words, or None.

    A store that is open for reading only is checked less deeply.
    """
    known = state(store)
    if known is not None:
        return "marked as damaged" if known == _DAMAGED else "a rebuild did not finish"
    try:
        if store.writable:
            store.db.execute("INSERT INTO search (search) VALUES ('integrity-check')")
        store.db.execute("SELECT rowid FROM search WHERE search MATCH 'a'").fetchone()
        have = store.db.execute("SELECT count(*) FROM search_docsize").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return str(error)
    want = store.db.execute("SELECT count(*) FROM body").fetchone()[0]
    return None if have == want else f"{have} entries for {want} events"


def state(store: Store) -> str | None:
    """Return the noted state of the index: None when it is in order."""
    row = store.one("SELECT value FROM store_meta WHERE key = ?", _STATE)
    return None if row is None else str(row["value"])


def rebuilt_share(store: Store) -> float | None:
    """Return how far an unfinished rebuild has come (0 to 1); None when there is none."""
    known = state(store)
    if known is None or known == _DAMAGED:
        return None
    _, first, last = known.split(":")
    return (int(first) - 1) / max(1, int(last))


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether the error says that the index, not the database, is unusable."""
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    # The statements of this module and of `search` are sound, so that a plain "SQL logic error"
    # can only be what FTS5 says of tables of its own that are missing.
    return name == "SQLITE_CORRUPT_VTAB" or any(
        sign in text
        for sign in (
            "no such table: search",
            "no such table: main.search",
            "vtable constructor failed: search",
            "invalid fts5 file format",
            "SQL logic error",
        )
    )


def damaged(store: Store, detail: str) -> StateError:
    """Return the error that says what to do about an unusable index."""
    return StateError(
        f"the search index of {store.path} is damaged; everything else works",
        detail=detail,
        next_step=REBUILD_HINT,
    )


def mark_damaged(store: Store) -> None:
    """Note that the index cannot be used until it is rebuilt."""
    with store.transaction() as db:
        _note(db, _DAMAGED)


def rebuild(store: Store, progress: Callable[[int, int], None] | None = None) -> int:
    """Make the index anew from the bodies, whatever state it is in; return how many events.

    Works in short transactions, so that runs and imports go on meanwhile. `progress` is called
    with (done, all) row ids. Raises BusyError when another rebuild took over.
    """
    token = secrets.token_hex(4)
    with store.transaction() as db:
        _recreate(db)
        last = int(db.execute("SELECT coalesce(max(eid), 0) FROM event").fetchone()[0])
        _note(db, f"{token}:1:{last}")
    first, count = 1, 0
    while first <= last:
        with store.transaction() as db:
            if (state(store) or "").split(":")[0] != token:
                raise BusyError(
                    "another rebuild of the search index has begun",
                    next_step="Wait for it; `workstream verify` says whether the index is whole.",
                )
            rows = store.all(
                _SOURCE + " WHERE event.eid BETWEEN ? AND ? ORDER BY event.eid LIMIT ?",
                *(first, last, _BATCH),
            )
            db.executemany(_INSERT, [_entry(_index_row(row)) for row in rows])
            count += len(rows)
            first = rows[-1]["eid"] + 1 if len(rows) == _BATCH else last + 1
            _note(db, f"{token}:{first}:{last}")
        if progress is not None:
            progress(min(first - 1, last), last)
    with store.transaction() as db:
        db.execute("DELETE FROM store_meta WHERE key = ?", (_STATE,))
    return count


def _recreate(db: sqlite3.Connection) -> None:
    try:
        db.execute("DROP TABLE IF EXISTS search")
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        # A table whose shadow tables are gone cannot be dropped, only taken out of the schema.
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_schema WHERE type = 'table' AND name = 'search'")
        db.execute("PRAGMA writable_schema = RESET")
    for shadow in _SHADOWS:
        db.execute(f"DROP TABLE IF EXISTS search_{shadow}")
    for statement in DDL:
        if "VIRTUAL TABLE search " in statement:
            db.execute(statement)


def _write(store: Store, sql: str, values: Iterable[tuple[object, ...]]) -> bool:
    """Write to the index so that damage undoes only this; any other failure is raised."""
    db = store.db
    db.execute("SAVEPOINT search_index")
    try:
        db.executemany(sql, values)
        # A savepoint makes FTS5 write what it has gathered: damage shows here, not at the commit.
        db.execute("SAVEPOINT search_flush")
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        db.execute("ROLLBACK TO search_index")
        db.execute("RELEASE search_index")
        mark_damaged(store)
        return False
    db.execute("RELEASE search_index")
    return True


def _rebuild_window(store: Store) -> tuple[int, int] | None:
    """Return the eids that a running rebuild has yet to add; None when the index is damaged."""
    known = state(store)
    if known is None:
        return (1, 0)
    if known == _DAMAGED:
        return None
    _, first, last = known.split(":")
    return (int(first), int(last))


def _note(db: sqlite3.Connection, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO store_meta (key, value) VALUES (?,?)", (_STATE, value))


def _index_row(row: sqlite3.Row) -> IndexRow:
    # A body that cannot be decoded is a finding of `verify`; the index holds an empty text for it.
    text = ""
    with contextlib.suppress(ValueError):
        text = decode_body(row["codec"], row["data"])
    return (row["eid"], row["workstream"], row["kind"], text, row["tool"], row["tool_input"])


def _entry(row: IndexRow) -> tuple[int, str, str]:
    eid, workstream, kind, text, tool, tool_input = row
    return (eid, scope(workstream, kind), searchable(kind, text, tool, tool_input))


def _ends(text: str) -> str:
    if len(text) <= 2 * OUTPUT_END:
        return text
    return f"{text[:OUTPUT_END]}\n{text[-OUTPUT_END:]}"


def _strings(tool_input: str) -> Iterator[str]:
    """Yield the string values of stored JSON; JSON that is not sound counts as one string."""
    try:
        waiting = [json.loads(tool_input)]
    except ValueError:
        yield tool_input
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting.extend(reversed(list(value.values())))
        elif isinstance(value, list):
            waiting.extend(reversed(value))
