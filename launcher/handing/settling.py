"""The handoffs' part in the end of a run: acknowledgements, queued commits, the draft.

Runs under the run's own token, after its import, its deliveries and its receipts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handoffs import drafting
from handoffs.ledger_facts import LedgerFacts
from handoffs.store import answering, committing, preparing, reading, receipts
from handoffs.store.rows import StoredReceipt
from ledger.errors import WorkstreamError
from ledger.fencing import LeaseLostError, require
from ledger.gitstate import GitState
from ledger.model import RunRow, Workstream
from ledger.visible import cut, show

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
    notices = [_given_back(run, item) for item in receipts.returned_in(store, run.id)]
    notices += _commit_queued(store, run, workstream, state)
    with store.transaction():
        require(store, run.workstream, run.token)
        drafting.draft(store, workstream, run, state, active, recovery=recovery)
    return notices


def _given_back(run: RunRow, item: StoredReceipt) -> str:
    """Say to the person that the agent did not take up what it was handed."""
    target = item.receipt.target
    name = "what it was handed" if target.revision is None else f"handoff r{target.revision}"
    why = show(" ".join((item.receipt.message or "").split()), newline=False)
    return f"{run.entry} gave {name} back as {item.receipt.status}: {cut(why, 300).text}"


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
