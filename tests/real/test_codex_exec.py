"""Codex under `workstream run`, one-shot: create, resume, and what reaches the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.stage import deliveries_in, told

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real

WORK = "say: going ;; run: echo $((40+2)); exit 3 ;; write: made.txt => one\\n ;; say: all done"


def test_a_run_creates_a_session_and_the_next_one_resumes_it(stage: Stage) -> None:
    first = stage.run("codex", "exec", WORK)
    second = stage.run("codex", "exec", "say: two")
    assert (first.out, second.out) == ("all done\n", "two\n")
    assert first.session == second.session
    assert len(stage.codex.session_files()) == 1
    assert WORK in stage.responses.turns[-1].text
    assert stage.texts("user_message") == [WORK, "say: two"]
    assert stage.texts("assistant_message") == ["going", "all done", "two"]
    results = [e for e in stage.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["exit_code"]) for e in results] == [
        ("exec_command", 3),
        ("apply_patch", None),
    ]
    assert first.delivery["state"] == second.delivery["state"] == "none"
    assert deliveries_in(stage.responses.turns[-1].text) == []


def test_a_briefing_reaches_a_new_and_a_resumed_session_from_the_first_turn(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    first = stage.run("codex", "exec", "say: fine ;; run: true ;; say: really")
    at_once = stage.responses.turns[0]
    assert "the parser is half done" in told(at_once)
    assert deliveries_in(at_once.text) == [first.delivery["id"]]
    assert first.delivery["state"] == "seen"

    stage.claude_says("now it is whole")
    second = stage.run("codex", "exec", "say: good")
    assert second.session == first.session
    again = stage.responses.turns[-1]
    assert deliveries_in(again.text) == [first.delivery["id"], second.delivery["id"]]
    news = again.text[again.text.index(second.delivery["id"]) :]
    assert "now it is whole" in news
    assert "said: the parser is half done" not in news  # told once
    assert (second.delivery["state"], second.delivery["omitted"]) == ("seen", 0)

    assert stage.texts("user_message", "codex") == [
        "say: fine ;; run: true ;; say: really",
        "say: good",
    ]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in stage.log())
    assert stage.run("codex", "exec", "say: third").delivery["state"] == "none"


def test_what_did_not_fit_is_owed_and_comes_next(stage: Stage) -> None:
    parts = [f"part {number} " + "x" * 300 for number in range(8)]
    stage.run("claude", "-p", "\n".join(f"say: {part}\nrun: true" for part in parts))
    first = stage.run("--budget", "1500", "codex", "exec", "say: one")
    assert first.delivery["state"] == "seen"
    assert first.delivery["bytes"] <= 1500
    assert first.delivery["omitted"] > 0
    assert "Left out" in told(stage.responses.turns[-1])
    assert stage.session(first.session)["omitted"] == first.delivery["omitted"]

    second = stage.run("codex", "exec", "say: two")
    news = stage.responses.turns[-1].text.split(second.delivery["id"])[1]
    missing = [p for p in parts if p[:8] not in stage.responses.turns[0].text.split("say: one")[0]]
    assert missing
    assert all(part[:8] in news for part in missing)
    assert second.delivery["omitted"] == 0
    assert stage.session(first.session)["omitted"] == 0
