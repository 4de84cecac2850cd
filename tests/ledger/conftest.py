from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import repositories, workstreams
from ledger.model import RepositoryKeys, RepositoryKind, Workstream
from ledger.store import Store, open_store
from tests.ledger.making import SetClock


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def store(tmp_path: Path, clock: SetClock) -> Iterator[Store]:
    with open_store(tmp_path / "state", clock=clock) as opened:
        yield opened


@pytest.fixture
def keys(tmp_path: Path) -> RepositoryKeys:
    return RepositoryKeys(
        kind=RepositoryKind.GIT,
        name="project",
        worktree=str(tmp_path / "project"),
        common_dir=str(tmp_path / "project" / ".git"),
        inode="1:100",
        roots="roots-of-project",
    )


@pytest.fixture
def workstream(store: Store, keys: RepositoryKeys) -> Workstream:
    return workstreams.create(store, repositories.create(store, keys).id, "main")
