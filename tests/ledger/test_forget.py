from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from importers.base import AgentCheck, FileFact, Item, Kind, Limit, Plan, Receipt, Turn, Usage
from ledger import backup, deliveries, events, index, ingest, notes, sessions, workstreams
from ledger.errors import BusyError, UnavailableError, UsageError
from ledger.forget import forget
from ledger.model import SessionRow, Workstream
from ledger.search import search
from ledger.store import Store, open_store
from ledger.verify import verify
from tests.ledger.making import START, apply, event, link, start_run

WORD = "zanzibarite"
"""Planted; it must be nowhere in the state directory afterwards."""


def everything(session: str = "s") -> list[Item]:
    """A session in which the word is in every place that takes text from it."""
    return [
        event(0, f"please {WORD}", name=f"{session}-0", turn="t"),
        event(1, f"{WORD} " * 9000, name=f"{session}-1", kind=Kind.ASSISTANT_MESSAGE),
        event(
            2,
            "",
            name=f"{session}-2",
            kind=Kind.TOOL_CALL,
            tool="shell",
            call_id="c",
            tool_input={"command": f"echo {WORD}"},
        ),
        event(3, WORD, name=f"{session}-3", kind=Kind.TOOL_RESULT, call_id="c"),
        Turn(turn="t", state="failed", record=0, error=f"failed with {WORD}"),
        Plan(items=((f"plan {WORD}", "pending"),), at=START + 2),
        Usage(at=1, context_tokens=5),
        Limit(at=5, message=f"limit {WORD}"),
        FileFact(path=f"/src/{WORD}.py", action="edit", at=START),
        AgentCheck(agent="a", call_id="k", command=f"test {WORD}", exit_code=0, at=START),
        Receipt(line=f"workstream-receipt/1 n {WORD}", call_id="c", record=3),
    ]


def plant(store: Store, workstream: Workstream, native: str = "native-1") -> SessionRow:
    """Import such a session in a run that told another one of it; leave the run's folder."""
    session = link(store, workstream, native)
    run = start_run(store, workstream, argv=["codex", "exec", f"please {WORD}"])
    with store.transaction() as db:
        db.execute("UPDATE session SET title = ? WHERE id = ?", (f"title {WORD}", session.id))
        db.execute("UPDATE run SET summary = ? WHERE id = ?", (f'"{WORD}"', run.id))
        db.execute("UPDATE lease SET run = NULL")
        sessions.touch(db, run.id, session.id, "startup")
    apply(store, session, everything(native), run=run.id)
    through = events.log(store, workstream)[-1].seq
    deliveries.add_briefing(
        store,
        run,
        purpose="session",
        session=None,
        text=f"they said {WORD}",
        after_seq=0,
        through_seq=through,
        included=[(1, through)],
        omitted=[],
        marks_through=0,
        notes_through=0,
    )
    folder = store.home / "runs" / run.id
    folder.mkdir(parents=True)
    (folder / "briefing.txt").write_text(WORD)
    return session


def files_with_word(home: Path) -> list[str]:
    return [
        str(path.relative_to(home))
        for path in sorted(home.rglob("*"))
        if path.is_file() and WORD.encode() in path.read_bytes()
    ]


def test_a_forgotten_session_leaves_nothing_in_the_state_directory(
    store: Store, workstream: Workstream
) -> None:
    session = plant(store, workstream)
    assert len(files_with_word(store.home)) >= 2
    done = forget(store, session=session, who="ada", why="asked")
    assert files_with_word(store.home) == []
    assert (done.events, done.sessions, done.briefings, done.runs) == (4, 1, 1, 1)
    assert done.remaining == ()
    assert not list((store.home / "runs").iterdir())
    assert verify(store) == []


def test_no_free_page_is_left(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(n, f"{WORD} {n} " * 300) for n in range(60)])
    forget(store, session=session, who="ada")
    free = store.one("PRAGMA freelist_count")
    assert free is not None
    assert free[0] == 0
    assert (store.home / "workstream.db-wal").stat().st_size == 0


def test_a_forgotten_workstream_leaves_nothing_and_frees_its_name(
    store: Store, workstream: Workstream
) -> None:
    plant(store, workstream)
    notes.add(store, workstream, f"note {WORD}", author="ada")
    workstreams.set_objective(store, workstream, f"objective {WORD}", by="ada")
    done = forget(store, workstream=workstream, who="ada")
    assert files_with_word(store.home) == []
    assert (done.workstreams, done.sessions, done.notes) == (1, 1, 1)
    assert workstreams.by_name(store, workstream.repository, "main") is None
    assert workstreams.list_all(store) == []
    assert verify(store) == []
    again = workstreams.create(store, workstream.repository, "main")
    with pytest.raises(UnavailableError, match="forgotten on request"):
        link(store, again)


def test_forgetting_every_event_that_has_the_word_leaves_none_of_it(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    apply(store, session, [item for item in everything() if hasattr(item, "kind")])
    with store.transaction() as db:
        db.execute("UPDATE session SET title = ?", (f"title {WORD}",))
    named = [row.event_id for row in events.log(store, workstream)]
    forget(store, events=named, who="ada")
    assert files_with_word(store.home) == []
    assert search(store, WORD).total == 0


def test_other_events_stay(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0, WORD), event(1, "the rest stays")])
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    assert [row.text for row in events.log(store, workstream)] == ["", "the rest stays"]
    assert search(store, "rest").total == 1
    assert verify(store) == []


def test_one_forgotten_message_takes_title_plan_receipt_and_briefing_with_it(
    store: Store, workstream: Workstream
) -> None:
    session = plant(store, workstream)
    named = [row.event_id for row in events.log(store, workstream)]
    forget(store, events=named, who="ada")
    assert sessions.get(store, session.id).title is None
    assert store.all("SELECT * FROM plan_item") == []
    receipt = store.one("SELECT line, refused FROM receipt")
    assert receipt is not None
    assert tuple(receipt) == ("", "forgotten")
    briefing = store.one("SELECT text, bytes FROM briefing")
    assert briefing is not None
    assert tuple(briefing) == ("[forgotten on request]", 22)


def test_a_re_import_does_not_bring_an_event_back(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0, WORD), event(1, "other")])
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    applied = apply(store, session, [event(0, WORD), event(1, "other")], restart=True)
    assert applied.forgotten == 1
    fork = link(store, workstream, "fork")
    apply(store, fork, [event(0, WORD)])
    other = workstreams.create(store, workstream.repository, "other")
    apply(store, link(store, other, "elsewhere"), [event(0, WORD)])
    assert files_with_word(store.home) == []
    assert verify(store) == []


def test_a_re_import_does_not_bring_a_session_back(store: Store, workstream: Workstream) -> None:
    session = plant(store, workstream)
    forget(store, session=session, who="ada")
    apply(store, session, everything("native-1"), restart=True)
    apply(store, session, [event(9, f"more {WORD}", name="later")])
    assert files_with_word(store.home) == []
    assert [row.text for row in events.log(store, workstream)] == [""] * 4
    assert ingest.cursor(store, session.id) is not None


def test_a_title_made_of_a_forgotten_message_does_not_come_back(
    store: Store, workstream: Workstream
) -> None:
    from importers.base import SessionFacts

    session = link(store, workstream)
    apply(store, session, [event(0, WORD)])
    facts = SessionFacts(native_id="native-1", title=f"About {WORD}")
    sessions.update_facts(store, session.id, facts)
    assert sessions.get(store, session.id).title == f"About {WORD}"
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    sessions.update_facts(store, session.id, facts)
    assert sessions.get(store, session.id).title is None


def test_an_event_goes_from_all_workstreams(store: Store, workstream: Workstream) -> None:
    other = workstreams.create(store, workstream.repository, "other")
    apply(store, link(store, workstream), [event(0, WORD, name="shared")])
    apply(store, link(store, other, "fork"), [event(0, WORD, name="shared")])
    done = forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    assert done.events == 2
    assert files_with_word(store.home) == []


def test_only_events_before_a_time_are_forgotten(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    other = workstreams.create(store, workstream.repository, "other")
    apply(store, session, [event(n, f"text {n}") for n in range(4)])
    apply(store, link(store, other, "native-2"), [event(0, "elsewhere", name="x")])
    assert forget(store, workstream=workstream, older_than_ms=START + 2, who="ada").events == 2
    assert [row.text for row in events.log(store, workstream)] == ["", "", "text 2", "text 3"]
    assert [row.text for row in events.log(store, other)] == ["elsewhere"]
    assert forget(store, older_than_ms=START + 3, who="ada").events == 2
    apply(store, session, [event(9, "new")])
    assert [row.text for row in events.log(store, workstream)][-2:] == ["text 3", "new"]
    assert verify(store) == []


def test_a_dry_run_only_counts(store: Store, workstream: Workstream) -> None:
    session = plant(store, workstream)
    before = files_with_word(store.home)
    done = forget(store, session=session, who="ada", dry_run=True)
    assert (done.events, done.sessions, done.briefings, done.runs, done.dry_run) == (
        4,
        1,
        1,
        1,
        True,
    )
    assert done.bytes > 9000
    assert files_with_word(store.home) == before
    assert store.all("SELECT * FROM tombstone") == []


def test_a_tombstone_says_who_when_and_why_and_nothing_of_the_content(
    store: Store, workstream: Workstream
) -> None:
    apply(store, link(store, workstream), [event(0, WORD)])
    row = events.get(store, workstream, "e1")
    forget(store, events=[row.event_id], who="ada", why="a slip")
    (stone,) = store.all("SELECT * FROM tombstone")
    assert tuple(stone) == ("event", row.event_id, "ada", START, "a slip")


def test_copies_that_still_hold_it_are_named(
    store: Store, workstream: Workstream, tmp_path: Path
) -> None:
    session = link(store, workstream)
    backup.backup(store, tmp_path / "before.backup")
    apply(store, session, [event(0, WORD)])
    backup.backup(store, tmp_path / "with.backup")
    kept = store.home / "workstream.db.before-restore-20260101T000000Z"
    kept.write_bytes(b"")
    done = forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    assert done.backups == (str(tmp_path / "with.backup"), str(kept))


def test_a_live_run_is_not_disturbed(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, WORD)])
    start_run(store, workstream)
    store.db.execute("UPDATE lease SET expires_at = ?", (START + 90_000,))
    with pytest.raises(BusyError, match="a run is going on"):
        forget(store, workstream=workstream, who="ada")
    assert [row.text for row in events.log(store, workstream)] == [WORD]


def test_a_reader_that_holds_the_journal_is_reported(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, WORD)])
    store.db.execute("PRAGMA busy_timeout = 50")
    with open_store(store.home, "ro") as reader:
        reader.db.execute("BEGIN")
        reader.db.execute("SELECT count(*) FROM event").fetchone()
        done = forget(store, workstream=workstream, who="ada")
        assert "still holds old pages" in done.remaining[0]
    assert forget(store, workstream=workstream, who="ada").remaining == ()
    assert files_with_word(store.home) == []


def test_an_interrupted_forget_is_noticed_and_finished(
    store: Store, workstream: Workstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ledger import sweep

    apply(store, link(store, workstream), [event(0, WORD)])
    named = [events.get(store, workstream, "e1").event_id]

    def cut_off(_: Store) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sweep, "_sweep_bodies", cut_off)
        with pytest.raises(KeyboardInterrupt):
            forget(store, events=named, who="ada")
    assert [finding.code for finding in verify(store)] == ["forget_unfinished"]
    forget(store, events=named, who="ada")
    assert verify(store) == []
    assert files_with_word(store.home) == []


def test_a_damaged_index_does_not_keep_the_words(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, WORD), event(1, "other")])
    index.mark_damaged(store)
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    assert files_with_word(store.home) == []
    assert search(store, "other").total == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"session": 1, "workstream": 1},
        {"events": ["ev1-x"], "session": 1},
        {"events": ["ev1-x"], "older_than_ms": 5},
    ],
    ids=["nothing", "two scopes", "events and a session", "events and an age"],
)
def test_a_combination_without_meaning_is_refused(store: Store, arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        forget(store, who="ada", **arguments)


@pytest.mark.parametrize("arguments", [{"events": ["ev1-x"]}, {"session": 9}, {"workstream": 9}])
def test_unknown_things_are_errors(store: Store, arguments: dict[str, Any]) -> None:
    with pytest.raises(UnavailableError):
        forget(store, who="ada", **arguments)


def test_an_age_that_nothing_has_forgets_nothing(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, "stays")])
    assert forget(store, older_than_ms=1, who="ada").events == 0
    assert events.get(store, workstream, "e1").text == "stays"
