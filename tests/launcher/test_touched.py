from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from importers.base import Source
from launcher.touched import touched
from ledger import repositories, runs, workstreams
from ledger.model import RepositoryKeys, RepositoryKind, RunRow, Step
from ledger.store import Store, open_store
from tests.importers.scripted import ScriptedImporter
from tests.ledger.making import START, start_run


class OneFile(ScriptedImporter):
    """A store that keeps all sessions in one file, and says when each one changed."""

    def __init__(self, changed: dict[str, int | None]) -> None:
        super().__init__()
        self.changed = changed

    def discover(self, home: Path) -> Iterator[Source]:
        for source in super().discover(home):
            yield source._replace(changed_at=self.changed.get(source.native_id))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def run(store: Store, tmp_path: Path) -> RunRow:
    keys = RepositoryKeys(
        kind=RepositoryKind.DIRECTORY,
        common_dir=None,
        inode=None,
        roots=None,
        directory=str(tmp_path),
        name="project",
        worktree=str(tmp_path),
    )
    repository = repositories.create(store, keys)
    workstream = workstreams.create(store, repository.id, "main")
    row = start_run(store, workstream, worktree=str(tmp_path), cwd=str(tmp_path))
    runs.advance(store, row, Step.RUNNING, spawned_at=START)
    return runs.get(store, row.id)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    for name in ("before", "during", "silent"):
        path = folder / f"{name}.jsonl"
        path.write_text(f'{{"session": {{"cwd": "{tmp_path}"}}}}\n')
        os.utime(path, ns=((START + 9) * 1_000_000,) * 2)
    return folder


def test_a_store_that_knows_its_sessions_times_is_believed(
    store: Store, run: RunRow, home: Path
) -> None:
    importer = OneFile({"before": START - 1, "during": START + 1, "silent": START - 5})
    found = touched(store, run, importer, home, [])
    assert [(item.native_id, item.source) for item in found] == [("during", "found")]


def test_else_the_files_times_tell(store: Store, run: RunRow, home: Path) -> None:
    os.utime(home / "before.jsonl", ns=((START - 1) * 1_000_000,) * 2)
    found = touched(store, run, OneFile({}), home, [])
    assert {item.native_id for item in found} == {"during", "silent"}
