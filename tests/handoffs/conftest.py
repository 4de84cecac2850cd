"""Fixtures for tests that need a store: an open ledger, and a workstream in a git work tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.store import Store, open_store
from tests.handoffs.setting import Setting, setting
from tests.ledger.making import SetClock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state", clock=SetClock()) as opened:
        yield opened


@pytest.fixture
def here(store: Store, tmp_path: Path) -> Setting:
    return setting(store, tmp_path)
