"""Recovering cut-off runs outside of `run`: each under a short lease of its own."""

from __future__ import annotations

from typing import Any

from launcher.catchup import finish_unfinished
from launcher.place import Place
from launcher.resolve import choose
from leases import lease as leases
from leases.errors import LeaseHeld
from leases.holder import holder_here
from ledger import ids, runs, workstreams
from ledger.model import Workstream
from ledger.store import Store


def recover(store: Store, place: Place, name: str | None, *, dry_run: bool) -> list[dict[str, Any]]:
    """Finish the unfinished runs of one workstream, or of all; return what was done with each."""
    if name is not None:
        chosen = [choose(store, place, name=name).workstream]
    else:
        chosen = workstreams.list_all(store, archived=True)
    results: list[dict[str, Any]] = []
    for workstream in chosen:
        pending = runs.unfinished(store, workstream)
        if not pending:
            continue
        what = "would be finished" if dry_run else _finish(store, place, workstream)
        results += [
            {
                "run": run.id,
                "workstream": workstream.name,
                "harness": run.entry,
                "step": str(run.step),
                "what": what,
            }
            for run in pending
        ]
    return results


def _finish(store: Store, place: Place, workstream: Workstream) -> str:
    holder = holder_here(store, run=ids.random_id("run_"), env=place.env, purpose="maintenance")
    try:
        held = leases.acquire(store, workstream.id, holder)
    except LeaseHeld as busy:
        return f"left alone, it is running ({busy.description})"
    try:
        finish_unfinished(store, workstream, held, quiet=True)
    finally:
        leases.release(store, workstream.id, held.token)
    return "finished"
