"""`workstream archive`: put a workstream away, or take it out again."""

from __future__ import annotations

import click


@click.command("archive")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--undo", is_flag=True, help="Take it out again.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
def command(*, workstream: str | None, undo: bool, dry_run: bool) -> int:
    """Put a workstream away: not listed, not gone on with by default; nothing is removed."""
    from launcher.output import say
    from launcher.place import here
    from launcher.resolve import choose
    from leases import lease as leases
    from ledger import workstreams
    from ledger.errors import BusyError
    from ledger.store import open_store

    place = here()
    with open_store(place.home, "rw") as store:
        choice = choose(store, place, name=workstream)
        view = leases.inspect(store, choice.workstream.id)
        if view is not None and view.holder is not None and not undo:
            raise BusyError(
                f"workstream {choice.workstream.name} is running",
                next_step="End it first: workstream stop",
            )
        if not dry_run:
            workstreams.archive(store, choice.workstream, archived=not undo)
    done = "listed again" if undo else "archived"
    say(f"{choice.workstream.name} {'would be' if dry_run else 'is'} {done}")
    return 0
