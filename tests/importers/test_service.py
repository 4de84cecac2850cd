from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from importers import registry, service
from importers.base import Limits, StoreState
from importers.service import ImportSummary, import_session
from ledger import ingest, repositories, runs, sessions, workstreams
from ledger.errors import BusyError, UnavailableError
from ledger.model import Origin, RepositoryKeys, RepositoryKind, SessionRow, Workstream
from ledger.store import Store, open_store
from tests.importers.scripted import ScriptedImporter, write
from tests.ledger.making import CONTEXT, start_run

USER: Mapping[str, object] = {"user": "please"}
ANSWER: Mapping[str, object] = {"assistant": "done"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def workstream(store: Store) -> Workstream:
    keys = RepositoryKeys(
        kind=RepositoryKind.DIRECTORY, name="project", worktree="/project", directory="/project"
    )
    return workstreams.create(store, repositories.create(store, keys).id, "main")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "native"


@pytest.fixture
def importer(monkeypatch: pytest.MonkeyPatch) -> ScriptedImporter:
    scripted = ScriptedImporter()
    monkeypatch.setattr(registry, "get", lambda _name: scripted)
    return scripted


def link(store: Store, workstream: Workstream, home: Path, native_id: str = "s1") -> SessionRow:
    return sessions.link_session(
        store,
        workstream,
        harness="codex",
        entry="codex",
        home=home,
        native_id=native_id,
        one_shot=False,
        origin=Origin.OUTSIDE,
        deliver=True,
    )


def bring(
    store: Store, importer: ScriptedImporter, session: SessionRow, **options: Any
) -> ImportSummary:
    source = importer.locate(Path(session.home), session.native_id)
    values: dict[str, Any] = {"closed": True, "context": CONTEXT}
    return import_session(store, importer, source, session, **{**values, **options})


def log(store: Store) -> list[str]:
    rows = store.all("SELECT kind FROM event ORDER BY seq")
    return [row["kind"] for row in rows]


def test_a_session_is_imported_and_counted(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(
        home,
        "s1",
        {"session": {"cwd": "/project", "version": "1.2", "model": "m"}, "left": "reasoning"},
        USER,
        {"assistant": "done", "sighting": "dlv_x", "receipt": "workstream-receipt/1 n x"},
        {"loss": "cut"},
    )
    seen: list[tuple[int, int]] = []
    summary = bring(
        store,
        importer,
        link(store, workstream, home),
        progress=lambda size, events: seen.append((size, events)),
    )
    assert summary.imported == {"user_message": 1, "assistant_message": 1}
    assert summary.annotations == [
        {"session": "s1", "reason": "torn_line", "position": "file@3", "detail": "cut"}
    ]
    assert summary.left_out == {"reasoning": 1}
    assert (summary.sightings, summary.receipts, summary.unchanged) == (1, 1, False)
    assert seen == [(summary.bytes, 3)]
    assert summary.notices == [
        "1 things could not be imported as they are, first: torn_line at file@3",
        (
            "it was shown 1 briefing of a ledger that is not here:"
            " handoffs made there are lost, or kept elsewhere"
        ),
    ]
    row = sessions.by_native(store, "codex", "s1")
    assert row is not None
    assert (row.cwd, row.version, row.model, row.state) == ("/project", "1.2", "m", "present")
    assert row.store_path == str(home / "s1.jsonl")


def test_unchanged_files_are_not_read_again(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", USER, ANSWER)
    session = link(store, workstream, home)
    bring(store, importer, session)
    read = importer.lines_read
    assert bring(store, importer, session).unchanged
    assert importer.lines_read == read
    write(home, "s1", {"user": "more"}, append=True)
    summary = bring(store, importer, session)
    assert (summary.imported, importer.lines_read) == ({"user_message": 1}, read + 1)


def test_an_import_of_an_open_session_does_not_stand_for_one_of_a_closed_one(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", USER, ANSWER)
    session = link(store, workstream, home)
    bring(store, importer, session, closed=False)
    assert bring(store, importer, session, closed=False).unchanged
    assert not bring(store, importer, session, closed=True).unchanged
    assert bring(store, importer, session, closed=False).unchanged


def test_an_interrupted_import_is_not_taken_for_a_complete_one(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", USER, ANSWER, {"user": "more"})
    session = link(store, workstream, home)
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt

    importer.between = stop
    with pytest.raises(KeyboardInterrupt):
        bring(store, importer, session, limits=Limits(batch_items=1))
    assert log(store) == ["user_message"]
    importer.between = lambda: None
    assert bring(store, importer, session).imported == {"assistant_message": 1, "user_message": 1}


def test_the_real_result_of_a_call_may_still_come_after_an_interrupted_one(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", USER, ANSWER, {"dangling": "c1"})
    session = link(store, workstream, home)
    bring(store, importer, session)
    write(home, "s1", {"result": "c1"}, append=True)
    assert bring(store, importer, session).imported == {"tool_result": 1}
    rows = store.all("SELECT call_id, status FROM event WHERE kind = 'tool_result' ORDER BY seq")
    assert [tuple(row) for row in rows] == [("c1", "interrupted"), ("c1", "ok")]


@pytest.mark.parametrize("lost_at", [1, 2, 3])
def test_an_import_whose_cursor_moves_reads_on_from_there(
    store: Store,
    workstream: Workstream,
    home: Path,
    importer: ScriptedImporter,
    lost_at: int,
) -> None:
    write(home, "s1", *({"user": f"message {n}"} for n in range(5)))
    session = link(store, workstream, home)
    rival, calls = ScriptedImporter(), 0

    def interfere() -> None:
        nonlocal calls
        calls += 1
        if calls == lost_at:
            bring(store, rival, session, limits=Limits(batch_items=2))

    importer.between = interfere
    summary = bring(store, importer, session, limits=Limits(batch_items=1))
    assert log(store) == ["user_message"] * 5
    assert sum(summary.imported.values()) == lost_at - 1
    assert summary.known == 0


def test_two_importers_at_once_neither_double_nor_lose(
    store: Store, workstream: Workstream, home: Path, tmp_path: Path
) -> None:
    write(home, "s1", *({"user": f"message {n}"} for n in range(60)))
    session = link(store, workstream, home)
    counts: list[int] = []

    def work() -> None:
        with open_store(tmp_path / "state") as own:
            summary = bring(own, ScriptedImporter(), session, limits=Limits(batch_items=7))
            counts.append(sum(summary.imported.values()))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sum(counts) == 60
    assert len(counts) == 3
    assert log(store) == ["user_message"] * 60
    row = store.one("SELECT state FROM cursor")
    assert row is not None
    assert row["state"] == "60"


def test_a_cursor_that_always_moves_ends_in_an_error(
    store: Store,
    workstream: Workstream,
    home: Path,
    importer: ScriptedImporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(home, "s1", USER)
    session = link(store, workstream, home)

    def move() -> None:
        store.db.execute(
            "INSERT INTO cursor VALUES (?, 1, '0', '', 0)"
            " ON CONFLICT (session) DO UPDATE SET version = version + 1",
            (session.id,),
        )

    importer.between = move
    monkeypatch.setattr(service, "MAX_TURNS", 5)
    with pytest.raises(BusyError):
        bring(store, importer, session)


def test_an_unreadable_session_is_a_notice_and_never_empty(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1").write_text("{broken")
    session = link(store, workstream, home)
    summary = bring(store, importer, session)
    assert not summary.readable
    assert "cannot be read" in summary.notices[0]
    row = sessions.get(store, session.id)
    assert row.state == "unreadable"
    assert row.state_detail is not None
    write(home, "s1", USER, ANSWER)
    assert bring(store, importer, row).events == 2
    assert sessions.get(store, session.id).state == "present"


def test_a_session_that_is_gone_keeps_what_was_imported(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    path = write(home, "s1", USER, ANSWER)
    session = link(store, workstream, home)
    bring(store, importer, session)
    path.unlink()
    summary = bring(store, importer, session)
    assert "gone from its store" in summary.notices[0]
    assert sessions.get(store, session.id).state == "missing"
    assert len(log(store)) == 2


def test_a_session_that_was_only_opened_is_no_mystery(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", {"left": "bookkeeping"})
    assert bring(store, importer, link(store, workstream, home)).notices == []


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (({"session": {"version": "9.9"}}, USER, ANSWER), "9.9, a version"),
        (({"left": "unknown:zz", "user": "a"}, {"left": "unknown:zz"}, ANSWER), "zz (2)"),
        ((USER,), "no assistant message"),
        (({"left": "injected"},), "no assistant message"),
    ],
    ids=["version", "record kind", "no assistant", "no words at all"],
)
def test_what_is_not_understood_is_said(
    store: Store,
    workstream: Workstream,
    home: Path,
    importer: ScriptedImporter,
    lines: tuple[Mapping[str, object], ...],
    words: str,
) -> None:
    write(home, "s1", *lines)
    summary = bring(store, importer, link(store, workstream, home))
    assert len(summary.notices) == 1
    assert words in summary.notices[0]


@pytest.mark.parametrize(("version", "known"), [("1.9.3", True), ("1", True), ("11.0", False)])
def test_versions_are_matched_by_whole_numbers(
    store: Store,
    workstream: Workstream,
    home: Path,
    importer: ScriptedImporter,
    version: str,
    known: bool,
) -> None:
    write(home, "s1", {"session": {"version": version}}, USER, ANSWER)
    summary = bring(store, importer, link(store, workstream, home))
    assert (summary.notices == []) is known


def test_a_forgotten_session_imports_nothing_and_says_so(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", USER, ANSWER)
    session = link(store, workstream, home)
    store.db.execute("INSERT INTO tombstone VALUES ('session', 'codex:s1', 'ada', 1, NULL)")
    summary = bring(store, importer, session)
    assert summary.notices == ["it was forgotten on request: nothing of it is imported"]
    assert log(store) == []
    with pytest.raises(UnavailableError, match="forgotten"):
        link(store, workstream, home)


def test_a_file_that_was_rewritten_is_read_anew(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", {"user": "a"}, {"user": "b"}, ANSWER)
    session = link(store, workstream, home)
    bring(store, importer, session)
    write(home, "s1", {"user": "b"}, ANSWER)
    summary = bring(store, importer, session)
    assert (summary.imported, summary.known) == ({}, 2)
    rows = store.all("SELECT record FROM membership ORDER BY eid")
    assert [row["record"] for row in rows] == [-1, 0, 1]


def test_a_lost_cursor_reads_everything_and_doubles_nothing(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    write(home, "s1", USER, ANSWER)
    session = link(store, workstream, home)
    bring(store, importer, session)
    store.db.execute("DELETE FROM cursor")
    write(home, "s1", {"left": "bookkeeping"}, USER, ANSWER)
    summary = bring(store, importer, session)
    assert (summary.imported, summary.known) == ({}, 2)
    rows = store.all("SELECT record FROM membership ORDER BY eid")
    assert [row["record"] for row in rows] == [1, 2]
    assert ingest.cursor(store, session.id) is not None


@pytest.mark.usefixtures("importer")
def test_linked_sessions_are_imported_with_the_origin_they_have(
    store: Store, workstream: Workstream, home: Path
) -> None:
    for native_id in ("s1", "s2", "s3"):
        write(home, native_id, {"user": native_id}, {"assistant": f"to {native_id}"})
    live, _, skipped = (link(store, workstream, home, name) for name in ("s1", "s2", "s3"))
    run = start_run(store, workstream)
    runs.touch_session(store, run, live, "startup")
    found = list(service.import_linked(store, workstream, skip={skipped.id}, open_sessions={"s1"}))
    assert [(item.native_id, item.events) for item in found] == [("s1", 2), ("s2", 2)]
    rows = store.all("SELECT DISTINCT origin, run FROM event ORDER BY seq")
    assert [tuple(row) for row in rows] == [("run", run.id), ("outside", None)]


def test_a_source_that_is_unreadable_from_the_start_says_why(
    store: Store, workstream: Workstream, home: Path, importer: ScriptedImporter
) -> None:
    session = link(store, workstream, home)
    write(home, "other", USER)
    source = importer.locate(home, "s1")
    assert source.state is StoreState.MISSING
    (home / "s1.jsonl").mkdir()
    (unreadable,) = (s for s in importer.discover(home) if s.native_id == "s1")
    summary = import_session(store, importer, unreadable, session, closed=True)
    assert summary.notices == ["it cannot be read: not a file"]
