"""`workstream restore`: put a backup back."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--force", is_flag=True, help="Also while a run is live.")
@click.option("--dry-run", is_flag=True, help="Check the file and say what would be done.")
def command(*, file: Path, yes: bool, force: bool, dry_run: bool) -> int:
    """Put the backup FILE in the place of the ledger; the present one is kept beside it.

    Events newer than the backup come back from the harnesses' own stores with the next run.
    """
    from launcher import prompts
    from launcher.output import plural, say
    from launcher.place import here
    from ledger.backup import check, restore
    from ledger.errors import UsageError

    place = here()
    if dry_run:
        check(file.absolute())
        say(f"{file} is a sound backup; it would replace {place.home / 'workstream.db'}")
        return 0
    if not yes:
        if not place.terminal:
            raise UsageError("restore needs --yes where nobody can be asked")
        if not prompts.confirm(f"Replace the ledger in {place.home} by {file}?"):
            say("nothing was changed")
            return 0
    done = restore(place.home, file.absolute(), force=force)
    say(f"restored {done.path}" + (f"; the one before is {done.kept}" if done.kept else ""))
    for item in done.behind:
        say(
            f"{item.name}: {plural(item.events, 'event')} and {plural(item.runs, 'run')} are newer"
            " than the backup; the next run imports those of linked sessions again"
        )
        for session in item.sessions:
            say(f"  linked since: {session} (adopt it again)")
    if done.other_store:
        say("the backup is of another ledger than the one it replaced")
    return 0
