"""Claude Code in a terminal: several sessions in one run, compaction, rewind, who is told what."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.real.claude_terminal import claude
from tests.real.stage import OURS, deliveries_in, delta_in, told, until

if TYPE_CHECKING:
    from tests.real.stage import Stage

EMULATOR = (
    *(sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])"),
    *("sh", "-c", 'stty rows 40 cols 120; exec "$@"', "sh"),
)
"""A terminal window that can be killed: what runs in it is hung up by the kernel."""
pytestmark = [pytest.mark.real, pytest.mark.terminal]


def test_a_session_is_created_and_resumed_with_what_is_new(stage: Stage) -> None:
    stage.codex_says("the parser is half done")
    with claude(stage) as one:
        assert "half done" in told(one.say("say: first words"))
        first = one.leave()
    stage.codex_says("now it is whole")
    with claude(stage) as two:
        assert "BEGIN WORKSTREAM" not in two.terminal.raw.decode(errors="replace")
        request = two.say("say: second words")
        second = two.leave()
    assert first["sessions"] == second["sessions"]
    ids = [first["delivery"]["id"], second["delivery"]["id"]]
    assert deliveries_in(request.text) == ids
    new = delta_in(request.text, ids[1])
    assert "now it is whole" in new
    assert "said: the parser is half done" not in new
    assert first["delivery"]["state"] == second["delivery"]["state"] == "seen"
    assert stage.texts("user_message", "claude") == ["say: first words", "say: second words"]


def test_after_a_compaction_the_briefing_is_there_again(stage: Stage) -> None:
    stage.codex_says("the parser is half done")
    with claude(stage) as one:
        one.say("say: first words")
        one.compact()
        request = one.say("say: second words")
        report = one.leave()
    (shown,) = deliveries_in(request.text)
    assert "half done" in told(request)
    assert "As of the start of this run" in told(request)
    assert shown != report["delivery"]["id"]
    assert report["imported"]["compaction"] == 1
    assert report["delivery"]["state"] == "seen"
    states = {d["id"]: d["state"] for d in stage.status()["last_run"]["deliveries"]}
    assert states == {report["delivery"]["id"]: "seen", shown: "seen"}
    assert stage.texts("user_message", "claude")[-1] == "say: second words"


def test_clear_begins_a_session_that_gets_a_pointer_and_owes_nothing(stage: Stage) -> None:
    stage.codex_says("the parser is half done")
    head = stage.status()["events"]
    with claude(stage) as one:
        one.say("say: first words")
        one.command("/clear")
        request = one.say("say: second words")
        report = one.leave()
    old, new = report["sessions"]
    assert "asked for an empty context" in told(request)
    assert "half done" not in request.text
    assert "first words" not in request.text
    rows = {
        row["native_id"]: row for row in stage.status()["sessions"] if row["harness"] == "claude"
    }
    assert [rows[old]["current"], rows[new]["current"]] == [False, True]
    assert rows[old]["seen_through"] == head
    assert rows[new]["seen_through"] >= head
    assert {"say: first words", "say: second words"} <= set(stage.texts("user_message", "claude"))
    again = stage.run("claude", "--resume", new, "-p", "say: third words")
    assert "half done" not in stage.messages.turns[-1].text
    assert again.session == new


def test_branch_is_imported_as_a_fork_and_inherits_what_was_seen(stage: Stage) -> None:
    stage.codex_says("the parser is half done")
    head = stage.status()["events"]
    with claude(stage) as one:
        one.say("say: first words")
        one.command("/branch other")
        request = one.say("say: on the branch")
        report = one.leave()
    old, new = report["sessions"]
    assert "first words" in request.text
    rows = {
        row["native_id"]: row for row in stage.status()["sessions"] if row["harness"] == "claude"
    }
    assert [rows[old]["current"], rows[new]["current"]] == [False, True]
    assert rows[new]["seen_through"] >= rows[old]["seen_through"] == head
    words = [text for text in stage.texts("user_message", "claude") if text.startswith("say")]
    assert words == ["say: first words", "say: on the branch"]
    with claude(stage) as two:
        two.say("say: go on")
        assert two.leave()["sessions"] == [new]


def test_resume_inside_is_followed_and_the_resumed_session_gets_its_own_briefing(
    stage: Stage,
) -> None:
    with claude(stage) as one:
        one.say("say: first words")
        (first,) = one.leave()["sessions"]
    stage.codex_says("the parser is half done")
    with claude(stage, options=("--fresh",)) as two:
        two.say("say: in the second session")
        two.command(f"/resume {first}")
        request = two.say("say: back in the first")
        report = two.leave()
    assert report["sessions"][-1] == first
    assert len(report["sessions"]) == 2
    assert "first words" in request.text
    assert "half done" in told(request)
    assert stage.session(first)["current"]
    assert stage.session(first)["seen_through"] >= 4


def test_a_rewind_past_the_delivery_makes_it_due_again(stage: Stage) -> None:
    with claude(stage) as one:
        one.say("say: first words")
        one.leave()
    stage.codex_says("the parser is half done")
    with claude(stage) as two:
        assert "half done" in told(two.say("say: second words"))
        two.rewind(2, typed=18)
        request = two.say("say: first again")
        report = two.leave()
    assert "half done" not in request.text
    assert report["delivery"]["state"] == "failed"
    assert report["delivery"]["reason"] == "rewound"
    branches = {e["text"]: e["branch"] for e in stage.log() if e["kind"] == "user_message"}
    assert branches["say: second words"] == "superseded"
    assert branches["say: first again"] == "active"
    with claude(stage) as three:
        assert "half done" in told(three.say("say: third words"))
        assert three.leave()["delivery"]["state"] == "seen"


def test_a_session_opened_and_closed_without_a_prompt_is_not_resumed(stage: Stage) -> None:
    with claude(stage) as one:
        first = one.leave()
    assert not any(first["imported"].get(kind) for kind in ("user_message", "assistant_message"))
    with claude(stage) as two:
        two.say("say: first words")
        second = two.leave()
    assert second["exit_code"] == 0
    assert stage.texts("user_message") == ["say: first words"]
    assert stage.session(second["sessions"][0])["current"]


def test_queued_words_and_an_interrupted_turn_are_kept_as_they_were(stage: Stage) -> None:
    with claude(stage) as one:
        one.terminal.submit("hold: cut")
        stage.messages.wait_held("cut")
        one.terminal.wait_text("working on it")
        one.press("escape")
        one.terminal.submit("hold: busy ;; run: echo late ;; say: busy no more")
        stage.messages.wait_held("busy")
        one.terminal.submit("also look at this")
        one.terminal.wait_text("Queued")
        stage.messages.release("busy")
        one.terminal.wait_text("busy no more")
        one.terminal.wait_quiet(1)
        one.leave()
    assert stage.texts("user_message") == [
        "hold: cut",
        "hold: busy ;; run: echo late ;; say: busy no more",
        "also look at this",
    ]
    assert stage.texts("assistant_message")[0].strip() == "working on it"
    assert stage.texts("tool_call") == ["echo late"]


def test_a_terminal_that_goes_away_loses_nothing(stage: Stage) -> None:
    with stage.bare_terminal(*EMULATOR, *OURS, "run", "claude") as window:
        window.wait_text("Claude Code")
        window.wait_quiet()
        window.submit("say: first words")
        stage.messages.wait_turns(1)
        window.wait_quiet(0.8)
        os.kill(window.pid, signal.SIGKILL)
        until(lambda: stage.status()["lease"] is None, "the run did not end")
    last = stage.status()["last_run"]
    assert last["outcome"] == "ended"
    assert last["exit_code"] in (0, 129)  # claude sees the end of its input, or the signal, first
    assert stage.texts("assistant_message") == ["first words"]
    with claude(stage) as two:
        assert "first words" in two.say("say: second words").text
        two.leave()


def test_inside_another_claude_there_is_a_transcript_all_the_same(stage: Stage) -> None:
    outer = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_SESSION_ID": str(uuid.uuid4()),
        "CLAUDE_CODE_ENTRYPOINT": "cli",
    }
    with claude(stage, env=outer) as one:
        one.say("say: first words")
        (native,) = one.leave()["sessions"]
    assert [path.stem for path in stage.claude.session_files()] == [native]
    assert stage.texts("assistant_message") == ["first words"]


def test_a_session_open_elsewhere_is_refused_naming_who_has_it(stage: Stage) -> None:
    with claude(stage) as one:
        one.say("say: first words")
        (native,) = one.leave()["sessions"]
    program = stage.env["PATH"].split(os.pathsep)
    folder = next(path for path in program if os.access(f"{path}/claude", os.X_OK))
    with stage.bare_terminal(f"{folder}/claude", f"--resume={native}") as other:
        other.wait_text("Claude Code")
        other.wait_quiet()
        refused = stage.workstream("run", "claude", code=75)
        assert native in refused.err
        assert str(other.pid) in refused.err
        again = stage.run("--fresh", "claude", "-p", "say: meanwhile")
        assert again.session != native
