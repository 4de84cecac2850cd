"""`run` from the outside: exit codes, the report, what a dry run and a utility call leave alone."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import ENTRY, Desk
from tests.cli.shapes import shape

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    ("do", "code", "signal"),
    [("exit:0", 0, None), ("exit:7", 7, None), ("signal:TERM", 143, 15), ("signal:KILL", 137, 9)],
)
def test_the_exit_code_is_the_harness_s_own_and_the_report_says_started(
    desk: Desk, do: str, code: int, signal: int | None
) -> None:
    report = desk.root / "report.json"
    answer = desk.run(
        "run", "--new", "w", "--report", str(report), "codex", "exec", "x", env={"STANDIN_DO": do}
    )
    assert answer.code == code
    assert answer.out == "codex heard x\n"
    document = json.loads(report.read_bytes())
    assert (document["started"], document["exit_code"], document["signal"]) == (True, code, signal)
    assert document["imported"] == {"user_message": 1, "assistant_message": 1}
    assert set(document) >= {
        "run", "workstream", "harness", "started", "sessions", "token", "exit_code", "signal",
        "imported", "annotations", "delivery", "durations",
    }  # fmt: skip
    assert document["delivery"]["state"] == "none"


def test_a_run_that_did_not_start_says_so_in_its_report(desk: Desk) -> None:
    report = desk.root / "report.json"
    answer = desk.run("run", "--report", str(report), "--executable", "/nowhere", "codex")
    document = json.loads(report.read_bytes())
    assert answer.code == document["exit_code"] == 127
    assert document["started"] is False


def test_each_harness_is_told_once_what_the_other_one_did(desk: Desk) -> None:
    report = desk.root / "report.json"

    def run(*args: str) -> dict[str, Any]:
        desk.ok("run", "--report", str(report), *args)
        delivery: dict[str, Any] = json.loads(report.read_bytes())["delivery"]
        return delivery

    assert run("--new", "w", "claude", "-p", "one")["state"] == "none"
    assert (run("codex", "exec", "two")["state"], run("-q", "-", "-p", "three")["state"]) == (
        "seen",
        "seen",
    )
    assert run("claude", "-p", "four")["state"] == "none"
    sent = [call["args"] for call in desk.calls()]
    assert "--resume" in " ".join(sent[2])
    texts = [e["text"] for e in desk.ok("log", "--json", "-n", "0").data["events"]]
    assert not any("BEGIN WORKSTREAM" in text for text in texts)


@pytest.mark.parametrize(
    "args", [("codex", "--version"), ("claude", "--help"), ("claude", "mcp", "list")]
)
def test_b080_a_utility_call_passes_through_and_records_nothing(
    desk: Desk, args: tuple[str, ...]
) -> None:
    answer = desk.ok("run", *args, env={"STANDIN_DO": "nothing"})
    assert not (desk.state / "workstream.db").exists()
    assert answer.err == ""


def test_a_dry_run_prints_the_plan_and_changes_nothing(desk: Desk) -> None:
    desk.ok("run", "--new", "w", "claude", "-p", "one")
    before = sorted(str(p) for p in desk.state.rglob("*"))
    database = (desk.state / "workstream.db").read_bytes()
    calls = len(desk.calls())
    answer = desk.ok("run", "--dry-run", "--env", "SECRET_ONE=hunter2", "codex", "exec", "two")
    assert "SECRET_ONE" in answer.out
    assert "hunter2" not in answer.out + answer.err
    assert "claude heard one" in answer.out
    assert len(desk.calls()) == calls
    assert sorted(
        str(p) for p in desk.state.rglob("*") if not p.name.endswith(("-wal", "-shm"))
    ) == [path for path in before if not path.endswith(("-wal", "-shm"))]
    assert (desk.state / "workstream.db").read_bytes() == database


def test_stdin_reaches_the_harness_unchanged(desk: Desk) -> None:
    desk.ok("run", "--new", "w", "codex", "exec", "x", stdin="piped words")
    assert desk.calls()[-1]["stdin"] == "piped words"


def test_marks_of_an_outer_session_do_not_reach_the_harness(desk: Desk) -> None:
    outer = {"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1", "CODEX_THREAD_ID": "x"}
    desk.ok("run", "--new", "w", "claude", "-p", "x", env={**outer, "KEPT": "1"})
    env = desk.calls()[-1]["env"]
    assert "KEPT" in env
    assert not set(outer) & set(env)


def test_the_store_of_a_harness_entry_is_its_own(desk: Desk) -> None:
    file = desk.home / "config" / "workstream" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        '[harness.claude-work]\nuse = "claude"\nhome = "~/.claude-work"\n', encoding="utf-8"
    )
    desk.ok("run", "--new", "w", "claude", "-p", "private")
    desk.ok("run", "claude-work", "-p", "work")
    assert list((desk.home / ".claude-work" / "projects").rglob("*.jsonl"))
    sessions = desk.ok("status", "--json").data["sessions"]
    assert [(s["harness"], s["current"]) for s in sessions] == [
        ("claude", True),
        ("claude-work", True),
    ]


# --- while a run is live --------------------------------------------------------------------------


@pytest.fixture
def live(desk: Desk) -> Iterator[Desk]:
    """A desk where a run of the workstream w is going on."""
    go = desk.root / "go"
    process = subprocess.Popen(
        [sys.executable, "-I", str(ENTRY), "run", "--new", "w", "claude", "-p", "x"],
        env={**desk.env, "STANDIN_DO": f"wait:{go}"},
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claude heard x\n"
        yield desk
    finally:
        go.touch()
        _, told = process.communicate(timeout=60)
        assert process.returncode == 0, told


def test_a_live_run_is_seen_read_and_protected(live: Desk) -> None:
    status = live.ok("status", "--json")
    assert shape(status.data["lease"]) == json.loads((GOLDEN / "lease.json").read_bytes())
    assert status.data["lease"]["harness"] == "claude"
    assert live.ok("status", "--short").out == "w ▶ claude\n"
    texts = [e["text"] for e in live.ok("log", "--json").data["events"]]
    assert texts == ["x", "claude heard x"]
    for args in (
        ("run", "claude", "-p", "y"),
        ("archive",),
        ("forget", "--workstream", "w", "--yes"),
        ("restore", "nowhere.db", "--yes"),
    ):
        answer = live.run(*args)
        assert answer.code == (69 if args[0] == "restore" else 75), args
    doctor = live.ok("doctor", "--json").data["findings"]
    assert [f["about"] for f in doctor if f["code"] == "live_run"] == ["w"]
    assert not {"dead_run", "stale_lease", "left_over"} & {f["code"] for f in doctor}
    assert "left alone, it is running" in live.ok("recover").err
    assert len(live.calls()) == 1


def test_a_run_inside_a_run_names_the_outer_one(live: Desk) -> None:
    lease = live.ok("status", "--json").data["lease"]
    answer = live.run("run", "codex", "exec", "inner", env={"WORKSTREAM_RUN_ID": lease["run"]})
    assert answer.code == 75
    assert "w" in answer.err
    through = live.run(
        "run", "--unmanaged", "codex", "exec", "inner",
        env={"WORKSTREAM_RUN_ID": lease["run"], "STANDIN_DO": "nothing"},
    )  # fmt: skip
    assert through.code == 0


def test_killed_in_the_middle_it_is_found_by_doctor_and_finished_by_recover(desk: Desk) -> None:
    process = subprocess.Popen(
        [sys.executable, "-I", str(ENTRY), "run", "--new", "w", "claude", "-p", "x"],
        env={**desk.env, "STANDIN_DO": "wait:/nowhere/at/all"},
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    child = desk.ok("status", "--json").data["lease"]["child_pid"]
    process.kill()
    process.wait()
    _end(child)
    answer = desk.ok("doctor", "--json")
    found = {f["code"]: f for f in answer.data["findings"]}
    assert found["dead_run"]["fix"] == found["stale_lease"]["fix"] == "workstream recover"
    done = desk.ok("recover", "--json").data["runs"]
    assert [(r["workstream"], r["what"]) for r in done] == [("w", "finished")]
    codes = {f["code"] for f in desk.ok("doctor", "--json").data["findings"]}
    assert not {"dead_run", "stale_lease", "left_over"} & codes
    assert desk.ok("recover", "--json").data["runs"] == []
    assert desk.ok("status", "--json").data["last_run"]["outcome"] == "abandoned"


def _end(pid: int) -> None:
    """Kill the orphaned stand-in and wait until it is gone."""
    import os
    import signal

    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or ") Z" in state.read_text(encoding="utf-8"):
            return
        time.sleep(0.01)
    raise AssertionError(f"{pid} does not end")
