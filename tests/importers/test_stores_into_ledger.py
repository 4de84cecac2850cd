"""Recorded stores through the real readers into the ledger: once, again, and while they grow."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from importers import registry
from importers.service import ImportSummary, import_session
from ledger import repositories, sessions, workstreams
from ledger.model import Origin, RepositoryKeys, RepositoryKind, Workstream
from ledger.store import Store, open_store
from tests.ledger.making import CONTEXT

FIXTURES = Path(__file__).parent.parent / "fixtures"
STORES = [
    pytest.param(harness, path, id=f"{harness}-{path.name}")
    for harness in ("codex", "claude")
    for path in sorted((FIXTURES / harness).iterdir())
    if path.is_dir()
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state") as opened:
        yield opened


def copy_of(recorded: Path, to: Path) -> Path:
    """Copy a recorded store; return the home in it."""
    shutil.copytree(recorded, to)
    folder = "sessions" if recorded.parent.name == "codex" else "projects"
    return min(path.parent for path in to.rglob(folder) if path.is_dir())


def make_workstream(store: Store, name: str) -> Workstream:
    keys = RepositoryKeys(
        kind=RepositoryKind.DIRECTORY, name="project", worktree="/project", directory="/project"
    )
    return workstreams.create(store, repositories.create(store, keys).id, name)


def bring(
    store: Store, into: Workstream, harness: str, home: Path, *, closed: bool = True
) -> list[ImportSummary]:
    importer = registry.get(harness)
    found = []
    for source in importer.discover(home):
        if importer.describe(source).subagent_of is not None:
            continue
        row = sessions.link_session(
            store,
            into,
            harness=harness,
            entry=harness,
            home=home,
            native_id=source.native_id,
            one_shot=False,
            origin=Origin.OUTSIDE,
            deliver=True,
        )
        found.append(import_session(store, importer, source, row, closed=closed, context=CONTEXT))
    return found


def outcome(store: Store, into: Workstream) -> set[tuple[str, str, int]]:
    """What an import must lead to, however it came about: (event, session, active)."""
    rows = store.all(
        "SELECT event_id, session.native_id, active FROM event JOIN membership USING (eid)"
        " JOIN session ON session.id = membership.session"
        " WHERE event.workstream = ?",
        into.id,
    )
    return {(row[0], row[1], row[2]) for row in rows}


@pytest.mark.parametrize(("harness", "recorded"), STORES)
def test_reading_a_store_again_changes_nothing(
    store: Store, tmp_path: Path, harness: str, recorded: Path
) -> None:
    home = copy_of(recorded, tmp_path / "copy")
    into = make_workstream(store, "main")
    first = bring(store, into, harness, home)
    assert sum(summary.events for summary in first) > 0
    assert [notice for summary in first for notice in summary.notices] == []
    before = outcome(store, into)
    assert all(summary.unchanged for summary in bring(store, into, harness, home))
    store.db.execute("DELETE FROM cursor")
    again = bring(store, into, harness, home)
    assert sum(summary.events for summary in again) == 0
    assert [summary.annotations for summary in again] == [[]] * len(again)
    assert outcome(store, into) == before


@pytest.mark.parametrize(("harness", "recorded"), STORES)
def test_a_store_that_grows_ends_as_if_it_had_been_read_at_once(
    store: Store, tmp_path: Path, harness: str, recorded: Path
) -> None:
    home = copy_of(recorded, tmp_path / "copy")
    whole = make_workstream(store, "whole")
    bring(store, whole, harness, home)
    growing = copy_of(recorded, tmp_path / "growing")
    parts = make_workstream(store, "parts")
    full = {path: path.read_bytes().splitlines(keepends=True) for path in growing.rglob("*.jsonl")}
    for path in full:
        path.write_bytes(b"")
    losses = []
    for quarter in (1, 2, 3, 4):
        for path, lines in full.items():
            text = b"".join(lines[: len(lines) * quarter // 4])
            with path.open("ab") as file:
                file.write(text[path.stat().st_size :])
        if quarter == 1:
            # A reader has nothing to describe in a file whose first record is not there yet.
            for path, lines in full.items():
                if not path.stat().st_size and lines:
                    path.write_bytes(lines[0])
        for summary in bring(store, parts, harness, growing, closed=quarter == 4):
            losses += summary.annotations
    assert losses == []
    assert outcome(store, parts) == outcome(store, whole)


def test_a_result_that_comes_after_all_is_stored_beside_the_interrupted_one(
    store: Store, tmp_path: Path
) -> None:
    home = copy_of(FIXTURES / "codex" / "tools", tmp_path / "copy")
    into = make_workstream(store, "main")
    (path,) = (path for path in home.rglob("*.jsonl") if "call_s2_1_8e1173" in path.read_text())
    lines = path.read_bytes().splitlines(keepends=True)
    asked = next(n for n, line in enumerate(lines) if b"call_s2_1_8e1173" in line)
    path.write_bytes(b"".join(lines[: asked + 1]))
    bring(store, into, "codex", home)
    with path.open("ab") as file:
        file.write(b"".join(lines[asked + 1 :]))
    summaries = bring(store, into, "codex", home)
    assert [summary.annotations for summary in summaries] == [[]] * len(summaries)
    rows = store.all(
        "SELECT kind, status FROM event WHERE call_id = 'call_s2_1_8e1173' ORDER BY seq"
    )
    assert [tuple(row) for row in rows] == [
        ("tool_call", None),
        ("tool_result", "interrupted"),
        ("tool_result", "ok"),
    ]
