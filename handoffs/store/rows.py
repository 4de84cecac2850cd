"""Between rows and values: how the parts of a handoff stand in their JSON columns.

Rows are our own; one that does not have our shape is damaged and raises BadDataError, which
concerns that row only.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from handoffs.canonical import ref_value
from handoffs.models import (
    ActorKind,
    Author,
    Base,
    Confirmation,
    Content,
    EvidenceCheck,
    EvidenceState,
    Finding,
    GitRelation,
    GitSnapshot,
    HostObservation,
    LiveChecks,
    LiveObserved,
    Prepared,
    Reason,
    Receipt,
    ReceiptStatus,
    Ref,
    RefKind,
    Revision,
    Severity,
    Target,
)
from handoffs.stored import content_from
from ledger.errors import BadDataError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReceipt:
    """A receipt with what the ledger knows beside it."""

    receipt: Receipt
    payload_digest: str
    session: int | None
    run: str | None
    at: int


def author_json(author: Author) -> str:
    """Return an author as its column holds it."""
    return json.dumps(author._asdict(), ensure_ascii=False, sort_keys=True)


def author_from(raw: str) -> Author:
    """Return the author of a column."""
    value = _object(raw)
    try:
        return Author(
            kind=ActorKind(value["kind"]),
            session=value.get("session"),
            harness=value.get("harness"),
            owner=value.get("owner"),
        )
    except (KeyError, ValueError) as error:
        raise _damaged("author", error) from error


def git_json(git: GitSnapshot | None) -> str | None:
    """Return a git snapshot as its column holds it."""
    return None if git is None else json.dumps(git._asdict(), sort_keys=True)


def git_from(raw: str | None) -> GitSnapshot | None:
    """Return the git snapshot of a column."""
    if raw is None:
        return None
    value = _object(raw)
    return GitSnapshot(
        head=value.get("head"),
        branch=value.get("branch"),
        dirty_digest=value.get("dirty_digest"),
        tree=value.get("tree"),
    )


def warnings_json(items: Iterable[Finding]) -> str:
    """Return findings as their column holds them, without what they have for programs."""
    parts = [[item.code, item.field, item.detail, item.fix] for item in items]
    return json.dumps(parts, ensure_ascii=False)


def warnings_from(raw: str) -> tuple[Finding, ...]:
    """Return the warnings of a column."""
    try:
        return tuple(
            Finding(code=code, field=field, detail=detail, fix=fix, severity=Severity.WARNING)
            for code, field, detail, fix in json.loads(raw)
        )
    except (ValueError, TypeError) as error:
        raise _damaged("warnings", error) from error


def observations_json(items: Iterable[HostObservation]) -> str:
    """Return observations as their column holds them."""
    return json.dumps([item._asdict() for item in items], ensure_ascii=False, sort_keys=True)


def observations_from(raw: str) -> tuple[HostObservation, ...]:
    """Return the observations of a column."""
    try:
        return tuple(HostObservation(**item) for item in json.loads(raw))
    except (ValueError, TypeError) as error:
        raise _damaged("observations", error) from error


def evidence_json(items: Iterable[EvidenceCheck]) -> str:
    """Return evidence checks as their column holds them."""
    return json.dumps([evidence_value(item) for item in items], ensure_ascii=False)


def evidence_value(item: EvidenceCheck) -> dict[str, Any]:
    """Return an evidence check as plain JSON values."""
    return {
        "field": item.field,
        "state": str(item.state),
        "refs": [{**ref_value(ref), "state": str(state)} for ref, state in item.refs],
    }


def evidence_from(raw: str) -> tuple[EvidenceCheck, ...]:
    """Return the evidence checks of a column."""
    try:
        return tuple(
            EvidenceCheck(
                field=item["field"],
                state=EvidenceState(item["state"]),
                refs=tuple((ref_from(ref), EvidenceState(ref["state"])) for ref in item["refs"]),
            )
            for item in json.loads(raw)
        )
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged("evidence", error) from error


def ref_from(value: dict[str, Any]) -> Ref:
    """Return a reference from plain values. Raises KeyError and ValueError."""
    return Ref(kind=RefKind(value["kind"]), id=value["id"], digest=value["digest"])


def prepared(row: sqlite3.Row) -> Prepared:
    """Return a prepared record; its digests are the stored ones and were not checked here."""
    with reading_row("prepared handoff"):
        return _prepared(row)


def _prepared(row: sqlite3.Row) -> Prepared:
    base = None
    if row["base_revision"] is not None:
        base = Base(revision=row["base_revision"], content_digest=row["base_digest"])
    return Prepared(
        prepared_id=row["prepared_id"],
        scope_id=row["scope_id"],
        base=base,
        content=content_from(row["content"]),
        content_digest=row["content_digest"],
        reasons=tuple(Reason(word) for word in json.loads(row["reasons"])),
        created_at=row["created_at"],
        author=author_from(row["author"]),
        observations=observations_from(row["observations"]),
        statement=row["statement"],
        objective_digest=row["objective_digest"],
        git=git_from(row["git"]),
    )


def revision(row: sqlite3.Row) -> Revision:
    """Return a committed revision; `by` is whoever made the words."""
    return Revision(
        scope_id=row["scope_id"],
        revision=row["revision"],
        content_digest=row["content_digest"],
        prepared_id=row["prepared_id"],
        content=content_from(row["content"]),
        committed_at=row["committed_at"],
        by=author_from(row["author"]),
    )


def receipt(row: sqlite3.Row) -> StoredReceipt:
    """Return a receipt."""
    with reading_row("receipt"):
        return _receipt(row)


def _receipt(row: sqlite3.Row) -> StoredReceipt:
    checks = None if row["checks"] is None else _object(row["checks"])
    live = None
    if checks is not None:
        live = LiveChecks(**{name: Confirmation(value) for name, value in checks.items()})
    value = Receipt(
        receipt_key=row["receipt_key"],
        target=Target(content_digest=row["target_digest"], revision=row["target_revision"]),
        receiver=author_from(row["receiver"]),
        status=ReceiptStatus(row["status"]),
        checks=live,
        message=row["message"],
        evidence=evidence_from(row["evidence"]),
        live_observed=LiveObserved(
            relation=GitRelation(row["relation"]),
            dirty=None if row["dirty"] is None else bool(row["dirty"]),
        ),
        position=row["position"],
    )
    return StoredReceipt(
        receipt=value,
        payload_digest=row["payload_digest"],
        session=row["session"],
        run=row["run"],
        at=row["at"],
    )


def checks_json(checks: LiveChecks | None) -> str | None:
    """Return the three answers as their column holds them."""
    return None if checks is None else json.dumps(checks._asdict(), sort_keys=True)


def content_json(content: Content) -> str:
    """Return the canonical JSON of a content as text."""
    from handoffs.canonical import content_bytes

    return content_bytes(content).decode("utf-8")


@contextlib.contextmanager
def reading_row(what: str) -> Iterator[None]:
    """Say of a row that does not have our shape that it is damaged: raises BadDataError."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _damaged(what, error) from error


def _object(raw: str) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError as error:
        raise _damaged("row", error) from error
    if not isinstance(value, dict):
        raise BadDataError("a stored handoff cannot be read", detail="an object was expected")
    return value


def _damaged(what: str, error: Exception) -> BadDataError:
    return BadDataError(
        f"the {what} of a stored handoff cannot be read",
        detail=f"{type(error).__name__}: {error}",
    )
