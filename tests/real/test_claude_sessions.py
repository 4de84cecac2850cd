"""Claude Code under `workstream run`, one-shot: which session it is, and who is told what."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.fakes.scripting import Rule, Scenario
from tests.lab.homes import claude_home
from tests.real.stage import deliveries_in, delta_in, told

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real


def test_a_run_creates_a_session_and_the_next_one_resumes_it(stage: Stage) -> None:
    first = stage.run("claude", "-p", "say: one")
    second = stage.run("claude", "-p", "say: two")
    assert (first.out, second.out) == ("one\n", "two\n")
    assert first.session == second.session
    assert [path.stem for path in stage.claude.session_files()] == [first.session]
    assert "say: one" in stage.messages.turns[-1].text
    assert stage.texts("user_message") == ["say: one", "say: two"]
    assert stage.texts("assistant_message") == ["one", "two"]
    assert first.delivery["state"] == second.delivery["state"] == "none"


def test_each_run_is_told_what_is_new_and_nothing_twice(stage: Stage) -> None:
    stage.codex_says("the parser is half done")
    first = stage.run("claude", "-p", "say: fine")
    request = stage.messages.turns[-1]
    assert "the parser is half done" in told(request)
    assert deliveries_in(request.text) == [first.delivery["id"]]
    stage.codex_says("now it is whole")
    second = stage.run("claude", "-p", "say: finer")
    request = stage.messages.turns[-1]
    assert first.session == second.session
    assert deliveries_in(request.text) == [first.delivery["id"], second.delivery["id"]]
    new = delta_in(request.text, second.delivery["id"])
    assert "now it is whole" in new
    assert "said: the parser is half done" not in new
    third = stage.run("claude", "-p", "say: finest")
    assert third.delivery["state"] == "none"
    assert first.delivery["state"] == second.delivery["state"] == "seen"
    assert stage.texts("user_message", "claude") == ["say: fine", "say: finer", "say: finest"]


def test_the_persons_own_resume_is_followed_and_told(stage: Stage) -> None:
    first = stage.run("claude", "-p", "say: one")
    stage.run("--fresh", "claude", "-p", "say: two")
    again = stage.run("claude", "-p", "--resume", first.session, "say: three")
    assert again.session == first.session
    assert "say: one" in stage.messages.turns[-1].text
    assert "say: two" in told(stage.messages.turns[-1])
    assert again.delivery["state"] == "seen"
    assert stage.session(first.session)["current"]


def test_a_session_begun_without_us_is_linked_by_the_persons_own_resume(stage: Stage) -> None:
    native = stage.bare_claude("say: before")
    done = stage.run("--objective", "mind the gap", "claude", "-p", "-r", native, "say: after")
    assert done.session == native
    assert "mind the gap" in told(stage.messages.turns[-1])
    assert stage.texts("user_message") == ["say: before", "say: after"]


def test_continue_is_the_harnesss_choice_and_is_found_out(stage: Stage) -> None:
    native = stage.bare_claude("say: before")
    done = stage.run("--objective", "mind the gap", "claude", "-p", "--continue", "say: after")
    assert done.session == native
    assert done.delivery["state"] == "seen"
    assert stage.texts("user_message") == ["say: before", "say: after"]


def test_a_session_id_of_the_persons_own_is_kept(stage: Stage) -> None:
    native = str(uuid.uuid4())
    assert stage.run("claude", "-p", "--session-id", native, "say: one").session == native
    assert stage.run("claude", "-p", "say: two").session == native


def test_a_fork_is_a_session_of_its_own_and_shares_what_was_said(stage: Stage) -> None:
    first = stage.run("claude", "-p", "say: one")
    stage.codex_says("the parser is half done")
    fork = stage.run("claude", "-p", "--resume", first.session, "--fork-session", "say: two")
    request = stage.messages.turns[-1]
    assert fork.session != first.session
    assert "say: one" in request.text
    assert "half done" in told(request)
    assert fork.delivery["state"] == "seen"
    assert stage.texts("user_message", "claude") == ["say: one", "say: two"]
    assert stage.session(fork.session)["current"]
    assert not stage.session(first.session)["current"]


def test_a_session_that_leaves_no_trace_is_said_to_be_lost(stage: Stage) -> None:
    done = stage.run("claude", "-p", "--no-session-persistence", "say: one")
    assert "leaves no trace" in done.err
    assert done.report["sessions"] == []
    assert stage.claude.session_files() == []


def test_two_accounts_keep_a_session_each(stage: Stage) -> None:
    other = claude_home(stage.root / "other", stage.messages.port, trusted=[stage.repository])
    config = stage.root / ".config" / "workstream" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[harness.claude-work]\nuse = "claude"\nhome = "{other.store}"\n')
    one = stage.run("claude", "-p", "say: one")
    two = stage.run("claude-work", "-p", "say: two")
    assert "say: one" in told(stage.messages.turns[-1])
    assert [path.stem for path in other.session_files()] == [two.session]
    assert stage.run("claude", "-p", "say: three").session == one.session
    assert "say: two" in told(stage.messages.turns[-1])
    assert stage.run("claude-work", "-p", "say: four").session == two.session
    rows = {row["harness"]: row for row in stage.status()["sessions"]}
    assert (rows["claude"]["native_id"], rows["claude"]["current"]) == (one.session, True)
    assert (rows["claude-work"]["home"], rows["claude-work"]["current"]) == (str(other.store), True)


def test_a_deleted_session_is_replaced_by_one_that_is_told_everything(stage: Stage) -> None:
    first = stage.run("claude", "-p", "say: the parser is half done")
    (path,) = stage.claude.session_files()
    path.unlink()
    second = stage.run("claude", "-p", "say: two")
    assert second.session != first.session
    assert first.session in second.err
    assert "the parser is half done" in told(stage.messages.turns[-1])
    assert second.delivery["state"] == "seen"
    assert stage.run("claude", "-p", "say: three").session == second.session


@pytest.mark.parametrize("place", ["directory", "worktree"])
def test_a_session_is_resumed_from_another_directory(stage: Stage, place: str) -> None:
    first = stage.run("claude", "-p", "say: one")
    if place == "directory":
        cwd = stage.write("deep/er/file.txt", "x\n").parent
    else:
        cwd = stage.root / "second"
        stage.git("worktree", "add", "-q", "-b", "side", str(cwd))
    second = stage.run("--workstream", "main", "claude", "-p", "run: pwd ;; say: two", cwd=cwd)
    assert second.session == first.session
    assert "say: one" in stage.messages.turns[-1].text
    assert [path.stem for path in stage.claude.session_files()] == [first.session]
    assert str(cwd) in next(e["text"] for e in stage.log() if e["kind"] == "tool_result")


def test_what_it_did_reads_well_in_the_log(stage: Stage) -> None:
    script = "run: echo $((40+2)); exit 3 ;; write: a.txt => one\\n ;; read: a.txt ;; say: done"
    stage.run("claude", "-p", script)
    calls = [e for e in stage.log() if e["kind"] == "tool_call"]
    path = str(stage.repository / "a.txt")
    assert [(e["tool"], e["text"]) for e in calls] == [
        ("Bash", "echo $((40+2)); exit 3"),
        ("Write", path),
        ("Read", path),
    ]
    results = [e for e in stage.log() if e["kind"] == "tool_result"]
    assert [e["exit_code"] for e in results] == [3, None, None]
    assert "42" in results[0]["text"]


def test_a_subagents_words_stay_out_and_its_deeds_are_kept(stage: Stage) -> None:
    stage.messages.scenario = Scenario(
        rules=(Rule(match=re.compile("^Look around"), script="write: b.txt => x\nsay: looked"),)
    )
    asked = {"description": "Look", "prompt": "Look around", "subagent_type": "general-purpose"}
    stage.codex_says("hello")
    stage.run("claude", "-p", f"tool: Agent => {json.dumps(asked)} ;; say: all done")
    assert (stage.repository / "b.txt").exists()
    (call,) = (e for e in stage.log() if e["kind"] == "tool_call")
    assert (call["tool"], call["text"]) == ("Agent", "Look")
    assert set(stage.texts("assistant_message", "claude")) == {"all done"}
    stage.codex_says("hello again")
    assert "b.txt (by claude)" in told(stage.responses.turns[-1])
