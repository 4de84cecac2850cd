"""`workstream show`: one event, whole."""

from __future__ import annotations

import click


@click.command("show")
@click.argument("event")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, event: str, workstream: str | None, as_json: bool) -> int:
    """Show EVENT (e1532, 1532, or the beginning of an event id) with its whole text."""
    from launcher.documents import event_document, event_head, event_text
    from launcher.output import emit_json, iso
    from launcher.reading import page, reading
    from ledger import events
    from ledger.visible import show

    with reading(workstream) as now:
        row = events.get(now.store, now.choice.workstream, event)
    if as_json:
        emit_json("show", event_document(row))
        return 0
    lines = [event_head(row), f"id        {row.event_id}", f"time      {iso(row.occurred_at)}"]
    if row.session is not None:
        lines.append(f"session   {row.session}")
    if row.run is not None:
        lines.append(f"run       {row.run}")
    if row.tool_input is not None:
        lines.append(f"input     {show(row.tool_input)}")
    if row.truncated:
        lines.append(f"size      {row.bytes:,} bytes; not all of it was kept")
    page("\n".join([*lines, "", event_text(row)]))
    return 0
