"""`workstream objective`: what the work is for."""

from __future__ import annotations

import click


@click.command("objective")
@click.argument("text", nargs=-1)
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, text: tuple[str, ...], workstream: str | None, as_json: bool) -> int:
    """Set what the work is for, in your own words; without TEXT show it."""
    from launcher import words

    if not text:
        return words.show_objective(workstream, as_json=as_json)
    return words.set_objective(workstream, words.given(text), as_json=as_json)
