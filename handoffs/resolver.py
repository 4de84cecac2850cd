"""From what a person writes as evidence to a reference with a digest.

`e1532` or the beginning of an event id, a check id, a commit, `note:12`, `file:path`, a revision
`r3` or a prepared id. What belongs to another workstream is found by its whole name, so that the
finding can say so. A call or result of a recognised check becomes a reference to that check, so
that it can support what is said about it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handoffs import imported_checks, repository
from handoffs.canonical import text_digest
from handoffs.ledger_facts import commit_digest, event_digest, file_digest, handoff_digest
from handoffs.models import EvidenceState, Ref, RefKind, is_ref_id
from handoffs.store import checks, reading
from ledger import events
from ledger.errors import BadDataError, UnavailableError
from ledger.model import EventRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store

_EVENT: Final = re.compile(r"e\d{1,18}|ev1-[0-9a-f]{4,32}", re.IGNORECASE)
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_REVISION: Final = re.compile(r"r[1-9]\d{0,8}|prp_[a-z2-7]{26}")


class Resolver:
    """Resolves the words of one person in one workstream and work tree."""

    def __init__(self, store: Store, workstream: Workstream, worktree: Path | None) -> None:
        self._store = store
        self._workstream = workstream
        self._worktree = worktree

    def __call__(self, word: str) -> Ref | None:
        """Return the reference, or None when the word means nothing here."""
        name = word.strip()
        if name.startswith(checks.PREFIX):
            return self._check(name)
        if name.startswith("note:"):
            return self._note(name.removeprefix("note:"))
        if name.startswith("file:"):
            return self._file(name.removeprefix("file:"))
        if _EVENT.fullmatch(name):
            return self._event(name) or self._commit(name)  # e1532000 may be a commit
        if _REVISION.fullmatch(name):
            return self._handoff(name)
        return self._commit(name.removeprefix("commit:"))

    def _check(self, name: str) -> Ref | None:
        row = checks.get(self._store, name)
        if row is None:
            return None
        return Ref(kind=RefKind.CHECK, id=row.id, digest=row.digest)

    def _note(self, word: str) -> Ref | None:
        if not word.isdigit():
            return None
        row = self._store.one("SELECT id, text FROM note WHERE id = ?", int(word))
        if row is None:
            return None
        return Ref(kind=RefKind.NOTE, id=str(row["id"]), digest=text_digest(row["text"]))

    def _file(self, name: str) -> Ref | None:
        found = file_digest(self._worktree, name)
        if isinstance(found, EvidenceState) or not is_ref_id(name):
            return None
        return Ref(kind=RefKind.FILE, id=name, digest=found)

    def _event(self, name: str) -> Ref | None:
        try:
            event = events.get(self._store, self._workstream, name)
        except UnavailableError:
            return self._of_another(name.lower())
        return event_ref(self._store, self._workstream, event)

    def _of_another(self, name: str) -> Ref | None:
        """Return an event of another workstream, named in full, so that it can be refused."""
        row = self._store.one("SELECT content_digest FROM event WHERE event_id = ? LIMIT 1", name)
        if row is None:
            return None
        digest = event_digest(bytes(row["content_digest"]))
        return Ref(kind=RefKind.LEDGER, id=name, digest=digest)

    def _handoff(self, name: str) -> Ref | None:
        try:
            found = reading.exact(self._store, self._workstream, name)
        except (UnavailableError, BadDataError):
            digest = handoff_digest(self._store, name)  # of another workstream, or damaged
            return None if digest is None else Ref(kind=RefKind.HANDOFF, id=name, digest=digest)
        return Ref(kind=RefKind.HANDOFF, id=found.prepared_id, digest=found.content_digest)

    def _commit(self, word: str) -> Ref | None:
        name = word.lower()
        if _COMMIT.fullmatch(name) is None or self._worktree is None:
            return None
        whole = repository.commit(self._worktree, name)
        if whole is None:
            return None
        return Ref(kind=RefKind.GIT, id=whole, digest=commit_digest(whole))


def event_ref(store: Store, workstream: Workstream, event: EventRow) -> Ref | None:
    """Return the reference to an event, as a check where it is the run of one."""
    check = imported_checks.by_event(store, workstream, event)
    if check is not None and check.tool is not None:
        return Ref(kind=RefKind.CHECK, id=check.id, digest=check.digest)
    return plain_event_ref(store, event)


def plain_event_ref(store: Store, event: EventRow) -> Ref | None:
    """Return the reference to an event itself; None when its content was forgotten."""
    row = store.one(
        "SELECT content_digest FROM event JOIN body USING (eid) WHERE eid = ?", event.eid
    )
    if row is None:
        return None
    digest = event_digest(bytes(row["content_digest"]))
    return Ref(kind=RefKind.LEDGER, id=event.event_id, digest=digest)
