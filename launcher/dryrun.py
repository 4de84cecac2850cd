"""`workstream run --dry-run`: the whole plan, and nothing changed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from launcher import folder, planning, report
from launcher.asking import Asked, ask_for, last_harness
from launcher.catchup import catch_up
from launcher.options import RunOptions
from launcher.place import Place
from launcher.resolve import choose_or_create
from launcher.run import bring_handoff, make_job, planning_request, proposed, record
from leases import lease as leases
from leases.holder import holder_here
from ledger import ids
from ledger.store import DATABASE, Store, open_store


class _Undo(Exception):  # noqa: N818
    """Leaves a transaction so that it is rolled back."""


def dry_run(place: Place, options: RunOptions, asked: Asked | None) -> int:
    """Print the plan and change nothing: all of it happens in a transaction that is undone.

    Without a ledger it happens in a scratch directory. The plan's files are written to a scratch
    directory too.
    """
    with tempfile.TemporaryDirectory(prefix="workstream-dry-run-") as scratch:
        exists = (place.home / DATABASE).exists()
        with open_store(place.home if exists else Path(scratch) / "home") as store:
            try:
                with store.transaction():
                    _plan(store, place, options, asked, Path(scratch))
                    raise _Undo  # noqa: TRY301  (the rollback is the point)
            except _Undo:
                return 0


def _plan(
    store: Store, place: Place, options: RunOptions, asked: Asked | None, scratch: Path
) -> None:
    choice = choose_or_create(store, place, name=options.workstream, new=options.new, ask=None)
    bring_handoff(store, choice, options)
    if asked is None:
        asked = ask_for(place, last_harness(store, place, options, choice), options.args)
    job = make_job(store, place, options, choice, asked, cache=scratch / "programs.json")
    holder = holder_here(store, run=ids.random_id("run_"), env=place.env, harness=asked.entry.name)
    held = leases.take_over(store, choice.workstream.id, holder)  # undone with everything else
    catch_up(store, choice.workstream, place, say_losses=False)
    target = planning.decide(planning_request(job, None), one_shot=job.one_shot)
    target = proposed(job, target, lambda _: False)  # a plan asks nothing
    if target.worn is not None:
        told = f"a new session would be proposed (--rollover): {target.worn}"
        target = target._replace(notices=(*target.notices, told))
    row = record(job, held, target)
    (scratch / folder.RUNS).mkdir()
    report.plan(job, target, row, folder.create(scratch, row.id))
