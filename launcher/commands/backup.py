"""`workstream backup`: write a copy of the ledger."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--dry-run", is_flag=True, help="Say what would be written.")
def command(*, file: Path | None, force: bool, dry_run: bool) -> int:
    """Write a checked copy of the ledger to FILE, while runs go on.

    Without FILE, into the state directory's `backups` folder.
    """
    import time

    from launcher.output import plural, say, size
    from launcher.place import here
    from ledger.backup import backup
    from ledger.store import open_store

    place = here()
    with open_store(place.home, "rw") as store:
        target = file
        if target is None:
            folder = place.home / "backups"
            folder.mkdir(mode=0o700, exist_ok=True)
            target = folder / f"workstream-{time.strftime('%Y%m%d-%H%M%S')}.db"
        if dry_run:
            say(f"would write {target}")
            return 0
        done = backup(store, target.absolute(), force=force)
    say(f"{done.path}: {plural(done.events, 'event')}, {size(done.bytes)}")
    return 0
