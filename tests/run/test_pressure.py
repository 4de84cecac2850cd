"""Runs of a session that is full: what is proposed, asked, prepared; nobody is held up."""

from __future__ import annotations

import os
import signal

import pytest

from tests.run.desk import Desk, alive, until
from tests.run.test_handoffs import US

EXIT = {"STANDIN_TYPED": '["/exit"]'}


def fill(desk: Desk, tokens: int = 97_000) -> None:
    """Give all sessions of codex the figures of a context with a window of 100,000 tokens."""
    with desk.database() as db:
        db.execute(
            "INSERT OR REPLACE INTO session_usage (session, at, context_tokens, limit_tokens)"
            " SELECT id, 1, ?, 100000 FROM session WHERE entry = 'codex'",
            (tokens,),
        )


def resumed(desk: Desk) -> str | None:
    args = desk.calls("codex")[-1]["args"]
    return args[args.index("resume") + 1] if "resume" in args else None


def configure(desk: Desk, text: str) -> None:
    folder = desk.home / "config" / "workstream"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text + "\n")


@pytest.fixture
def worn(desk: Desk) -> str:
    """A one-shot session that is full and ended at once; returns its native id."""
    first = desk.codex("say: one")
    fill(desk)
    desk.codex("say: nothing comes of it", do="nothing")
    return str(first.report["sessions"][0])


def test_a_full_session_that_ended_at_once_gives_way_to_a_new_one(desk: Desk, worn: str) -> None:
    assert resumed(desk) == worn
    second = desk.codex("say: two")
    assert resumed(desk) is None
    assert second.out == "two\n"
    why = "the last run of this session ended at once without an answer, and its context is 97 %"
    assert f"codex session {worn}: {why} full; a new session starts from the handoff" in second.err
    assert "workstream run --no-rollover codex" in second.err
    assert second.delivery == "seen"  # the new one was given the handoff
    desk.codex("say: three")
    assert resumed(desk) == second.report["sessions"][0]


def test_a_run_of_another_harness_between_does_not_bring_it_back(desk: Desk, worn: str) -> None:
    desk.claude("say: between")
    second = desk.codex("say: two")
    assert resumed(desk) is None
    assert f"codex session {worn}" in second.err


def test_whoever_insists_gets_the_full_session(desk: Desk, worn: str) -> None:
    insisted = desk.codex("say: two", "--no-rollover")
    assert resumed(desk) == worn
    assert "rollover" not in insisted.err
    desk.codex("say: three")  # it answered: nothing is proposed any more
    assert resumed(desk) == worn


def test_naming_the_session_is_insisting_too(desk: Desk, worn: str) -> None:
    named = desk.ok("run", "codex", "exec", "resume", worn, "say: two")
    assert worn in desk.calls("codex")[-1]["args"]
    assert (named.report["sessions"], "rollover" in named.err) == ([worn], False)


def test_a_full_session_that_works_is_resumed(desk: Desk) -> None:
    first = desk.codex("say: one")
    fill(desk)
    desk.codex("say: two")
    again = desk.codex("say: three")
    assert resumed(desk) == first.report["sessions"][0]
    assert "rollover" not in again.err


def test_a_session_that_is_not_full_is_resumed_after_a_bad_end(desk: Desk) -> None:
    first = desk.codex("say: one")
    fill(desk, 10_000)
    desk.codex("say: two", do="nothing")
    desk.codex("say: three")
    assert resumed(desk) == first.report["sessions"][0]


def test_a_plan_says_what_would_be_done_and_does_nothing(desk: Desk, worn: str) -> None:
    plan = desk.ok("run", "--dry-run", "codex", "exec", "say: two").out
    assert "session     codex, new session" in plan
    assert f"notice      codex session {worn}" in plan


@pytest.mark.terminal
@pytest.mark.parametrize(("key", "resumes"), [(b"n\r", True), (b"\r", False)])
def test_at_a_terminal_the_person_is_asked(desk: Desk, key: bytes, resumes: bool) -> None:
    first = desk.ok("run", "codex", "say: one", env=EXIT)
    fill(desk)
    desk.ok("run", "codex", do="nothing")
    with desk.terminal("run", "codex") as terminal:
        terminal.wait_text("its context is 97 % full. Start a new session from the handoff")
        terminal.send(key)
        terminal.wait_text("codex>")
        terminal.send(b"/exit\r")
        assert terminal.wait_exit() == 0
    native_id = first.report["sessions"][0]
    assert resumed(desk) == (native_id if resumes else None)


@pytest.mark.terminal
def test_giving_up_at_the_question_starts_nothing_and_holds_nothing(desk: Desk) -> None:
    desk.ok("run", "codex", "say: one", env=EXIT)
    fill(desk)
    desk.ok("run", "codex", do="nothing")
    calls = len(desk.calls("codex"))
    with desk.terminal("run", "codex") as terminal:
        terminal.wait_text("Start a new session from the handoff")
        terminal.press("ctrl-c")
        assert terminal.wait_exit() == 130
    assert len(desk.calls("codex")) == calls
    assert desk.status()["lease"] is None


@pytest.mark.parametrize("level", ["manual", "advisory", "automatic-draft"])
def test_the_policy_speaks_at_the_end_of_a_run_of_that_session(desk: Desk, level: str) -> None:
    configure(desk, f'rollover = "{level}"')
    desk.codex("say: one")
    fill(desk)
    ended = desk.codex("say: two")
    said = [line for line in ended.err.splitlines() if "97 % full" in line]
    assert len(said) == (0 if level == "manual" else 1)
    other = desk.claude("say: three")
    assert "97 % full" not in other.err  # it is not about that session
    rollover = desk.status()["rollover"]
    assert rollover["policy"] == level
    assert (rollover["draft"] is not None) == (level == "automatic-draft")
    assert desk.rows("SELECT * FROM handoff_revision") == []
    if level == "automatic-draft":
        name = rollover["draft"]
        assert f"workstream handoff commit {name}" in said[0]
        shown = desk.ok("handoff", "show", name, "--json").data
        assert shown["policy"]["boundary"]["state"] == "complete"
        assert shown["reasons"] == ["host_context_budget"]
        listed = desk.ok("handoff", "list", "--json").data["handoffs"]
        assert [item["name"] for item in listed].count(name) == 1
        assert desk.ok("handoff", "commit", name, "--json").data["state"] == "committed"
        assert desk.status()["rollover"]["draft"] is None


def test_no_draft_is_prepared_while_a_turn_is_open(desk: Desk) -> None:
    configure(desk, 'rollover = "automatic-draft"')
    desk.codex("say: one")
    fill(desk)
    ended = desk.call("run", "codex", "exec", "run: kill -9 $PPID")
    assert ended.code == 137
    assert "no draft is prepared, its last turn is not finished" in ended.err
    assert desk.status()["rollover"]["draft"] is None


def test_what_the_policy_says_of_a_run_that_was_cut_off_is_told_by_the_next(desk: Desk) -> None:
    configure(desk, 'rollover = "advisory"')
    desk.codex("say: one")
    fill(desk)
    running = desk.start("run", "codex", "exec", "say: two ;; hold: middle ;; say: three")
    harness = desk.held("middle")
    running.kill()
    os.kill(harness, signal.SIGKILL)
    until(lambda: not alive(harness), "the end of the harness")
    after = desk.claude("say: four")
    assert "finished the run of codex that was cut off" in after.err
    assert "codex: its context is 97 % full; start afresh" in after.err


def test_an_agent_in_a_run_gives_a_reason_that_its_own_store_supports(desk: Desk) -> None:
    content = (
        '{"schema":"handoff.v1","objective":"o","state":[{"text":"`a.py` is new","evidence":[]}],'
        '"disposition":"continuable","next_action":{"text":"Test `a.py`","evidence":[]},'
        '"blocker":null,"omissions":[]}'
    )
    (desk.repo / "h.json").write_text(content)
    desk.codex("say: one")
    fill(desk)
    words = f"{US} handoff prepare --file h.json --reason host_context_budget"
    desk.codex(f"run: {words} ;; say: done")
    (made,) = [
        h
        for h in desk.ok("handoff", "list", "--json").data["handoffs"]
        if h["origin"] == "prepared"
    ]
    shown = desk.ok("handoff", "show", made["name"], "--json").data
    assert shown["author"]["kind"] == "agent"
    (seen,) = shown["observations"]
    assert seen["context_tokens"] == 97_000
    assert seen["source"].startswith("session_store:codex:")
