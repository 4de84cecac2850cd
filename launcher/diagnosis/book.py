"""The ledger itself: can it be opened, what state is it in, which runs and leases are left."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from handoffs.store import damage
from launcher.diagnosis import files
from launcher.diagnosis.finding import Finding, Level
from launcher.output import ago, plural, size
from leases import lease as leases
from leases.holder import LeaseView
from leases.verdict import Verdict, Why
from ledger import deliveries, health, workstreams
from ledger.errors import StateNewerError, WorkstreamError
from ledger.health import Health
from ledger.schema import SCHEMA_VERSION
from ledger.store import DATABASE, MIN_SQLITE, Store, open_store

BUSY_MS: Final = 300
"""How long `doctor` waits for a writer."""
LARGE: Final = 5_000_000_000
_RESTORE: Final = "workstream verify; a backup goes back with: workstream restore FILE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """What was found, and the runs that still own a folder."""

    findings: tuple[Finding, ...]
    unfinished: tuple[str, ...]


def look(home: Path) -> Book:
    """Look at the ledger of `home` without changing it; every failure becomes a finding."""
    sqlite = tuple(_sqlite())
    if not (home / DATABASE).exists():
        none = Finding(
            code="no_ledger",
            level=Level.NOTE,
            sentence=f"there is no ledger at {home / DATABASE} yet",
            fix="Start one with: workstream run HARNESS",
        )
        return Book(findings=(*sqlite, none), unfinished=())
    try:
        with open_store(home, "ro", busy_ms=BUSY_MS) as store:
            facts = health.look(store)
            held = leases.held(store)
            found = (
                *_facts(home, facts, store),
                *_leases(store, held),
                *_runs(store, facts, held),
                *_handoffs(store),
            )
    except WorkstreamError as error:
        return Book(findings=(*sqlite, _unusable(error)), unfinished=())
    return Book(findings=(*sqlite, *found), unfinished=tuple(run.run for run in facts.unfinished))


def _handoffs(store: Store) -> Iterator[Finding]:
    for workstream, name, wrong in damage.damaged(store):
        yield Finding(
            code="handoff_damaged",
            level=Level.PROBLEM,
            sentence=f"the {name} of {workstream} is damaged: {wrong}",
            fix="Everything else works; prepare a new one, or put a backup back.",
            about=workstream,
        )
    lost = deliveries.lost(store)
    if lost:
        yield Finding(
            code="handoffs_lost",
            level=Level.WARNING,
            sentence=f"sessions here were shown {plural(lost, 'briefing')} of a ledger that is not"
            " here: what was handed off there is lost, or kept elsewhere",
            fix="If that ledger exists, set WORKSTREAM_HOME to it, or put its backup back:"
            " workstream restore FILE",
        )


def _unusable(error: WorkstreamError) -> Finding:
    older = "older schema" in error.message
    return Finding(
        code="ledger_newer"
        if isinstance(error, StateNewerError)
        else "ledger_older"
        if older
        else f"ledger_{error.code}",
        level=Level.WARNING if older else Level.PROBLEM,
        sentence=error.message + (f" ({error.detail})" if error.detail else ""),
        fix=error.next_step,
    )


def _sqlite() -> Iterator[Finding]:
    text = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        need = ".".join(map(str, MIN_SQLITE))
        yield Finding(
            code="sqlite",
            level=Level.PROBLEM,
            sentence=f"{text} is too old; {need} is needed",
            fix="Use a Python with a newer SQLite.",
        )
        return
    db = sqlite3.connect(":memory:")
    try:
        db.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
    except sqlite3.OperationalError as error:
        yield Finding(
            code="fts5",
            level=Level.PROBLEM,
            sentence=f"{text} has no full-text search (FTS5): {error}",
            fix="Use a Python whose SQLite has FTS5.",
        )
    else:
        yield Finding(code="sqlite", level=Level.OK, sentence=f"{text} with FTS5")
    finally:
        db.close()


def _facts(home: Path, facts: Health, store: Store) -> Iterator[Finding]:
    if facts.damage is not None:
        yield Finding(
            code="ledger_state_corrupt",
            level=Level.PROBLEM,
            sentence=f"the ledger {home / DATABASE} is damaged ({facts.damage})",
            fix=_RESTORE,
        )
    yield Finding(code="schema", level=Level.OK, sentence=f"schema {SCHEMA_VERSION}")
    yield _journal(facts)
    yield _ledger_size(home, facts)
    yield _index(facts)
    yield from _imports(facts)
    yield from _backups(facts, store.clock.now_ms())


def _journal(facts: Health) -> Finding:
    if facts.journal_mode == "wal":
        return Finding(code="journal", level=Level.OK, sentence="journal mode wal")
    return Finding(
        code="journal",
        level=Level.WARNING,
        sentence=f"journal mode {facts.journal_mode}: readers wait for writers, because this file"
        " system has no shared memory",
        fix="Set WORKSTREAM_HOME to a directory on a local disk.",
    )


def _ledger_size(home: Path, facts: Health) -> Finding:
    main, log = files.database_size(home)
    free = facts.free_pages * facts.page_size
    large = main > LARGE
    return Finding(
        code="size",
        level=Level.NOTE if large else Level.OK,
        sentence=f"ledger of {size(main)}: {plural(facts.events, 'event')} in"
        f" {plural(facts.workstreams, 'workstream')}, {plural(facts.sessions, 'session')};"
        f" {size(free)} of free pages, {size(log)} of write-ahead log",
        fix="workstream forget --older-than 365d --dry-run" if large else None,
    )


def _index(facts: Health) -> Finding:
    if facts.index is None and facts.losses is not None:
        return Finding(code="search_index", level=Level.OK, sentence="search index in order")
    unfinished = facts.index not in (None, "damaged")
    return Finding(
        code="search_index",
        level=Level.PROBLEM,
        sentence="the search index is being built, or a rebuild of it did not finish"
        if unfinished
        else "the search index is damaged; nothing else is",
        fix="workstream verify --rebuild-index",
    )


def _imports(facts: Health) -> Iterator[Finding]:
    losses = facts.losses or {}
    if losses:
        named = ", ".join(f"{count:,} {reason}" for reason, count in losses.items())
        yield Finding(
            code="losses",
            level=Level.NOTE,
            sentence=f"{plural(sum(losses.values()), 'record')} could not be imported whole:"
            f" {named}",
            fix="workstream log --kind annotation -n 0",
        )
    if facts.unknown_kinds:
        kinds = list(facts.unknown_kinds.items())
        named = ", ".join(f"{kind} ({count:,})" for kind, count in kinds[: files.NAMED])
        more = f" and {len(kinds) - files.NAMED} more" if len(kinds) > files.NAMED else ""
        yield Finding(
            code="unknown_kinds",
            level=Level.WARNING,
            sentence=f"kinds of record that this program does not know were left out: {named}"
            f"{more}",
            fix="Update workstream; the next import reads on, a new one reads them again.",
        )
    if facts.missing:
        yield Finding(
            code="missing_sessions",
            level=Level.NOTE,
            sentence=f"{plural(facts.missing, 'linked session')} not in the harness's store any"
            " more; what was imported stays",
        )
    for text in facts.unreadable:
        yield Finding(
            code="unreadable_session",
            level=Level.WARNING,
            sentence=f"a linked session cannot be read: {text}",
            fix="Check the file's permissions; the next run reads it again.",
        )


def _backups(facts: Health, now: int) -> Iterator[Finding]:
    there = [(path, at) for path, at in facts.backups if Path(path).exists()]
    gone = len(facts.backups) - len(there)
    if there:
        path, at = there[0]
        yield Finding(
            code="backups",
            level=Level.OK,
            sentence=f"{plural(len(there), 'backup')}, the newest {ago(at, now)}: {path}"
            + (f"; {gone} not at its place any more" if gone else ""),
        )
    elif facts.events:
        lost = f" ({gone} made earlier, not at its place any more)" if gone else ""
        yield Finding(
            code="backups",
            level=Level.NOTE,
            sentence=f"there is no backup of the ledger{lost}",
            fix="workstream backup",
        )


def _leases(store: Store, held: list[LeaseView]) -> Iterator[Finding]:
    for view in held:
        verdict = leases.verdict_on(store, view)
        name = workstreams.get(store, view.workstream).name
        who = leases.describe(store, view, verdict)
        if verdict.takeable:
            yield Finding(
                code="stale_lease",
                level=Level.WARNING,
                sentence=f"{name}: its lease was not given back ({_why(verdict)}): {who}",
                fix="workstream recover",
                about=name,
            )
        else:
            yield Finding(
                code="live_run",
                level=Level.NOTE,
                sentence=f"{name}: running: {who}",
                about=name,
            )


def _why(verdict: Verdict) -> str:
    return {
        Why.HOLDER_DEAD: "launcher and harness are gone",
        Why.EARLIER_BOOT: "the machine was started again since",
        Why.STOPPED: "it is suspended",
    }.get(verdict.why, "it was not renewed in time")


def _runs(store: Store, facts: Health, held: list[LeaseView]) -> Iterator[Finding]:
    live = {
        view.holder.run
        for view in held
        if view.holder is not None and not leases.verdict_on(store, view).takeable
    }
    now = store.clock.now_ms()
    for run in facts.unfinished:
        if run.run not in live:
            yield Finding(
                code="dead_run",
                level=Level.WARNING,
                sentence=f"{run.name}: a run of {run.entry} begun {ago(run.started_at, now)} was"
                f" cut off (after step {run.step})",
                fix="workstream recover",
                about=run.run,
            )
