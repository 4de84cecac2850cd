from __future__ import annotations

import pytest

from ledger import notes
from ledger.errors import BadDataError, UnavailableError
from ledger.model import Workstream
from ledger.store import Store


def test_notes_are_listed_oldest_first(store: Store, workstream: Workstream) -> None:
    first = notes.add(store, workstream, " use make check ", author="ada", pinned=True)
    second = notes.add(store, workstream, "no threads", author="codex", kind="dead_end", run="r")
    assert (first.text, first.pinned, first.kind) == ("use make check", True, "note")
    assert (second.kind, second.run, second.author) == ("dead_end", "r", "codex")
    assert notes.list_notes(store, workstream) == [first, second]
    assert notes.list_notes(store, workstream, after=first.id) == [second]
    assert notes.newest_id(store, workstream) == second.id


def test_a_retired_note_stays_in_the_ledger(store: Store, workstream: Workstream) -> None:
    note = notes.add(store, workstream, "x", author="ada")
    notes.retire(store, workstream, note.id)
    assert notes.list_notes(store, workstream) == []
    (kept,) = notes.list_notes(store, workstream, retired=True)
    assert kept.retired_at == store.clock.now_ms()
    with pytest.raises(UnavailableError):
        notes.retire(store, workstream, note.id + 1)


def test_a_receipt_makes_one_note(store: Store, workstream: Workstream) -> None:
    first = notes.add(store, workstream, "x", author="codex", receipt="digest")
    assert notes.add(store, workstream, "y", author="codex", receipt="digest") == first
    assert len(notes.list_notes(store, workstream)) == 1


def test_a_note_is_scrubbed_and_needs_words(store: Store, workstream: Workstream) -> None:
    note = notes.add(store, workstream, "key ghp_" + "a1B2" * 9, author="ada")
    assert note.text == "key [redacted:github-token]"
    with pytest.raises(BadDataError):
        notes.add(store, workstream, " \n ", author="ada")
    assert notes.newest_id(store, workstream.id + 1) == 0
