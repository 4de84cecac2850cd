"""The launcher's drafts: one row for each workstream and directory, replaced by each run.

A draft is delivered as a prepared target and is never committed by itself. Where the rollover
policy says so, it is kept as a prepared record too, which a person can commit: again one for each
workstream and directory, replaced by the next. One that a receiver has answered is kept there when
it is replaced: its receipt names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from handoffs.canonical import content_digest, prepared_id
from handoffs.models import ActorKind, Author, Base, Content, GitSnapshot, Prepared
from handoffs.occasion import Occasion
from handoffs.policy import PolicyRecord
from handoffs.store import observing, preparing, reading, receipts, rows
from handoffs.store.preparing import Circumstances
from handoffs.stored import content_from
from ledger.model import RunRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store


def replace(
    store: Store,
    workstream: Workstream,
    run: RunRow,
    content: Content,
    *,
    sessions: Iterable[int],
    git: GitSnapshot | None,
) -> str:
    """Store the draft of a run in place of the one before it; return its prepared id.

    The same words leave the row as it was, its time included. Inside the caller's transaction.
    """
    head = reading.head_numbers(store, workstream)
    base = None if head is None else Base(revision=head[0], content_digest=head[1])
    digest = content_digest(content)
    name = prepared_id(workstream.uid, base, digest)
    now = store.one("SELECT head_seq FROM workstream WHERE id = ?", workstream.id)
    told = sorted(set(sessions))
    _keep_answered(store, workstream, run.worktree, name)
    store.db.execute(
        """
        INSERT INTO handoff_draft (workstream, directory, prepared_id, content, content_digest,
            created_at, run, entry, sessions, observations, git, at_seq)
        VALUES (?,?,?,?,?,?,?,?,?,?,?,?)
        ON CONFLICT (workstream, directory) DO UPDATE SET prepared_id = excluded.prepared_id,
            content = excluded.content, content_digest = excluded.content_digest,
            created_at = excluded.created_at, run = excluded.run, entry = excluded.entry,
            sessions = excluded.sessions, observations = excluded.observations,
            git = excluded.git, at_seq = excluded.at_seq
        WHERE content_digest <> excluded.content_digest OR prepared_id <> excluded.prepared_id
        """,
        (
            *(workstream.id, run.worktree, name, rows.content_json(content), digest),
            *(store.clock.now_ms(), run.id, run.entry, json.dumps(told)),
            rows.observations_json(observing.of_sessions(store, told)),
            *(rows.git_json(git), 0 if now is None else now["head_seq"]),
        ),
    )
    return name


def keep(
    store: Store, workstream: Workstream, run: RunRow, occasion: Occasion, policy: PolicyRecord
) -> Prepared | None:
    """Keep the draft of a run's directory as a prepared record of the launcher's, and return it.

    None when there is no draft. Earlier ones of this directory go, those that somebody committed
    or asked to commit stay. Inside the caller's transaction.
    """
    row = store.one(
        "SELECT * FROM handoff_draft WHERE workstream = ? AND directory = ?",
        *(workstream.id, run.worktree),
    )
    if row is None:
        return None
    around = Circumstances(
        author=Author(kind=ActorKind.LAUNCHER, harness=row["entry"]),
        reasons=occasion.reasons,
        observations=occasion.observations,
        policy=policy,
        git=rows.git_from(row["git"]),
        run=run.id,
    )
    made = preparing.insert(store, workstream, content_from(row["content"]), around)[0]
    store.db.execute(
        f"DELETE FROM handoff_prepared WHERE {_OURS} AND prepared_id <> ? AND queued_by IS NULL"
        " AND (SELECT worktree FROM run WHERE run.id = handoff_prepared.run) = ?",
        (workstream.id, made.prepared_id, run.worktree),
    )
    return made


def kept(store: Store, workstream: Workstream) -> str | None:
    """Return the newest prepared id that the policy made and nobody committed, or None."""
    row = store.one(
        f"SELECT prepared_id FROM handoff_prepared WHERE {_OURS} AND abandoned_at IS NULL"
        " ORDER BY created_at DESC LIMIT 1",
        workstream.id,
    )
    return None if row is None else str(row["prepared_id"])


_OURS = (
    "workstream = ? AND author_kind = 'launcher' AND policy IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM handoff_revision"
    " WHERE handoff_revision.workstream = handoff_prepared.workstream"
    " AND handoff_revision.prepared_id = handoff_prepared.prepared_id)"
    " AND NOT EXISTS (SELECT 1 FROM handoff_receipt"
    " WHERE handoff_receipt.workstream = handoff_prepared.workstream"
    " AND handoff_receipt.target_digest = handoff_prepared.content_digest)"
)
"""Prepared records that the policy made, that nobody committed and nobody answered."""


def _keep_answered(store: Store, workstream: Workstream, directory: str, name: str) -> None:
    """Keep the draft of a directory as a prepared record, when it was answered and goes now."""
    row = store.one(
        "SELECT * FROM handoff_draft WHERE workstream = ? AND directory = ? AND prepared_id <> ?",
        *(workstream.id, directory, name),
    )
    if row is None or not receipts.answered(store, workstream, row["content_digest"]):
        return
    base = _base(store, workstream, row["prepared_id"], row["content_digest"])
    author = Author(kind=ActorKind.LAUNCHER, harness=row["entry"])
    store.db.execute(
        """
        INSERT OR IGNORE INTO handoff_prepared (prepared_id, workstream, scope_id, base_revision,
            base_digest, content, content_digest, reasons, created_at, author, author_kind,
            observations, git, at_seq, at_revision, run)
        VALUES (?,?,?,?,?,?,?,'[]',?,?,?,?,?,?,?,?)
        """,
        (
            *(row["prepared_id"], workstream.id, workstream.uid),
            *((None, None) if base is None else (base.revision, base.content_digest)),
            *(row["content"], row["content_digest"], row["created_at"]),
            *(rows.author_json(author), str(author.kind), row["observations"]),
            *(row["git"], row["at_seq"], 0 if base is None else base.revision, row["run"]),
        ),
    )


def _base(store: Store, workstream: Workstream, name: str, digest: str) -> Base | None:
    """Return the revision that was the head when a draft got its name."""
    found = store.all(
        "SELECT revision, content_digest FROM handoff_revision WHERE workstream = ?"
        " ORDER BY revision DESC LIMIT 50",
        workstream.id,
    )
    bases = [Base(revision=row["revision"], content_digest=row["content_digest"]) for row in found]
    return next((b for b in bases if prepared_id(workstream.uid, b, digest) == name), None)
