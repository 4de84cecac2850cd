"""What the ledger and the work tree know, asked by the validation of one handoff.

Positions are milliseconds. Whatever costs something is looked up when it is asked for, and once.
"""

from __future__ import annotations

import os
import re
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handoffs import repository
from handoffs.canonical import digest, text_digest, value_digest
from handoffs.errors import RefusedError
from handoffs.facts import CheckFact, Comparison
from handoffs.models import (
    Content,
    EvidenceCheck,
    EvidenceState,
    GitSnapshot,
    Ref,
    RefKind,
    Statement,
)
from handoffs.scrubbing import redactions
from handoffs.store import reading
from ledger import checkpoints, deliveries, facts, git
from ledger.errors import BadDataError, UnavailableError
from ledger.gitstate import GitState
from ledger.model import CheckpointRow, Workstream

if TYPE_CHECKING:
    from handoffs.imported_checks import ImportedCheck
    from handoffs.store import checks
    from ledger.store import Store

MAX_FILE: Final = 8 * 1024 * 1024
"""Bytes of a cited file that are digested at most."""
COMPARE_MS: Final = 500
"""Time for all comparisons of trees together."""
STATE_MS: Final = 2_000
"""Time for the state of the work tree where a person waits for it and no launch does."""
LOOKED_AT: Final = 20_000
"""Newest events in which skipped records are counted."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SNAPSHOT: Final = re.compile(r"(unborn|[0-9a-f]{40}(?:[0-9a-f]{24})?):([0-9a-f]{12})")
_WORST: Final = tuple(EvidenceState)


class LedgerFacts:
    """The facts of one workstream in one work tree; good for one validation.

    `author` is the session row of the agent whose words are checked: what it was not told, it has
    to say that it does not know.
    """

    def __init__(
        self,
        store: Store,
        workstream: Workstream,
        worktree: Path | None,
        *,
        content: Content | None = None,
        state: GitState | None = None,
        author: int | None = None,
        cut: int = 0,
        compare_ms: int = COMPARE_MS,
    ) -> None:
        self._store = store
        self._workstream = workstream
        self._worktree = worktree
        self._content = content
        self._state = state
        self._author = author
        self._cut = cut
        self._compared: dict[str, Comparison] = {}
        self._seen: dict[int, Comparison] = {}
        """By checkpoint."""
        self._left_ms = compare_ms

    # --- what the protocol asks -----------------------------------------------------------------

    def evidence(self, ref: Ref) -> EvidenceState:
        """Return what became of a cited thing."""
        ask = {
            RefKind.LEDGER: self._event,
            RefKind.CHECK: self._check,
            RefKind.GIT: self._git,
            RefKind.FILE: self._file,
            RefKind.NOTE: self._note,
            RefKind.HANDOFF: self._handoff,
        }
        return ask[ref.kind](ref)

    def check(self, ref: Ref) -> CheckFact | None:
        """Return the run that a ref of kind check names, None when there is none."""
        if ref.kind is not RefKind.CHECK:
            return None
        recorded = self._recorded(ref.id)
        if recorded is not None:
            return (
                self.of_recorded(recorded) if recorded.workstream == self._workstream.id else None
            )
        imported = self._imported(ref.id)
        return None if imported is None else self.of_imported(imported)

    @cached_property
    def last_check(self) -> CheckFact | None:
        """The newest check of the workstream, whoever ran it."""
        from handoffs import imported_checks
        from handoffs.store import checks

        recorded = checks.newest(self._store, self._workstream)
        imported = next(imported_checks.recent(self._store, self._workstream), None)
        if recorded is not None and (imported is None or recorded.ended_at >= imported.at):
            return self.of_recorded(recorded)
        return None if imported is None else self.of_imported(imported)

    @cached_property
    def last_change(self) -> int | None:
        """Time of the newest change of a file by an agent, None when none is known."""
        return facts.last_change(self._store, self._workstream.id)

    @cached_property
    def skipped_lines(self) -> int:
        """Records that no importer could read since the head, in the newest LOOKED_AT events."""
        row = self._store.one(
            "SELECT at_seq AS seq FROM handoff_revision WHERE workstream = ?"
            " ORDER BY revision DESC LIMIT 1",
            self._workstream.id,
        )
        after = 0 if row is None or row["seq"] is None else int(row["seq"])
        after = max(after, self._workstream.head_seq - LOOKED_AT)
        found = self._store.one(
            "SELECT count(*) AS n FROM event JOIN session ON session.id = event.session"
            " WHERE event.workstream = ? AND seq > ? AND event.kind = 'annotation'"
            " AND event.status IS NOT 'source_changed' AND session.deliver = 1",
            self._workstream.id,
            after,
        )
        return 0 if found is None else int(found["n"])

    @property
    def redactions(self) -> int:
        """Secrets replaced in the content."""
        return 0 if self._content is None else redactions(self._content)

    @cached_property
    def cut(self) -> int:
        """Events or statements left out because of a budget.

        Among them what the briefings of the author's session left out and none brought since.
        """
        if self._author is None:
            return self._cut
        owed = deliveries.owed(self._store, self._author)
        left_out = (
            self._store.one(
                "SELECT count(*) AS n FROM event WHERE workstream = ? AND seq BETWEEN ? AND ?"
                " AND kind IN ('user_message', 'assistant_message')",
                *(self._workstream.id, first, last),
            )
            for first, last in owed
        )
        return self._cut + sum(int(row["n"]) for row in left_out if row is not None)

    # --- each kind of evidence ------------------------------------------------------------------

    def _event(self, ref: Ref) -> EvidenceState:
        row = self._store.one(
            "SELECT eid, content_digest FROM event WHERE workstream = ? AND event_id = ?",
            self._workstream.id,
            ref.id,
        )
        if row is None:
            return self._elsewhere("SELECT 1 FROM event WHERE event_id = ?", ref.id)
        if self._store.one("SELECT 1 FROM body WHERE eid = ?", row["eid"]) is None:
            return EvidenceState.EXPIRED
        return _same(ref.digest == event_digest(bytes(row["content_digest"])))

    def _check(self, ref: Ref) -> EvidenceState:
        recorded = self._recorded(ref.id)
        if recorded is not None:
            if recorded.workstream != self._workstream.id:
                return EvidenceState.WRONG_SCOPE
            return _same(recorded.digest == ref.digest)
        from handoffs import imported_checks

        found = imported_checks.cited(self._store, self._workstream, ref.id)
        if found is None:
            if imported_checks.is_of_agent(self._store, ref.id):
                return EvidenceState.WRONG_SCOPE
            return self._elsewhere("SELECT 1 FROM event WHERE event_id = ?", ref.id)
        digest, forgotten = found
        return EvidenceState.EXPIRED if forgotten else _same(digest == ref.digest)

    def _git(self, ref: Ref) -> EvidenceState:
        if _COMMIT.fullmatch(ref.id):
            if self._worktree is None or repository.commit(self._worktree, ref.id) is None:
                return EvidenceState.MISSING
            return _same(ref.digest == commit_digest(ref.id))
        match = _SNAPSHOT.fullmatch(ref.id)
        if match is None:
            return EvidenceState.MISSING
        head = None if match[1] == "unborn" else match[1]
        found = False
        for table in ("checkpoint", "handoff_check"):
            rows = self._store.all(
                f"SELECT DISTINCT head, branch, dirty_digest FROM {table} WHERE workstream = ?"
                " AND head IS ? AND dirty_digest GLOB ?",
                *(self._workstream.id, head, f"{match[2]}*"),
            )
            if any(ref.digest == snapshot_digest(*row) for row in rows):
                return EvidenceState.AVAILABLE
            found = found or bool(rows)
        return EvidenceState.CHANGED if found else EvidenceState.MISSING

    def _file(self, ref: Ref) -> EvidenceState:
        found = file_digest(self._worktree, ref.id)
        return found if isinstance(found, EvidenceState) else _same(found == ref.digest)

    def _note(self, ref: Ref) -> EvidenceState:
        if not ref.id.isdigit():
            return EvidenceState.MISSING
        row = self._store.one("SELECT workstream, text FROM note WHERE id = ?", int(ref.id))
        if row is None:
            return EvidenceState.MISSING
        if row["workstream"] != self._workstream.id:
            return EvidenceState.WRONG_SCOPE
        return _same(ref.digest == text_digest(row["text"]))

    def _handoff(self, ref: Ref) -> EvidenceState:
        try:
            found = reading.exact(self._store, self._workstream, ref.id)
        except RefusedError:
            return EvidenceState.WRONG_SCOPE
        except BadDataError:  # its row is damaged
            return EvidenceState.CHANGED
        except UnavailableError:
            return EvidenceState.MISSING
        return _same(found.content_digest == ref.digest)

    def _elsewhere(self, sql: str, name: str) -> EvidenceState:
        known = self._store.one(sql, name) is not None
        return EvidenceState.WRONG_SCOPE if known else EvidenceState.MISSING

    # --- checks ---------------------------------------------------------------------------------

    def _recorded(self, name: str) -> checks.CheckRow | None:
        if not name.startswith("chk_"):
            return None
        # Imported late: most launches, which this module is part of, do without.
        from handoffs.store import checks

        return checks.get(self._store, name)

    def _imported(self, name: str) -> ImportedCheck | None:
        from handoffs import imported_checks

        return imported_checks.by_id(self._store, self._workstream, name)

    def of_recorded(self, row: checks.CheckRow) -> CheckFact:
        """Return what is known of a check that was recorded."""
        return CheckFact(
            id=row.id,
            command=row.command,
            status=row.status,
            exit_code=row.exit_code,
            failures=row.failures,
            position=row.ended_at,
            tree=self._comparison(row),
        )

    def _comparison(self, row: checks.CheckRow) -> Comparison:
        if row.id not in self._compared:
            known = row.worktree == str(self._worktree)
            self._compared[row.id] = self._compare(row) if known else Comparison.UNKNOWN
        return self._compared[row.id]

    def of_imported(self, check: ImportedCheck) -> CheckFact:
        """Return what is known of a check by an agent."""
        if check.id not in self._compared:
            self._compared[check.id] = self._observed(check.at)
        return CheckFact(
            id=check.id,
            command=check.command,
            status=check.status,
            exit_code=check.exit_code,
            failures=check.failures,
            position=check.at,
            tree=self._compared[check.id],
        )

    def _observed(self, at: int) -> Comparison:
        """Compare the tree at a time, at which nobody looked, with the tree now.

        A tree that was seen before that time and is as it was then did not change. One that was
        seen after it and is another now did change. A known edit after it is left to be counted.
        """
        if self._worktree is None or (self.last_change is not None and self.last_change > at):
            return Comparison.UNKNOWN
        before, after = checkpoints.around(
            self._store, self._workstream, at, worktree=str(self._worktree)
        )
        if after is not None and self._since(after) is Comparison.CHANGED:
            return Comparison.CHANGED
        if before is not None and self._since(before) is Comparison.SAME:
            return Comparison.SAME
        return Comparison.UNKNOWN

    def _since(self, row: CheckpointRow) -> Comparison:
        if row.id not in self._seen:
            self._seen[row.id] = self._compare(row)
        return self._seen[row.id]

    def _compare(self, row: checks.CheckRow | CheckpointRow) -> Comparison:
        """Compare a tree that was observed with the tree now."""
        if self._worktree is None or row.partial:
            return Comparison.UNKNOWN
        now = self._state or git.state(self._worktree, timeout_ms=STATE_MS)
        self._state = now
        if now.partial:
            return Comparison.UNKNOWN
        if self._left_ms <= 0 and row.head != now.head:
            return Comparison.UNKNOWN
        started = time.monotonic()
        left = max(1, self._left_ms)
        change = git.changed_between(self._worktree, row, now, timeout_ms=left)
        self._left_ms -= int(1000 * (time.monotonic() - started))
        for path, what in change.paths:
            if what is not git.PathChange.COMMITTED and _tracked(path, row, now):
                return Comparison.CHANGED
        return Comparison.UNKNOWN if change.bounded else Comparison.SAME


def evidence_checks(facts: LedgerFacts, content: Content) -> tuple[EvidenceCheck, ...]:
    """Return one check for each state statement and the next action."""
    return tuple(_checked(facts, name, item) for name, item in content.statements)


def _checked(facts: LedgerFacts, name: str, item: Statement) -> EvidenceCheck:
    states = tuple((ref, facts.evidence(ref)) for ref in item.evidence)
    worst = max((_WORST.index(state) for _, state in states), default=0)
    return EvidenceCheck(field=name, state=_WORST[worst], refs=states)


# --- digests of cited things --------------------------------------------------------------------


def event_digest(content_digest: bytes) -> str:
    """Return what a reference to an event carries: the digest under which its content is stored."""
    return "sha256:" + content_digest.hex()


def commit_digest(name: str) -> str:
    """Return what a reference to a commit carries."""
    return digest(b"commit " + name.encode())


def snapshot_digest(head: str | None, branch: str | None, dirty_digest: str | None) -> str:
    """Return what a reference to a state of the work tree carries."""
    return value_digest({"head": head, "branch": branch, "dirty_digest": dirty_digest})


def handoff_digest(store: Store, name: str) -> str | None:
    """Return the content digest of a preparation of any workstream by its whole id, or None."""
    row = store.one(
        "SELECT content_digest FROM handoff_revision WHERE prepared_id = ?1 UNION ALL"
        " SELECT content_digest FROM handoff_prepared WHERE prepared_id = ?1 LIMIT 1",
        name,
    )
    return None if row is None else str(row["content_digest"])


def snapshot_ref(snapshot: GitSnapshot) -> Ref | None:
    """Return the reference to a state of the work tree; None when that is not wholly known."""
    if snapshot.dirty_digest is None:
        return None
    return Ref(
        kind=RefKind.GIT,
        id=f"{snapshot.head or 'unborn'}:{snapshot.dirty_digest[:12]}",
        digest=snapshot_digest(snapshot.head, snapshot.branch, snapshot.dirty_digest),
    )


def file_digest(worktree: Path | None, name: str) -> str | EvidenceState:
    """Return the digest of a file of the work tree, or why there is none."""
    if worktree is None:
        return EvidenceState.MISSING
    try:
        path = Path(os.path.realpath(worktree / name))
        if not path.is_relative_to(os.path.realpath(worktree)):
            return EvidenceState.UNAUTHORIZED
        if not path.is_file():
            return EvidenceState.MISSING
        with path.open("rb") as file:
            raw = file.read(MAX_FILE + 1)
    except PermissionError:
        return EvidenceState.UNAUTHORIZED
    except (OSError, ValueError):
        return EvidenceState.MISSING
    return digest(raw)


def _same(same: bool) -> EvidenceState:
    return EvidenceState.AVAILABLE if same else EvidenceState.CHANGED


def _tracked(path: str, before: checks.CheckRow | CheckpointRow, now: GitState) -> bool:
    """Tell whether a changed path is tracked content: not one that git never knew."""
    then, after = before.paths.get(path), now.paths.get(path)
    untracked_then = then is not None and then[0] == "??"
    untracked_now = after is not None and after[0] == "??"
    return not (untracked_now and (then is None or untracked_then)) and not (
        untracked_then and after is None
    )
