"""Older versions of Codex: what works with them works under `workstream run`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.lab.programs import harness_program, installed
from tests.real.stage import told

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real


OLDER = installed("codex@0.130.0", "codex@0.98.0")
if OLDER:  # an empty list of parameters would count as a skipped test

    @pytest.mark.parametrize("version", OLDER)
    def test_an_older_version_creates_resumes_and_is_told(stage: Stage, version: str) -> None:
        program = harness_program(version)
        stage.env["PATH"] = f"{program.parent}{os.pathsep}{stage.env['PATH']}"
        stage.claude_says("the parser is half done")
        first = stage.run("codex", "exec", "say: one ;; run: echo hi ;; say: two")
        assert "half done" in told(stage.responses.turns[0])
        stage.workstream("note", "now it is whole")
        second = stage.run("codex", "exec", "say: three")
        assert second.session == first.session
        assert "now it is whole" in told(stage.responses.turns[-1])
        assert stage.texts("user_message", "codex") == [
            "say: one ;; run: echo hi ;; say: two",
            "say: three",
        ]
        assert stage.texts("assistant_message", "codex") == ["one", "two", "three"]
        assert [e["exit_code"] for e in stage.log() if e["kind"] == "tool_result"] == [0]
        wanted = {"seen"} if version == "codex@0.130.0" else {"seen", "unverified"}
        assert {first.delivery["state"], second.delivery["state"]} <= wanted
        assert stage.session(first.session)["version"] == version.removeprefix("codex@")
