"""`workstream relink`: tell which directory a repository is in now."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("relink")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--from", "repository", metavar="REPOSITORY", help="Name or id of the repository.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
def command(*, directory: Path, repository: str | None, yes: bool, dry_run: bool) -> int:
    """Use the workstreams of a repository in DIRECTORY from now on.

    For a moved, restored or cloned repository that is not recognised by itself. Without --from, the
    repository is the one whose directory is gone.
    """
    from launcher import relinking
    from launcher.output import say

    say(relinking.relink(directory, repository, yes=yes, dry_run=dry_run))
    return 0
