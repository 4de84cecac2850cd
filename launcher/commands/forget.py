"""`workstream forget`: take words out of the ledger for good."""

from __future__ import annotations

import click


@click.command("forget")
@click.option("--event", "events", multiple=True, metavar="REF", help="This event, as in `log`.")
@click.option("--session", metavar="ID", help="This native session.")
@click.option(
    "--workstream", metavar="NAME", help="This workstream; with --event, where to look it up."
)
@click.option(
    "--older-than", metavar="AGE", help="Events older than e.g. 90d: of all, or of the above."
)
@click.option("--why", metavar="TEXT", help="Kept with the fact that it was forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Count what would go.")
def command(
    *,
    events: tuple[str, ...],
    session: str | None,
    workstream: str | None,
    older_than: str | None,
    why: str | None,
    yes: bool,
    dry_run: bool,
) -> int:
    """Remove words from ledger, index and run folders; no import brings them back.

    The events stay in the log without their text, so that it can still be verified. The harness's
    own session files are not touched. Backups that still hold the words are named.
    """
    from launcher import forgetting

    asked = forgetting.Asked(
        events=events, session=session, workstream=workstream, older_than=older_than, why=why
    )
    return forgetting.run(asked, yes=yes, dry_run=dry_run)
