"""Reading handoffs: the head, a revision, a prepared record, the exact target that a name means."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs.errors import RefusedError
from handoffs.models import (
    ActorKind,
    Author,
    Content,
    Finding,
    GitSnapshot,
    Prepared,
    Revision,
    Target,
)
from handoffs.store import rows
from handoffs.stored import content_from
from ledger.errors import BadDataError, UnavailableError, UsageError
from ledger.model import Workstream, workstream_id

if TYPE_CHECKING:
    from ledger.store import Store

LATEST: Final = "latest"
_REVISION: Final = re.compile(r"[r@]?([1-9][0-9]{0,8})")
_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{12,64})")


class Origin(StrEnum):
    """Where a target stands."""

    REVISION = "revision"
    PREPARED = "prepared"
    DRAFT = "draft"
    TRANSFER = "transfer"
    """Brought here from another workstream."""


class Found(NamedTuple):
    """One exact handoff, whichever table it stands in."""

    origin: Origin
    prepared_id: str
    revision: int | None
    """None unless it is a revision of this workstream."""
    content: Content
    content_digest: str
    created_at: int
    """When it was committed, prepared or drafted."""
    author: Author
    author_session: int | None
    git: GitSnapshot | None
    at_seq: int
    run: str | None
    sessions: tuple[int, ...] = ()
    """Sessions whose work a draft tells."""
    source: str | None = None
    """Name of the workstream that a transferred one came from."""
    source_id: int | None = None
    """Row id of it: its evidence is there."""
    warnings: tuple[Finding, ...] = ()
    """What was found about it and did not refuse it, when it was prepared or committed."""

    @property
    def target(self) -> Target:
        """What a receipt names."""
        return Target(content_digest=self.content_digest, revision=self.revision)

    @property
    def name(self) -> str:
        """How a command names it exactly: `r3`, or the prepared id."""
        return self.prepared_id if self.revision is None else f"r{self.revision}"


def head(store: Store, workstream: Workstream | int) -> Found | None:
    """Return the newest committed handoff, or None."""
    row = store.one(
        "SELECT r.* FROM handoff_head AS h JOIN handoff_revision AS r"
        " ON r.workstream = h.workstream AND r.revision = h.revision WHERE h.workstream = ?",
        workstream_id(workstream),
    )
    return None if row is None else of_revision(row)


def head_numbers(store: Store, workstream: Workstream | int) -> tuple[int, str] | None:
    """Return (revision, content digest) of the head without reading its content."""
    row = store.one(
        "SELECT revision, content_digest FROM handoff_head WHERE workstream = ?",
        workstream_id(workstream),
    )
    return None if row is None else (int(row["revision"]), str(row["content_digest"]))


def revision(store: Store, workstream: Workstream | int, number: int) -> Found | None:
    """Return a revision, or None."""
    row = store.one(
        "SELECT * FROM handoff_revision WHERE workstream = ? AND revision = ?",
        workstream_id(workstream),
        number,
    )
    return None if row is None else of_revision(row)


def revision_value(store: Store, workstream: Workstream | int, number: int) -> Revision | None:
    """Return a revision in the contract's type, or None."""
    row = store.one(
        "SELECT * FROM handoff_revision WHERE workstream = ? AND revision = ?",
        workstream_id(workstream),
        number,
    )
    return None if row is None else rows.revision(row)


def prepared_value(store: Store, prepared_id: str) -> Prepared | None:
    """Return a prepared record of any workstream, or None."""
    row = store.one("SELECT * FROM handoff_prepared WHERE prepared_id = ?", prepared_id)
    return None if row is None else rows.prepared(row)


def revisions(store: Store, workstream: Workstream | int, *, limit: int = 50) -> list[Found]:
    """Return the newest revisions, newest first; a damaged one is left out, see `damage`."""
    found = store.all(
        "SELECT * FROM handoff_revision WHERE workstream = ? ORDER BY revision DESC LIMIT ?",
        workstream_id(workstream),
        limit,
    )
    return _readable(found, of_revision)


def open_prepared(store: Store, workstream: Workstream | int) -> list[Found]:
    """Return what was prepared and neither committed nor abandoned, newest first.

    A damaged one is left out, as in every list here; `damage` names it.
    """
    found = store.all(
        "SELECT * FROM handoff_prepared AS p WHERE workstream = ? AND abandoned_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM handoff_revision AS r"
        " WHERE r.workstream = p.workstream AND r.prepared_id = p.prepared_id)"
        " ORDER BY created_at DESC, prepared_id LIMIT 50",
        workstream_id(workstream),
    )
    return _readable(found, of_prepared)


def drafts(store: Store, workstream: Workstream | int) -> list[Found]:
    """Return the launcher's drafts, one for each directory, newest first."""
    found = store.all(
        "SELECT * FROM handoff_draft WHERE workstream = ? ORDER BY created_at DESC, directory",
        workstream_id(workstream),
    )
    return _readable(found, of_draft)


def transferred(store: Store, workstream: Workstream | int) -> Found | None:
    """Return the handoff of another workstream that this one was started from, or None."""
    row = store.one(
        "SELECT t.*, w.name AS source_name FROM handoff_transfer AS t"
        " LEFT JOIN workstream AS w ON w.id = t.source WHERE t.workstream = ?",
        workstream_id(workstream),
    )
    return None if row is None else of_transfer(row)


def exact(store: Store, workstream: Workstream | int, name: str) -> Found:
    """Return what `latest`, a revision (`3`, `r3`), a prepared id or a digest means here.

    Raises UnavailableError for a name that means nothing, UsageError for an ambiguous digest,
    RefusedError (scope_mismatch) for one that means a handoff of another workstream.
    """
    word = name.strip()
    number = workstream_id(workstream)
    if word == LATEST:
        found = head(store, number)
        if found is None:
            raise UnavailableError(
                "there is no committed handoff in this workstream",
                next_step="Prepare one: workstream handoff draft, then handoff prepare",
            )
        return found
    match = _REVISION.fullmatch(word)
    if match is not None:
        found = revision(store, number, int(match[1]))
        if found is None:
            raise UnavailableError(
                f"there is no revision {match[1]} in this workstream",
                next_step="List them: workstream handoff list",
            )
        return found
    return _by_id(store, number, word)


def _by_id(store: Store, workstream: int, word: str) -> Found:
    matches = _everything(store, workstream, word)
    if not matches:
        _refuse_of_another(store, word)
        raise UnavailableError(
            f"there is no handoff {word!r} in this workstream",
            next_step="List them: workstream handoff list",
        )
    digests = {found.content_digest for found in matches}
    if len(digests) > 1:
        raise UsageError(f"{word!r} is the beginning of several handoffs' digests")
    return matches[0]


def _refuse_of_another(store: Store, word: str) -> None:
    """Raise RefusedError when a prepared id, or a whole digest, is that of another workstream."""
    tables = ("handoff_revision", "handoff_prepared", "handoff_draft", "handoff_transfer")
    known = any(
        store.one(f"SELECT 1 FROM {table} WHERE prepared_id = ?1 OR content_digest = ?1", word)
        for table in tables
    )
    if known:
        finding = Finding(
            code="scope_mismatch",
            field="target",
            detail=f"{word} was made in another workstream",
            fix="Name that workstream, or prepare one here.",
        )
        raise RefusedError("the handoff belongs to another workstream", [finding])


def _everything(store: Store, workstream: int, word: str) -> list[Found]:
    """Return matches, the committed form of one handoff before its other forms."""
    found: list[Found] = []
    match = _DIGEST.fullmatch(word)
    if match is None:
        where, value = "prepared_id = ?", word
    else:
        where, value = "content_digest GLOB ?", f"sha256:{match[1]}*"
    for table, make in (
        ("handoff_revision", of_revision),
        ("handoff_prepared", of_prepared),
        ("handoff_draft", of_draft),
    ):
        sql = f"SELECT * FROM {table} WHERE workstream = ? AND {where}"
        found += [make(row) for row in store.all(sql, workstream, value)]
    brought = transferred(store, workstream)
    if brought is not None and (
        brought.prepared_id == word
        or (match is not None and brought.content_digest.startswith(f"sha256:{match[1]}"))
    ):
        found.append(brought)
    return found


def _readable(found: Iterable[sqlite3.Row], make: Callable[[sqlite3.Row], Found]) -> list[Found]:
    kept = []
    for row in found:
        with contextlib.suppress(BadDataError):
            kept.append(make(row))
    return kept


def of_revision(row: sqlite3.Row) -> Found:
    """Return a committed handoff. Raises BadDataError."""
    return Found(
        origin=Origin.REVISION,
        prepared_id=row["prepared_id"],
        revision=row["revision"],
        content=content_from(row["content"]),
        content_digest=row["content_digest"],
        created_at=row["committed_at"],
        author=rows.author_from(row["author"]),
        author_session=row["author_session"],
        git=rows.git_from(row["git"]),
        at_seq=row["at_seq"],
        run=row["run"],
        warnings=rows.warnings_from(row["warnings"]),
    )


def of_prepared(row: sqlite3.Row) -> Found:
    """Return a prepared one. Raises BadDataError."""
    return Found(
        origin=Origin.PREPARED,
        prepared_id=row["prepared_id"],
        revision=None,
        content=content_from(row["content"]),
        content_digest=row["content_digest"],
        created_at=row["created_at"],
        author=rows.author_from(row["author"]),
        author_session=row["author_session"],
        git=rows.git_from(row["git"]),
        at_seq=row["at_seq"],
        run=row["run"],
        warnings=rows.warnings_from(row["warnings"]),
    )


def of_draft(row: sqlite3.Row) -> Found:
    """Return a draft of the launcher. Raises BadDataError."""
    return Found(
        origin=Origin.DRAFT,
        prepared_id=row["prepared_id"],
        revision=None,
        content=content_from(row["content"]),
        content_digest=row["content_digest"],
        created_at=row["created_at"],
        author=Author(kind=ActorKind.LAUNCHER, harness=row["entry"]),
        author_session=None,
        git=rows.git_from(row["git"]),
        at_seq=row["at_seq"],
        run=row["run"],
        sessions=_sessions(row["sessions"]),
    )


def _sessions(raw: str) -> tuple[int, ...]:
    with rows.reading_row("draft"):
        return tuple(int(item) for item in json.loads(raw))


def of_transfer(row: sqlite3.Row) -> Found:
    """Return one that was brought here; the row has `source_name`. Raises BadDataError."""
    return Found(
        origin=Origin.TRANSFER,
        prepared_id=row["prepared_id"],
        revision=None,
        content=content_from(row["content"]),
        content_digest=row["content_digest"],
        created_at=row["at"],
        author=rows.author_from(row["author"]),
        author_session=None,
        git=rows.git_from(row["git"]),
        at_seq=0,
        run=None,
        source=row["source_name"],
        source_id=row["source"],
    )
