"""Fixtures for tests that need a store: an open ledger, and a workstream in a git work tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import repositories, workstreams
from ledger.model import RepositoryKeys, RepositoryKind
from ledger.store import Store, open_store
from tests.handoffs.setting import Setting, make
from tests.ledger.making import SetClock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state", clock=SetClock()) as opened:
        yield opened


@pytest.fixture
def here(store: Store, tmp_path: Path) -> Setting:
    keys = RepositoryKeys(
        kind=RepositoryKind.GIT,
        name="project",
        worktree=str(tmp_path / "tree"),
        common_dir=str(tmp_path),
    )
    workstream = workstreams.create(store, repositories.create(store, keys).id, "main")
    return make(store, workstream, tmp_path / "tree")
