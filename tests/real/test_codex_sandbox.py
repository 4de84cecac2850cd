"""Our commands called by an agent inside Codex's sandbox, which cannot write our state."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.real.stage import ROOT, Stage, told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.messages_api import MessagesApi
    from tests.fakes.responses_api import ResponsesApi

pytestmark = pytest.mark.real

STUB = "[output of a workstream command; not kept a second time]"


@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write"])
def test_reading_works_and_words_arrive_when_the_run_ends(
    tmp_path: Path, messages: MessagesApi, responses: ResponsesApi, outside: Path, sandbox: str
) -> None:
    stage = Stage(tmp_path, messages, responses, state=outside / "state")
    ours = outside / "workstream"
    ours.write_text(f'#!/bin/sh\nexec {sys.executable} -I {ROOT}/workstream_entry.py "$@"\n')
    ours.chmod(0o755)
    stage.claude_says("the parser is half done")
    commands = [
        f"touch {outside}/state/x",
        f"{ours} log",
        f"{ours} search parser",
        f"{ours} show e2",
        f"{ours} status",
        f"{ours} briefing codex",
        f"{ours} note remember the tests",
        f"{ours} objective finish the parser",
    ]
    done = stage.run(
        "codex", "exec", "-s", sandbox, "\n".join(f"run: {command}" for command in commands)
    )
    written, *read, noted, aimed = [turn.texts[-1] for turn in responses.turns[1:]]
    assert "Read-only file system" in written  # the sandbox is one
    assert all("the parser is half done" in text for text in (*read[:3], read[4]))
    assert "1 from agents" in read[3]
    assert all("BEGIN WORKSTREAM OUTPUT" in text for text in read)
    assert all("exited with code 0" in text for text in (*read, noted, aimed))
    assert all("recorded when this run ends" in text for text in (noted, aimed))
    assert done.delivery["state"] == "seen"

    notes = stage.workstream("note", "--list", "--json").data["notes"]
    assert [(note["text"], note["author"]) for note in notes] == [("remember the tests", "codex")]
    assert stage.status()["workstream"]["objective"] == "finish the parser"
    results = [e["text"] for e in stage.log() if e["kind"] == "tool_result"]
    assert results[1:] == [STUB] * 7
    if sandbox == "read-only":
        return  # the rest is the same
    stage.run("claude", "-p", "say: fine")
    assert "[agent] remember the tests" in told(messages.turns[-1])
    assert "[agent] objective: finish the parser" in told(messages.turns[-1])
    own = stage.run("codex", "exec", "say: fine")
    assert "remember the tests" not in responses.turns[-1].text.split(own.delivery["id"])[1]
