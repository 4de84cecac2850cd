"""`workstream briefing`: what the next run would deliver, or what was delivered."""

from __future__ import annotations

import click


@click.command("briefing")
@click.argument("harness", required=False)
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--budget", type=int, metavar="BYTES", help="As `run --budget`.")
@click.option("--delivery", metavar="ID", help="Print what was sent under this delivery id.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(
    *,
    harness: str | None,
    workstream: str | None,
    budget: int | None,
    delivery: str | None,
    as_json: bool,
) -> int:
    """Print exactly what the next run of HARNESS would be given, and what it leaves out.

    Delivers nothing. Without HARNESS, for the one a bare `run` would start.
    """
    from launcher import preview
    from launcher.reading import reading

    with reading(workstream) as now:
        if delivery is not None:
            return preview.delivered(now, delivery, as_json=as_json)
        return preview.due(now, harness, budget, as_json=as_json)
