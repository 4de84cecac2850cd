"""The person's own words: notes and the objective, from outside and from inside a harness.

Inside a harness whose sandbox forbids writing, the words are printed as a receipt line, which the
importer finds in the session and the end of the run applies.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from launcher import receipts
from launcher.output import emit_json, iso, local_time, say
from launcher.place import Place, here
from launcher.reading import answer, inside_harness
from launcher.resolve import Choice, choose
from ledger import host, notes, runs, workstreams
from ledger.errors import BadDataError, BusyError, StateError, StateNewerError
from ledger.model import NoteRow, RunRow, Workstream
from ledger.store import Store, open_store
from ledger.visible import show

MAX_WORDS = 16 * 1024


def given(text: tuple[str, ...]) -> str:
    """Return the words of the command line, or stdin for a single `-`. Raises BadDataError."""
    joined = sys.stdin.read(MAX_WORDS + 1) if text == ("-",) else " ".join(text)
    if not joined.strip():
        raise BadDataError("there are no words in it")
    if len(joined.encode("utf-8", "replace")) > MAX_WORDS:
        raise BadDataError(f"that is longer than {MAX_WORDS // 1024} KiB")
    return joined.strip()


@contextlib.contextmanager
def _writing(name: str | None) -> Iterator[tuple[Store, Place, Choice]]:
    place = here()
    with open_store(place.home, "rw", busy_ms=10_000) as store:
        yield store, place, choose(store, place, name=name)


def _run_here(store: Store) -> RunRow | None:
    run = os.environ.get("WORKSTREAM_RUN_ID", "").strip()
    return runs.find(store, run) if run else None


def add_note(workstream: str | None, text: str, *, pin: bool, dead_end: bool, as_json: bool) -> int:
    """Store a note, or print its receipt where the ledger cannot be written."""
    try:
        with _writing(workstream) as (store, _, choice):
            run = _run_here(store)
            row = notes.add(
                store,
                choice.workstream,
                text,
                kind="dead_end" if dead_end else "note",
                pinned=pin,
                author=host.user_name() if run is None else run.entry,
                run=run,
            )
    except (StateError, BusyError) as error:
        return _receipt({"do": "note", "text": text, "pin": pin, "dead_end": dead_end}, error)
    if as_json:
        emit_json("note", _note_document(row))
    else:
        say(f"noted ({row.id}); the next briefing of {choice.workstream.name} carries it")
    return 0


def set_objective(workstream: str | None, text: str, *, as_json: bool) -> int:
    """Store the objective, or print its receipt where the ledger cannot be written."""
    try:
        with _writing(workstream) as (store, _, choice):
            run = _run_here(store)
            by = host.user_name() if run is None else run.entry
            workstreams.set_objective(store, choice.workstream, text, by=by)
            now = workstreams.get(store, choice.workstream.id)
    except (StateError, BusyError) as error:
        return _receipt({"do": "objective", "text": text}, error)
    if as_json:
        emit_json("objective", _objective_document(now))
    else:
        say(f"objective of {now.name} set")
    return 0


def show_objective(workstream: str | None, *, as_json: bool) -> int:
    """Print the objective."""
    place = here()
    with open_store(place.home, "ro") as store:
        found = choose(store, place, name=workstream).workstream
    if as_json:
        emit_json("objective", _objective_document(found))
    elif found.objective is None:
        say(f"{found.name} has no objective; set one with: workstream objective TEXT")
    else:
        answer(show(found.objective))
    return 0


def list_notes(workstream: str | None, *, as_json: bool) -> int:
    """Print the notes that briefings carry."""
    place = here()
    with open_store(place.home, "ro") as store:
        choice = choose(store, place, name=workstream)
        rows = notes.list_notes(store, choice.workstream)
    if as_json:
        emit_json("note", {"notes": [_note_document(row) for row in rows]})
    elif not rows:
        say(f"{choice.workstream.name} has no notes; leave one with: workstream note TEXT")
    else:
        answer("\n".join(_note_line(row) for row in rows))
    return 0


def retire_note(workstream: str | None, note: int) -> int:
    """Take a note out of the briefings."""
    with _writing(workstream) as (store, _, choice):
        notes.retire(store, choice.workstream, note)
    say(f"note {note} is in no briefing any more")
    return 0


def _receipt(payload: Mapping[str, Any], error: StateError | BusyError) -> int:
    """Print the receipt line, inside a run; elsewhere the error is the answer."""
    if not inside_harness() or isinstance(error, StateNewerError):
        raise error
    place = here()
    with open_store(place.home, "ro") as store:
        run = _run_here(store)
    if run is None:
        raise error
    click.echo(receipts.line(run.nonce, payload))
    click.echo("recorded when this run ends")
    return 0


def _objective_document(workstream: Workstream) -> dict[str, Any]:
    return {
        "workstream": workstream.name,
        "objective": workstream.objective,
        "by": workstream.objective_by,
        "at": iso(workstream.objective_at),
    }


def _note_document(row: NoteRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "text": row.text,
        "pinned": row.pinned,
        "author": row.author,
        "run": row.run,
        "at": iso(row.at),
    }


def _note_line(row: NoteRow) -> str:
    kind = "dead end: " if row.kind == "dead_end" else ""
    pin = "pinned  " if row.pinned else ""
    return f"{row.id:>4}  {local_time(row.at)}  {row.author}  {pin}{kind}{show(row.text)}"
