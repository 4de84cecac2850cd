"""`workstream note`: leave a word for the next agent."""

from __future__ import annotations

import click


@click.command("note")
@click.argument("text", nargs=-1)
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--pin", is_flag=True, help="Keep it in every briefing.")
@click.option("--dead-end", is_flag=True, help="Something that was tried and does not work.")
@click.option("--retire", type=int, metavar="ID", help="Take a note out of the briefings.")
@click.option("--list", "listing", is_flag=True, help="List the notes.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(
    *,
    text: tuple[str, ...],
    workstream: str | None,
    pin: bool,
    dead_end: bool,
    retire: int | None,
    listing: bool,
    as_json: bool,
) -> int:
    """Leave TEXT for the next agent, in your own words; `-` reads it from stdin."""
    from launcher import words
    from ledger.errors import UsageError

    if listing or (not text and retire is None):
        return words.list_notes(workstream, as_json=as_json)
    if retire is not None:
        if text:
            raise UsageError("--retire takes no text")
        return words.retire_note(workstream, retire)
    return words.add_note(
        workstream, words.given(text), pin=pin, dead_end=dead_end, as_json=as_json
    )
