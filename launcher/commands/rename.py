"""`workstream rename`: give a workstream another name."""

from __future__ import annotations

import click


@click.command("rename")
@click.argument("name")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
def command(*, name: str, workstream: str | None, dry_run: bool) -> int:
    """Rename a workstream to NAME; sessions, history and links stay."""
    from launcher.output import say
    from launcher.place import here
    from launcher.resolve import check_name, choose
    from ledger import workstreams
    from ledger.errors import UsageError
    from ledger.store import open_store

    place = here()
    new = check_name(name)
    with open_store(place.home, "rw") as store:
        choice = choose(store, place, name=workstream)
        if workstreams.by_name(store, choice.repository.id, new) is not None:
            raise UsageError(f"there is a workstream {new!r} already")
        if not dry_run:
            workstreams.rename(store, choice.workstream, new)
    would = "would be renamed" if dry_run else "is now"
    say(f"{choice.workstream.name} {would} {new}")
    return 0
