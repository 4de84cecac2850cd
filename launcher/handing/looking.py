"""`handoff list`, `show`, `diff` and `report`."""

from __future__ import annotations

import difflib

import click

from handoffs.store import leading, reading, receiving, reporting
from handoffs.store.occasions import of_prepared as kept_beside
from handoffs.store.reporting import Stale
from launcher.handing import answered, occasions
from launcher.handing.bench import of_reading
from launcher.handing.documents import found_document, lines, lost, one_line
from launcher.output import duration, emit_json, plural, say, size
from launcher.reading import answer, page
from launcher.reading import reading as opened
from ledger import deliveries, repositories
from ledger.errors import UnavailableError
from ledger.visible import show as show_text


@click.command("list")
@click.option("-n", "limit", type=click.IntRange(1, 500), default=20, help="How many of each kind.")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def list_(*, limit: int, workstream: str | None, as_json: bool) -> int:
    """List revisions, prepared ones and drafts, newest first."""
    with opened(workstream, refresh=False) as now:
        store, where = now.store, now.choice.workstream
        lead = leading.leading(store, where)
        kept = reading.open_prepared(store, where)[:limit]
        names = {item.prepared_id for item in kept}
        drafts = reading.drafts(store, where)
        found = [
            *kept,
            *reading.revisions(store, where, limit=limit),
            *(item for item in drafts if item.prepared_id not in names),  # kept by policy
        ]
        brought = reading.transferred(store, where)
        found += [] if brought is None else [brought]
        if as_json:
            document = {
                "leading": None if lead is None else lead.name,
                "handoffs": [found_document(store, where, item) for item in found],
                "lost_deliveries": deliveries.lost(store, workstream=where),
            }
            emit_json("handoff", document)
        elif not found:
            say(f"{where.name} has no handoffs yet{lost(store, where)}")
        else:
            page("\n".join(one_line(store, where, item) for item in found))
    return 0


@click.command("show")
@click.argument("name", required=False)
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def show(*, name: str | None, workstream: str | None, as_json: bool) -> int:
    """Show NAME (a revision, a prepared id, a digest, `latest`), or the one that leads."""
    with opened(workstream, refresh=False) as now:
        bench = of_reading(now)
        if name is None:
            found = leading.leading(bench.store, bench.workstream)
            if found is None:
                raise UnavailableError(
                    f"{bench.workstream.name} has no handoffs yet"
                    f"{lost(bench.store, bench.workstream)}",
                    next_step="Write one: workstream handoff draft",
                )
        else:
            found = reading.exact(bench.store, bench.workstream, name)
        kept = kept_beside(bench.store, found.prepared_id)
        if as_json:
            document = found_document(bench.store, bench.workstream, found)
            told = answered.document(bench.store, bench.workstream, found)
            emit_json("handoff", {**document, **told, **occasions.document(kept)})
            return 0
        received = receiving.observe(bench.store, bench.workstream, found, bench.worktree)
        said = answered.lines(bench.store, bench.workstream, found)
        answer("\n".join([*lines(received), *occasions.lines(kept), *said]))
    return 0


@click.command("diff")
@click.argument("old")
@click.argument("new", required=False)
@click.option("--workstream", metavar="WS", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def diff(*, old: str, new: str | None, workstream: str | None, as_json: bool) -> int:
    """Compare OLD with NEW, or with the one that leads, in their Markdown form."""
    from handoffs.markdown import to_markdown

    with opened(workstream, refresh=False) as now:
        store, where = now.store, now.choice.workstream
        one = reading.exact(store, where, old)
        two = leading.leading(store, where) if new is None else reading.exact(store, where, new)
        if two is None:
            raise UnavailableError(f"{where.name} has no handoffs yet")
        changed = [
            line.rstrip("\n")
            for line in difflib.unified_diff(
                to_markdown(one.content).splitlines(),
                to_markdown(two.content).splitlines(),
                one.name,
                two.name,
                lineterm="",
            )
        ]
        if as_json:
            same = one.content_digest == two.content_digest
            emit_json("handoff", {"old": one.name, "new": two.name, "same": same, "diff": changed})
        elif not changed:
            say(f"{one.name} and {two.name} say the same")
        else:
            page("\n".join(changed))
    return 0


@click.command("report")
@click.option("--all", "everywhere", is_flag=True, help="Every repository, not only this one.")
@click.option("-n", "limit", type=click.IntRange(1, 500), default=50, help="How many workstreams.")
@click.option("--skip", type=click.IntRange(0), default=0, help="After how many of them.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def report(*, everywhere: bool, limit: int, skip: int, as_json: bool) -> int:
    """Report how handoffs stand: density, stale ones, never received, sessions without one."""
    with opened(None, refresh=False) as now:
        repository = None if everywhere else now.choice.repository.id
        found = reporting.report(now.store, repository, limit=limit, skip=skip)
        names = {
            item.workstream.repository: repositories.get(now.store, item.workstream.repository).name
            for item in found.entries
        }
    if as_json:
        entries = [_entry(item, names[item.workstream.repository]) for item in found.entries]
        emit_json("handoff", {"workstreams": entries, "left_out": found.left_out})
        return 0
    lines = [
        line
        for item in found.entries
        for line in _lines(item, names[item.workstream.repository] if everywhere else None)
    ]
    if found.left_out:
        more = plural(found.left_out, "workstream")
        lines.append(f"{more} more: --skip {skip + len(found.entries)}")
    page("\n".join(lines))
    return 0


def _entry(item: reporting.Entry, repository: str) -> dict[str, object]:
    return {
        "workstream": item.workstream.name,
        "repository": repository,
        "revisions": item.revisions,
        "prepared": item.prepared,
        "drafted_by_policy": item.drafted,
        "leading": item.leading,
        "origin": item.origin,
        "statements": item.statements,
        "cited": item.cited,
        "omissions": item.omissions,
        "bytes": item.bytes,
        "age_seconds": None if item.age_ms is None else item.age_ms // 1000,
        "events_since": item.events_since,
        "density": {
            "handoffs": item.handoffs,
            "sessions": item.work.sessions,
            "turns": item.work.turns,
            "turns_capped": item.work.turns_capped,
            "per_session": item.per_session,
            "per_100_turns": item.per_100_turns,
        },
        "idle_seconds": None if item.idle_ms is None else item.idle_ms // 1000,
        "stale": bool(item.stale),
        "stale_because": [str(why) for why in item.stale],
        "never_received": [*item.never_received],
        "awaiting_outcome": [*item.awaiting],
        "unsaved_sessions": [
            {"native_id": name, "compactions": count} for name, count in item.unsaved
        ],
        "damaged": item.damaged,
    }


_STALE = {
    Stale.NO_HANDOFF: "no handoff",
    Stale.BEHIND: "much happened after it",
    Stale.IDLE: "not complete, nothing happened for {idle}",
}


def _lines(item: reporting.Entry, repository: str | None) -> list[str]:
    name = show_text(item.workstream.name, newline=False)
    name += "" if repository is None else f" in {show_text(repository, newline=False)}"
    said = [f"{name}: {_leading(item)}, {item.events_since:,} events since"]
    if item.leading is None:
        said = [f"{name}: no handoff, {plural(item.events_since, 'event')}"]
    said.append(f"  density: {_density(item)}")
    if item.stale:
        idle = duration(item.idle_ms or 0)
        said.append("  stale: " + "; ".join(_STALE[why].format(idle=idle) for why in item.stale))
    if item.never_received:
        said.append(f"  never received: {', '.join(item.never_received)}")
    if item.awaiting:
        said.append(f"  accepted, without an outcome: {', '.join(item.awaiting)}")
    if item.drafted:
        said.append("  a draft was prepared by policy: workstream handoff list")
    said += [
        f"  session {native}: {count} compactions and no handoff since"
        for native, count in item.unsaved
    ]
    if item.damaged:
        said.append("  its head cannot be read: workstream doctor")
    return said


def _leading(item: reporting.Entry) -> str:
    age = "" if item.age_ms is None else f", {duration(item.age_ms)} old"
    return (
        f"{item.leading} ({item.origin}{age}), {item.cited} of {item.statements} statements cited,"
        f" {plural(item.omissions, 'omission')}, {size(item.bytes)}"
    )


def _density(item: reporting.Entry) -> str:
    """Return how many handoffs somebody made, set against the work; drafts are not counted."""
    turns = f"{item.work.turns:,}{' or more' if item.work.turns_capped else ''} turns"
    made = plural(item.handoffs, "handoff")
    text = f"{made} in {plural(item.work.sessions, 'session')} and {turns}"
    return text if item.per_100_turns is None else f"{text}, {item.per_100_turns:g} in 100 turns"
