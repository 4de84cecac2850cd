"""One workstream through Codex and Claude Code and back, with the tree changing in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.codex_terminal import codex
from tests.real.stage import deliveries_in, delta_in, read_report, told

if TYPE_CHECKING:
    from tests.fakes.server import Request
    from tests.real.stage import Answer, Stage

pytestmark = pytest.mark.real


def news(request: Request, delivery: str) -> str:
    """Return what a request holds after the first mark of one delivery."""
    return request.text.split(delivery, 1)[1]


def test_three_rounds_tell_each_side_only_what_is_new(stage: Stage) -> None:
    said: dict[str, list[str]] = {"codex": [], "claude": []}
    for round_number in (1, 2, 3):
        for harness, ask, turns in (
            ("codex", ("codex", "exec"), stage.responses),
            ("claude", ("claude", "-p"), stage.messages),
        ):
            words = f"{harness} has done step {round_number}"
            done = stage.run(*ask, f"say: {words}")
            other = "claude" if harness == "codex" else "codex"
            if said[other]:
                shown = delta_in(turns.turns[-1].text, done.delivery["id"])
                assert said[other][-1] in shown
                assert not any(old in shown for old in said[other][:-1])
                assert not any(own in shown for own in said[harness])
                assert (done.delivery["state"], done.delivery["omitted"]) == ("seen", 0)
            said[harness].append(words)
    sessions = stage.status()["sessions"]
    assert [s["imported"] for s in sessions if s["harness"] == "codex"] == [6]
    assert [s["imported"] for s in sessions if s["harness"] == "claude"] == [6]
    assert stage.texts("assistant_message") == [
        words for pair in zip(said["codex"], said["claude"], strict=True) for words in pair
    ]
    assert stage.workstream("verify", "--json").data["findings"] == []


@pytest.mark.terminal
def test_interactive_and_one_shot_sessions_do_not_take_each_others_place(stage: Stage) -> None:
    with codex(stage) as one:
        one.say("say: in the terminal")
        (interactive,) = one.leave()["sessions"]
    shot = stage.run("codex", "exec", "say: in one shot")
    assert shot.session != interactive
    assert "in the terminal" in told(stage.responses.turns[-1])
    stage.claude_says("claude was here")
    with codex(stage) as two:
        request = two.say("say: back in the terminal")
        report = two.leave()
    assert report["sessions"] == [interactive]
    shown = news(request, report["delivery"]["id"])
    assert "in one shot" in shown
    assert "claude was here" in shown
    assert stage.run("codex", "exec", "say: again").session == shot.session
    current = {s["native_id"] for s in stage.status()["sessions"] if s["current"]}
    assert {interactive, shot.session} <= current


def test_a_file_that_the_session_has_read_is_named_first_when_it_was_changed(
    stage: Stage,
) -> None:
    stage.write("known.py", "x = 1\n")
    stage.write("b_other.py", "y = 1\n")
    stage.commit("Two files")
    stage.run("codex", "exec", "say: reading ;; edit: known.py => x = 1 => x = 2 ;; say: read")
    stage.commit("What codex did")
    stage.write("known.py", "x = 3\n")
    stage.write("b_other.py", "y = 2\n")
    stage.commit("By hand")
    stage.write("a_new.py", "z = 1\n")
    done = stage.run("codex", "exec", "say: fine")
    shown = news(stage.responses.turns[-1], done.delivery["id"])
    assert "The tree, since you last worked here" in shown
    assert "By hand" in shown
    assert shown.index("known.py") < shown.index("a_new.py")
    assert shown.index("known.py") < shown.index("b_other.py")
    # The same tree is told once.
    assert stage.run("codex", "exec", "say: fine").delivery["state"] == "none"


def test_another_worktree_is_another_workstream_until_it_is_named(stage: Stage) -> None:
    stage.run("codex", "exec", "say: begun on main ;; write: half.txt => x ;; say: open")
    second = stage.root / "second"
    stage.git("worktree", "add", "-q", "-b", "side", str(second))
    own = stage.run("codex", "exec", "--skip-git-repo-check", "say: begun aside", cwd=second)
    assert own.report["workstream"] == "side"
    assert own.delivery["state"] == "none"
    assert "begun on main" not in stage.responses.turns[-1].text

    named = stage.run("--workstream", "main", "claude", "-p", "say: fine", cwd=second)
    shown = told(stage.messages.turns[-1])
    assert named.delivery["state"] == "seen"
    assert "begun on main" in shown
    assert "uncommitted changes there are not here" in shown
    assert "half.txt" in shown
    assert str(second) in shown
    names = {w["name"] for w in stage.workstream("list", "--json").data["workstreams"]}
    assert names == {"main", "side"}


def test_a_second_workstream_of_the_repository_gets_nothing_of_the_first(stage: Stage) -> None:
    stage.run("codex", "exec", "say: secret of the first ;; write: a.txt => x ;; say: made")
    stage.workstream("note", "--pin", "first only")
    other: Answer = stage.run("--new", "second", "claude", "-p", "say: fine")
    assert other.delivery["state"] == "none"
    assert "secret of the first" not in stage.messages.turns[-1].text
    again = stage.run("codex", "exec", "say: mine")  # the second is this worktree's now
    assert again.report["workstream"] == "second"
    request = stage.responses.turns[-1]
    assert "secret of the first" not in request.text
    assert "first only" not in request.text
    assert again.session not in {path.stem[-36:] for path in stage.codex.session_files()[:1]}
    assert "secret" not in stage.workstream("search", "secret", "--json").out
    assert deliveries_in(request.text) == [again.delivery["id"]]


@pytest.mark.terminal
def test_a_run_without_a_turn_takes_no_session_of_the_run_beside_it(stage: Stage) -> None:
    with codex(stage, options=("--new", "second")) as idle:
        report = stage.next_report()
        process = stage.start(
            "--report", str(report), "--new", "first", "codex", "exec", "hold: on ;; say: mine"
        )
        stage.responses.wait_held("on")
        opened = idle.leave()["sessions"]  # at most one of its own, without a turn
        stage.responses.release("on")
        _, errors = process.communicate(timeout=30)
    assert "second is running in this work tree too" in errors
    (session,) = read_report(report)["sessions"]
    assert session not in opened
    assert stage.texts("user_message") == ["hold: on ;; say: mine"]
    assert stage.session(session)["current"]
    assert {event["kind"] for event in stage.log("--workstream", "second")} <= {"checkpoint"}
