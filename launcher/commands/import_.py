"""`workstream import`: read past sessions into the ledger."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("import")
@click.argument("harness")
@click.option(
    "--home", type=click.Path(path_type=Path), metavar="DIR", help="Store home of the harness."
)
@click.option("--session", "only", multiple=True, metavar="ID", help="Exactly this session.")
@click.option("--here", is_flag=True, help="Sessions recorded in this repository (default).")
@click.option("--all", "everything", is_flag=True, help="All, each under its own repository.")
@click.option("--into", metavar="NAME", help="File what was selected into this workstream.")
@click.option("--deliver", is_flag=True, help="Let briefings tell about them too.")
@click.option("--list", "listing", is_flag=True, help="List what would be read, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(
    *,
    harness: str,
    home: Path | None,
    only: tuple[str, ...],
    here: bool,
    everything: bool,
    into: str | None,
    deliver: bool,
    listing: bool,
    as_json: bool,
) -> int:
    """Read past sessions of HARNESS as searchable archive; briefings leave them out.

    Nothing of the harness's is changed. Sessions of other workstreams are skipped and listed.
    """
    from launcher import backfilling
    from ledger.errors import UsageError

    if here and everything:
        raise UsageError("--here and --all exclude each other")
    asked = backfilling.Asked(
        harness=harness,
        home=home,
        only=only,
        everything=everything,
        into=into,
        deliver=deliver,
        listing=listing,
        as_json=as_json,
    )
    return backfilling.run(asked)
