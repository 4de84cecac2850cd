"""Taking words out of the ledger for good, on request.

The invariants this module protects: what was forgotten never comes back (a tombstone refuses it at
every import, and a restored backup is swept), and nothing of it stays in the state directory: not
in bodies, index, free pages, write-ahead log, briefings or run folders. The event rows stay,
without text and with a digest that tells nothing any more, so that sequence and chain can still be
verified.

Tombstones are written first and in one transaction; everything else follows from them and may be
done again, so that a `forget` that was cut off is finished by the same one.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ledger import backup
from ledger.errors import BusyError, UnavailableError, UsageError
from ledger.model import SessionRow, Workstream, session_id, workstream_id
from ledger.sweep import SELECTED, Plan, purge, sweep

if TYPE_CHECKING:
    from ledger.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was taken out, or would be when it was a dry run."""

    events: int
    """Events whose text goes; those that were forgotten before are not counted."""
    bytes: int
    """Bytes of their texts."""
    sessions: int
    workstreams: int
    notes: int
    briefings: int
    """Stored briefings that told of them."""
    runs: int
    """Runs whose folder and arguments go."""
    backups: tuple[str, ...]
    """Copies of the ledger, known to us, that still hold it: to be deleted by hand."""
    remaining: tuple[str, ...] = ()
    """Sentences on what could not be removed and why; empty when all is gone."""
    dry_run: bool = False


def forget(
    store: Store,
    *,
    events: Collection[str] = (),
    session: SessionRow | int | None = None,
    workstream: Workstream | int | None = None,
    older_than_ms: int | None = None,
    who: str,
    why: str | None = None,
    dry_run: bool = False,
) -> Forgotten:
    """Forget events (by event id, wherever they are), a session, or a workstream.

    `older_than_ms` (milliseconds since the epoch) alone, or with a session or workstream, forgets
    the events that happened before then; the session or workstream itself stays. An event that
    several sessions carry goes with the first of them that is forgotten. `dry_run` only counts.

    Takes time in proportion to the size of the database, which is written anew. Raises UsageError
    for a combination without meaning, UnavailableError for an unknown id, BusyError while a run of
    a workstream that is concerned is live, or when another process keeps the database busy.
    """
    _check(events, session, workstream, older_than_ms)
    plan = Plan(before=older_than_ms)
    _select(store, plan, events, session, workstream)
    _relate(store, plan)
    done = _count(store, plan, dry_run=dry_run)
    if dry_run:
        return done
    _refuse_live(store, plan)
    _bury(store, plan, who, why)
    remaining = [*sweep(store, plan), *purge(store)]
    return Forgotten(
        **{name: getattr(done, name) for name in Forgotten.__slots__ if name != "remaining"},
        remaining=tuple(remaining),
    )


def apply_tombstones(store: Store, tombstones: Sequence[tuple[Any, ...]]) -> int:
    """Add tombstones of another copy of this ledger and take out what they name.

    `tombstones` are (scope, key, who, at, why). Returns how many events lost their text. Nothing
    outside the database is touched.
    """
    with store.transaction() as db:
        db.executemany(
            "INSERT OR IGNORE INTO tombstone (scope, key, who, at, why) VALUES (?,?,?,?,?)",
            tombstones,
        )
    plan = Plan()
    plan.sessions = {
        row["id"]
        for row in store.all(
            "SELECT id FROM session JOIN tombstone"
            " ON scope = 'session' AND key = harness || ':' || native_id"
        )
    }
    plan.workstreams = {
        row["id"]
        for row in store.all(
            "SELECT id FROM workstream JOIN tombstone ON scope = 'workstream' AND key = uid"
        )
    }
    _clear_selection(store)
    store.db.execute(
        "INSERT INTO temp.forgetting SELECT body.eid FROM body JOIN event ON event.eid = body.eid"
        " WHERE event.event_id IN (SELECT key FROM tombstone WHERE scope = 'event')"
    )
    for number in plan.sessions:
        _select_session(store, number, None)
    for number in plan.workstreams:
        _select_workstream(store, number, None)
    if not plan.sessions and not plan.workstreams and not _selected(store):
        return 0
    _relate(store, plan)
    count = _count(store, plan, dry_run=True).events
    sweep(store, plan, folders=False)
    purge(store)
    return count


# --- choosing -------------------------------------------------------------------------------------


def _check(
    events: Collection[str],
    session: SessionRow | int | None,
    workstream: Workstream | int | None,
    older_than_ms: int | None,
) -> None:
    given = sum((bool(events), session is not None, workstream is not None))
    if given > 1 or (events and older_than_ms is not None):
        raise UsageError(
            "forget takes events, a session or a workstream, one of them",
            next_step="An age may be added to a session or a workstream.",
        )
    if not given and older_than_ms is None:
        raise UsageError(
            "nothing to forget was named",
            next_step="Name events, a session, a workstream or an age.",
        )


def _select(
    store: Store,
    plan: Plan,
    events: Collection[str],
    session: SessionRow | int | None,
    workstream: Workstream | int | None,
) -> None:
    """Fill temp.forgetting with the row ids of all events that are concerned."""
    _clear_selection(store)
    if events:
        _select_events(store, events)
    elif session is not None:
        number = session_id(session)
        if store.one("SELECT 1 FROM session WHERE id = ?", number) is None:
            raise UnavailableError(f"there is no session {number} in the ledger")
        _select_session(store, number, plan.before)
        if plan.before is None:
            plan.sessions = {number}
    elif workstream is not None:
        number = workstream_id(workstream)
        if store.one("SELECT 1 FROM workstream WHERE id = ?", number) is None:
            raise UnavailableError(f"there is no workstream {number} in the ledger")
        _select_workstream(store, number, plan.before)
        if plan.before is None:
            plan.workstreams = {number}
            rows = store.all("SELECT id FROM session WHERE workstream = ?", number)
            plan.sessions = {row["id"] for row in rows}
    else:
        store.db.execute(
            "INSERT INTO temp.forgetting SELECT eid FROM event WHERE occurred_at < ?",
            (plan.before,),
        )
    # The same native record may be in another workstream too: a fork that was taken up there.
    store.db.execute(
        "INSERT OR IGNORE INTO temp.forgetting SELECT eid FROM event WHERE event_id IN"
        f" (SELECT event_id FROM event WHERE eid IN ({SELECTED}))"
    )


def _clear_selection(store: Store) -> None:
    # Only numbers go into it, so that no words get into a temporary file.
    store.db.execute("CREATE TEMP TABLE IF NOT EXISTS forgetting (eid INTEGER PRIMARY KEY)")
    store.db.execute("DELETE FROM temp.forgetting")


def _selected(store: Store) -> bool:
    return store.one("SELECT 1 FROM temp.forgetting LIMIT 1") is not None


def _select_events(store: Store, wanted: Collection[str]) -> None:
    numbers = [row["id"] for row in store.all("SELECT id FROM workstream")]
    for event_id in wanted:
        found = [
            row["eid"]
            for number in numbers
            for row in store.all(
                "SELECT eid FROM event WHERE workstream = ? AND event_id = ?", number, event_id
            )
        ]
        if not found:
            raise UnavailableError(f"there is no event {event_id} in the ledger")
        store.db.executemany(
            "INSERT OR IGNORE INTO temp.forgetting VALUES (?)", [(eid,) for eid in found]
        )


def _select_session(store: Store, session: int, before: int | None) -> None:
    store.db.execute(
        "INSERT OR IGNORE INTO temp.forgetting SELECT eid FROM event"
        " WHERE (session = ?1 OR eid IN (SELECT eid FROM membership WHERE session = ?1))"
        " AND (?2 IS NULL OR occurred_at < ?2)",
        (session, before),
    )


def _select_workstream(store: Store, workstream: int, before: int | None) -> None:
    store.db.execute(
        "INSERT OR IGNORE INTO temp.forgetting SELECT eid FROM event"
        " WHERE workstream = ?1 AND (?2 IS NULL OR occurred_at < ?2)",
        (workstream, before),
    )


def _relate(store: Store, plan: Plan) -> None:
    """Find the briefings that told of the events, and the runs that had to do with them."""
    plan.runs = {
        row["run"]
        for row in store.all(
            f"SELECT DISTINCT run FROM event WHERE run IS NOT NULL AND eid IN ({SELECTED})"
        )
    }
    for number in plan.sessions:
        rows = store.all("SELECT run FROM run_session WHERE session = ?", number)
        plan.runs |= {row["run"] for row in rows}
    for number in plan.workstreams:
        rows = store.all("SELECT id FROM run WHERE workstream = ?", number)
        plan.runs |= {row["id"] for row in rows}
    plan.briefings = []
    rows = store.all(
        "SELECT briefing.id, briefing.run, briefing.session, briefing.included, run.workstream"
        " FROM briefing JOIN run ON run.id = briefing.run"
    )
    for row in rows:
        if row["workstream"] in plan.workstreams or _tells(
            store, row["workstream"], row["included"]
        ):
            plan.briefings.append(row["id"])
            plan.runs.add(row["run"])


def _tells(store: Store, workstream: int, included: str) -> bool:
    return any(
        store.one(
            "SELECT 1 FROM event WHERE workstream = ? AND seq BETWEEN ? AND ?"
            f" AND eid IN ({SELECTED}) LIMIT 1",
            *(workstream, first, last),
        )
        is not None
        for first, last in json.loads(included)
    )


def _count(store: Store, plan: Plan, *, dry_run: bool) -> Forgotten:
    texts = store.one(
        f"SELECT count(*), coalesce(sum(bytes), 0) FROM body WHERE eid IN ({SELECTED})"
    )
    notes = sum(
        row[0]
        for number in plan.workstreams
        for row in store.all("SELECT count(*) FROM note WHERE workstream = ?", number)
    )
    return Forgotten(
        events=0 if texts is None else texts[0],
        bytes=0 if texts is None else texts[1],
        sessions=len(plan.sessions),
        workstreams=len(plan.workstreams),
        notes=notes,
        briefings=len(plan.briefings),
        runs=len(plan.runs),
        backups=tuple(_backups(store)),
        dry_run=dry_run,
    )


def _backups(store: Store) -> Iterator[str]:
    """Yield the copies that were made when the events were there already."""
    first = {
        row["uid"]: row["first"]
        for row in store.all(
            "SELECT workstream.uid, min(event.seq) AS first FROM event"
            " JOIN workstream ON workstream.id = event.workstream"
            f" WHERE event.eid IN ({SELECTED}) GROUP BY workstream.uid"
        )
    }
    for row in store.all("SELECT path, head FROM backup_record ORDER BY created_at"):
        head = json.loads(row["head"])
        if any(head.get(uid, 0) >= seq for uid, seq in first.items()):
            yield row["path"]
    if first:
        yield from (str(path) for path in backup.kept_copies(store.home))


def _refuse_live(store: Store, plan: Plan) -> None:
    row = store.one(
        "SELECT workstream.name FROM lease JOIN workstream ON workstream.id = lease.workstream"
        " WHERE lease.run IS NOT NULL AND lease.expires_at > ? AND (lease.run IN"
        f" (SELECT value FROM json_each(?)) OR lease.workstream IN"
        f" (SELECT workstream FROM event WHERE eid IN ({SELECTED})))",
        store.clock.now_ms(),
        json.dumps(sorted(plan.runs)),
    )
    if row is not None:
        raise BusyError(
            f"a run is going on in the workstream {row['name']!r}",
            next_step="End it first (workstream stop), then forget.",
        )


# --- tombstones -----------------------------------------------------------------------------------


def _bury(store: Store, plan: Plan, who: str, why: str | None) -> None:
    """Write all tombstones in one transaction."""
    now = store.clock.now_ms()
    with store.transaction() as db:
        db.execute(
            "INSERT OR IGNORE INTO tombstone (scope, key, who, at, why)"
            f" SELECT 'event', event_id, ?, ?, ? FROM event WHERE eid IN ({SELECTED})",
            (who, now, why),
        )
        for number in plan.sessions:
            db.execute(
                "INSERT OR IGNORE INTO tombstone (scope, key, who, at, why)"
                " SELECT 'session', harness || ':' || native_id, ?, ?, ? FROM session"
                " WHERE id = ?",
                (who, now, why, number),
            )
        for number in plan.workstreams:
            db.execute(
                "INSERT OR IGNORE INTO tombstone (scope, key, who, at, why)"
                " SELECT 'workstream', uid, ?, ?, ? FROM workstream WHERE id = ?",
                (who, now, why, number),
            )
