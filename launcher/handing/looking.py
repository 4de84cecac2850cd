"""`handoff list`, `show`, `diff` and `report`."""

from __future__ import annotations

import difflib

import click

from handoffs.store import leading, reading, receiving, reporting
from launcher.handing import answered
from launcher.handing.bench import of_reading
from launcher.handing.documents import found_document, lines, one_line
from launcher.output import duration, emit_json, say, size
from launcher.reading import answer, page
from launcher.reading import reading as opened
from ledger.errors import UnavailableError


@click.command("list")
@click.option("-n", "limit", type=click.IntRange(1, 500), default=20, help="How many of each kind.")
@click.option("--workstream", metavar="NAME", help="Which workstream of the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def list_(*, limit: int, workstream: str | None, as_json: bool) -> int:
    """List revisions, prepared ones and drafts, newest first."""
    with opened(workstream, refresh=False) as now:
        store, where = now.store, now.choice.workstream
        lead = leading.leading(store, where)
        found = [
            *reading.open_prepared(store, where)[:limit],
            *reading.revisions(store, where, limit=limit),
            *reading.drafts(store, where),
        ]
        brought = reading.transferred(store, where)
        found += [] if brought is None else [brought]
        if as_json:
            document = {
                "leading": None if lead is None else lead.name,
                "handoffs": [found_document(store, where, item) for item in found],
            }
            emit_json("handoff", document)
        elif not found:
            say(f"{where.name} has no handoffs yet")
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
                    f"{bench.workstream.name} has no handoffs yet",
                    next_step="Write one: workstream handoff draft",
                )
        else:
            found = reading.exact(bench.store, bench.workstream, name)
        if as_json:
            document = found_document(bench.store, bench.workstream, found)
            told = answered.document(bench.store, bench.workstream, found)
            emit_json("handoff", {**document, **told})
            return 0
        received = receiving.observe(bench.store, bench.workstream, found, bench.worktree)
        said = answered.lines(bench.store, bench.workstream, found)
        answer("\n".join([*lines(received), *said]))
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
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def report(*, everywhere: bool, as_json: bool) -> int:
    """Report how handoffs stand: density, stale ones, never received, sessions without one."""
    with opened(None, refresh=False) as now:
        entries = reporting.report(now.store, None if everywhere else now.choice.repository.id)
    if as_json:
        emit_json("handoff", {"workstreams": [_entry(item) for item in entries]})
        return 0
    answer("\n".join(line for item in entries for line in _lines(item)))
    return 0


def _entry(item: reporting.Entry) -> dict[str, object]:
    return {
        "workstream": item.workstream.name,
        "revisions": item.revisions,
        "prepared": item.prepared,
        "leading": item.leading,
        "origin": item.origin,
        "statements": item.statements,
        "cited": item.cited,
        "omissions": item.omissions,
        "bytes": item.bytes,
        "age_seconds": None if item.age_ms is None else item.age_ms // 1000,
        "events_since": item.events_since,
        "stale": item.stale,
        "never_received": [*item.never_received],
        "awaiting_outcome": [*item.awaiting],
        "unsaved_sessions": [
            {"native_id": name, "compactions": count} for name, count in item.unsaved
        ],
    }


def _lines(item: reporting.Entry) -> list[str]:
    name = item.workstream.name
    if item.leading is None:
        return [f"{name}: no handoff, {item.events_since:,} events"]
    age = "" if item.age_ms is None else f", {duration(item.age_ms)} old"
    first = (
        f"{name}: {item.leading} ({item.origin}{age}), {item.cited} of {item.statements} statements"
        f" cited, {item.omissions} omissions, {size(item.bytes)},"
        f" {item.events_since:,} events since{' (stale)' if item.stale else ''}"
    )
    said = [first]
    if item.never_received:
        said.append(f"  never received: {', '.join(item.never_received)}")
    if item.awaiting:
        said.append(f"  accepted, without an outcome: {', '.join(item.awaiting)}")
    said += [
        f"  session {native}: {count} compactions and no handoff since"
        for native, count in item.unsaved
    ]
    return said
