"""Forgetting on request: what is meant, asking, and telling what went."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from launcher import prompts
from launcher.output import plural, say, size
from launcher.place import Place, here
from launcher.resolve import choose
from ledger import events, host, sessions
from ledger.errors import BadDataError, BusyError, UnavailableError, UsageError
from ledger.forget import Forgotten, forget
from ledger.model import SessionRow, Workstream
from ledger.store import Store, open_store

_AGE: Final = re.compile(r"(\d{1,6})\s*(h|d|w|y)")
_UNITS: Final = {"h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_557_600_000}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the person asked to be forgotten."""

    events: tuple[str, ...]
    session: str | None
    workstream: str | None
    older_than: str | None
    why: str | None


def run(asked: Asked, *, yes: bool, dry_run: bool) -> int:
    """Count, ask where a person can be asked, forget, and tell. Returns the exit code.

    Raises UsageError for a combination without meaning, and where `--yes` is missing and nobody
    can be asked.
    """
    _check(asked)
    place = here()
    with open_store(place.home, "rw") as store:
        what = _meant(store, place, asked)
        _refuse_live(store, what)
        count = forget(store, **what, who=host.user_name(), why=asked.why, dry_run=True)
        if dry_run:
            say(f"would forget {_told(count)}")
            _tell_rest(count)
            return 0
        if not _anything(count):
            say("there is nothing of that left to forget")
            return 0
        if not yes and not _confirmed(place, count):
            say("nothing was changed")
            return 0
        done = forget(store, **what, who=host.user_name(), why=asked.why)
    say(f"forgot {_told(done)}")
    _tell_rest(done)
    if done.remaining:
        raise BadDataError(
            "not all of it could be removed",
            detail="; ".join(done.remaining),
            next_step="Run the same command again when what stands in the way is gone.",
        )
    return 0


def _check(asked: Asked) -> None:
    if not (asked.events or asked.session or asked.workstream or asked.older_than):
        raise UsageError(
            "nothing to forget was named",
            next_step="Name it: --event REF, --session ID, --workstream NAME or --older-than 90d",
        )
    if asked.events and asked.session:
        raise UsageError("--event and --session exclude each other")
    if asked.events and asked.older_than:
        raise UsageError("--event and --older-than exclude each other")


def _meant(store: Store, place: Place, asked: Asked) -> dict[str, Any]:
    """Return the arguments of `forget` for what was asked."""
    if asked.events:
        chosen = choose(store, place, name=asked.workstream).workstream
        found = [events.get(store, chosen, reference, text_bytes=0) for reference in asked.events]
        return {"events": tuple(row.event_id for row in found)}
    what: dict[str, Any] = {}
    if asked.older_than is not None:
        what["older_than_ms"] = store.clock.now_ms() - age(asked.older_than)
    named = None if not asked.workstream else choose(store, place, name=asked.workstream).workstream
    if asked.session is not None:
        what["session"] = _session(store, asked.session, named)
    elif named is not None:
        what["workstream"] = named
    return what


def _session(store: Store, native_id: str, within: Workstream | None) -> SessionRow:
    found = [
        row
        for row in sessions.by_native_id(store, native_id)
        if within is None or row.workstream == within.id
    ]
    if not found:
        where = f" in the workstream {within.name}" if within is not None else " in the ledger"
        raise UnavailableError(
            f"there is no session {native_id!r}{where}",
            next_step="`workstream status --json` lists those of a workstream.",
        )
    if len(found) > 1:
        raise UnavailableError(
            f"several sessions are called {native_id!r}",
            next_step="Say which with --workstream NAME.",
        )
    return found[0]


def age(text: str) -> int:
    """Return the milliseconds of an age: 12h, 90d, 6w, 2y. Raises UsageError."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"cannot understand the age {text!r}", next_step="Give e.g. 12h, 90d, 6w or 2y."
        )
    return int(found[1]) * _UNITS[found[2]]


def _refuse_live(store: Store, what: dict[str, Any]) -> None:
    """Refuse a workstream that is being run, before the person is asked anything."""
    from leases import lease as leases

    number = getattr(what.get("workstream"), "id", None)
    if number is None and "session" in what:
        number = what["session"].workstream
    view = None if number is None else leases.inspect(store, number)
    if view is not None and not leases.verdict_on(store, view).takeable:
        raise BusyError(
            f"the workstream is running: {leases.describe(store, view)}",
            next_step="End it first (workstream stop), then forget.",
        )


def _anything(count: Forgotten) -> bool:
    return bool(count.events or count.sessions or count.workstreams or count.notes)


def _confirmed(place: Place, count: Forgotten) -> bool:
    if not place.terminal:
        raise UsageError(
            "forget needs --yes where nobody can be asked",
            next_step="See what would go with --dry-run.",
        )
    return prompts.confirm(f"Forget {_told(count)}, for good?")


def _told(count: Forgotten) -> str:
    parts = [f"{plural(count.events, 'event')} ({size(count.bytes)} of text)"]
    for number, noun in (
        (count.sessions, "session"),
        (count.workstreams, "workstream"),
        (count.notes, "note"),
        (count.briefings, "stored briefing"),
        (count.runs, "run's arguments and folder"),
    ):
        if number:
            parts.append(_counted(number, noun))
    return ", ".join(parts)


def _counted(number: int, noun: str) -> str:
    if noun.startswith("run"):
        return "arguments and folder of " + plural(number, "run")
    return plural(number, noun)


def _tell_rest(count: Forgotten) -> None:
    for path in count.backups:
        say(f"this copy still holds it, delete it by hand: {path}")
    for sentence in count.remaining:
        say(sentence)
