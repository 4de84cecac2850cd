"""`workstream list`: the workstreams of this repository, or of all."""

from __future__ import annotations

from typing import Any

import click


@click.command("list")
@click.option("--all", "everywhere", is_flag=True, help="Of every repository.")
@click.option("--archived", is_flag=True, help="Archived ones too.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON envelope.")
def command(*, everywhere: bool, archived: bool, as_json: bool) -> int:
    """List workstreams: name, harness used last, when, how many events, objective."""
    from launcher.output import emit_json, say
    from launcher.place import here
    from launcher.reading import answer
    from launcher.resolve import find_repository
    from ledger import workstreams
    from ledger.store import DATABASE, open_store

    place = here()
    if not (place.home / DATABASE).exists():
        return _none(as_json=as_json)
    with open_store(place.home, "ro") as store:
        repository = None if everywhere else find_repository(store, place)
        if repository is None and not everywhere:
            return _none(as_json=as_json)
        chosen = workstreams.list_all(
            store, repository=None if repository is None else repository.id, archived=archived
        )
        rows = [_row(store, workstream) for workstream in chosen]
        now = store.clock.now_ms()
    if as_json:
        emit_json("list", {"workstreams": rows})
    elif rows:
        answer("\n".join(_line(row, now) for row in rows))
    else:
        say("no workstreams here yet; start one with: workstream run HARNESS")
    return 0


def _none(*, as_json: bool) -> int:
    from launcher.output import emit_json, say

    if as_json:
        emit_json("list", {"workstreams": []})
    else:
        say("no workstreams here yet; start one with: workstream run HARNESS")
    return 0


def _row(store: Any, workstream: Any) -> dict[str, Any]:  # noqa: ANN401  (imported lazily)
    from launcher.output import iso
    from leases import lease as leases
    from ledger import repositories, runs

    last = runs.last(store, workstream)
    view = leases.inspect(store, workstream.id)
    return {
        "id": workstream.uid,
        "name": workstream.name,
        "repository": repositories.get(store, workstream.repository).name,
        "objective": workstream.objective,
        "events": workstream.head_seq,
        "running": view is not None and view.holder is not None,
        "last_harness": None if last is None else last.entry,
        "last_run_at": None if last is None else iso(last.started_at),
        "last_run_ms": None if last is None else last.started_at,
        "archived": workstream.archived_at is not None,
    }


def _line(row: dict[str, Any], now: int) -> str:
    from launcher.output import ago
    from ledger.visible import show

    state = "running" if row["running"] else "archived" if row["archived"] else ""
    last = f"{row['last_harness'] or '-'}, {ago(row['last_run_ms'], now)}"
    objective = show(row["objective"] or "", newline=False)[:60]
    name = show(row["name"], newline=False)
    return f"{name:<28} {last:<26} {row['events']:>7,} events  {state:<9}{objective}".rstrip()
