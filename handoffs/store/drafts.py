"""The launcher's drafts: one row for each workstream and directory, replaced by each run.

A draft is delivered as a prepared target and is never committed by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from handoffs.canonical import content_digest, prepared_id
from handoffs.models import Base, Content, GitSnapshot
from handoffs.store import reading, rows
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
    store.db.execute(
        """
        INSERT INTO handoff_draft (workstream, directory, prepared_id, content, content_digest,
            created_at, run, entry, sessions, git, at_seq) VALUES (?,?,?,?,?,?,?,?,?,?,?)
        ON CONFLICT (workstream, directory) DO UPDATE SET prepared_id = excluded.prepared_id,
            content = excluded.content, content_digest = excluded.content_digest,
            created_at = excluded.created_at, run = excluded.run, entry = excluded.entry,
            sessions = excluded.sessions, git = excluded.git, at_seq = excluded.at_seq
        WHERE content_digest <> excluded.content_digest OR prepared_id <> excluded.prepared_id
        """,
        (
            *(workstream.id, run.worktree, name, rows.content_json(content), digest),
            *(store.clock.now_ms(), run.id, run.entry, json.dumps(sorted(set(sessions)))),
            *(rows.git_json(git), 0 if now is None else now["head_seq"]),
        ),
    )
    return name
