"""The stand-ins are what the adapters and importers take for the real programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.run.desk import ROOT, Desk


def test_the_demo_proves_every_step_with_stand_ins() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo.py")],
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LANG": "C.UTF-8",
            "WORKSTREAM_TEST_HARNESSES": "/nonexistent",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert "stand-ins play" in done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("  ok  ") == 6
    assert "every step proven" in done.stdout


def test_work_goes_from_one_stand_in_to_the_other_and_back(desk: Desk) -> None:
    desk.codex("say: the walrus is fixed ;; run: false ;; write: a.txt => x\n ;; say: open: paint")
    second = desk.claude("say-found: (open: paint) ;; say: painted it")
    assert second.out.splitlines() == ["open: paint", "painted it"]
    assert second.delivery == "seen"
    third = desk.codex("say-found: (painted it)")
    assert third.out == "painted it\n"
    assert third.delivery == "seen"
    assert [c["args"].count("resume") for c in desk.calls("codex")] == [0, 1]
    (codex_file,) = desk.session_files("codex")
    kinds = [json.loads(line)["type"] for line in codex_file.read_bytes().splitlines()]
    assert kinds[0] == "session_meta"
    assert third.report["annotations"] == second.report["annotations"] == []


def test_a_hook_without_the_right_hash_is_not_run_by_codex(desk: Desk) -> None:
    desk.claude("say: something to tell")
    given = '-c hooks.SessionStart=[{hooks=[{type="command",command="touch ran"}]}]'
    desk.codex("say: hi", env={"X": given})
    command = 'hooks.SessionStart=[{hooks=[{type="command",command="touch ran"}]}]'
    answer = desk.ok("run", "codex", "exec", "-c", command, "say: hi")
    assert not (desk.repo / "ran").exists()
    assert answer.report["exit_code"] == 0


def test_claude_refuses_an_id_twice_and_an_unknown_one(desk: Desk) -> None:
    one = "11111111-2222-4333-8444-555555555555"
    desk.ok("run", "claude", "-p", "--session-id", one, "say: hi")
    again = desk.call("run", "claude", "-p", "--session-id", one, "say: hi")
    assert (again.code, "already in use" in again.err) == (1, True)
    unknown = desk.call("run", "claude", "-p", "--resume", one.replace("1", "2"), "say: hi")
    assert (unknown.code, "No conversation found" in unknown.err) == (1, True)
