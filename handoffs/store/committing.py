"""Committing: the seven steps, in one transaction, under the workstream's fencing token.

The invariant this module protects: revisions are gapless, the head is the newest of them, and of
any number of commits on one base exactly one wins. Never an upsert, never a merge.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from handoffs import validation
from handoffs.canonical import content_digest, prepared_id
from handoffs.errors import HeadConflictError, RefusedError
from handoffs.facts import Facts
from handoffs.models import Author, Base, Finding, Prepared, Revision, warnings
from handoffs.store import reading, rows
from leases import lease as leases
from leases.holder import Holder
from ledger import fencing
from ledger.errors import BadDataError, UnavailableError
from ledger.model import Workstream

if TYPE_CHECKING:
    from ledger.store import Store

KEPT: Final = 2
"""A prepared record is kept until its scope has this many newer revisions."""


class CommitState(StrEnum):
    """What a commit did."""

    COMMITTED = "committed"
    ALREADY_COMMITTED = "already_committed"
    UNCHANGED = "unchanged"
    """The head says the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The revision that holds the words."""

    revision: Revision
    state: CommitState
    is_head: bool


@contextlib.contextmanager
def held(
    store: Store, workstream: Workstream, token: int | None, holder: Holder | None
) -> Iterator[None]:
    """Hold the workstream for the length of a transaction: by `token`, or by a lease of our own.

    Inside the caller's transaction. A lease of our own is given back in the same transaction, so
    that nobody ever sees it. Raises LeaseLostError for a token that is not current, LeaseHeld when
    a live run has it.
    """
    if token is not None:
        fencing.require(store, workstream.id, token)
        yield
        return
    if holder is None:
        raise ValueError("a commit needs a token or a holder")
    own = leases.acquire(store, workstream.id, holder)
    yield
    leases.release(store, workstream.id, own.token)


def commit(
    store: Store,
    workstream: Workstream,
    given: Prepared | str,
    facts: Facts,
    by: Author,
    *,
    token: int | None = None,
    holder: Holder | None = None,
) -> Committed:
    """Make a prepared record the head.

    Raises LeaseLostError and LeaseHeld, HeadConflictError, RefusedError (scope_mismatch,
    prepared_tampered, base_unknown, or what validation finds), UnavailableError; then nothing was
    written.
    """
    with store.transaction(), held(store, workstream, token, holder):
        value = _value(store, workstream, given)
        if isinstance(value, Committed):
            return value
        _untouched(workstream, value)
        return _already(store, workstream, value.prepared_id) or _advance(
            store, workstream, value, facts, by
        )


def _value(store: Store, workstream: Workstream, given: Prepared | str) -> Prepared | Committed:
    if isinstance(given, Prepared):
        return given
    value = reading.prepared_value(store, given)
    if value is not None:
        return value
    done = _already(store, workstream, given)
    if done is None:
        raise UnavailableError(
            f"there is no prepared handoff {given}",
            next_step="List them: workstream handoff list",
        )
    return done


def _untouched(workstream: Workstream, value: Prepared) -> None:
    """Recompute what the record says about itself. Raises RefusedError."""
    digest = content_digest(value.content)
    tampered = Finding(
        code="prepared_tampered",
        field="",
        detail="its content, scope or base is not what its id was made from",
        fix="Prepare it again.",
    )
    name = prepared_id(value.scope_id, value.base, digest)
    if (value.content_digest, value.prepared_id) != (digest, name):
        raise RefusedError("the prepared handoff was changed", [tampered])
    if value.scope_id != workstream.uid:
        finding = Finding(
            code="scope_mismatch",
            field="",
            detail="it was prepared in another workstream",
            fix="Commit it there, or prepare one here.",
        )
        raise RefusedError("the prepared handoff belongs to another workstream", [finding])


def _already(store: Store, workstream: Workstream, name: str) -> Committed | None:
    row = store.one(
        "SELECT * FROM handoff_revision WHERE workstream = ? AND prepared_id = ?",
        workstream.id,
        name,
    )
    if row is None:
        return None
    return _committed(store, workstream, row, CommitState.ALREADY_COMMITTED)


def _committed(
    store: Store, workstream: Workstream, row: sqlite3.Row, state: CommitState
) -> Committed:
    head = reading.head_numbers(store, workstream)
    return Committed(
        revision=rows.revision(row),
        state=state,
        is_head=head is not None and head[0] == row["revision"],
    )


def _advance(
    store: Store, workstream: Workstream, value: Prepared, facts: Facts, by: Author
) -> Committed:
    head = reading.head_numbers(store, workstream)
    if head is not None and head[1] == value.content_digest:
        row = _row(store, workstream, head[0])
        with contextlib.suppress(BadDataError):  # a damaged head is replaced by the same words
            return _committed(store, workstream, row, CommitState.UNCHANGED)
    _on_base(store, workstream, value.base, head)
    findings = validation.validate(value.content, facts)
    validation.refuse(findings, "the handoff cannot be committed any more")
    number = 1 if head is None else head[0] + 1
    try:
        _write(store, workstream, value, number, by, warnings(findings))
    except sqlite3.IntegrityError as error:
        raise conflict(store, workstream, value.base) from error
    row = _row(store, workstream, number)
    return _committed(store, workstream, row, CommitState.COMMITTED)


def _on_base(
    store: Store, workstream: Workstream, base: Base | None, head: tuple[int, str] | None
) -> None:
    """Raise unless a record builds on the head; on anything else it is unknown or outdated."""
    if (None if base is None else (base.revision, base.content_digest)) == head:
        return
    if base is not None:
        row = store.one(
            "SELECT content_digest FROM handoff_revision WHERE workstream = ? AND revision = ?",
            workstream.id,
            base.revision,
        )
        if row is None or row["content_digest"] != base.content_digest:
            finding = Finding(
                code="base_unknown",
                field="",
                detail=f"revision {base.revision} with that content is not known here",
                fix="Read the head and prepare a complete replacement.",
            )
            raise RefusedError("the handoff builds on a revision that is not known", [finding])
    raise conflict(store, workstream, base)


def conflict(store: Store, workstream: Workstream, base: Base | None) -> HeadConflictError:
    """Return the error that says which head stands in the way."""
    expected = None
    if base is not None:
        expected = {"revision": base.revision, "content_digest": base.content_digest}
    now = _head_facts(store, workstream)
    at = "none" if now is None else f"revision {now['revision']}"
    built = "none" if base is None else f"revision {base.revision}"
    return HeadConflictError(
        f"the handoff builds on {built}, and the head is {at} now",
        facts={"expected_base": expected, "head": now},
    )


def _head_facts(store: Store, workstream: Workstream) -> dict[str, object] | None:
    """Return what a caller is told of the head; of a damaged one only its number and digest."""
    head = reading.head_numbers(store, workstream)
    if head is None:
        return None
    facts: dict[str, object] = {"revision": head[0], "content_digest": head[1]}
    with contextlib.suppress(BadDataError):
        found = reading.head(store, workstream)
        if found is not None:
            facts["committed_at"] = found.created_at
            facts["by"] = {"kind": str(found.author.kind), "owner": found.author.owner}
            facts["objective"] = found.content.objective
    return facts


def _write(
    store: Store,
    workstream: Workstream,
    value: Prepared,
    number: int,
    by: Author,
    warned: tuple[Finding, ...],
) -> None:
    db = store.db
    around = store.one(
        "SELECT at_seq, author_session, run FROM handoff_prepared WHERE prepared_id = ?",
        value.prepared_id,
    )
    at_seq, session, run = (workstream.head_seq, None, None) if around is None else tuple(around)
    db.execute(
        """
        INSERT INTO handoff_revision (workstream, revision, scope_id, content, content_digest,
            prepared_id, committed_at, author, author_session, committed_by, warnings, git,
            at_seq, run)
        VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)
        """,
        (
            *(workstream.id, number, workstream.uid, rows.content_json(value.content)),
            *(value.content_digest, value.prepared_id, store.clock.now_ms()),
            *(rows.author_json(value.author), session, rows.author_json(by)),
            *(rows.warnings_json(warned), rows.git_json(value.git), at_seq, run),
        ),
    )
    if number == 1:
        moved = db.execute(
            "INSERT INTO handoff_head (workstream, revision, content_digest) VALUES (?,1,?)",
            (workstream.id, value.content_digest),
        )
    else:
        moved = db.execute(
            "UPDATE handoff_head SET revision = ?, content_digest = ?"
            " WHERE workstream = ? AND revision = ?",
            (number, value.content_digest, workstream.id, number - 1),
        )
    if moved.rowcount != 1:
        raise conflict(store, workstream, value.base)
    db.execute(
        "DELETE FROM handoff_prepared WHERE workstream = ? AND at_revision <= ?",
        (workstream.id, number - KEPT),
    )


def _row(store: Store, workstream: Workstream, number: int) -> sqlite3.Row:
    row = store.one(
        "SELECT * FROM handoff_revision WHERE workstream = ? AND revision = ?",
        workstream.id,
        number,
    )
    if row is None:
        raise UnavailableError(f"revision {number} is gone again")
    return row
