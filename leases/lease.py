"""Acquire, renew, release and take over: the exclusive right to run a workstream.

The invariant this module protects: at most one token of a workstream is current, tokens only grow,
and whoever moves a link, a delivery or a handoff proves its token in the same transaction.
"""

from __future__ import annotations

import sqlite3
from typing import Final, NamedTuple

from leases.errors import LeaseHeld, LeaseLost
from leases.holder import Holder, LeaseView, Place, place_here
from leases.verdict import Facts, Verdict, Why, judge
from ledger import fencing, host
from ledger.store import Store

TTL_MS: Final = 90_000
HEARTBEAT_MS: Final = TTL_MS // 3


class Lease(NamedTuple):
    """A lease that was acquired; valid as long as `check` says so."""

    workstream: int
    token: int
    run: str
    expires_at: int
    previous: LeaseView | None = None
    """Whoever held it before without releasing it."""
    verdict: Verdict | None = None
    """Why it could be taken from `previous`; `child_may_live` forbids resuming its session."""


class LiveRun(NamedTuple):
    """A live run of another workstream."""

    workstream: int
    name: str
    view: LeaseView
    description: str


def inspect(store: Store, workstream: int) -> LeaseView | None:
    """Return the lease row of a workstream; None when it was never leased."""
    row = store.one("SELECT * FROM lease WHERE workstream = ?", workstream)
    return None if row is None else _view(row)


def held(store: Store) -> list[LeaseView]:
    """Return every lease that was not given back, live or not."""
    rows = store.all("SELECT * FROM lease WHERE run IS NOT NULL ORDER BY workstream")
    return [_view(row) for row in rows]


def verdict_on(store: Store, view: LeaseView | None) -> Verdict:
    """Judge a lease with what this host shows of its processes now."""
    here = place_here(store)
    holder, child = host.Life.UNKNOWN, None
    if view is not None and view.holder is not None and view.holder.place == here:
        holder = host.life(view.holder.pid, view.holder.pid_start)
        if view.child_pid is not None:
            child = host.life(view.child_pid, view.child_start)
    facts = Facts(
        place=here,
        now_ms=store.clock.now_ms(),
        boot_ms=store.clock.boot_ms(),
        holder=holder,
        child=child,
    )
    return judge(view, facts)


def acquire(store: Store, workstream: int, holder: Holder, *, ttl_ms: int = TTL_MS) -> Lease:
    """Take a free, dead or lapsed lease; raise LeaseHeld with the holder's facts otherwise.

    Reading, judging and the compare-and-swap are one transaction: of any number of callers at once
    exactly one gets it.
    """
    with store.transaction():
        view = inspect(store, workstream)
        verdict = verdict_on(store, view)
        if view is not None and not verdict.takeable:
            raise LeaseHeld(view, verdict, describe(store, view, verdict))
        return _swap(store, workstream, holder, view, verdict, ttl_ms)


def take_over(
    store: Store,
    workstream: int,
    holder: Holder,
    *,
    seen_token: int | None = None,
    ttl_ms: int = TTL_MS,
) -> Lease:
    """Replace whoever holds it, whatever state it is in; kills nobody.

    With `seen_token`, only the lease that the person was shown is replaced; when another one has
    come in between, LeaseHeld is raised with its facts.
    """
    with store.transaction():
        view = inspect(store, workstream)
        verdict = verdict_on(store, view)
        changed = view is not None and seen_token is not None and view.token != seen_token
        if view is not None and changed and not verdict.takeable:
            raise LeaseHeld(view, verdict, describe(store, view, verdict))
        return _swap(store, workstream, holder, view, verdict, ttl_ms)


def renew(store: Store, workstream: int, token: int, *, ttl_ms: int = TTL_MS) -> int:
    """Extend our lease, lapsed or not; return the new expiry. LeaseLost when taken or released."""
    now = store.clock.now_ms()
    with store.transaction() as db:
        done = db.execute(
            "UPDATE lease SET renewed_at = ?, renewed_boot = ?, expires_at = ?"
            " WHERE workstream = ? AND token = ? AND run IS NOT NULL",
            (now, store.clock.boot_ms(), now + ttl_ms, workstream, token),
        )
        if done.rowcount != 1:
            raise _lost(store, workstream)
    return now + ttl_ms


def release(store: Store, workstream: int, token: int) -> bool:
    """Give it back; False when it was not ours any more. The row keeps the token."""
    with store.transaction() as db:
        done = db.execute(
            "UPDATE lease SET run = NULL, expires_at = ?"
            " WHERE workstream = ? AND token = ? AND run IS NOT NULL",
            (store.clock.now_ms(), workstream, token),
        )
    return done.rowcount == 1


def record_child(store: Store, workstream: int, token: int, pid: int, start: int | None) -> None:
    """Record the child that was spawned under this lease; LeaseLost when it is not ours."""
    with store.transaction() as db:
        done = db.execute(
            "UPDATE lease SET child_pid = ?, child_start = ?"
            " WHERE workstream = ? AND token = ? AND run IS NOT NULL",
            (pid, start, workstream, token),
        )
        if done.rowcount != 1:
            raise _lost(store, workstream)


def check(store: Store, workstream: int, token: int) -> None:
    """Raise LeaseLost unless `token` is current.

    Call it inside the transaction that it guards: no other process can take the lease before that
    transaction ends. A lapsed lease that nobody took is still current.
    """
    fencing.require(store, workstream, token)


def live_elsewhere(store: Store, worktree: str, *, workstream: int | None = None) -> list[LiveRun]:
    """Return live runs of other workstreams in the same worktree, for one warning line."""
    rows = store.all(
        "SELECT lease.*, workstream.name AS workstream_name FROM lease"
        " JOIN run ON run.id = lease.run"
        " JOIN workstream ON workstream.id = lease.workstream"
        " WHERE run.worktree = ? AND lease.workstream IS NOT ? ORDER BY lease.workstream",
        worktree,
        workstream,
    )
    found = []
    for row in rows:
        view = _view(row)
        verdict = verdict_on(store, view)
        if not verdict.takeable:
            found.append(
                LiveRun(
                    workstream=view.workstream,
                    name=row["workstream_name"],
                    view=view,
                    description=describe(store, view, verdict),
                )
            )
    return found


def describe(store: Store, view: LeaseView, verdict: Verdict | None = None) -> str:
    """Return one line about a holder: harness, terminal, pid, since when, idle, what is known."""
    verdict = verdict or verdict_on(store, view)
    holder = view.holder
    if holder is None:
        return "nobody"
    here = place_here(store)
    parts = [holder.harness or holder.purpose]
    if holder.terminal:
        parts.append(holder.terminal)
    parts.append(f"pid {holder.pid}")
    parts.append(f"for {duration(store.clock.now_ms() - view.acquired_at)}")
    if holder.place == here:
        idle = host.terminal_idle_ms(holder.terminal)
        if idle is not None:
            parts.append(f"idle {duration(idle)}")
    elif holder.place.host_id != here.host_id:
        parts.append("on another host")
    else:
        parts.append("in another container")
    if verdict.why is Why.CHILD_RUNNING and view.child_pid is not None:
        parts.append(f"its program is running (pid {view.child_pid})")
    elif verdict.remaining_ms:
        parts.append(f"lapses in {duration(verdict.remaining_ms)}")
    return ", ".join(parts)


def duration(milliseconds: int) -> str:
    """Return a length of time in its largest unit: `5 s`, `12 min`, `3 h`, `2 d`."""
    seconds = max(0, milliseconds) // 1000
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


_COLUMNS: Final = (
    "run", "purpose", "host_id", "boot_id", "pid_ns", "pid", "pid_start", "user", "terminal",
    "harness", "child_pid", "child_start", "acquired_at", "renewed_at", "renewed_boot",
    "expires_at",
)  # fmt: skip
_SWAP: Final = (
    f"INSERT INTO lease (workstream, token, {', '.join(_COLUMNS)})"
    f" VALUES (?, ?, {', '.join('?' * len(_COLUMNS))})"
    " ON CONFLICT (workstream) DO UPDATE SET token = max(lease.token + 1, excluded.token), "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)
    + " WHERE lease.token = ? RETURNING token"
)


def _swap(
    store: Store,
    workstream: int,
    holder: Holder,
    view: LeaseView | None,
    verdict: Verdict,
    ttl_ms: int,
) -> Lease:
    """Put `holder` in place of what was seen, under a new token."""
    now = store.clock.now_ms()
    place = holder.place
    row = store.db.execute(
        _SWAP,
        (
            workstream, now * 1000, holder.run, holder.purpose, place.host_id, place.boot_id,
            place.pid_ns, holder.pid, holder.pid_start, holder.user, holder.terminal,
            holder.harness, None, None, now, now, store.clock.boot_ms(), now + ttl_ms,
            view.token if view is not None else None,
        ),
    ).fetchone()  # fmt: skip
    if row is None:
        raise _lost(store, workstream)
    taken = view if view is not None and view.holder is not None else None
    return Lease(
        workstream=workstream,
        token=int(row["token"]),
        run=holder.run,
        expires_at=now + ttl_ms,
        previous=taken,
        verdict=verdict if taken is not None else None,
    )


def _lost(store: Store, workstream: int) -> LeaseLost:
    view = inspect(store, workstream)
    if view is None or view.holder is None:
        return LeaseLost("the lease of this workstream was released by somebody else")
    return LeaseLost(
        "the lease of this workstream was taken over",
        detail=describe(store, view, verdict_on(store, view)),
        next_step="What this run wrote is imported; the other run decides how the work goes on.",
    )


def _view(row: sqlite3.Row) -> LeaseView:
    holder = None
    if row["run"] is not None:
        holder = Holder(
            run=row["run"],
            purpose=row["purpose"],
            place=Place(host_id=row["host_id"], boot_id=row["boot_id"], pid_ns=row["pid_ns"]),
            pid=row["pid"],
            pid_start=row["pid_start"],
            user=row["user"],
            terminal=row["terminal"],
            harness=row["harness"],
        )
    return LeaseView(
        workstream=row["workstream"],
        token=row["token"],
        holder=holder,
        child_pid=row["child_pid"],
        child_start=row["child_start"],
        acquired_at=row["acquired_at"],
        renewed_at=row["renewed_at"],
        renewed_boot=row["renewed_boot"],
        expires_at=row["expires_at"],
    )
