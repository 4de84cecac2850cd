"""`workstream recover`: finish runs that did not end by themselves."""

from __future__ import annotations

import click


@click.command("recover")
@click.option("--workstream", metavar="NAME", help="Only this workstream of the repository.")
@click.option("--dry-run", is_flag=True, help="List what would be finished.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, workstream: str | None, dry_run: bool, as_json: bool) -> int:
    """Finish runs whose launcher or harness was cut off: import, verify, release.

    Without --workstream, those of every workstream. A run that is still alive is left alone.
    """
    from launcher import recovery
    from launcher.output import emit_json, say
    from launcher.place import here
    from ledger.store import open_store

    place = here()
    with open_store(place.home) as store:
        results = recovery.recover(store, place, workstream, dry_run=dry_run)
    if as_json:
        emit_json("recover", {"runs": results, "dry_run": dry_run})
        return 0
    for result in results:
        say(f"{result['workstream']}: run {result['run']} of {result['harness']}: {result['what']}")
    if not results:
        say("nothing to recover")
    return 0
