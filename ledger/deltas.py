"""What a native session does not know yet of its workstream.

Due is an event that is on the active chain of another delivering session, not on the receiver's
own, and that no seen briefing has brought: it lies after the receiver's seen-position, or in a
range that a seen briefing left out. Archive sessions, checkpoints and what was forgotten are never
due. Nothing here writes; what counts as seen is derived by `ledger/deliveries.py`.

The cost is bounded by the number of events that are read and by the number of sessions, never by
the length of the history: what lies further back is given as ranges, without being counted.
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ledger import deliveries, events
from ledger.errors import StateCorruptError, UnavailableError
from ledger.model import EventKind, EventRow, SessionRow, Workstream, workstream_id
from ledger.ranges import Ranges, merged, without

if TYPE_CHECKING:
    from ledger.store import Store

BOUND: Final = 1000
"""Newest due events that are read: several times what any briefing has room for."""
OWED: Final = 400
"""Owed events that are read, half of them at least the person's messages where there are any."""
CLIP: Final = 32 * 1024
"""Characters of a text that an event of a delta carries: a longer one keeps beginning and end."""

_HEAD: Final = 8 * 1024
_SCAN: Final = 20_000
"""Memberships of one session that are looked at, those shared with the receiver included."""
_TEXT_BUDGET: Final = 4 * 1024 * 1024
_UNPACK_BUDGET: Final = 8 * 1024 * 1024
_CHUNK: Final = 400
_CUT: Final = "\n[… cut …]\n"

_DUE: Final = """
    EXISTS (
        SELECT 1 FROM membership JOIN session ON session.id = membership.session
        WHERE membership.eid = event.eid AND membership.active = 1
            AND session.deliver = 1 AND session.id <> ?1)
    AND NOT EXISTS (
        SELECT 1 FROM membership
        WHERE session = ?1 AND membership.eid = event.eid AND active = 1)
    AND EXISTS (SELECT 1 FROM body WHERE body.eid = event.eid)
"""


class Delta(NamedTuple):
    """What is due to a receiver. Events are newest first; texts are clipped to `CLIP`."""

    after: int
    """Seen-position of the receiver."""
    through: int
    """Newest event of the workstream: the seen-position once a briefing from this is seen."""
    events: tuple[EventRow, ...]
    """Due events after the seen-position."""
    beyond: Ranges
    """Sequence ranges that were not read. They hold due events and may hold others too."""
    owed: tuple[EventRow, ...]
    """Events left out of seen briefings: the person's messages first."""
    owed_beyond: Ranges
    """Owed ranges that were not read; as `beyond`."""
    withdrawn: Ranges
    """Events that the receiver was told and that were rewound elsewhere since."""
    restored: Ranges
    """Events that it was told, that were withdrawn, and that are valid again since."""
    marks_through: int
    """Newest branch mark that this knows."""

    @property
    def more(self) -> bool:
        """Whether anything was left unread, so that numbers of left out events are not exact."""
        return bool(self.beyond or self.owed_beyond)

    def left_out(self, included: Iterable[tuple[int, int]]) -> Ranges:
        """Return what stays owed when a briefing brings `included`."""
        known = ((event.seq, event.seq) for event in (*self.events, *self.owed))
        return without([*known, *self.beyond, *self.owed_beyond], included)

    def count_left_out(self, included: Iterable[tuple[int, int]]) -> int:
        """Return how many due events stay out, at least: unread ranges count nothing."""
        taken = merged(included)
        known = {(event.seq, event.seq) for event in (*self.events, *self.owed)}
        return sum(last - first + 1 for first, last in without(known, taken))


class _Changes(NamedTuple):
    """Branch changes since the receiver's last seen briefing."""

    withdrawn: Ranges
    restored: Ranges
    due: list[int]
    """Row ids of events that were superseded all the time and are due now."""


def unseen(
    store: Store,
    workstream: Workstream | int,
    receiver: SessionRow | None,
    *,
    bound: int = BOUND,
    told: bool = False,
) -> Delta:
    """Return what is due to a session of the workstream; `receiver` None is a new session.

    `told`: what it was told without proof is not due, as `ledger/deliveries.py` says.
    """
    number = workstream_id(workstream)
    with _snapshot(store):
        row = store.one("SELECT head_seq FROM workstream WHERE id = ?", number)
        if row is None:
            raise UnavailableError(f"there is no workstream {number}")
        through = int(row["head_seq"])
        after = 0 if receiver is None else deliveries.seen_through(store, receiver, told=told)
        me = 0 if receiver is None else receiver.id
        fresh, beyond = _fresh(store, number, me, after, bound)
        changes = _changes(store, number, receiver, told=told)
        owed, owed_beyond = _owed(store, number, receiver, changes.due, told=told)
        return Delta(
            after=after,
            through=through,
            events=fresh,
            beyond=beyond,
            owed=owed,
            owed_beyond=owed_beyond,
            withdrawn=changes.withdrawn,
            restored=changes.restored,
            marks_through=newest_mark(store, number),
        )


def newest_mark(store: Store, workstream: Workstream | int) -> int:
    """Return the newest branch mark's id, 0 for none. Ids are one sequence over all workstreams."""
    del workstream
    row = store.one("SELECT max(id) FROM branch_mark")
    return 0 if row is None or row[0] is None else int(row[0])


def conversation_order(store: Store, given: Iterable[EventRow]) -> list[EventRow]:
    """Return the events in the order in which a person would read them, each once.

    Inside a session the session's own order rules, whatever its clock says; sessions are merged by
    time. An event that several sessions carry is placed in the one that brought it, where it is
    active there.
    """
    found = {event.eid: event for event in given}
    lanes: dict[int, list[tuple[tuple[int, int, int], EventRow]]] = {}
    places = _places(store, list(found))
    for event in found.values():
        mine = places.get(event.eid, {})
        lane = event.session_id if event.session_id in mine else min(mine, default=0)
        key = mine[lane] if lane is not None and lane in mine else (event.seq, 0, 0)
        lanes.setdefault(lane or 0, []).append((key, event))
    return [event for _, _, _, event in heapq.merge(*(_timed(k, v) for k, v in lanes.items()))]


def _timed(
    lane: int, items: list[tuple[tuple[int, int, int], EventRow]]
) -> list[tuple[int, int, int, EventRow]]:
    """Give each event of a session a time that never goes back."""
    items.sort(key=lambda item: (item[0], item[1].seq))
    out = []
    latest = 0
    for place, (_, event) in enumerate(items):
        latest = max(latest, event.occurred_at)
        out.append((latest, lane, place, event))
    return out


def _places(store: Store, eids: Sequence[int]) -> dict[int, dict[int, tuple[int, int, int]]]:
    found: dict[int, dict[int, tuple[int, int, int]]] = {}
    for start in range(0, len(eids), _CHUNK):
        chunk = eids[start : start + _CHUNK]
        rows = store.all(
            "SELECT eid, session, depth, record, block FROM membership"
            f" WHERE active = 1 AND eid IN ({','.join('?' * len(chunk))})",
            *chunk,
        )
        for eid, session, depth, record, block in rows:
            found.setdefault(eid, {})[session] = (depth, record, block)
    return found


# --- after the seen-position ----------------------------------------------------------------------


def _fresh(
    store: Store, workstream: int, me: int, after: int, bound: int
) -> tuple[tuple[EventRow, ...], Ranges]:
    first = store.one(
        "SELECT eid FROM event WHERE workstream = ? AND seq > ? ORDER BY seq LIMIT 1",
        *(workstream, after),
    )
    if first is None:
        return (), ()
    low = int(first["eid"])
    eids: list[int] = []
    unread = _Unread()
    for session, lowest, newest in _others(store, workstream, me, low):
        # Only what is newer than the oldest of `bound` candidates can still be among the newest.
        floor = eids[-1] if len(eids) >= bound else low
        end = newest + 1
        if newest >= floor:
            fresh, end = _newest(store, session, me, floor, bound)
            eids = sorted({*eids, *fresh}, reverse=True)
            unread.add(eids[bound:])
            del eids[bound:]
        if lowest < end:
            unread.add((lowest, end - 1))
    rows, read = _read(store, eids)
    unread.add(eids[read:])
    return rows, without(_span(store, workstream, unread), [(row.seq, row.seq) for row in rows])


class _Unread:
    """The span of row ids in which something was not read."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = 0

    def add(self, eids: Sequence[int]) -> None:
        """Widen the span so that it holds the ids."""
        if eids:
            lowest = min(eids)
            self.first = lowest if self.first is None else min(self.first, lowest)
            self.last = max(self.last, *eids)


def _others(store: Store, workstream: int, me: int, low: int) -> list[tuple[int, int, int]]:
    """Return the delivering sessions that have something from row `low` on.

    With each come its first and its last such row; the session with the newest row is first.
    """
    rows = store.all(
        """
        SELECT id, newest,
            (SELECT min(eid) FROM membership WHERE session = newer.id AND eid >= ?3) AS lowest
        FROM (
            SELECT id, (SELECT max(eid) FROM membership WHERE session = session.id) AS newest
            FROM session WHERE workstream = ?1 AND deliver = 1 AND id <> ?2) AS newer
        WHERE newest >= ?3 ORDER BY newest DESC
        """,
        *(workstream, me, low),
    )
    return [(int(row["id"]), int(row["lowest"]), int(row["newest"])) for row in rows]


def _newest(store: Store, session: int, me: int, low: int, bound: int) -> tuple[list[int], int]:
    """Return the newest due row ids of a session from row `low` on.

    With them comes the row id from which on nothing was missed.
    """
    rows = store.all(
        """
        SELECT eid FROM (SELECT eid, active FROM membership WHERE session = ? AND eid >= ?
                         ORDER BY eid DESC LIMIT ?) AS mine
        WHERE active = 1 AND NOT EXISTS (
            SELECT 1 FROM membership AS own
            WHERE own.session = ? AND own.eid = mine.eid AND own.active = 1)
        LIMIT ?
        """,
        *(session, low, _SCAN, me, bound + 1),
    )
    eids = [int(row["eid"]) for row in rows]
    if len(eids) > bound:
        return eids[:bound], eids[bound - 1]
    edge = store.one(
        "SELECT eid FROM membership WHERE session = ? AND eid >= ?"
        " ORDER BY eid DESC LIMIT 1 OFFSET ?",
        *(session, low, _SCAN),
    )
    return eids, low if edge is None else int(edge["eid"]) + 1


def _span(store: Store, workstream: int, unread: _Unread) -> Ranges:
    """Return the sequence range that belongs to the row ids."""
    if unread.first is None:
        return ()
    row = store.one(
        """
        SELECT min(seq) AS first, max(seq) AS last FROM event WHERE eid IN (?1, (
            SELECT max((SELECT max(eid) FROM membership
                        WHERE membership.session = session.id AND eid <= ?2))
            FROM session WHERE session.workstream = ?3))
        """,
        *(unread.first, unread.last, workstream),
    )
    return () if row is None or row["first"] is None else ((row["first"], row["last"]),)


def _read(store: Store, eids: Sequence[int]) -> tuple[tuple[EventRow, ...], int]:
    """Return the events that have a text, and how many ids were read before the budget was."""
    out: list[EventRow] = []
    size = 0
    unpack = _UNPACK_BUDGET
    read = 0
    for start in range(0, len(eids), _CHUNK):
        if size > _TEXT_BUDGET:
            break
        chunk = eids[start : start + _CHUNK]
        rows = events.by_eids(store, chunk, inline=True)
        for eid in chunk:
            row = rows.get(eid)
            if row is None or row.status == events.FORGOTTEN:
                continue
            if row.truncated and not row.text:
                row, cost = _unpacked(store, row, unpack)
                unpack -= cost
            size += len(row.text)
            out.append(row)
        read = start + len(chunk)
    return tuple(out), read


def _unpacked(store: Store, row: EventRow, budget: int) -> tuple[EventRow, int]:
    """Return the event with its compressed text, and what that cost in bytes."""
    if row.bytes > budget:
        head = events.by_eids(store, [row.eid], text_bytes=_HEAD).get(row.eid, row)
        return head, 0
    try:
        text = events.body(store, row.eid) or ""
    except StateCorruptError:
        # One damaged text must not stop a start: the event is told without it, `verify` finds it.
        return row._replace(text="", truncated=True), 0
    if len(text) <= CLIP:
        return row._replace(text=text, truncated=len(text.encode()) < row.bytes), row.bytes
    clipped = text[:_HEAD] + _CUT + text[-(CLIP - _HEAD) :]
    return row._replace(text=clipped, truncated=True), row.bytes


# --- owed -----------------------------------------------------------------------------------------


def _owed(
    store: Store,
    workstream: int,
    receiver: SessionRow | None,
    restored: Sequence[int],
    *,
    told: bool,
) -> tuple[tuple[EventRow, ...], Ranges]:
    if receiver is None:
        return (), ()
    ranges = merged(deliveries.owed(store, receiver, told=told))
    users = _due_users(store, workstream, receiver.id, ranges, OWED // 2)
    others, floor = _due_and_floor(store, workstream, receiver.id, ranges)
    eids = sorted({*users, *others, *restored}, reverse=True)
    rows, _ = _read(store, eids)
    first = [row for row in rows if row.kind is EventKind.USER_MESSAGE]
    rest = [row for row in rows if row.kind is not EventKind.USER_MESSAGE]
    beyond = () if floor is None else without(ranges, [(floor, ranges[-1][1])])
    beyond = without(beyond, [(row.seq, row.seq) for row in rows])
    return (*first, *rest), beyond


def _due_and_floor(
    store: Store, workstream: int, me: int, ranges: Ranges
) -> tuple[list[int], int | None]:
    """Return the newest due row ids in the ranges, and the seq from which on nothing was missed.

    None as the second means that the ranges were read to their beginning.
    """
    left = OWED
    eids: list[int] = []
    for first, last in reversed(ranges):
        rows = store.all(
            f"SELECT seq, eid, {_DUE} AS due FROM event"
            " WHERE workstream = ?2 AND seq BETWEEN ?3 AND ?4 ORDER BY seq DESC LIMIT ?5",
            *(me, workstream, first, last, left),
        )
        eids += [int(row["eid"]) for row in rows if row["due"]]
        left -= len(rows)
        if left <= 0:
            lowest = int(rows[-1]["seq"]) if rows else last + 1
            done = lowest <= ranges[0][0]
            return eids, None if done else lowest
    return eids, None


def _due_users(store: Store, workstream: int, me: int, ranges: Ranges, limit: int) -> list[int]:
    """Return the newest due messages of the person, by the index made for them."""
    eids: list[int] = []
    for first, last in reversed(ranges):
        if len(eids) >= limit:
            break
        rows = store.all(
            "SELECT eid FROM event WHERE workstream = ?2 AND kind = 'user_message'"
            f" AND seq BETWEEN ?3 AND ?4 AND {_DUE} ORDER BY seq DESC LIMIT ?5",
            *(me, workstream, first, last, limit - len(eids)),
        )
        eids += [int(row["eid"]) for row in rows]
    return eids


# --- branches -------------------------------------------------------------------------------------


def _changes(store: Store, workstream: int, receiver: SessionRow | None, *, told: bool) -> _Changes:
    """Compare the branch state now with that at the last briefing that the receiver saw."""
    none = _Changes((), (), [])
    if receiver is None:
        return none
    seen = deliveries.seen_briefings(store, receiver, told=told)
    if not seen:
        return none
    shown = merged(part for briefing in seen for part in briefing.included)
    after = max(briefing.through_seq for briefing in seen)
    rows = store.all(
        f"""
        SELECT event.eid, event.seq, changed.state AS first_state, {_DUE} AS due,
            NOT EXISTS (SELECT 1 FROM membership
                        WHERE membership.eid = event.eid AND active = 1) AS gone
        FROM (
            SELECT branch_mark.eid, branch_mark.state, min(branch_mark.id) AS first
            FROM session CROSS JOIN branch_mark
                ON branch_mark.session = session.id AND branch_mark.id > ?3
            WHERE session.workstream = ?2 AND session.id <> ?1
            GROUP BY branch_mark.session, branch_mark.eid
            ORDER BY first DESC LIMIT ?4) AS changed
        JOIN event ON event.eid = changed.eid
        """,
        *(receiver.id, workstream, max(briefing.marks_through for briefing in seen), BOUND),
    )
    withdrawn, restored, due = set(), set(), []
    for row in rows:
        seq = int(row["seq"])
        was_active = row["first_state"] == "superseded"
        was_told = _within(seq, shown)
        if was_told and was_active and row["gone"]:
            withdrawn.add((seq, seq))
        elif was_told and not was_active and row["due"]:
            restored.add((seq, seq))
        elif not was_told and not was_active and row["due"] and seq <= after:
            due.append(int(row["eid"]))
    return _Changes(merged(withdrawn), merged(restored), due)


def _within(seq: int, ranges: Ranges) -> bool:
    return any(first <= seq <= last for first, last in ranges)


@contextlib.contextmanager
def _snapshot(store: Store) -> Iterator[None]:
    """Read the database as it is at one moment, whatever is imported meanwhile."""
    if store.db.in_transaction:
        yield
        return
    store.db.execute("BEGIN")
    try:
        yield
    finally:
        store.db.execute("COMMIT")
