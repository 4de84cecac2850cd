"""Native sessions and which of them a workstream resumes.

A native session belongs to one workstream. Which one is *current* is kept per (workstream, harness
entry, store home, one-shot or not): two accounts have their own, and interactive and one-shot
sessions never take each other's place.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ledger import fencing
from ledger.content import storable
from ledger.errors import BusyError, UnavailableError
from ledger.model import (
    LinkRow,
    Origin,
    SessionRow,
    SessionState,
    Workstream,
    session_id,
    workstream_id,
)

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from ledger.incoming import NewFacts
    from ledger.store import Store

_SELECT: Final = """
    SELECT session.*, native_store.home AS home
    FROM session JOIN native_store ON native_store.id = session.store
"""

_RANK: Final = {Origin.ARCHIVE: 0, Origin.OUTSIDE: 1, Origin.RUN: 2}


def native_store(store: Store, harness: str, home: Path | str) -> int:
    """Return the id of a native store, registering it when it is new.

    Stores are told apart by the realpath of `home`, here and wherever a home is given.
    """
    found = find_native_store(store, harness, home)
    if found is not None:
        return found
    with store.transaction() as db:
        db.execute(
            "INSERT OR IGNORE INTO native_store (harness, home) VALUES (?,?)",
            (harness, _real(home)),
        )
    made = find_native_store(store, harness, home)
    if made is None:
        raise UnavailableError(f"the store {home} of {harness} could not be registered")
    return made


def find_native_store(store: Store, harness: str, home: Path | str) -> int | None:
    """Return the id of a native store, or None when nothing was ever linked in it."""
    row = store.one(
        "SELECT id FROM native_store WHERE harness = ? AND home = ?", harness, _real(home)
    )
    return None if row is None else int(row["id"])


def store_home(store: Store, native: int) -> str:
    """Return the home of a native store by its id. Raises UnavailableError."""
    row = store.one("SELECT home FROM native_store WHERE id = ?", native)
    if row is None:
        raise UnavailableError(f"there is no native store {native} in the ledger")
    return str(row["home"])


def get(store: Store, session: int) -> SessionRow:
    """Return a session by row id. Raises UnavailableError."""
    row = store.one(_SELECT + " WHERE session.id = ?", session)
    if row is None:
        raise UnavailableError(f"there is no session {session} in the ledger")
    return session_row(row)


def by_native(
    store: Store, harness: str, native_id: str, home: Path | str | None = None
) -> SessionRow | None:
    """Return the linked session of a native id, in `home` or wherever it was linked first."""
    sql = _SELECT + " WHERE session.harness = ? AND session.native_id = ?"
    if home is None:
        row = store.one(sql + " ORDER BY session.id LIMIT 1", harness, native_id)
    else:
        row = store.one(sql + " AND native_store.home = ?", harness, native_id, _real(home))
    return None if row is None else session_row(row)


def by_native_id(store: Store, native_id: str) -> list[SessionRow]:
    """Return every linked session of that native id, of whichever harness and store home."""
    rows = store.all(_SELECT + " WHERE session.native_id = ? ORDER BY session.id", native_id)
    return [session_row(row) for row in rows]


def of_workstream(store: Store, workstream: Workstream | int) -> list[SessionRow]:
    """Return the sessions of a workstream in the order in which they were linked."""
    rows = store.all(
        _SELECT + " WHERE session.workstream = ? ORDER BY session.id", workstream_id(workstream)
    )
    return [session_row(row) for row in rows]


def of_native_store(store: Store, native: int) -> dict[str, tuple[SessionRow, str]]:
    """Return every linked session of a native store with its cursor's signature, by native id."""
    rows = store.all(
        "SELECT session.*, native_store.home AS home, cursor.signature AS signature"
        " FROM session JOIN native_store ON native_store.id = session.store"
        " LEFT JOIN cursor ON cursor.session = session.id WHERE session.store = ?",
        native,
    )
    return {row["native_id"]: (session_row(row), row["signature"] or "") for row in rows}


def linked_elsewhere(
    store: Store, native: int, workstream: Workstream | int, *, limit: int
) -> list[str]:
    """Return native ids of a store's sessions that belong to other workstreams, newest first."""
    rows = store.all(
        "SELECT native_id FROM session WHERE store = ? AND workstream <> ?"
        " ORDER BY id DESC LIMIT ?",
        native,
        workstream_id(workstream),
        limit,
    )
    return [row["native_id"] for row in rows]


def link_session(
    store: Store,
    workstream: Workstream | int,
    *,
    harness: str,
    entry: str,
    home: Path | str,
    native_id: str,
    one_shot: bool,
    origin: Origin | str,
    deliver: bool,
    run: str | None = None,
    born: str | None = None,
    born_through: int | None = None,
    adopt: bool = False,
) -> SessionRow:
    """Link a native session to the workstream and return it.

    A session that is linked to it already is returned; its origin only ever moves towards `run`,
    `deliver` only towards true, and `born` is filled in where it was not known. One that is linked
    to another workstream is refused with BusyError, unless `adopt`: then it moves, its cursor set
    back, so that the next import brings its events into this workstream. `run` is noted as the one
    that touched it. Raises UnavailableError for a forgotten session.
    """
    workstream = workstream_id(workstream)
    origin = Origin(origin)
    with store.transaction() as db:
        native = native_store(store, harness, home)
        _refuse_forgotten(store, harness, native_id)
        row = store.one(
            "SELECT id, workstream, origin, deliver FROM session WHERE store = ? AND native_id = ?",
            native,
            native_id,
        )
        if row is None:
            made = db.execute(
                """
                INSERT INTO session (workstream, store, harness, entry, native_id, one_shot,
                    origin, deliver, born, born_through, linked_at)
                VALUES (?,?,?,?,?,?,?,?,?,?,?)
                """,
                (
                    *(workstream, native, harness, entry, native_id, int(one_shot), origin),
                    *(int(deliver), born, born_through or 0, store.clock.now_ms()),
                ),
            ).lastrowid
            session = int(made or 0)
        else:
            session = int(row["id"])
            if row["workstream"] != workstream:
                if not adopt:
                    raise _linked_elsewhere(store, harness, native_id, row["workstream"])
                _move(db, session, workstream, entry)
            _upgrade(db, row, origin=origin, deliver=deliver, born=born, born_through=born_through)
        if run is not None:
            touch(db, run, session, born or "found")
    return get(store, session)


def is_unchanged(stored: str, signature: str, *, closed: bool) -> bool:
    """Return whether a cursor's stored signature says that nothing is to be read.

    A closed import also settles calls without a result, so an open one is no substitute.
    """
    how, _, before = stored.partition("|")
    return bool(signature) and before == signature and (how == "closed" or not closed)


def is_imported(store: Store, session: SessionRow, signature: str, *, closed: bool) -> bool:
    """Return whether the session was imported completely when its files had this signature."""
    row = store.one("SELECT signature FROM cursor WHERE session = ?", session.id)
    return row is not None and is_unchanged(str(row[0]), signature, closed=closed)


def signature(store: Store, session: SessionRow | int) -> str | None:
    """Return the signature of the session's files after its last complete import, or None."""
    row = store.one("SELECT signature FROM cursor WHERE session = ?", session_id(session))
    return None if row is None else str(row["signature"]).partition("|")[2] or None


def event_count(store: Store, session: SessionRow | int) -> int:
    """Return how many events the session carries, shared ones included."""
    row = store.one("SELECT count(*) FROM membership WHERE session = ?", session_id(session))
    return 0 if row is None else int(row[0])


def touch(db: sqlite3.Connection, run: str, session: int, source: str) -> None:
    """Note that a run touched a session; the first source and place stay."""
    db.execute(
        """
        INSERT OR IGNORE INTO run_session (run, session, source, ordinal)
        VALUES (?1, ?2, ?3,
            (SELECT coalesce(max(ordinal), 0) + 1 FROM run_session WHERE run = ?1))
        """,
        (run, session, source),
    )


def current(
    store: Store, workstream: Workstream | int, entry: str, home: Path | str, one_shot: bool
) -> SessionRow | None:
    """Return the session that a run of this entry and store home resumes, or None."""
    row = store.one(
        _SELECT + " JOIN link ON link.session = session.id"
        " WHERE link.workstream = ? AND link.entry = ? AND native_store.home = ?"
        " AND link.one_shot = ? AND link.store = session.store",
        workstream_id(workstream),
        entry,
        _real(home),
        int(one_shot),
    )
    return None if row is None else session_row(row)


def links(store: Store, workstream: Workstream | int) -> list[LinkRow]:
    """Return the current links of a workstream, the last used first."""
    rows = store.all(
        "SELECT * FROM link WHERE workstream = ? ORDER BY updated_at DESC, session DESC",
        workstream_id(workstream),
    )
    return [
        LinkRow(
            workstream=row["workstream"],
            entry=row["entry"],
            store=row["store"],
            one_shot=bool(row["one_shot"]),
            session=row["session"],
            run=row["run"],
            updated_at=row["updated_at"],
        )
        for row in rows
    ]


def set_current(
    store: Store,
    token: int,
    workstream: Workstream | int,
    session: SessionRow | int,
    *,
    entry: str | None = None,
    one_shot: bool | None = None,
    run: str | None = None,
) -> None:
    """Make a linked session the current one of its entry, store and form.

    `entry` and `one_shot` (the form of the run) override the session's own. Raises LeaseLostError
    when `token` is not the workstream's lease any more, UnavailableError when the session is not
    linked to it.
    """
    workstream = workstream_id(workstream)
    with store.transaction() as db:
        fencing.require(store, workstream, token)
        row = get(store, session_id(session))
        form = row.one_shot if one_shot is None else one_shot
        if row.workstream != workstream:
            raise UnavailableError(
                f"session {row.native_id} of {row.harness} is not linked to this workstream"
            )
        db.execute(
            """
            INSERT INTO link (workstream, entry, store, one_shot, session, run, updated_at)
            VALUES (?,?,?,?,?,?,?)
            ON CONFLICT (workstream, entry, store, one_shot) DO UPDATE SET
                session = excluded.session, run = excluded.run, updated_at = excluded.updated_at
            """,
            (
                *(workstream, entry or row.entry, row.store, int(form), row.id, run),
                store.clock.now_ms(),
            ),
        )


def update_facts(store: Store, session: int, facts: NewFacts) -> None:
    """Store what a session says about itself; None changes nothing, the first start stays."""
    from ledger.observations import cleaned  # with the redactor: not before a start

    title = None if facts.title is None else cleaned(facts.title)
    if title is not None and _title_forgotten(store, session):
        title = None
    one_shot = None if facts.one_shot is None else int(facts.one_shot)
    with store.transaction() as db:
        db.execute(
            """
            UPDATE session SET
                cwd = coalesce(?, cwd), parent_native = coalesce(?, parent_native),
                model = coalesce(?, model), provider = coalesce(?, provider),
                version = coalesce(?, version), title = coalesce(?, title),
                one_shot = coalesce(?, one_shot),
                started_at = coalesce(started_at, ?),
                last_at = max(coalesce(?, last_at), coalesce(last_at, 0))
            WHERE id = ?
            """,
            (
                *(_plain(facts.cwd), facts.parent, facts.model, facts.provider, facts.version),
                *(title, one_shot, facts.started_at, facts.last_at, session),
            ),
        )


def _title_forgotten(store: Store, session: int) -> bool:
    """Return whether a message of the person was forgotten here: a title is often made of one."""
    if store.one("SELECT 1 FROM tombstone LIMIT 1") is None:
        return False
    return (
        store.one(
            "SELECT 1 FROM membership JOIN event ON event.eid = membership.eid"
            " WHERE membership.session = ? AND event.kind = 'user_message'"
            " AND NOT EXISTS (SELECT 1 FROM body WHERE body.eid = event.eid) LIMIT 1",
            session,
        )
        is not None
    )


def set_state(
    store: Store,
    session: SessionRow | int,
    state: SessionState | str,
    detail: str | None = None,
    *,
    path: Path | str | None = None,
) -> None:
    """Store what was found of a session in its native store; `path` None leaves the last one."""
    found = None if path is None else _plain(str(path))
    with store.transaction() as db:
        db.execute(
            "UPDATE session SET state = ?, state_detail = ?, store_path = coalesce(?, store_path)"
            " WHERE id = ?",
            (SessionState(state), detail, found, session_id(session)),
        )


def session_row(row: sqlite3.Row) -> SessionRow:
    """Build a SessionRow from a row that has session's columns and `home`."""
    values = {name: row[name] for name in SessionRow._fields}
    values["one_shot"] = bool(row["one_shot"])
    values["deliver"] = bool(row["deliver"])
    values["origin"] = Origin(row["origin"])
    values["state"] = SessionState(row["state"])
    return SessionRow(**values)


def _real(home: Path | str) -> str:
    return storable(os.path.realpath(home))[0]


def _refuse_forgotten(store: Store, harness: str, native_id: str) -> None:
    if is_forgotten(store, harness, native_id):
        raise UnavailableError(
            f"session {native_id} of {harness} was forgotten on request and is not taken in again"
        )


def is_forgotten(store: Store, harness: str, native_id: str) -> bool:
    """Return whether the session has a tombstone."""
    return (
        store.one(
            "SELECT 1 FROM tombstone WHERE scope = 'session' AND key = ?", f"{harness}:{native_id}"
        )
        is not None
    )


def _linked_elsewhere(store: Store, harness: str, native_id: str, workstream: int) -> BusyError:
    row = store.one("SELECT name FROM workstream WHERE id = ?", workstream)
    name = workstream if row is None else row["name"]
    return BusyError(
        f"session {native_id} of {harness} belongs to the workstream {name!r}",
        next_step=f"Move it here with `--adopt {native_id}`, or go on there: --workstream {name}",
    )


def _move(db: sqlite3.Connection, session: int, workstream: int, entry: str) -> None:
    """Hand a session to another workstream; what it brought into the old one stays there."""
    for table in ("link", "cursor", "membership", "node", "branch_mark", "left_out"):
        db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    db.execute("UPDATE file_fact SET workstream = ? WHERE session = ?", (workstream, session))
    db.execute("UPDATE provider_limit SET workstream = ? WHERE session = ?", (workstream, session))
    db.execute(
        "UPDATE session SET workstream = ?, entry = ?, born_through = 0 WHERE id = ?",
        (workstream, entry, session),
    )


def _upgrade(
    db: sqlite3.Connection,
    row: sqlite3.Row,
    *,
    origin: Origin,
    deliver: bool,
    born: str | None,
    born_through: int | None,
) -> None:
    higher = max(Origin(row["origin"]), origin, key=_RANK.__getitem__)
    db.execute(
        "UPDATE session SET origin = ?, deliver = ?, born = coalesce(born, ?),"
        " born_through = max(born_through, ?) WHERE id = ?",
        (higher, int(bool(row["deliver"]) or deliver), born, born_through or 0, row["id"]),
    )


def _plain(text: str | None) -> str | None:
    return None if text is None else storable(text)[0]
