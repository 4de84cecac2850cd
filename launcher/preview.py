"""Showing briefings without delivering them: the next one, and the ones that were sent."""

from __future__ import annotations

from typing import Any

from importers import registry as importers
from launcher import briefing, launching
from launcher.config import checked_budget
from launcher.harnesses import registry
from launcher.options import RunOptions
from launcher.output import emit_json, iso, plural, say
from launcher.reading import Reading, answer
from ledger import deliveries, git, runs, sessions
from ledger.errors import UnavailableError, UsageError
from ledger.ids import DELIVERY_PLACEHOLDER
from ledger.model import SessionRow
from ledger.ranges import Ranges, count


def due(now: Reading, harness: str | None, budget: int | None, *, as_json: bool) -> int:
    """Print the briefing that the next run would deliver."""
    name = harness or _default(now)
    entry = now.place.config.entry(name)
    adapter = registry.get(entry.use)
    if entry.name == entry.use:
        name = adapter.name
    env = launching.child_environment(now.place, entry, RunOptions(), adapter)
    home = importers.get(adapter.name).home(env)
    receiver = sessions.current(now.store, now.choice.workstream, name, home, False)
    limit = budget or now.place.config.budget
    if budget is not None:
        checked_budget(budget, "--budget")
    composed = briefing.compose(
        now.store,
        now.choice.workstream,
        receiver,
        _scene(now, name, told=not adapter.context_proof),
        budget=min(limit, adapter.context_capacity),
        purpose="new" if receiver is None else "session",
    )
    if as_json:
        emit_json("briefing", _document(now, name, receiver, composed))
        return 0
    if composed is None:
        say(f"nothing is due for {name}: it has seen everything")
        return 0
    answer(composed.text.replace(DELIVERY_PLACEHOLDER, "(not delivered)"))
    who = f"session {receiver.native_id}" if receiver is not None else "a new session"
    left = f", {composed.left_out:,} left out and still owed" if composed.left_out else ""
    say(
        f"{composed.bytes:,} bytes for {who} of {name}:"
        f" {plural(composed.new, 'event')} (e{composed.after + 1} to e{composed.through}){left}"
    )
    return 0


def delivered(now: Reading, delivery: str, *, as_json: bool) -> int:
    """Print what was sent under a delivery id."""
    row = deliveries.get(now.store, delivery)
    if row is None:
        raise UnavailableError(
            f"there is no delivery {delivery}",
            next_step="`workstream status --json` lists those of the last run.",
        )
    sent = deliveries.briefing(now.store, row.briefing)
    text = sent.text.replace(DELIVERY_PLACEHOLDER, row.id)
    if as_json:
        data = {
            "delivery": row.id,
            "state": str(row.state),
            "reason": row.reason,
            "channel": row.channel,
            "run": row.run,
            "printed_at": iso(row.printed_at),
            "bytes": sent.bytes,
            "text": text,
            "range": {"after": sent.after_seq, "through": sent.through_seq},
            **_told(sent.included, sent.omitted),
        }
        emit_json("briefing", data)
        return 0
    answer(text)
    say(f"{row.id}: {row.state}{f' ({row.reason})' if row.reason else ''}")
    return 0


def _default(now: Reading) -> str:
    used = runs.recent_entries(now.store, now.choice.workstream)
    name = used[0] if used else now.place.config.harness
    if name is None:
        raise UsageError(
            "no harness was used on this workstream yet",
            next_step="Name one: workstream briefing HARNESS",
        )
    return name


def _scene(now: Reading, entry: str, *, told: bool) -> briefing.Scene:
    from pathlib import Path

    return briefing.Scene(
        place=now.place,
        state=git.state(Path(now.place.checkout.keys.worktree)),
        entry=entry,
        command=launching.our_command(),
        told=told,
    )


def _document(
    now: Reading, name: str, receiver: SessionRow | None, composed: briefing.Composed | None
) -> dict[str, Any]:
    head = now.choice.workstream.head_seq
    base: dict[str, Any] = {
        "harness": name,
        "session": None if receiver is None else receiver.native_id,
        "coverage": now.coverage(),
    }
    if composed is None:
        seen = 0 if receiver is None else deliveries.seen_through(now.store, receiver)
        return {
            **base,
            "bytes": 0,
            "text": "",
            "range": {"after": seen, "through": head},
            **_told((), ()),
        }
    return {
        **base,
        "bytes": composed.bytes,
        "text": composed.text,
        "range": {"after": composed.after, "through": composed.through},
        **_told(composed.included, composed.omitted),
    }


def _told(included: Ranges, omitted: Ranges) -> dict[str, Any]:
    """Return how many events are told and left out, and which."""
    return {
        "included": count(included),
        "omitted": count(omitted),
        "included_ranges": [list(pair) for pair in included],
        "omitted_ranges": [list(pair) for pair in omitted],
    }
