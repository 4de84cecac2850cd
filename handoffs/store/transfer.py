"""Starting a workstream from an exact handoff of another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoffs.store import rows
from handoffs.store.reading import Found
from ledger.model import Workstream

if TYPE_CHECKING:
    from ledger.store import Store


def bring(store: Store, workstream: Workstream, source: Workstream, found: Found) -> None:
    """Deliver an exact handoff of `source` here; once for a workstream.

    Its evidence stays where it is and is looked at there.
    """
    with store.transaction() as db:
        db.execute(
            """
            INSERT INTO handoff_transfer (workstream, source, revision, prepared_id, content,
                content_digest, author, git, at) VALUES (?,?,?,?,?,?,?,?,?)
            """,
            (
                *(workstream.id, source.id, found.revision or 0, found.prepared_id),
                *(rows.content_json(found.content), found.content_digest),
                *(rows.author_json(found.author), rows.git_json(found.git)),
                store.clock.now_ms(),
            ),
        )
