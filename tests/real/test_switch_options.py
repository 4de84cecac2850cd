"""The options of `run`, with the real programs behind them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.lab.programs import harness_program
from tests.real.stage import deliveries_in, listing, told

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.stage import Stage

pytestmark = pytest.mark.real


def files(*folders: Path) -> dict[str, str]:
    """Return digests by path: SQLite itself makes and removes files beside our ledger."""
    return {path: digest for path, (digest, _, _) in listing(*folders).items()}


def test_a_run_without_a_name_goes_on_and_a_dash_goes_back(stage: Stage) -> None:
    one = stage.run("codex", "exec", "say: one")
    two = stage.run("claude", "-p", "say: two")
    back = stage.run("-", "exec", "say: three")
    assert (back.report["harness"], back.session) == ("codex", one.session)
    on = stage.run("-", "-p", "say: four")
    assert (on.report["harness"], on.session) == ("claude", two.session)
    refused = stage.workstream("run", "--report", str(stage.next_report()), code=None)
    assert refused.code != 0  # bare: Claude Code, which wants a terminal or a prompt
    assert stage.status()["last_run"]["harness"] == "claude"
    assert stage.status()["last_run"]["mode"] in ("resume", "create")


def test_no_briefing_fresh_and_budget_are_for_one_run(stage: Stage) -> None:
    stage.claude_says("the parser is half done")
    quiet = stage.run("--no-briefing", "codex", "exec", "say: one")
    assert quiet.delivery["state"] == "none"
    assert "half done" not in stage.responses.turns[-1].text
    small = stage.run("--budget", "900", "codex", "exec", "say: two")
    assert small.session == quiet.session
    assert small.delivery["bytes"] <= 900
    assert small.delivery["state"] == "seen"
    fresh = stage.run("--fresh", "codex", "exec", "say: three")
    assert fresh.session != quiet.session
    assert "half done" in told(stage.responses.turns[-1])
    assert "say: one" in told(stage.responses.turns[-1])
    assert stage.run("codex", "exec", "say: four").session == fresh.session
    refused = stage.run("--budget", "5", "codex", "exec", "say: x", code=64)
    assert "--budget" in refused.err


def test_a_dry_run_changes_nothing(stage: Stage) -> None:
    folders = (stage.state, stage.codex.store, stage.repository)
    plan = stage.workstream("run", "--dry-run", "codex", "exec", "say: one")
    assert not stage.state.exists()
    assert "new session" in plan.out
    stage.claude_says("the parser is half done")
    stage.status()  # lays down what a reading command leaves in our own folder
    before = files(*folders)
    plan = stage.workstream("run", "--dry-run", "--yolo", "codex", "exec", "say: one")
    assert files(*folders) == before
    assert stage.responses.requests == []
    assert "half done" in plan.out
    assert "--dangerously-bypass-approvals-and-sandbox" in plan.out
    assert "hooks.SessionStart" in plan.out
    assert deliveries_in(plan.out) == []


def test_a_session_begun_without_us_is_adopted(stage: Stage) -> None:
    subprocess.run(
        [harness_program("codex"), "exec", "say: begun alone"],
        env=stage.env,
        cwd=stage.repository,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=30,
    )
    (path,) = stage.codex.session_files()
    native_id = path.stem[-36:]
    done = stage.run("--adopt", native_id, "codex", "exec", "say: with you")
    assert done.session == native_id
    assert "say: begun alone" in stage.responses.turns[-1].text
    events = {e["text"]: e["origin"] for e in stage.log()}
    assert (events["begun alone"], events["with you"]) == ("outside", "run")
    stage.run("claude", "-p", "say: fine")
    assert "begun alone" in told(stage.messages.turns[-1])
    missing = stage.run("--adopt", native_id.replace("-7", "-6"), "codex", "exec", "x", code=69)
    assert missing.report["started"] is False


def test_variables_and_yolo_reach_the_program(stage: Stage, outside: Path) -> None:
    file = stage.root / "variables"
    file.write_text("# words\nexport FIRST='from file'\nSECOND=from file\n", encoding="utf-8")
    show = "run: echo $FIRST/$SECOND/$WORKSTREAM_NAME"
    stage.run("--env-file", str(file), "--env", "SECOND=by option", "codex", "exec", show)
    (result,) = [e["text"] for e in stage.log() if e["kind"] == "tool_result"]
    assert "from file/by option/main" in result
    touch = f"run: touch {outside}/made"
    stage.workstream("run", "codex", "exec", touch)
    assert not (outside / "made").exists()
    stage.run("codex", "exec", touch)
    assert (outside / "made").exists()
    assert "by option" not in stage.workstream("status", "--json").out


def test_utility_calls_leave_no_trace(stage: Stage) -> None:
    version = stage.workstream("run", "codex", "--version")
    assert version.out.startswith("codex")
    stage.workstream("run", "codex", "login", "--help")
    stage.workstream("run", "claude", "--version")
    stage.workstream("run", "claude", "mcp", "list")
    assert not stage.state.exists()
