"""The handoffs' part in the end of a run: acknowledgements, queued commits, the draft.

Runs under the run's own token, after its import, its deliveries and its receipts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handoffs import drafting
from handoffs.ledger_facts import LedgerFacts
from handoffs.store import answering, committing, preparing, reading
from ledger.errors import WorkstreamError
from ledger.fencing import LeaseLostError, require
from ledger.gitstate import GitState
from ledger.model import RunRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store


def settle(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    state: GitState,
    active: set[int],
    *,
    recovery: bool,
) -> list[str]:
    """Bring the handoffs of a run to what is known at its end; returns notices.

    May be repeated. Raises LeaseLostError; then nothing was written.
    """
    with store.transaction():
        require(store, run.workstream, run.token)
        answering.settle(store, workstream, run.id)
    notices = _commit_queued(store, run, workstream, state)
    with store.transaction():
        require(store, run.workstream, run.token)
        drafting.draft(store, workstream, run, state, active, recovery=recovery)
    return notices


def _commit_queued(store: Store, run: RunRow, workstream: Workstream, state: GitState) -> list[str]:
    """Commit what was to be committed after this run; a refusal is told, and the record stays."""
    notices = []
    for name, by in preparing.queued(store, workstream):
        value = reading.prepared_value(store, name)
        content = None if value is None else value.content
        facts = LedgerFacts(store, workstream, Path(run.worktree), content=content, state=state)
        try:
            done = committing.commit(store, workstream, name, facts, by, token=run.token)
        except LeaseLostError:
            raise
        except WorkstreamError as error:
            notices.append(f"handoff {name} was not committed: {error.message}")
        else:
            notices.append(f"handoff {name} is revision {done.revision.revision} now")
        preparing.unqueue(store, name)
    return notices
