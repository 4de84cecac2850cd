"""Claude Code under `workstream run`, one-shot: create, resume, and what reaches the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.stage import deliveries_in, told

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


def test_a_new_session_is_told_what_the_other_harness_did(stage: Stage) -> None:
    stage.codex_says("the parser is half done")
    done = stage.run("claude", "-p", "say: fine")
    request = stage.messages.turns[-1]
    assert "the parser is half done" in told(request)
    assert deliveries_in(request.text) == [done.delivery["id"]]
    assert done.delivery["state"] == "seen"
    assert stage.texts("user_message", "claude") == ["say: fine"]
