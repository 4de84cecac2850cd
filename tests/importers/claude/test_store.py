"""Finding sessions, describing them, and the registry of running processes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from importers.base import Source, StoreState, StoreUnreadable
from importers.claude import IMPORTER
from importers.claude.live import LiveSession, live_sessions
from tests.importers.claude.transcript import SESSION, Transcript, source_of


def _session(text: str = "hello", session: str = SESSION) -> Transcript:
    t = Transcript(session)
    t.user(text)
    return t


@pytest.mark.parametrize(
    ("env", "home"),
    [
        ({"CLAUDE_CONFIG_DIR": "/cfg", "HOME": "/h"}, "/cfg"),
        ({"CLAUDE_CONFIG_DIR": "", "HOME": "/h"}, "/h/.claude"),
        ({"CLAUDE_CONFIG_DIR": "  ", "HOME": "/h"}, "/h/.claude"),
        ({"HOME": "/h"}, "/h/.claude"),
    ],
)
def test_a_blank_variable_counts_as_unset(env: dict[str, str], home: str) -> None:
    assert IMPORTER.home(env) == Path(home)


def test_without_any_variable_the_home_is_that_of_the_account() -> None:
    assert IMPORTER.home({"HOME": " "}).is_absolute()


def test_a_session_is_found_under_any_slug_and_after_it_moved(tmp_path: Path) -> None:
    path = _session().write(tmp_path, "-home-user-a")
    found = IMPORTER.locate(tmp_path, SESSION)
    assert (found.state, found.path) == (StoreState.PRESENT, path)
    moved = tmp_path / "projects" / "-home-user-b"
    moved.mkdir()
    path.rename(moved / path.name)
    assert IMPORTER.locate(tmp_path, SESSION).path == moved / path.name


def test_an_absent_session_is_missing_and_so_is_an_absent_store(tmp_path: Path) -> None:
    assert IMPORTER.locate(tmp_path, SESSION).state is StoreState.MISSING
    _session().write(tmp_path)
    assert IMPORTER.locate(tmp_path, "other").state is StoreState.MISSING


@pytest.mark.parametrize("native_id", ["", "..", "../x", "a/b", "a\0b"])
def test_an_id_that_is_a_path_finds_nothing(tmp_path: Path, native_id: str) -> None:
    _session().write(tmp_path)
    assert IMPORTER.locate(tmp_path, native_id).state is StoreState.MISSING


def test_a_file_without_conversation_is_missing_with_its_id_used_up(tmp_path: Path) -> None:
    t = Transcript()
    t.side("mode", mode="normal")
    t.side("permission-mode", permissionMode="default")
    t.write(tmp_path)
    found = IMPORTER.locate(tmp_path, SESSION)
    assert found.state is StoreState.MISSING
    assert "used up" in (found.detail or "")


def test_of_several_files_the_newest_with_a_conversation_counts(tmp_path: Path) -> None:
    old = _session("old").write(tmp_path, "-a")
    new = _session("new").write(tmp_path, "-b")
    empty = Transcript()
    empty.side("mode", mode="normal")
    bare = empty.write(tmp_path, "-c")
    now = time.time()
    for path, age in ((old, 300), (new, 200), (bare, 100)):
        os.utime(path, (now - age, now - age))
    assert IMPORTER.locate(tmp_path, SESSION).path == new


def test_a_fifo_under_the_sessions_name_is_unreadable_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "projects" / "-a"
    folder.mkdir(parents=True)
    os.mkfifo(folder / f"{SESSION}.jsonl")
    found = IMPORTER.locate(tmp_path, SESSION)
    assert found.state is StoreState.UNREADABLE
    assert "not a regular file" in (found.detail or "")


def test_discovery_is_newest_first_and_stays_out_of_side_folders(tmp_path: Path) -> None:
    now = time.time()
    for number in range(3):
        path = _session(session=f"s{number}").write(tmp_path, f"-slug-{number % 2}")
        os.utime(path, (now - number, now - number))
        side = path.with_suffix("") / "subagents"
        side.mkdir(parents=True)
        (side / "agent-x.jsonl").write_text("{}\n")
    (tmp_path / "projects" / "-slug-0" / "agent-old.jsonl").write_text("{}\n")
    assert [source.native_id for source in IMPORTER.discover(tmp_path)] == ["s0", "s1", "s2"]


def test_three_thousand_sessions_are_listed_without_opening_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / "one"
    one.write_bytes(b"{}\n")
    for slug in range(30):
        folder = tmp_path / "projects" / f"-slug-{slug}"
        folder.mkdir(parents=True)
        for number in range(100):
            os.link(one, f"{folder}/s{slug}-{number}.jsonl")

    def refuse(*args: object, **_: object) -> int:
        raise AssertionError(args)

    monkeypatch.setattr(os, "open", refuse)
    assert len(list(IMPORTER.discover(tmp_path))) == 3000


def test_the_signature_changes_with_the_file_and_with_its_subagents(tmp_path: Path) -> None:
    path = _session().write(tmp_path)
    first = IMPORTER.locate(tmp_path, SESSION).signature
    assert IMPORTER.locate(tmp_path, SESSION).signature == first
    (path.with_suffix("") / "subagents").mkdir(parents=True)
    second = IMPORTER.locate(tmp_path, SESSION).signature
    with path.open("ab") as file:
        file.write(b"{}\n")
    assert len({first, second, IMPORTER.locate(tmp_path, SESSION).signature}) == 3


def test_describe_reads_a_bounded_part_of_a_large_file(tmp_path: Path) -> None:
    t = Transcript()
    t.user("first", cwd="/first")
    for _ in range(40):
        t.assistant("x" * 50_000)
    t.side("custom-title", customTitle="My name")
    t.side("relocated", relocatedCwd="/last")
    path = t.write(tmp_path)
    facts = IMPORTER.describe(source_of(path))
    assert (facts.first_cwd, facts.cwd, facts.title) == ("/first", "/last", "My name")
    assert facts.one_shot is False


def test_describe_tells_a_subagents_file(tmp_path: Path) -> None:
    t = Transcript("agent-a1", isSidechain=True, agentId="a1")
    t.user("look around")
    facts = IMPORTER.describe(source_of(t.write(tmp_path)))
    assert facts.subagent_of == "agent-a1"


def test_describe_of_a_missing_session_raises(tmp_path: Path) -> None:
    source = IMPORTER.locate(tmp_path, SESSION)
    with pytest.raises(StoreUnreadable, match=SESSION):
        IMPORTER.describe(source)


def test_reading_a_file_that_went_away_raises(tmp_path: Path) -> None:
    path = _session().write(tmp_path)
    source: Source = IMPORTER.locate(tmp_path, SESSION)
    path.unlink()
    with pytest.raises(StoreUnreadable):
        IMPORTER.describe(source)


def test_the_registry_lists_what_processes_say(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    full = {"pid": 12, "sessionId": "s", "cwd": "/d", "procStart": "215729", "kind": "interactive"}
    (folder / "12.json").write_text(json.dumps({**full, "status": "busy", "more": [1]}))
    (folder / "9.json").write_text(json.dumps({"pid": 9, "sessionId": "t"}))
    (folder / "3.json").write_text('{"pid": 3')
    os.mkfifo(folder / "4.json")
    (folder / "notes.txt").write_text("x")
    assert live_sessions(tmp_path) == [
        LiveSession(9, None, "t", None, None, None),
        LiveSession(12, 215729, "s", "interactive", "/d", "busy"),
    ]


def test_without_a_registry_nobody_is_live(tmp_path: Path) -> None:
    assert live_sessions(tmp_path) == []
