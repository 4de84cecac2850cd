"""`run --new B --from A[@REVISION]`: the exact handoff of another workstream as a start."""

from __future__ import annotations

from handoffs.store import leading, reading, transfer
from ledger import workstreams
from ledger.errors import UnavailableError, UsageError
from ledger.model import Repository, Workstream
from ledger.store import Store


def bring(
    store: Store, repository: Repository, workstream: Workstream, word: str, *, new: bool
) -> None:
    """Deliver what `A`, `A@3` or `A@prp_…` means to a workstream that was just created.

    `A` alone is what leads there now, frozen to exactly that. Inside the caller's transaction.
    Raises UsageError and UnavailableError.
    """
    if not new:
        raise UsageError(
            "--from starts a new workstream", next_step="Name it: run --new NAME --from " + word
        )
    name, at, revision = word.partition("@")
    source = workstreams.by_name(store, repository.id, name)
    if source is None or source.id == workstream.id:
        known = [row.name for row in workstreams.list_all(store, repository.id)]
        raise UnavailableError(
            f"there is no other workstream {name!r} in this repository",
            next_step=f"There are: {', '.join(n for n in known if n != workstream.name)}",
        )
    if at and revision.strip() == reading.LATEST:
        raise UsageError("--from takes an exact revision, not `latest`")
    found = reading.exact(store, source, revision) if at else leading.leading(store, source)
    if found is None:
        raise UnavailableError(
            f"{name} has no handoff yet", next_step="Write one there: workstream handoff draft"
        )
    transfer.bring(store, workstream, source, found)
