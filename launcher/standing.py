"""Where a workstream stands, as one document: for `status --json` and for people."""

from __future__ import annotations

from typing import Any

from launcher import pressure
from launcher.finish import delivery_document
from launcher.output import ago, iso, local_time
from launcher.reading import Reading
from leases import lease as leases
from ledger import deliveries, events, facts, limits, notes, runs, sessions
from ledger.model import RunRow, SessionRow, Workstream
from ledger.ranges import count
from ledger.store import Store
from ledger.visible import show


def document(now: Reading) -> dict[str, Any]:
    """Return the document of `status --json`."""
    store, workstream = now.store, now.choice.workstream
    rows = sessions.of_workstream(store, workstream)
    current = {link.session for link in sessions.links(store, workstream)}
    last = runs.last(store, workstream)
    return {
        "workstream": {
            "id": workstream.uid,
            "name": workstream.name,
            "objective": workstream.objective,
            "repository": now.choice.repository.name,
            "archived": workstream.archived_at is not None,
        },
        "lease": lease_document(store, workstream),
        "sessions": [session_document(store, row, current=row.id in current) for row in rows],
        "last_run": None if last is None else run_document(store, last),
        "counts": events.counts(store, workstream),
        "events": workstream.head_seq,
        "notes": len(notes.list_notes(store, workstream)),
        "limit": _limit(store, workstream),
        "handoff": _handoff(store, workstream),
        "rollover": _rollover(now),
        "coverage": now.coverage(),
    }


def lease_document(store: Store, workstream: Workstream) -> dict[str, Any] | None:
    """Return who holds the lease, or None when it is free."""
    view = leases.inspect(store, workstream.id)
    if view is None or view.holder is None:
        return None
    verdict = leases.verdict_on(store, view)
    return {
        "run": view.holder.run,
        "purpose": view.holder.purpose,
        "harness": view.holder.harness,
        "token": view.token,
        "host": view.holder.place.host_id,
        "pid": view.holder.pid,
        "child_pid": view.child_pid,
        "terminal": view.holder.terminal,
        "user": view.holder.user,
        "acquired_at": iso(view.acquired_at),
        "renewed_at": iso(view.renewed_at),
        "expires_at": iso(view.expires_at),
        "takeable": verdict.takeable,
        "state": str(verdict.why),
        "description": leases.describe(store, view, verdict),
    }


def session_document(store: Store, row: SessionRow, *, current: bool) -> dict[str, Any]:
    """Return a linked session with what was imported of it and what it has seen."""
    owed = deliveries.owed(store, row, told=True)
    figures = facts.pressure(store, [row.id]).get(row.id)
    turn = facts.last_turn(store, row.id)
    return {
        "harness": row.entry,
        "native_id": row.native_id,
        "store_path": row.store_path,
        "home": row.home,
        "current": current,
        "one_shot": row.one_shot,
        "origin": str(row.origin),
        "state": str(row.state),
        "state_detail": row.state_detail,
        "imported": sessions.event_count(store, row),
        "seen_through": deliveries.seen_through(store, row),
        "told_through": deliveries.seen_through(store, row, told=True),
        "omitted": count(owed),
        "last_at": iso(row.last_at),
        "last_turn": None if turn is None else turn[1],
        "version": row.version,
        "model": row.model,
        "context": pressure.document(figures, store.clock.now_ms()),
    }


def run_document(store: Store, run: RunRow) -> dict[str, Any]:
    """Return a run with its deliveries."""
    briefed = {row.id: row for row in deliveries.briefings_of_run(store, run.id)}
    return {
        "run": run.id,
        "harness": run.entry,
        "step": str(run.step),
        "outcome": None if run.outcome is None else str(run.outcome),
        "one_shot": run.one_shot,
        "mode": run.mode,
        "started_at": iso(run.started_at),
        "ended_at": iso(run.ended_at),
        "exit_code": run.exit_code,
        "signal": run.signal,
        "worktree": run.worktree,
        "version": run.program,
        "deliveries": [delivery_document(row, briefed) for row in deliveries.of_run(store, run.id)],
    }


def _handoff(store: Store, workstream: Workstream) -> dict[str, Any] | None:
    """Return the handoff that leads and how it stands, or None."""
    from handoffs.store import leading, states

    found = leading.leading(store, workstream)
    if found is None:
        return None
    standing = states.standing(store, workstream, found.content_digest)
    return {
        "name": found.name,
        "origin": str(found.origin),
        "by": found.author.harness or found.author.owner,
        "at": iso(found.created_at),
        "delivery": None if standing.delivery is None else str(standing.delivery),
        "transfer": str(standing.transfer),
        "coverage": str(standing.coverage),
    }


def _rollover(now: Reading) -> dict[str, Any]:
    """Return the policy about full sessions, what is advised by it, and the draft it prepared."""
    from handoffs.store import drafts

    policy, limits = now.place.config.rollover, pressure.thresholds(now.place.config)
    store, workstream = now.store, now.choice.workstream
    return {
        "policy": policy,
        "thresholds": limits._asdict(),
        "advice": [] if policy == "manual" else pressure.advice(store, workstream, limits),
        "draft": drafts.kept(store, workstream),
    }


def _limit(store: Store, workstream: Workstream) -> dict[str, Any] | None:
    found = limits.latest(store, workstream)
    if found is None:
        return None
    resets = found["resets_at"]
    return {
        "harness": found["entry"],
        "message": found["message"],
        "observed_at": iso(found["observed_at"]),
        "resets_at": iso(resets),
        "active": resets is not None and resets > store.clock.now_ms(),
    }


# --- for people ---------------------------------------------------------------------------------


def rendered(data: dict[str, Any], now: Reading) -> str:
    """Return the document in lines for a person."""
    workstream = now.choice.workstream
    clock = now.store.clock.now_ms()
    name = show(workstream.name, newline=False)
    lines = [f"{name}  in {now.choice.repository.name}  ({now.choice.reason})"]
    if workstream.objective:
        lines.append(f"  objective  {show(workstream.objective, newline=False)}")
    lease = data["lease"]
    lines.append(f"  running    {lease['description'] if lease else 'no'}")
    last = runs.last(now.store, workstream)
    if last is not None:
        lines.append(f"  last run   {_run_line(last, clock)}")
    lines.append(f"  events     {_counts(data['counts'])}")
    if data["notes"]:
        lines.append(f"  notes      {data['notes']}")
    limit = data["limit"]
    if limit is not None and limit["active"]:
        found = limits.latest(now.store, workstream)
        until = local_time(found["resets_at"]) if found and found["resets_at"] else "?"
        lines.append(f"  limit      {limit['harness']} until {until}")
        lines.append("             go on elsewhere: workstream run HARNESS")
    handoff = data["handoff"]
    if handoff is not None:
        reached = handoff["delivery"] or "not delivered yet"
        name = handoff["name"] if handoff["origin"] == "revision" else handoff["origin"]
        lines.append(f"  handoff    {name} by {handoff['by']}: {reached}, {handoff['transfer']}")
    lines += [f"  full       {line}" for line in data["rollover"]["advice"]]
    if data["rollover"]["draft"] is not None:
        name = data["rollover"]["draft"]
        lines.append(f"  prepared   by policy: workstream handoff show {name}")
        lines.append(f"             take it over: workstream handoff commit {name}")
    for session in data["sessions"]:
        lines.append(_session_line(session))
        if session["state"] != "present":
            lines.append(f"             {session['state']}: {session['state_detail'] or ''}")
    if not data["coverage"]["complete"]:
        lines.append("  coverage   not everything is imported: " + _why(data["coverage"]))
    lines.append("  next       workstream run")
    return "\n".join(lines)


def _run_line(run: RunRow, clock: int) -> str:
    state = "not finished" if run.outcome is None else str(run.outcome).replace("_", " ")
    code = "" if run.exit_code is None else f", exit {run.exit_code}"
    return f"{run.entry}, {ago(run.started_at, clock)}, {state}{code}"


def _counts(counts: dict[str, int]) -> str:
    words = {
        "user_message": "from you",
        "assistant_message": "from agents",
        "tool_call": "tool calls",
        "annotation": "losses",
        "compaction": "compactions",
    }
    parts = [f"{counts[kind]:,} {word}" for kind, word in words.items() if counts.get(kind)]
    return ", ".join(parts) or "none yet"


def _session_line(session: dict[str, Any]) -> str:
    mark = "*" if session["current"] else " "
    kind = " one-shot" if session["one_shot"] else ""
    full = ", " + pressure.line(session["context"])
    owed = f", {session['omitted']:,} owed" if session["omitted"] else ""
    seen, told = session["seen_through"], session["told_through"]
    unproven = f", told through e{told} without proof" if told > seen else ""
    return (
        f"  session  {mark} {session['harness']}{kind} {session['native_id']}:"
        f" {session['imported']:,} events, seen through e{seen}{unproven}{owed}{full}"
    )


def _why(coverage: dict[str, Any]) -> str:
    parts = []
    if coverage["unread"]:
        parts.append(f"cannot read {', '.join(coverage['unread'])}")
    if not coverage["complete"] and not parts:
        parts.append("the ledger cannot be written from here")
    return "; ".join(parts)
