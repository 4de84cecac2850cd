"""`workstream log`: the events of a workstream."""

from __future__ import annotations

import shutil
import time

import click

TEXT_BYTES = 16 * 1024
"""Text of one event in `log --json`; `show` has the whole."""
HUMAN_BYTES = 1_200


@click.command("log")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("-n", "limit", type=click.IntRange(0), default=50, show_default=True, help="0: all.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind of event.")
@click.option("--oneline", is_flag=True, help="One line an event.")
@click.option("--follow", is_flag=True, help="Go on printing new events until interrupted.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(
    *,
    workstream: str | None,
    limit: int,
    kinds: tuple[str, ...],
    oneline: bool,
    follow: bool,
    as_json: bool,
) -> int:
    """Show the newest events, oldest first, from every harness."""
    from launcher.documents import event_document
    from launcher.output import emit_json
    from launcher.reading import page, reading
    from ledger import events
    from ledger.errors import UsageError
    from ledger.model import EventKind

    known = {str(kind) for kind in EventKind}
    unknown = sorted(set(kinds) - known)
    if unknown:
        raise UsageError(
            f"there is no kind of event {unknown[0]!r}",
            next_step=f"Kinds: {', '.join(sorted(known))}",
        )
    if follow and as_json:
        raise UsageError("--follow and --json exclude each other")
    with reading(workstream) as now:
        rows = events.log(
            now.store,
            now.choice.workstream,
            limit=limit,
            kinds=kinds or None,
            text_bytes=TEXT_BYTES if as_json else HUMAN_BYTES + 400,
        )
        if as_json:
            data = {
                "workstream": now.choice.workstream.name,
                "events": [event_document(row) for row in rows],
                "coverage": now.coverage(),
            }
            emit_json("log", data)
            return 0
        text = _rendered(rows, oneline=oneline)
        if not rows:
            text = f"workstream {now.choice.workstream.name} has no events yet"
        if not follow:
            page(text)
            return 0
        click.echo(text)
    return _follow(workstream, rows[-1].seq if rows else 0, kinds, oneline=oneline)


def _rendered(rows: list, *, oneline: bool) -> str:  # type: ignore[type-arg]
    from launcher.documents import event_head, event_line, event_text

    if oneline:
        width = shutil.get_terminal_size().columns
        return "\n".join(event_line(row, width) for row in rows)
    blocks = []
    for row in rows:
        text = event_text(row, HUMAN_BYTES)
        body = "\n".join(f"    {line}" for line in text.splitlines())
        blocks.append(event_head(row) + (f"\n{body}" if body else ""))
    return "\n\n".join(blocks)


def _follow(workstream: str | None, after: int, kinds: tuple[str, ...], *, oneline: bool) -> int:
    from launcher.reading import reading
    from ledger import events

    while True:
        time.sleep(1)
        with reading(workstream) as now:
            rows = events.log(
                now.store,
                now.choice.workstream,
                limit=0,
                after=after,
                kinds=kinds or None,
                text_bytes=HUMAN_BYTES + 400,
            )
        if rows:
            after = rows[-1].seq
            click.echo(_rendered(rows, oneline=oneline) + ("" if oneline else "\n"))
