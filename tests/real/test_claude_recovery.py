"""Claude Code under `workstream run` when something is killed, or the provider refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lab.homes import DUMMY_KEY
from tests.real.stage import children, told, until

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _harness(process: subprocess.Popen[str]) -> int:
    """Wait until a launcher has started the harness; return the harness's pid."""
    found: list[int] = []

    def started() -> bool:
        found[:] = [pid for pid in children(process.pid) if _program(pid) == "claude"]
        return bool(found)

    until(started, "the harness was not started")
    return found[0]


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""  # it has ended meanwhile


def _in_a_tool(stage: Stage, process: subprocess.Popen[str], marker: Path) -> int:
    """Wait until the harness runs the tool that makes `marker`; return the harness's pid."""
    until(marker.exists, "the tool was not run", 45)
    until(lambda: bool(stage.claude.session_files()), "there is no transcript")
    return _harness(process)  # not before: claude is asked for its version first


def test_a_harness_killed_in_a_tool_leaves_an_interrupted_call(stage: Stage) -> None:
    marker = stage.root / "begun"
    script = f"say: going ;; run: touch {marker}; sleep 3; echo woke ;; say: all done"
    report = stage.next_report()
    process = stage.start("--report", str(report), "claude", "-p", script)
    _kill(_in_a_tool(stage, process, marker))
    process.communicate(timeout=30)
    assert process.returncode == 137
    (result,) = (e for e in stage.log() if e["kind"] == "tool_result")
    assert result["text"] == ""
    assert stage.status()["last_run"]["signal"] == signal.SIGKILL
    stage.run("claude", "-p", "say: and on")
    assert "going" in stage.messages.turns[-1].text
    texts = stage.texts("assistant_message")
    assert texts == ["going", "and on"]
    assert len([e for e in stage.log() if e["kind"] == "tool_result"]) == 1


@pytest.mark.parametrize("survivor", ["harness ends", "both die"])
def test_a_killed_launcher_is_recovered_by_the_next_run(stage: Stage, survivor: str) -> None:
    marker = stage.root / "begun"
    end = "sleep 4" if survivor == "harness ends" else "sleep 9"
    stage.codex_says("the parser is half done")
    process = stage.start("claude", "-p", f"say: a ;; run: touch {marker}; {end} ;; say: b")
    harness = _in_a_tool(stage, process, marker)
    _kill(process.pid)
    if survivor == "both die":
        _kill(harness)
    else:
        refused = stage.workstream("run", "claude", "-p", "say: too early", code=75)
        assert str(harness) in refused.err
    until(lambda: _program(harness) != "claude", "the harness did not end")
    process.communicate(timeout=30)
    again = stage.run("claude", "-p", "say: c")
    words = ["a", "b", "c"] if survivor == "harness ends" else ["a", "c"]
    assert stage.texts("assistant_message", "claude") == words
    assert again.delivery["state"] == "none"  # the killed run's own was seen
    (row,) = (s for s in stage.status()["sessions"] if s["harness"] == "claude")
    assert row["native_id"] == again.session
    assert row["seen_through"] >= 2


def test_a_session_that_never_saw_its_briefing_is_told_again(stage: Stage) -> None:
    first = stage.run("claude", "-p", "say: one")
    stage.codex_says("the parser is half done")
    process = stage.start("claude", "-p", "say: never")
    harness = _harness(process)
    _kill(process.pid)
    _kill(harness)
    process.communicate(timeout=30)
    again = stage.run("claude", "-p", "say: two")
    assert again.session == first.session
    assert "the parser is half done" in told(stage.messages.turns[-1])
    assert stage.session(first.session)["seen_through"] >= 4


def test_a_usage_limit_is_told_with_its_end_and_the_way_on(stage: Stage) -> None:
    env = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": DUMMY_KEY}
    before = int(time.time() * 1000)
    done = stage.run("claude", "-p", "fail: usage-limit 7200", code=1, env=env)
    limit = done.report["limit"]
    assert 7_190_000 <= limit["resets_at"] - before <= 7_300_000
    assert "workstream run" in done.err
    assert "limit" in done.err
    shown = stage.status()["limit"]
    assert (shown["harness"], shown["active"]) == ("claude", True)
    assert stage.texts("assistant_message") == []
    assert "claude until" in stage.workstream("status").out


def test_a_session_used_without_us_in_between_is_caught_up(stage: Stage) -> None:
    first = stage.run("claude", "-p", "say: one")
    subprocess.run(
        ["claude", "-p", "--dangerously-skip-permissions", "-r", first.session, "say: two"],
        env=stage.env,
        cwd=stage.repository,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=60,
    )
    stage.codex_says("three")
    assert "two" in told(stage.responses.turns[-1])
    events = [e for e in stage.log() if e["kind"] == "assistant_message"]
    assert [(e["text"], e["origin"]) for e in events] == [
        ("one", "run"),
        ("two", "outside"),
        ("three", "run"),
    ]
