"""The person's own choice of a Codex session: by id, by name, the last one, a fork, none kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.stage import deliveries_in, told

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real


def test_a_session_named_by_its_id_is_linked_and_briefed(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    two = stage.run("--fresh", "codex", "exec", "say: two").session
    assert one != two
    back = stage.run("codex", "exec", "resume", one, "say: three")
    assert back.session == one
    assert "say: two" in told(stage.responses.turns[-1])
    assert back.delivery["state"] == "seen"
    assert [s["native_id"] for s in stage.status()["sessions"] if s["current"]] == [one]
    assert stage.run("codex", "exec", "say: four").session == one


def test_the_last_one_and_a_name_are_found_out_afterwards(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    stage.workstream("note", "the parser is half done")
    last = stage.run("codex", "exec", "resume", "--last", "say: two")
    assert (last.session, last.delivery["state"]) == (one, "seen")
    assert "half done" in told(stage.responses.turns[-1])
    # Codex starts a new thread for a name that it does not know; it is linked like any other.
    named = stage.run("codex", "exec", "resume", "no-such-name", "say: three")
    assert named.session != one
    assert "half done" in told(stage.responses.turns[-1])
    assert named.delivery["state"] == "seen"
    assert stage.session(named.session)["current"]


def test_a_fork_inherits_what_its_parent_was_shown(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    parent = stage.run("codex", "exec", "say: one")
    stage.claude_says("now it is whole")
    fork = stage.run("codex", "exec", "fork", parent.session, "say: two")
    assert fork.session != parent.session
    request = stage.responses.turns[-1]
    assert deliveries_in(request.text) == [parent.delivery["id"], fork.delivery["id"]]
    shown = request.text.split(fork.delivery["id"])[1]
    assert "now it is whole" in shown
    assert "said: the parser is half done" not in shown
    assert fork.delivery["state"] == "seen"
    assert stage.texts("user_message", "codex") == ["say: one", "say: two"]
    rows = {s["native_id"]: s for s in stage.status()["sessions"]}
    assert rows[fork.session]["current"]
    assert rows[fork.session]["seen_through"] > rows[parent.session]["seen_through"]
    back = stage.run("codex", "exec", "resume", parent.session, "say: x")
    assert back.delivery["state"] == "seen"
    assert "now it is whole" in told(stage.responses.turns[-1])


def test_a_session_that_is_not_kept_is_told_and_leaves_nothing(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    done = stage.run("codex", "exec", "--ephemeral", "say: one")
    assert "half done" in told(stage.responses.turns[-1])
    assert "nothing of it will be imported" in done.err
    assert done.report["sessions"] == []
    assert done.delivery["state"] in ("unverified", "failed")
    assert stage.texts("user_message", "codex") == []
    assert stage.codex.session_files() == []


def test_a_session_of_another_workstream_is_refused_by_name(stage: Stage) -> None:
    one = stage.run("--new", "first-line", "codex", "exec", "say: one").session
    before = len(stage.responses.turns)
    refused = stage.run("--new", "second-line", "codex", "exec", "resume", one, "say: x", code=75)
    assert "first-line" in refused.err
    assert len(stage.responses.turns) == before
    moved = stage.run("--workstream", "second-line", "--adopt", one, "codex", "exec", "say: two")
    assert moved.session == one
    names = {w["name"]: w for w in stage.workstream("list", "--json").data["workstreams"]}
    assert set(names) == {"first-line", "second-line"}


def test_a_session_of_another_workstream_that_codex_chose_is_told_nothing(stage: Stage) -> None:
    stage.run("--new", "first-line", "claude", "-p", "say: words of the first")
    stage.run("--new", "second-line", "codex", "exec", "say: one")
    (path,) = stage.codex.session_files()
    done = stage.run("--workstream", "first-line", "codex", "exec", "resume", "--last", "say: two")
    assert "words of the first" not in stage.responses.turns[-1].text
    assert f"{path.stem[-36:]} belongs to workstream second-line: left there" in done.err
    assert (done.report["sessions"], done.delivery["state"]) == ([], "failed")
    assert stage.texts("user_message", "codex") == []
    other = stage.log("--workstream", "second-line")
    assert [(e["text"], e["origin"]) for e in other if e["kind"] == "user_message"] == [
        ("say: one", "run"),
        ("say: two", "outside"),
    ]


def test_a_review_takes_nobodys_place(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one").session
    stage.workstream("note", "the parser is half done")
    stage.write("README.md", "Changed.\n")
    review = stage.run("codex", "exec", "review", "--uncommitted")
    assert review.session != one
    assert review.delivery["state"] == "none"
    assert not stage.session(review.session)["current"]
    after = stage.run("codex", "exec", "say: two")
    assert after.session == one
    assert "half done" in told(stage.responses.turns[-1])
