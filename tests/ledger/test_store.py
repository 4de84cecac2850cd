"""Opening the ledger."""

from __future__ import annotations

import pytest

from ledger.errors import StateError
from ledger.store import Store, open_store


def test_a_ledger_that_cannot_be_written_says_so_when_it_is_asked(store: Store) -> None:
    store.require_writable()
    with open_store(store.home, "ro") as reader:
        with reader.transaction():  # SQLite begins it all the same
            pass
        with pytest.raises(StateError):
            reader.require_writable()
