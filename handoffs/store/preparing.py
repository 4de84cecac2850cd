"""Preparing: a validated content, bound to a scope and a base, kept until it is used or outlived.

Preparing moves nothing and needs no lease. The same words on the same base give the same record,
whoever prepares them and however often.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from handoffs import validation
from handoffs.canonical import content_digest, prepared_id, text_digest
from handoffs.facts import Facts
from handoffs.models import (
    ActorKind,
    Author,
    Base,
    Content,
    Finding,
    GitSnapshot,
    HostObservation,
    Prepared,
    Reason,
    warnings,
)
from handoffs.occasion import Occasion, unsupported
from handoffs.policy import PolicyRecord
from handoffs.scrubbing import scrubbed
from handoffs.store import reading, rows
from ledger.errors import UnavailableError
from ledger.model import Workstream
from ledger.redaction import scrub

if TYPE_CHECKING:
    from ledger.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedAnswer:
    """A prepared record, and what was not perfect about it."""

    prepared: Prepared
    warnings: tuple[Finding, ...]
    existed: bool
    """The same words were prepared on the same base before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """Who prepares, when and why: all that is not part of the words."""

    author: Author
    author_session: int | None = None
    reasons: tuple[Reason, ...] = ()
    statement: str | None = None
    """Who says that the context got bad, and why."""
    observations: tuple[HostObservation, ...] = ()
    """Untrusted, and no evidence."""
    policy: PolicyRecord | None = None
    """The rollover policy that has it prepared."""
    objective: str | None = None
    """Objective the author was given: its digest is kept beside the words."""
    git: GitSnapshot | None = None
    run: str | None = None
    receipt: str | None = None
    warnings: tuple[Finding, ...] | None = None
    """What did not refuse the words; None: they were not looked at."""


def prepare(
    store: Store,
    workstream: Workstream,
    content: Content,
    facts: Facts,
    around: Circumstances,
    *,
    expected_objective: str | None = None,
    declared: bool = True,
) -> PreparedAnswer:
    """Validate, scrub and store a content on the current head.

    `declared` adds one `declared_only` omission for statements without evidence. Raises
    RefusedError with all findings, of the words and of the reasons; then nothing was written.
    """
    content = scrubbed(content)
    if declared:
        content = validation.with_declared_only(content)
    occasion = Occasion(around.reasons, around.statement, around.observations)
    findings = (
        *validation.validate(content, facts, expected_objective=expected_objective),
        *unsupported(occasion),
    )
    validation.refuse(findings, "the handoff cannot be prepared like this")
    around = replace(around, warnings=warnings(findings))
    with store.transaction():
        value, existed = insert(store, workstream, content, around)
    return PreparedAnswer(prepared=value, warnings=warnings(findings), existed=existed)


def keep(store: Store, workstream: Workstream, content: Content, around: Circumstances) -> str:
    """Keep what an agent wrote, put away, so that its words are known for its own later on.

    For a content that was checked. Returns the name under which it can be prepared or shown.
    """
    content = validation.with_declared_only(scrubbed(content))
    with store.transaction() as db:
        name, _, _ = _identity(store, workstream, content)
        if reading.prepared_value(store, name) is None:
            insert(store, workstream, content, around)
            db.execute(
                "UPDATE handoff_prepared SET abandoned_at = created_at WHERE prepared_id = ?",
                (name,),
            )
    return name


def insert(
    store: Store, workstream: Workstream, content: Content, around: Circumstances
) -> tuple[Prepared, bool]:
    """Store a content that was checked, on the head as it is now; tell whether it was there.

    Words have the author who wrote them: a person who prepares an agent's own, unchanged, is not
    their author. Inside the caller's transaction.
    """
    name, base, digest = _identity(store, workstream, content)
    known = reading.prepared_value(store, name)
    if known is not None:
        return _once_more(store, known, around), True
    around = _credited(store, workstream, digest, around)
    head_seq = store.one("SELECT head_seq FROM workstream WHERE id = ?", workstream.id)
    value = Prepared(
        prepared_id=name,
        scope_id=workstream.uid,
        base=base,
        content=content,
        content_digest=digest,
        reasons=tuple(dict.fromkeys(around.reasons)),
        created_at=store.clock.now_ms(),
        author=around.author,
        observations=around.observations,
        statement=_scrubbed(around.statement),
        objective_digest=None if around.objective is None else text_digest(around.objective),
        git=around.git,
    )
    store.db.execute(
        """
        INSERT INTO handoff_prepared (prepared_id, workstream, scope_id, base_revision, base_digest,
            content, content_digest, reasons, created_at, author, author_kind, author_session,
            observations, statement, policy, warnings, objective_digest, git, at_seq, at_revision,
            run, receipt)
        VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
        """,
        (
            *(name, workstream.id, workstream.uid),
            *((None, None) if base is None else (base.revision, base.content_digest)),
            *(rows.content_json(content), digest, json.dumps([str(r) for r in value.reasons])),
            *(value.created_at, rows.author_json(around.author), str(around.author.kind)),
            *(around.author_session, rows.observations_json(around.observations)),
            *(value.statement, None if around.policy is None else around.policy.text()),
            rows.warnings_json(around.warnings or ()),
            *(value.objective_digest, rows.git_json(around.git)),
            *(
                0 if head_seq is None else head_seq["head_seq"],
                0 if base is None else base.revision,
            ),
            *(around.run, around.receipt),
        ),
    )
    return value, False


def _identity(
    store: Store, workstream: Workstream, content: Content
) -> tuple[str, Base | None, str]:
    """Return the prepared id that a content has on the head as it is now, the base, the digest."""
    head = reading.head_numbers(store, workstream)
    base = None if head is None else Base(revision=head[0], content_digest=head[1])
    digest = content_digest(content)
    return prepared_id(workstream.uid, base, digest), base, digest


def _credited(
    store: Store, workstream: Workstream, digest: str, around: Circumstances
) -> Circumstances:
    """Return the circumstances with the agent as author that wrote the same words before."""
    if around.author.kind is not ActorKind.HUMAN:
        return around
    row = store.one(
        "SELECT author, author_session FROM handoff_prepared WHERE workstream = ?"
        " AND content_digest = ? AND author_kind = 'agent' ORDER BY created_at LIMIT 1",
        *(workstream.id, digest),
    )
    if row is None:
        return around
    author = rows.author_from(row["author"])
    return replace(around, author=author, author_session=row["author_session"])


def _once_more(store: Store, known: Prepared, around: Circumstances) -> Prepared:
    """Prepare known words again: they count anew, and more reasons are added to the known ones.

    What was put away is as new as if it had been prepared now, but for its author.
    What the launcher had prepared is its new author's, once a person or an agent prepares it too.
    """
    taken_up = (
        known.author.kind is ActorKind.LAUNCHER and around.author.kind is not ActorKind.LAUNCHER
    )
    sources = {item.source for item in around.observations}
    value = known._replace(
        reasons=tuple(dict.fromkeys((*known.reasons, *around.reasons))),
        observations=(
            *(item for item in known.observations if item.source not in sources),
            *around.observations,
        ),
        statement=_scrubbed(around.statement) or known.statement,
    )
    value = _taken_out(store, value, around)
    store.db.execute(
        "UPDATE handoff_prepared SET abandoned_at = NULL, reasons = ?, observations = ?,"
        " statement = ?, warnings = coalesce(?, warnings) WHERE prepared_id = ?",
        (
            json.dumps([str(reason) for reason in value.reasons]),
            *(rows.observations_json(value.observations), value.statement),
            None if around.warnings is None else rows.warnings_json(around.warnings),
            known.prepared_id,
        ),
    )
    if taken_up:
        value = value._replace(author=around.author, created_at=store.clock.now_ms())
        store.db.execute(
            "UPDATE handoff_prepared SET author = ?, author_kind = ?, author_session = ?,"
            " created_at = ?, run = ?, receipt = ? WHERE prepared_id = ?",
            (
                *(rows.author_json(value.author), str(value.author.kind), around.author_session),
                *(value.created_at, around.run, around.receipt, known.prepared_id),
            ),
        )
    return value


def _taken_out(store: Store, known: Prepared, around: Circumstances) -> Prepared:
    """Give what was put away the time and the tree of now; anything else stays as it is."""
    now = store.clock.now_ms()
    done = store.db.execute(
        "UPDATE handoff_prepared SET created_at = ?, git = ?,"
        " at_seq = (SELECT head_seq FROM workstream WHERE id = handoff_prepared.workstream)"
        " WHERE prepared_id = ? AND abandoned_at IS NOT NULL",
        (now, rows.git_json(around.git), known.prepared_id),
    )
    return known._replace(created_at=now, git=around.git) if done.rowcount else known


def _scrubbed(statement: str | None) -> str | None:
    return None if statement is None else scrub(statement).text


def abandon(store: Store, workstream: Workstream, name: str) -> None:
    """Put a prepared record away; it leads no briefing and is in no list any more.

    A committed one stays. Raises UnavailableError.
    """
    with store.transaction() as db:
        done = db.execute(
            "UPDATE handoff_prepared SET abandoned_at = coalesce(abandoned_at, ?),"
            " queued_by = NULL WHERE prepared_id = ? AND workstream = ?",
            (store.clock.now_ms(), name, workstream.id),
        )
        if done.rowcount != 1:
            raise UnavailableError(
                f"there is no prepared handoff {name} in this workstream",
                next_step="List them: workstream handoff list",
            )


def queue(store: Store, workstream: Workstream, name: str, by: Author) -> None:
    """Ask for a commit at the end of the live run. Raises UnavailableError."""
    with store.transaction() as db:
        done = db.execute(
            "UPDATE handoff_prepared SET queued_by = ? WHERE prepared_id = ? AND workstream = ?"
            " AND abandoned_at IS NULL",
            (rows.author_json(by), name, workstream.id),
        )
        if done.rowcount != 1:
            raise UnavailableError(f"there is no prepared handoff {name} in this workstream")


def queued(store: Store, workstream: Workstream) -> list[tuple[str, Author]]:
    """Return the prepared ids to be committed when the run ends, oldest first."""
    found = store.all(
        "SELECT prepared_id, queued_by FROM handoff_prepared WHERE workstream = ?"
        " AND queued_by IS NOT NULL AND abandoned_at IS NULL ORDER BY created_at, prepared_id",
        workstream.id,
    )
    return [(row["prepared_id"], rows.author_from(row["queued_by"])) for row in found]


def unqueue(store: Store, name: str) -> None:
    """Note that a queued commit was tried."""
    with store.transaction() as db:
        db.execute("UPDATE handoff_prepared SET queued_by = NULL WHERE prepared_id = ?", (name,))


def by_receipt(store: Store, receipt: str) -> str | None:
    """Return the prepared id that a receipt line already made, or None."""
    row = store.one("SELECT prepared_id FROM handoff_prepared WHERE receipt = ?", receipt)
    return None if row is None else str(row["prepared_id"])


def unique_reasons(words: Iterable[Reason]) -> tuple[Reason, ...]:
    """Return reasons once each, in their order."""
    return tuple(dict.fromkeys(words))
