"""`workstream search`: events by words."""

from __future__ import annotations

import datetime
import re

import click

_AGO = re.compile(r"(\d+)\s*(min|h|d|w)")
_UNITS = {"min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


class SearchCommand(click.Command):
    """A command whose words may begin with one dash (they leave out), not with two."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that does not exist; what follows a bare `--` is words."""
        known = {name for option in self.get_params(ctx) for name in option.opts}
        for word in args[: args.index("--")] if "--" in args else args:
            name = word.partition("=")[0]
            if name.startswith("--") and name not in known:
                raise click.NoSuchOption(name, possibilities=sorted(known), ctx=ctx)
        return super().parse_args(ctx, args)


@click.command("search", cls=SearchCommand, context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, required=True)
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--all", "everywhere", is_flag=True, help="All workstreams of the repository.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind of event.")
@click.option("--harness", metavar="NAME", help="Only events of this harness.")
@click.option("--since", metavar="WHEN", help="Date, time, or e.g. 2d: not older.")
@click.option("--until", metavar="WHEN", help="Date, time, or e.g. 2d: not newer.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0)
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(
    *,
    query: tuple[str, ...],
    workstream: str | None,
    everywhere: bool,
    kinds: tuple[str, ...],
    harness: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    offset: int,
    as_json: bool,
) -> int:
    """Search messages, commands and outputs; newest and best first.

    Words must all be there; "in quotes" is a phrase, a* a beginning, -word leaves out. Of long tool
    output only head and tail are searched.
    """
    from launcher.documents import event_document, event_head
    from launcher.output import emit_json, plural, say
    from launcher.reading import answer, reading
    from ledger import workstreams
    from ledger.search import search
    from ledger.visible import show

    with reading(workstream) as now:
        chosen = [now.choice.workstream]
        if everywhere:
            chosen = workstreams.list_all(
                now.store, repository=now.choice.repository.id, archived=True
            )
        clock = now.store.clock.now_ms()
        found = search(
            now.store,
            " ".join(query),
            workstreams=[w.id for w in chosen],
            kinds=kinds or None,
            harness=harness,
            since=None if since is None else moment(since, clock),
            until=None if until is None else moment(until, clock),
            limit=limit,
            offset=offset,
        )
        coverage = now.coverage()
    if as_json:
        data = {
            "hits": [
                {**event_document(h.event), "snippet": h.snippet, "score": h.score}
                for h in found.hits
            ],
            "total": found.total,
            "total_capped": found.total_capped,
            "coverage": coverage,
            "problem": found.problem,
        }
        emit_json("search", data)
        return 0
    lines = [f"{event_head(h.event)}\n    {show(h.snippet, newline=False)}" for h in found.hits]
    if lines:
        answer("\n".join(lines))
    if found.problem:
        say(found.problem)
    total = plural(found.total, "match", "matches")
    more = " or more" if found.total_capped else ""
    say(f"{total}{more}" + ("" if coverage["complete"] else "; not everything is imported yet"))
    return 0


def moment(text: str, now: int) -> int:
    """Return a point in time: ISO date or time (local zone unless it names one), or "3h" ago."""
    from ledger.errors import UsageError

    back = _AGO.fullmatch(text.strip())
    if back is not None:
        return now - int(back[1]) * _UNITS[back[2]]
    try:
        at = datetime.datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UsageError(
            f"cannot understand the time {text!r}",
            next_step="Give a date (2026-11-30), a time (2026-11-30T14:00), or e.g. 2d, 3h, 30min.",
        ) from error
    return int(at.astimezone().timestamp() * 1000)
