"""`workstream resume`: go on with the harness used last."""

from __future__ import annotations

import click


@click.command("resume")
@click.option("--workstream", metavar="NAME", help="Use this workstream of the repository.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing of ours.")
def command(*, workstream: str | None, quiet: bool) -> int:
    """Go on with the harness used last, in its own session: `run` without a harness."""
    from launcher.options import RunOptions
    from launcher.place import here
    from launcher.run import run

    return run(RunOptions(workstream=workstream, quiet=quiet), here())
