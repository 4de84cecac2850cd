"""Codex's terminal interface: several sessions in one run, compaction, rewind, and who is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.codex_terminal import codex
from tests.real.stage import deliveries_in, told

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = [pytest.mark.real, pytest.mark.terminal]


def test_a_session_is_created_and_resumed_with_what_is_new(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    with codex(stage) as one:
        assert "half done" in told(one.say("say: first words"))
        first = one.leave()
    stage.claude_says("now it is whole")
    with codex(stage) as two:
        assert "WORKSTREAM BRIEFING" not in two.terminal.raw.decode(errors="replace")
        request = two.say("say: second words")
        second = two.leave()
    assert first["sessions"] == second["sessions"]
    ids = [first["delivery"]["id"], second["delivery"]["id"]]
    assert deliveries_in(request.text) == ids
    assert "now it is whole" in request.text.split(ids[1])[1]
    assert "said: the parser is half done" not in request.text.split(ids[1])[1]
    assert first["delivery"]["state"] == second["delivery"]["state"] == "seen"
    assert stage.texts("user_message", "codex") == ["say: first words", "say: second words"]
    assert not (stage.codex.store / "packages").exists()
    assert not (stage.codex.store / "app-server-daemon").exists()


def test_a_compaction_by_hand_or_by_codex_brings_the_briefing_again(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    small = ("-c", "model_auto_compact_token_limit=9000")
    with codex(stage, *small) as one:
        one.say("say: first words")
        one.command("/compact")
        second = one.say("tokens: 20000 10 ;; say: second words")
        third = one.say("say: third words")
        report = one.leave()
    assert "half done" in told(second)
    assert "half done" in told(third)
    shown = [deliveries_in(request.text) for request in (second, third)]
    assert [len(ids) for ids in shown] == [1, 1]
    assert shown[0] != shown[1]
    assert report["imported"]["compaction"] == 2
    assert report["delivery"]["state"] == "seen"
    states = {d["state"] for d in stage.status()["last_run"]["deliveries"]}
    assert states <= {"seen", "failed"}
    assert stage.run("codex", "exec", "say: x").delivery["state"] == "seen"  # another session
    with codex(stage) as again:
        again.say("say: fourth words")
        assert again.leave()["delivery"]["id"] is not None


def test_new_and_clear_make_sessions_with_positions_of_their_own(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    with codex(stage) as one:
        first = one.say("say: first words")
        one.new()
        second = one.say("say: second words")
        one.command("/clear")
        third = one.say("say: third words")
        report = one.leave()
    assert len(report["sessions"]) == 3
    assert "half done" in told(first)
    assert "half done" in told(second)
    assert deliveries_in(first.text) != deliveries_in(second.text)
    assert "asked for an empty context" in told(third)
    assert "half done" not in third.text
    sessions = [stage.session(native_id) for native_id in report["sessions"]]
    assert [s["current"] for s in sessions] == [False, False, True]
    assert [s["imported"] for s in sessions] == [2, 2, 2]
    head = sessions[0]["seen_through"]
    assert [s["seen_through"] for s in sessions][:2] == [head, head]

    with codex(stage, name=()) as again:  # a bare `workstream run`
        request = again.say("say: fourth words")
        assert again.leave()["sessions"] == [report["sessions"][2]]
    assert "half done" not in request.text


def test_a_session_resumed_inside_gets_its_own_briefing(stage: Stage) -> None:
    with codex(stage) as one:
        one.say("say: alpha words")
        (alpha,) = one.leave()["sessions"]
    with codex(stage, options=("--fresh",)) as two:
        assert "alpha words" in told(two.say("say: beta words"))
        (beta,) = two.leave()["sessions"]
    with codex(stage) as three:
        three.say("say: gamma words")
        three.command(f"/resume {alpha}")
        request = three.say("say: delta words")
        report = three.leave()
    assert report["sessions"] == [beta, alpha]
    assert "beta words" in told(request).split("BEGIN WORKSTREAM")[-1]
    assert "asked: say: alpha words" not in told(request).split("BEGIN WORKSTREAM")[-1]
    assert stage.session(alpha)["current"]
    assert stage.session(alpha)["seen_through"] > 0


def test_a_rewind_past_the_delivery_makes_it_due_again(stage: Stage) -> None:
    with codex(stage) as one:
        one.say("say: one")
        (session,) = one.leave()["sessions"]
    stage.claude_says("the parser is half done")
    with codex(stage) as two:
        assert "half done" in told(two.say("say: two"))
        two.rewind(2, 12)  # to the first prompt: the briefing is not in that branch
        request = two.say("say: other")
        report = two.leave()
    assert report["sessions"] == [session]
    assert len(deliveries_in(request.text)) == 1  # Codex starts the session anew: told at once
    assert "half done" in told(request)
    assert stage.session(session)["seen_through"] > 0
    branches = {e["text"]: e["branch"] for e in stage.log() if e["harness"] == "codex"}
    assert (branches["say: one"], branches["say: two"]) == ("superseded", "superseded")
    assert branches["say: other"] == "active"

    with codex(stage) as three:  # nothing is new when it starts, so nothing is told
        three.press("escape", "escape", "enter", *["backspace"] * 12)
        request = three.say("say: last")
        assert three.leave()["sessions"] == [session]
    assert "half done" not in request.text
    assert stage.session(session)["seen_through"] == 0
    again = stage.run("codex", "exec", "resume", session, "say: more")
    assert "half done" in told(stage.responses.turns[-1])
    assert again.delivery["state"] == "seen"


def test_a_fork_in_the_terminal_inherits_and_is_current(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    with codex(stage) as one:
        one.say("say: one")
        (parent,) = one.leave()["sessions"]
    with codex(stage, "fork", parent) as two:
        request = two.say("say: two")
        report = two.leave()
    (fork,) = report["sessions"]
    assert fork != parent
    assert report["delivery"]["state"] == "none"  # its parent was told all there is
    assert "say: one" in request.text
    assert stage.texts("user_message", "codex") == ["say: one", "say: two"]
    assert stage.session(fork)["current"]
    assert stage.session(fork)["seen_through"] == stage.session(parent)["seen_through"] > 0
