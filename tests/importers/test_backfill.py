from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from importers.backfill import Backfill, Selection, backfill, select
from importers.base import StoreUnreadable
from ledger import repositories, sessions, workstreams
from ledger.model import Origin, RepositoryKeys, RepositoryKind, Workstream
from ledger.store import Store, open_store
from tests.importers.scripted import ScriptedImporter, write
from tests.ledger.making import CONTEXT


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "native"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "project"
    (path / "sub").mkdir(parents=True)
    return path


def keys_of(path: Path) -> RepositoryKeys:
    """A stand-in for git: directories are repositories, `sub` belongs to the one above."""
    top = path.parent if path.name == "sub" else path
    return RepositoryKeys(
        kind=RepositoryKind.GIT,
        name=top.name,
        worktree=str(top),
        common_dir=str(top / ".git"),
    )


@pytest.fixture
def into(store: Store, project: Path) -> Workstream:
    return workstreams.create(store, repositories.create(store, keys_of(project)).id, "main")


def session(home: Path, native_id: str, cwd: Path | str | None, **facts: object) -> None:
    known = {} if cwd is None else {"cwd": str(cwd)}
    write(
        home,
        native_id,
        {"session": {**known, **facts}, "user": native_id},
        {"assistant": f"to {native_id}"},
    )


def here(store: Store, home: Path, project: Path, into: Workstream, **options: object) -> Selection:
    return select(
        store,
        ScriptedImporter(),
        home,
        here=keys_of(project),
        into=into,
        resolve=keys_of,
        **options,  # type: ignore[arg-type]
    )


def run(store: Store, selection: Selection, *, deliver: bool = False) -> Backfill:
    return backfill(store, ScriptedImporter(), selection, deliver=deliver, context=CONTEXT)


def test_sessions_of_this_repository_become_archive(
    store: Store, home: Path, project: Path, into: Workstream, tmp_path: Path
) -> None:
    session(home, "top", project)
    session(home, "below", project / "sub", one_shot=True)
    session(home, "gone", project / "removed")
    session(home, "elsewhere", tmp_path)
    session(home, "nowhere", None)
    session(home, "helper", project, subagent_of="top")
    done = run(store, here(store, home, project, into))
    assert {s.native_id for s in done.summaries} == {"top", "below", "gone"}
    assert done.imported == {"user_message": 3, "assistant_message": 3}
    assert (done.events, done.skipped, done.annotations) == (6, [], 0)
    assert done.bytes_per_second > 0
    rows = sessions.of_workstream(store, into)
    assert {(row.origin, row.deliver) for row in rows} == {(Origin.ARCHIVE, False)}
    assert {row.native_id for row in rows if row.one_shot} == {"below"}
    assert store.one("SELECT DISTINCT origin FROM event")[0] == "archive"  # type: ignore[index]


def test_a_second_backfill_reads_nothing(
    store: Store, home: Path, project: Path, into: Workstream
) -> None:
    session(home, "top", project)
    run(store, here(store, home, project, into))
    importer = ScriptedImporter()
    selection = select(store, importer, home, here=keys_of(project), into=into, resolve=keys_of)
    done = backfill(store, importer, selection, context=CONTEXT)
    assert (importer.described, importer.lines_read) == (0, 0)
    assert (done.unchanged, done.summaries, selection.size) == (1, [], 0)


def test_delivering_it_later_makes_it_part_of_the_work(
    store: Store, home: Path, project: Path, into: Workstream
) -> None:
    session(home, "top", project)
    run(store, here(store, home, project, into))
    run(store, here(store, home, project, into), deliver=True)
    (row,) = sessions.of_workstream(store, into)
    assert row.deliver


def test_each_session_is_filed_under_its_own_repository(
    store: Store, home: Path, project: Path, into: Workstream, tmp_path: Path
) -> None:
    session(home, "top", project)
    session(home, "gone", tmp_path / "was" / "here")
    session(home, "nowhere", None)
    selection = select(store, ScriptedImporter(), home, here=None, into=None, resolve=keys_of)
    done = run(store, selection)
    assert [(s.native_id, s.reason) for s in done.skipped] == [
        ("nowhere", "it does not say where it was recorded")
    ]
    names = {
        row.native_id: workstreams.get(store, row.workstream)
        for row in (sessions.by_native(store, "codex", name) for name in ("top", "gone"))
        if row is not None
    }
    assert (names["top"].name, names["gone"].name) == ("project", "here")
    assert names["top"].repository == into.repository
    gone = repositories.get(store, names["gone"].repository)
    assert gone.kind is RepositoryKind.DIRECTORY


def test_sessions_that_are_linked_elsewhere_stay_there_and_are_listed(
    store: Store, home: Path, project: Path, into: Workstream
) -> None:
    session(home, "top", project)
    run(store, here(store, home, project, into))
    other = workstreams.create(store, into.repository, "other")
    selection = here(store, home, project, other)
    assert [(s.native_id, s.reason) for s in selection.skipped] == [
        ("top", "it belongs to workstream main")
    ]
    assert selection.chosen == []
    everything = select(store, ScriptedImporter(), home, here=None, into=None, resolve=keys_of)
    assert [item.unchanged for item in everything.chosen] == [True]


def test_named_sessions_are_taken_wherever_they_were_recorded(
    store: Store, home: Path, project: Path, into: Workstream, tmp_path: Path
) -> None:
    session(home, "elsewhere", tmp_path)
    session(home, "top", project)
    selection = here(store, home, project, into, only=["elsewhere", "missing"])
    assert [item.source.native_id for item in selection.chosen] == ["elsewhere"]
    assert [s.native_id for s in selection.skipped] == ["missing"]
    assert run(store, selection).events == 2
    with pytest.raises(ValueError, match="workstream"):
        select(store, ScriptedImporter(), home, here=None, into=None, resolve=keys_of, only=["top"])


def test_what_cannot_be_read_is_listed_and_stops_nothing(
    store: Store, home: Path, project: Path, into: Workstream
) -> None:
    session(home, "top", project)
    write(home, "broken").write_text("{")
    (home / "folder.jsonl").mkdir()
    selection = here(store, home, project, into)
    assert {s.native_id for s in selection.skipped} == {"broken", "folder"}
    assert all("cannot be read" in s.reason for s in selection.skipped)
    assert run(store, selection).events == 2
    with pytest.raises(StoreUnreadable):
        here(store, home / "none", project, into)


def test_a_forgotten_session_is_listed_and_not_read(
    store: Store, home: Path, project: Path, into: Workstream
) -> None:
    session(home, "top", project)
    store.db.execute("INSERT INTO tombstone VALUES ('session', 'codex:top', 'ada', 1, NULL)")
    selection = here(store, home, project, into)
    assert selection.chosen == []
    assert [s.reason for s in selection.skipped] == ["it was forgotten on request"]
