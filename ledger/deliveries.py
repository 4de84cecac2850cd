"""Briefings that were composed, their printings, and what each native session has really seen.

The invariant this module protects: only a delivery id found on the active chain of a session counts
as seen there. What a session has seen is derived from sightings and briefings at every call: a fork
carries the copied record and so inherits, a rewind takes the record off the chain and so withdraws.

Some channels leave nothing in the native store, so that nothing can ever be found. Such a delivery
stays unverified for good and moves no seen-position. But once the session has answered in the run
that was told, it counts as *told*, and over a channel without proof the same is not due to it
again: else every run would repeat it without end. Its answer, one event, stands for the delivery
id: a fork that carries it inherits, a rewind that takes it off the chain withdraws. A session that
did not answer was told nothing; and over a channel with proof, all that was not seen is due.

Readers take `told`: True counts what the session was told as well, False what it has seen alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ledger import fencing, runs
from ledger.errors import UnavailableError
from ledger.ids import DELIVERY_PREFIX, NONCE_LENGTH
from ledger.model import (
    BriefingRow,
    DeliveryRow,
    DeliveryState,
    Outcome,
    RunRow,
    SessionRow,
    SessionState,
    Step,
    Workstream,
    run_id,
    session_id,
    workstream_id,
)
from ledger.ranges import Ranges, merged, without

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store

NO_PROOF: Final = "no_proof"
"""Reason of a delivery over a channel that leaves nothing in the native store."""
AT_START: Final = "start"
"""Source of a delivery that we printed ourselves, for the session that the run begins with."""

_SEEN: Final = """
    FROM sighting
    JOIN delivery ON delivery.id = sighting.delivery
    JOIN briefing ON briefing.id = delivery.briefing
    JOIN run ON run.id = briefing.run
    JOIN session ON session.id = sighting.session
    WHERE sighting.session = ?1 AND sighting.active = 1 AND run.workstream = session.workstream
"""
_TOLD: Final = """
    FROM (
        SELECT delivery FROM sighting WHERE session = ?1 AND active = 1
        UNION
        SELECT delivery.id FROM delivery CROSS JOIN membership ON membership.eid = delivery.answer
        WHERE delivery.answer IS NOT NULL AND membership.session = ?1 AND membership.active = 1
    ) AS given
    JOIN delivery ON delivery.id = given.delivery
    JOIN briefing ON briefing.id = delivery.briefing
    JOIN run ON run.id = briefing.run
    JOIN session ON session.id = ?1
    WHERE run.workstream = session.workstream
"""


def add_briefing(
    store: Store,
    run: RunRow | str,
    *,
    purpose: str,
    session: SessionRow | int | None,
    text: str,
    after_seq: int,
    through_seq: int,
    included: Iterable[tuple[int, int]],
    omitted: Iterable[tuple[int, int]],
    marks_through: int,
    notes_through: int,
    handoff: str | None = None,
) -> BriefingRow:
    """Store a composed briefing; `text` holds the delivery placeholder."""
    with store.transaction() as db:
        made = db.execute(
            """
            INSERT INTO briefing (run, purpose, session, text, bytes, after_seq, through_seq,
                included, omitted, marks_through, notes_through, handoff, created_at)
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)
            """,
            (
                *(run_id(run), purpose, None if session is None else session_id(session), text),
                *(len(text.encode()), after_seq, through_seq),
                *(json.dumps(merged(included)), json.dumps(merged(omitted))),
                *(marks_through, notes_through, handoff, store.clock.now_ms()),
            ),
        ).lastrowid
    return briefing(store, int(made or 0))


def briefing(store: Store, number: int) -> BriefingRow:
    """Return a briefing by row id. Raises UnavailableError."""
    row = store.one("SELECT * FROM briefing WHERE id = ?", number)
    if row is None:
        raise UnavailableError(f"there is no briefing {number} in the ledger")
    return _briefing(row)


def briefings_of_run(store: Store, run: RunRow | str) -> list[BriefingRow]:
    """Return the briefings that were composed for a run."""
    rows = store.all("SELECT * FROM briefing WHERE run = ? ORDER BY id", run_id(run))
    return [_briefing(row) for row in rows]


def record_printed(
    store: Store,
    delivery: str,
    run: RunRow | str,
    briefing: BriefingRow | int,
    *,
    channel: str,
    source: str | None,
    session: SessionRow | int | None,
    at: int,
    proof: bool = True,
) -> None:
    """Note that a delivery was printed; again with the same id only fills in its session.

    `proof` False: the channel leaves no trace in the native store, so it can only be unverified.
    """
    number = briefing if isinstance(briefing, int) else briefing.id
    receiver = None if session is None else session_id(session)
    state = DeliveryState.LAUNCHED if proof else DeliveryState.UNVERIFIED
    with store.transaction() as db:
        db.execute(
            """
            INSERT INTO delivery (id, run, briefing, channel, state, reason, session, source,
                printed_at, updated_at)
            VALUES (?,?,?,?,?,?,?,?,?,?)
            ON CONFLICT (id) DO UPDATE SET session = coalesce(session, excluded.session)
            """,
            (
                *(delivery, run_id(run), number, channel, state),
                *(None if proof else NO_PROOF, receiver, source, at, store.clock.now_ms()),
            ),
        )


def of_run(store: Store, run: RunRow | str) -> list[DeliveryRow]:
    """Return the deliveries of a run in the order in which they were printed."""
    rows = store.all("SELECT * FROM delivery WHERE run = ? ORDER BY printed_at, id", run_id(run))
    return [_delivery(row) for row in rows]


def get(store: Store, delivery: str) -> DeliveryRow | None:
    """Return a delivery, or None."""
    row = store.one("SELECT * FROM delivery WHERE id = ?", delivery)
    return None if row is None else _delivery(row)


def settle(store: Store, run: RunRow | str) -> list[DeliveryRow]:
    """Bring the deliveries of a run, and older ones of the sessions it touched, to what is known.

    Call it after the import. On an active chain: seen. Only on superseded records: failed, rewound.
    Printed and not found: failed, not_found; where the session could not be read it stays open as
    unverified. Returns the run's own deliveries. Raises LeaseLostError when the run's token is not
    the lease any more.
    """
    row = run if isinstance(run, RunRow) else runs.get(store, run)
    with store.transaction():
        fencing.require(store, row.workstream, row.token)
        found = store.all(
            """
            SELECT delivery.*,
                (SELECT max(active) FROM sighting WHERE delivery = delivery.id) AS sighted,
                (SELECT session FROM sighting WHERE delivery = delivery.id
                 ORDER BY active DESC, found_at LIMIT 1) AS receiver
            FROM delivery WHERE run = ?1 OR id IN (
                SELECT sighting.delivery FROM run_session
                JOIN sighting ON sighting.session = run_session.session
                WHERE run_session.run = ?1)
            """,
            row.id,
        )
        for item in found:
            _settle(store, item, own=item["run"] == row.id)
        for delivery in of_run(store, row.id):
            if delivery.state is DeliveryState.UNVERIFIED and delivery.reason == NO_PROOF:
                _told(store, delivery)
    return of_run(store, row.id)


def _settle(store: Store, row: sqlite3.Row, *, own: bool) -> None:
    before = DeliveryState(row["state"])
    state, reason = before, row["reason"]
    if row["sighted"]:
        if before is not DeliveryState.ACKNOWLEDGED:
            state, reason = DeliveryState.SEEN, None
    elif row["sighted"] is not None:
        state, reason = DeliveryState.FAILED, "rewound"
    elif own and before is DeliveryState.LAUNCHED:
        state, reason = _not_sighted(store, row["session"])
    elif own and before is DeliveryState.PREPARED:
        state, reason = DeliveryState.FAILED, "not_printed"
    if (state, reason) == (before, row["reason"]) and row["session"] is not None:
        return
    store.db.execute(
        "UPDATE delivery SET state = ?, reason = ?, session = coalesce(session, ?), updated_at = ?"
        " WHERE id = ?",
        (state, reason, row["receiver"], store.clock.now_ms(), row["id"]),
    )


def _told(store: Store, delivery: DeliveryRow) -> None:
    """Note which session was told by a delivery without proof, and the answer that shows it.

    One that was printed at the start went to the first session of its run in which anything was
    said; the others name their session.
    """
    receiver = delivery.session
    if receiver is None:
        first = store.one(
            "SELECT session FROM run_session WHERE run = ?1 AND EXISTS (SELECT 1 FROM membership"
            " JOIN event ON event.eid = membership.eid WHERE membership.session ="
            " run_session.session AND event.run = ?1) ORDER BY ordinal LIMIT 1",
            delivery.run,
        )
        receiver = None if first is None else int(first["session"])
    printed = 0 if delivery.source == AT_START else delivery.printed_at
    answer = store.one(
        "SELECT min(event.eid) AS eid FROM event JOIN membership ON membership.eid = event.eid"
        " WHERE event.run = ? AND event.kind = 'assistant_message' AND event.occurred_at >= ?"
        " AND membership.session = ? AND membership.active = 1",
        *(delivery.run, printed, receiver),
    )
    store.db.execute(
        "UPDATE delivery SET session = ?, answer = coalesce(answer, ?), updated_at = ?"
        " WHERE id = ?",
        (receiver, None if answer is None else answer["eid"], store.clock.now_ms(), delivery.id),
    )


def _not_sighted(store: Store, session: int | None) -> tuple[DeliveryState, str]:
    known = store.one("SELECT state FROM session WHERE id = ?", session)
    if known is not None and known["state"] == SessionState.UNREADABLE:
        return DeliveryState.UNVERIFIED, "unreadable"
    return DeliveryState.FAILED, "not_found"


def seen_through(store: Store, session: SessionRow | int, *, told: bool = False) -> int:
    """Return the sequence number up to which the session was shown its workstream, 0 for nothing.

    What was omitted on the way is in `owed`. A session born by /clear counts from its birth on.
    """
    row = store.one(
        f"SELECT max(coalesce((SELECT max(briefing.through_seq){_given(told)}), 0),"
        " coalesce((SELECT born_through FROM session WHERE id = ?1), 0))",
        session_id(session),
    )
    return 0 if row is None else int(row[0])


def seen_briefings(
    store: Store, session: SessionRow | int, *, told: bool = False
) -> list[BriefingRow]:
    """Return the briefings on the session's active chain, in the order in which it saw them."""
    rows = store.all(
        f"SELECT DISTINCT briefing.*{_given(told)} ORDER BY briefing.id", session_id(session)
    )
    return [_briefing(row) for row in rows]


def owed(store: Store, session: SessionRow | int, *, told: bool = False) -> list[tuple[int, int]]:
    """Return the ranges that seen briefings left out and no later seen one brought."""
    still: Ranges = ()
    for row in seen_briefings(store, session, told=told):
        still = merged([*without(still, row.included), *row.omitted])
    return list(still)


def notes_seen(store: Store, session: SessionRow | int, *, told: bool = False) -> int:
    """Return the newest note that a seen briefing of the session knew, 0 for none."""
    row = store.one(f"SELECT max(briefing.notes_through){_given(told)}", session_id(session))
    return 0 if row is None or row[0] is None else int(row[0])


def _given(told: bool) -> str:
    return _TOLD if told else _SEEN


def of_handoff(store: Store, workstream: Workstream | int, handoff: str) -> list[DeliveryRow]:
    """Return the deliveries of a workstream that carried a handoff, by its content digest."""
    rows = store.all(
        "SELECT delivery.* FROM briefing CROSS JOIN run ON run.id = briefing.run"
        " CROSS JOIN delivery ON delivery.run = run.id AND delivery.briefing = briefing.id"
        " WHERE briefing.handoff = ? AND run.workstream = ?"
        " ORDER BY delivery.printed_at, delivery.id",
        handoff,
        workstream_id(workstream),
    )
    return [_delivery(row) for row in rows]


def intended(
    store: Store, workstream: Workstream | int, handoff: str
) -> tuple[DeliveryState, str | None] | None:
    """Return how a handoff stands that no briefing printed: state and reason; None: never composed.

    What was composed for the session that a run was to open, in its newest run: prepared while that
    lives, failed once it has ended without printing it. Briefings made for other sessions, in case
    one of them is opened, mean nothing.
    """
    row = store.one(
        "SELECT run.step, run.outcome FROM briefing CROSS JOIN run ON run.id = briefing.run"
        " LEFT JOIN session ON session.id = briefing.session"
        " WHERE briefing.handoff = ? AND run.workstream = ? AND ("
        " (briefing.purpose = 'new' AND run.mode = 'create')"
        " OR (briefing.purpose = 'session' AND session.native_id = run.native_id))"
        " ORDER BY run.started_at DESC, run.id DESC LIMIT 1",
        handoff,
        workstream_id(workstream),
    )
    if row is None:
        return None
    if row["step"] != Step.CLOSED:
        return DeliveryState.PREPARED, None
    started = row["outcome"] != Outcome.SPAWN_FAILED
    return DeliveryState.FAILED, "not_printed" if started else "not_started"


def first_seen(store: Store, workstream: Workstream | int, handoff: str) -> int | None:
    """Return when a handoff was first found on an active chain, or None."""
    row = store.one(
        "SELECT min(sighting.found_at) AS at FROM briefing"
        " CROSS JOIN run ON run.id = briefing.run"  # in this order: few briefings, many runs
        " CROSS JOIN delivery ON delivery.run = run.id AND delivery.briefing = briefing.id"
        " JOIN sighting ON sighting.delivery = delivery.id AND sighting.active = 1"
        " WHERE briefing.handoff = ? AND run.workstream = ?",
        handoff,
        workstream_id(workstream),
    )
    return None if row is None or row["at"] is None else int(row["at"])


def handoffs_seen(store: Store, session: SessionRow | int, *, told: bool = False) -> set[str]:
    """Return the content digests of the handoffs on the session's active chain."""
    rows = store.all(
        f"SELECT DISTINCT briefing.handoff{_given(told)} AND briefing.handoff IS NOT NULL",
        session_id(session),
    )
    return {str(row["handoff"]) for row in rows}


def lost(store: Store, *, workstream: Workstream | None = None, session: int | None = None) -> int:
    """Return how many briefings were shown that no run of this ledger gave.

    They came from a ledger that is not here any more, or that is kept elsewhere. Of one session, of
    the sessions of one workstream, or of all.
    """
    row = store.one(
        "SELECT count(DISTINCT sighting.delivery) AS n FROM sighting"
        " JOIN session ON session.id = sighting.session"
        " WHERE (?1 IS NULL OR session.workstream = ?1) AND (?2 IS NULL OR session.id = ?2)"
        " AND substr(sighting.delivery, ?3, ?4) NOT IN (SELECT nonce FROM run)",
        None if workstream is None else workstream.id,
        session,
        *(len(DELIVERY_PREFIX) + 1, NONCE_LENGTH),
    )
    return 0 if row is None else int(row["n"])


def acknowledge(
    store: Store,
    workstream: Workstream | int,
    handoff: str,
    session: SessionRow | int | None,
) -> int:
    """Mark seen deliveries of a handoff as acknowledged; return how many.

    Those to one session, or all where a person answered. Inside the caller's transaction, which
    checks the lease.
    """
    receiver = None if session is None else session_id(session)
    done = store.db.execute(
        "UPDATE delivery SET state = ?1, updated_at = ?2 WHERE state = ?3 AND id IN ("
        " SELECT delivery.id FROM briefing CROSS JOIN run ON run.id = briefing.run"
        " CROSS JOIN delivery ON delivery.run = run.id AND delivery.briefing = briefing.id"
        " WHERE briefing.handoff = ?4 AND run.workstream = ?5)"
        " AND (?6 IS NULL OR session = ?6)",
        (
            *(DeliveryState.ACKNOWLEDGED, store.clock.now_ms(), DeliveryState.SEEN, handoff),
            *(workstream_id(workstream), receiver),
        ),
    )
    return done.rowcount


def _ranges(text: str) -> Ranges:
    return tuple((int(first), int(last)) for first, last in json.loads(text))


def _briefing(row: sqlite3.Row) -> BriefingRow:
    values = {name: row[name] for name in BriefingRow._fields}
    values["included"] = _ranges(row["included"])
    values["omitted"] = _ranges(row["omitted"])
    return BriefingRow(**values)


def _delivery(row: sqlite3.Row) -> DeliveryRow:
    values = {name: row[name] for name in DeliveryRow._fields}
    values["state"] = DeliveryState(row["state"])
    return DeliveryRow(**values)
