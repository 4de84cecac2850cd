"""Recorded stores give what was written down by hand beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importers.base import AgentCheck, Event, FileFact, Loss, StoreState, Turn
from importers.claude import IMPORTER
from tests.importers.claude.transcript import Got, read

FIXTURES = Path(__file__).parents[2] / "fixtures" / "claude"
CASES = [
    (folder.parent.name, session)
    for folder in sorted(FIXTURES.glob("*/EXPECTED.json"))
    for session in json.loads(folder.read_text())
]


def _read(folder: str, session: str) -> tuple[dict[str, Any], Got]:
    expected = json.loads((FIXTURES / folder / "EXPECTED.json").read_text())[session]
    source = IMPORTER.locate(FIXTURES / folder / "dot-claude", session)
    assert source.path is not None
    return expected, read(source.path, closed=True)


def _ordered(got: Got) -> list[Event]:
    return sorted(got.of(Event), key=lambda event: (event.depth, event.record, event.block))


def test_every_recorded_folder_has_expectations() -> None:
    stores = {path.parent.name for path in FIXTURES.glob("*/dot-claude")}
    assert stores == {folder for folder, _ in CASES}


@pytest.mark.parametrize(("folder", "session"), CASES)
def test_events_are_those_written_down(folder: str, session: str) -> None:
    expected, got = _read(folder, session)
    found = _ordered(got)
    assert [(e.kind.value, e.identity[0][:8]) for e in found] == [
        (kind, uuid) for kind, uuid, *_ in expected["events"]
    ]
    for event, (_, _, text, *fields) in zip(found, expected["events"], strict=True):
        if isinstance(text, dict):
            assert event.text.split() == [str(n) for n in range(1, text["seq"] + 1)]
        else:
            assert event.text == text
        for name, value in (fields[0] if fields else {}).items():
            assert getattr(event, name) == value, (event.identity, name)
    assert all(event.active for event in found)


@pytest.mark.parametrize(("folder", "session"), CASES)
def test_turns_end_as_written_down(folder: str, session: str) -> None:
    expected, got = _read(folder, session)
    assert {turn.turn: turn.state for turn in got.of(Turn)} == expected["turns"]


@pytest.mark.parametrize(("folder", "session"), CASES)
def test_facts_files_and_checks_are_those_written_down(folder: str, session: str) -> None:
    expected, got = _read(folder, session)
    assert got.facts is not None
    for name, value in expected["facts"].items():
        assert getattr(got.facts, name) == value, name
    if "files" in expected:
        assert [[f.action, f.path] for f in got.of(FileFact)] == expected["files"]
    assert [[c.agent, c.command, c.exit_code] for c in got.of(AgentCheck)] == expected.get(
        "checks", []
    )
    for kind, count in expected.get("left_out", {}).items():
        assert got.left_out()[kind] == count
    assert got.of(Loss) == []


@pytest.mark.parametrize(("folder", "session"), CASES)
def test_a_second_read_yields_nothing_new(folder: str, session: str) -> None:
    _, got = _read(folder, session)
    source = IMPORTER.locate(FIXTURES / folder / "dot-claude", session)
    assert source.path is not None
    assert got.read(source.path, closed=True) == []


@pytest.mark.parametrize(("folder", "session"), CASES)
def test_head_and_tail_describe_like_a_whole_read(folder: str, session: str) -> None:
    _, got = _read(folder, session)
    facts = IMPORTER.describe(IMPORTER.locate(FIXTURES / folder / "dot-claude", session))
    assert got.facts is not None
    for name in ("cwd", "first_cwd", "parent", "one_shot", "version", "title", "started_at"):
        assert getattr(facts, name) == getattr(got.facts, name), name


def test_a_killed_session_ends_with_an_interrupted_call_and_turn() -> None:
    source = IMPORTER.locate(
        FIXTURES / "killed" / "dot-claude-killed", "00000012-0000-4000-8000-000000000000"
    )
    assert source.path is not None
    open_read = read(source.path)
    assert [e.status for e in open_read.of(Event) if e.kind == "tool_result"] == []
    assert [t.state for t in open_read.of(Turn)] == ["open"]
    open_read.read(source.path, closed=True)
    assert [e.status for e in open_read.of(Event) if e.kind == "tool_result"] == ["interrupted"]
    assert [t.state for t in open_read.of(Turn)] == ["open", "interrupted"]


def test_discovery_finds_the_sessions_and_no_subagent() -> None:
    found = list(IMPORTER.discover(FIXTURES / "subagent" / "dot-claude"))
    assert [(s.native_id, s.state) for s in found] == [
        ("00000011-0000-4000-8000-000000000000", StoreState.PRESENT)
    ]


def test_reading_changes_no_byte_and_no_time_of_the_store() -> None:
    root = FIXTURES / "tools" / "dot-claude"
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in root.rglob("*") if p.is_file()}
    for source in IMPORTER.discover(root):
        IMPORTER.describe(source)
        assert source.path is not None
        read(source.path, closed=True)
    after = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in root.rglob("*") if p.is_file()}
    assert after == before
