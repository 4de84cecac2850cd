"""`import`: recorded stores in, the same events out of `log`; a second time nothing new."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import FIXTURES, Desk

CODEX = ["plain", "resumed", "compaction", "interrupted", "zst", "legacy_0_130"]
CLAUDE = ["plain", "resumed", "queued", "compaction"]


def _expected_codex(scenario: str) -> list[tuple[str, str]]:
    table = json.loads((FIXTURES / "codex" / "EXPECTED.json").read_bytes())
    return [
        (f"{message['role']}_message", message["text"])
        for path, entry in table.items()
        if path.startswith(f"{scenario}/")
        for message in entry["messages_in_file"]
    ]


def _expected_claude(scenario: str) -> list[tuple[str, str]]:
    table = json.loads((FIXTURES / "claude" / scenario / "EXPECTED.json").read_bytes())
    return [
        (kind, text)
        for session in table.values()
        for kind, _, text, *_ in session["events"]
        if kind.endswith("_message")
    ]


def _messages(desk: Desk) -> list[tuple[str, str]]:
    events = desk.ok("log", "--workstream", "x", "--json", "-n", "0").data["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    return [(e["kind"], e["text"]) for e in events if e["kind"].endswith("_message")]


def _import(desk: Desk, harness: str, home: Path) -> Any:
    return desk.ok("import", harness, "--home", str(home), "--all", "--into", "x", "--json").data


def _digests(home: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(home.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("harness", "scenario"),
    [*(("codex", name) for name in CODEX), *(("claude", name) for name in CLAUDE)],
)
def test_a_recorded_store_comes_out_of_the_log_as_it_was_written_down(
    desk: Desk, harness: str, scenario: str
) -> None:
    folder = {"codex": "codex-home", "claude": "dot-claude"}[harness]
    home = FIXTURES / harness / scenario / folder
    expected = {"codex": _expected_codex, "claude": _expected_claude}[harness](scenario)
    before = _digests(home)
    done = _import(desk, harness, home)
    assert done["events"] >= len(expected)
    assert sorted(_messages(desk)) == sorted(expected)
    again = _import(desk, harness, home)
    assert (again["events"], again["imported"]) == (0, {})
    assert again["unchanged"] == len(done["sessions"])
    assert _digests(home) == before


def test_here_takes_only_sessions_of_this_repository(desk: Desk) -> None:
    desk.ok("run", "--new", "w", "claude", "-p", "from here")
    store = desk.home / ".claude"
    other = FIXTURES / "claude" / "plain" / "dot-claude" / "projects"
    for folder in other.iterdir():
        copy = store / "projects" / folder.name
        copy.mkdir(parents=True)
        for file in folder.glob("*.jsonl"):
            (copy / file.name).write_bytes(file.read_bytes())
    foreign = "00000001-0000-4000-8000-000000000000"
    here = desk.ok("import", "claude", "--list", "--json").data["sessions"]
    everything = desk.ok("import", "claude", "--all", "--list", "--json").data["sessions"]
    assert foreign not in [item["native_id"] for item in here]
    assert len(here) == 1
    assert [item["native_id"] for item in everything if item not in here] == [foreign]


def test_archive_is_searched_and_is_in_no_briefing_unless_asked_for(desk: Desk) -> None:
    home = str(FIXTURES / "claude" / "plain" / "dot-claude")
    desk.ok("import", "claude", "--home", home, "--all", "--into", "x")
    assert desk.ok("search", "considered", "--workstream", "x", "--json").data["total"] == 1
    assert "considered" not in desk.ok("briefing", "codex", "--workstream", "x").out
    desk.ok("import", "claude", "--home", home, "--all", "--into", "y", "--deliver")
    skipped = desk.ok(
        "import", "claude", "--home", home, "--all", "--into", "y", "--deliver", "--json"
    )
    assert [item["reason"] for item in skipped.data["skipped"]] != []


def test_unknown_sessions_and_empty_stores_are_told(desk: Desk, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = desk.ok("import", "claude", "--home", str(empty), "--all", "--json").data
    assert (done["sessions"], done["events"]) == ([], 0)
    answer = desk.run("import", "claude", "--home", str(empty), "--session", "nobody", "--json")
    assert "nobody" in answer.out
