"""How a run of Codex can end badly: kills, a lost terminal, a provider's limit."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real.codex_terminal import codex
from tests.real.stage import told, until

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real

BUSY = "say: going ;; run: echo begun > mark; sleep 40 ;; say: never"


def begun(stage: Stage) -> None:
    until((stage.repository / "mark").exists, "the command had begun")


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_codex_killed_in_a_command_leaves_it_interrupted(stage: Stage) -> None:
    report = stage.next_report()
    process = stage.start("--report", str(report), "codex", "exec", BUSY)
    begun(stage)
    os.kill(stage.status()["lease"]["child_pid"], signal.SIGKILL)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 137, errors
    tools = [(e["kind"], e["status"]) for e in stage.log() if e["tool"]]
    assert tools == [("tool_call", None), ("tool_result", "interrupted")]
    assert stage.status()["last_run"]["outcome"] == "ended"
    assert stage.status()["last_run"]["signal"] == 9
    assert stage.status()["lease"] is None

    stage.run("claude", "-p", "say: fine")
    assert "sleep 40" in told(stage.messages.turns[-1])
    back = stage.run("codex", "exec", "say: back")
    assert back.session == stage.status()["sessions"][0]["native_id"]
    tools = [(e["kind"], e["status"]) for e in stage.log() if e["tool"]]
    assert tools == [("tool_call", None), ("tool_result", "interrupted")]


def test_a_killed_launcher_keeps_the_lease_while_codex_goes_on(stage: Stage) -> None:
    process = stage.start("codex", "exec", "say: going ;; run: true ;; hold: on ;; say: done now")
    stage.responses.wait_held("on")
    child = stage.status()["lease"]["child_pid"]
    process.kill()
    process.wait(10)
    refused = stage.run("claude", "-p", "say: x", code=75)
    assert f"{child}" in refused.err
    assert stage.messages.turns == []
    stage.responses.release("on")
    until(lambda: not alive(child), "codex had ended")

    taken = stage.run("claude", "-p", "say: mine")
    assert "cut off" in taken.err or taken.code == 0
    assert "done now" in told(stage.messages.turns[-1])
    assert taken.delivery["state"] == "seen"
    assert [e["text"] for e in stage.log() if e["kind"] == "assistant_message"] == [
        "going",
        "done now",
        "mine",
    ]
    assert stage.workstream("recover", "--json").data["runs"] == []


@pytest.mark.terminal
def test_a_closed_terminal_ends_codex_and_the_run(stage: Stage) -> None:
    with codex(stage) as one:
        one.say("say: one")
        one.terminal.submit(BUSY)
        begun(stage)
        child = stage.status()["lease"]["child_pid"]
        one.terminal.hang_up()
    until(lambda: not alive(child), "codex had ended")
    until(lambda: stage.status()["lease"] is None, "the lease was free")
    until(lambda: stage.status()["last_run"]["step"] == "closed", "the run was finished")
    assert stage.texts("user_message") == ["say: one", BUSY]
    again = stage.run("claude", "-p", "say: fine")
    assert again.delivery["state"] == "seen"
    assert "cut off" not in again.err


def test_a_usage_limit_is_recorded_with_its_reset_time(stage: Stage) -> None:
    stage.run("codex", "exec", "say: one")
    before = time.time()
    done = stage.run("codex", "exec", "fail: usage-limit 7200", code=1)
    limit = done.report["limit"]
    assert abs(limit["resets_at"] / 1000 - before - 7200) < 120
    assert "codex reached its provider's limit until" in done.err
    assert "workstream run" in done.err
    shown = stage.status()["limit"]
    assert shown is not None
    assert "limit" in stage.workstream("status").out
    # The turn failed, but the person's words count for the next harness.
    stage.run("claude", "-p", "say: fine")
    assert "usage-limit" in told(stage.messages.turns[-1])
