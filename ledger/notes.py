"""Sentences of the person's own for the next agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger.errors import BadDataError, UnavailableError
from ledger.model import NoteRow, RunRow, Workstream, run_id, workstream_id

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store


def add(
    store: Store,
    workstream: Workstream | int,
    text: str,
    *,
    kind: str = "note",
    pinned: bool = False,
    author: str,
    run: RunRow | str | None = None,
    receipt: str | None = None,
) -> NoteRow:
    """Store a note, scrubbed, and return it; the same `receipt` again returns the first one.

    `kind` is note or dead_end. Raises BadDataError for a blank text.
    """
    from ledger.observations import cleaned  # with the redactor: not before a start

    words = cleaned(text.strip())
    if not words:
        raise BadDataError("a note needs some words")
    with store.transaction() as db:
        known = receipt and store.one("SELECT * FROM note WHERE receipt = ?", receipt)
        if known:
            return _note(known)
        made = db.execute(
            "INSERT INTO note (workstream, kind, text, pinned, author, run, receipt, at)"
            " VALUES (?,?,?,?,?,?,?,?)",
            (
                *(workstream_id(workstream), kind, words, int(pinned), author),
                *(None if run is None else run_id(run), receipt, store.clock.now_ms()),
            ),
        ).lastrowid
        row = store.one("SELECT * FROM note WHERE id = ?", made)
    if row is None:
        raise UnavailableError("the note is gone again")
    return _note(row)


def list_notes(
    store: Store, workstream: Workstream | int, *, after: int = 0, retired: bool = False
) -> list[NoteRow]:
    """Return notes with an id above `after`, oldest first; retired ones only when asked for."""
    rows = store.all(
        "SELECT * FROM note WHERE workstream = ? AND id > ? AND (? OR retired_at IS NULL)"
        " ORDER BY id",
        workstream_id(workstream),
        after,
        int(retired),
    )
    return [_note(row) for row in rows]


def newest_id(store: Store, workstream: Workstream | int) -> int:
    """Return the id of the newest note of a workstream, 0 when it has none."""
    row = store.one("SELECT max(id) FROM note WHERE workstream = ?", workstream_id(workstream))
    return 0 if row is None or row[0] is None else int(row[0])


def retire(store: Store, workstream: Workstream | int, note: int) -> None:
    """Take a note out of briefings; it stays in the ledger. Raises UnavailableError."""
    with store.transaction() as db:
        done = db.execute(
            "UPDATE note SET retired_at = coalesce(retired_at, ?) WHERE id = ? AND workstream = ?",
            (store.clock.now_ms(), note, workstream_id(workstream)),
        )
        if done.rowcount != 1:
            raise UnavailableError(f"this workstream has no note {note}")


def _note(row: sqlite3.Row) -> NoteRow:
    return NoteRow(
        id=row["id"],
        workstream=row["workstream"],
        kind=row["kind"],
        text=row["text"],
        pinned=bool(row["pinned"]),
        author=row["author"],
        run=row["run"],
        at=row["at"],
        retired_at=row["retired_at"],
    )
