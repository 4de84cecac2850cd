"""What we leave in Claude Code's home and in the repository: nothing of ours."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.real.stage import OURS, changed, listing, told

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real


def test_commands_that_read_leave_every_byte_and_time_as_it_was(stage: Stage) -> None:
    stage.run("claude", "-p", "run: echo hello ;; say: one")
    stage.bare_claude("say: without us")
    before = listing(stage.claude.store, stage.repository)
    for args in (
        ["status"],
        ["status", "--short"],
        ["log", "-n", "0"],
        ["search", "hello"],
        ["briefing", "codex"],
        ["briefing", "claude"],
        ["import", "claude", "--here"],
        ["import", "claude", "--all"],
        ["list"],
        ["harnesses"],
        ["doctor"],
        ["verify"],
        ["run", "--dry-run", "claude", "-p", "x"],
    ):
        stage.workstream(*args, code=None if args[0] == "doctor" else 0)
        assert changed(before, listing(stage.claude.store, stage.repository)) == set(), args


def _paths(stage: Stage, before: dict[str, tuple[str, int, int]]) -> set[str]:
    """Return what changed since, session ids and random names taken out."""
    found = set()
    for path in changed(before, listing(stage.claude.store, stage.repository)):
        if path in (str(stage.claude.store), str(stage.claude.store / ".last-cleanup")):
            continue  # written at a time of claude's own choice
        name = path.removeprefix(str(stage.root))
        for known in (file.stem for file in stage.claude.session_files()):
            name = name.replace(known, "ID")
        found.add(name)
    return found


def test_a_run_changes_what_a_bare_start_changes(stage: Stage) -> None:
    prompt = "run: echo hello ;; say: one"
    stage.bare_claude(prompt)  # what only a first start makes is made
    index = stage.repository / ".git" / "index"
    was = index.stat()
    before = listing(stage.claude.store, stage.repository)
    stage.bare_claude(prompt)
    bare = _paths(stage, before)
    before = listing(stage.claude.store, stage.repository)
    stage.run("--objective", "mind the gap", "claude", "-p", prompt)
    ours = _paths(stage, before)
    assert ours - bare == set()
    assert (index.stat().st_mtime_ns, index.stat().st_ino) == (was.st_mtime_ns, was.st_ino)
    assert stage.git("status", "--porcelain") == ""


def test_the_history_that_an_agent_reads_is_not_stored_again(stage: Stage) -> None:
    stage.env["PATH"] = f"{_shim(stage)}:{stage.env['PATH']}"
    stage.codex_says("the parser is half done")
    done = stage.run("claude", "-p", "run: workstream log -n 0 ;; say: read it")
    assert "the parser is half done" in told(stage.messages.turns[-1])
    assert done.code == 0
    (result,) = (e for e in stage.log() if e["kind"] == "tool_result")
    assert "half done" not in result["text"]
    assert "workstream" in result["text"]


def test_a_note_of_an_agent_is_recorded(stage: Stage) -> None:
    stage.env["PATH"] = f"{_shim(stage)}:{stage.env['PATH']}"
    stage.run("claude", "-p", "run: workstream note mind the gap ;; say: noted")
    stage.codex_says("fine")
    assert "mind the gap" in told(stage.responses.turns[-1])
    assert "[agent] mind the gap" in told(stage.responses.turns[-1])


def test_switching_and_reading_back_and_forth_does_not_grow_the_ledger(stage: Stage) -> None:
    stage.env["PATH"] = f"{_shim(stage)}:{stage.env['PATH']}"
    sizes: list[int] = []
    for number in range(3):
        stage.run("codex", "exec", f"run: workstream log -n 0 ;; say: codex {number}")
        stage.run("claude", "-p", f"run: workstream log -n 0 ;; say: claude {number}")
        events = stage.log()
        sizes.append(sum(len(e["text"]) for e in events) - sum(sizes))
        assert not [e for e in events if "BEGIN WORKSTREAM" in e["text"]]
    assert sizes[2] <= sizes[1] + 40


def _shim(stage: Stage) -> str:
    """Put our command on PATH the way an installation does."""
    folder = stage.root / "bin"
    folder.mkdir()
    path = folder / "workstream"
    words = " ".join(f"'{word}'" for word in OURS)
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    path.chmod(0o755)
    subprocess.run([path, "--version"], check=True, capture_output=True, timeout=30)
    return str(folder)
