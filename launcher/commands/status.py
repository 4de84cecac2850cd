"""`workstream status`: where a workstream stands."""

from __future__ import annotations

import click


@click.command("status")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--short", is_flag=True, help="One line for a prompt or status bar; imports nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, workstream: str | None, short: bool, as_json: bool) -> int:
    """Show where a workstream stands: who runs it, sessions, last run, limits, what is unseen."""
    from launcher import standing
    from launcher.output import emit_json
    from launcher.reading import answer, reading

    if short:
        from launcher.short import main

        return main()
    with reading(workstream) as now:
        document = standing.document(now)
        if as_json:
            emit_json("status", document)
        else:
            answer(standing.rendered(document, now))
    return 0
