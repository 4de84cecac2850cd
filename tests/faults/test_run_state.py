"""Leases, ledger, disk, concurrency: faults that people reported of programs of this kind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from tests.run.desk import COMMAND, Desk, alive, until


def test_b119_b120_b128_a_dead_holder_never_blocks_whatever_the_row_says(desk: Desk) -> None:
    running = desk.start("run", "claude", "-p", "say: one ;; hold: x")
    pid = desk.held("x")
    running.kill()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid))
    with subprocess.Popen(["sleep", "60"]) as sleeper, desk.database() as db:
        try:
            day = 86_400_000
            db.execute(  # the pid belongs to somebody else by now, and the clock was set
                "UPDATE lease SET pid = ?1, renewed_at = renewed_at + ?2,"
                " expires_at = expires_at + ?2",
                (sleeper.pid, day),
            )
            began = time.monotonic()
            answer = desk.claude("say: two")
            assert time.monotonic() - began < 45  # half the time of a lease
            assert sleeper.poll() is None
        finally:
            sleeper.kill()
    assert "cut off" not in answer.out
    assert desk.texts() == ["say: one ;; hold: x", "one", "say: two", "two"]


def test_b126_a_ledger_that_is_away_during_a_run_is_told_afterwards_only(desk: Desk) -> None:
    running = desk.start("run", "claude", "-p", "say: one ;; hold: x ;; say: two", do="exit=5")
    pid = desk.held("x")
    away = desk.state.with_name("away")
    desk.state.rename(away)
    desk.release("x")
    answer = running.end()
    assert answer.code == 5
    assert not alive(pid)
    assert not desk.state.exists()  # no empty one was made in its place
    assert "not imported yet" in answer.err
    away.rename(desk.state)
    assert desk.claude("say: three").code == 0
    assert [t for t in desk.texts() if not t.startswith("say:")] == ["one", "two", "three"]


def test_b126_a_ledger_that_comes_back_in_time_changes_nothing(desk: Desk) -> None:
    running = desk.start("run", "claude", "-p", "say: one ;; hold: x ;; say: two")
    desk.held("x")
    away = desk.state.with_name("away")
    desk.state.rename(away)
    away.rename(desk.state)
    desk.release("x")
    answer = running.end()
    assert (answer.code, answer.err) == (0, "")
    assert answer.report["outcome"] == "ended"


def test_b131_eight_runs_of_one_ledger_at_once_all_succeed(desk: Desk) -> None:
    script = " ;; ".join(f"say: line {n}" for n in range(40))
    all_of_them = [
        desk.start("run", "--new", f"{name}{number}", name, form, script)
        for number in range(4)
        for name, form in (("claude", "-p"), ("codex", "exec"))
    ]
    answers = [running.end() for running in all_of_them]
    assert [answer.err for answer in answers if answer.code] == []
    whole = {"user_message": 1, "assistant_message": 40}
    assert [answer.report["imported"] for answer in answers] == [whole] * 8
    desk.ok("verify")


def test_b134_a_damaged_index_is_told_and_stops_nothing_else(desk: Desk) -> None:
    desk.claude("say: the newt swims")
    with desk.database() as db:
        (name,) = db.execute(
            "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
        ).fetchone()
        db.execute(f"DELETE FROM {name}_data")
    again = desk.codex("say-found: (newt swims)")
    assert again.out == "newt swims\n"
    assert again.delivery == "seen"
    found = desk.call("search", "newt")
    assert found.code != 0
    assert "verify --rebuild-index" in found.err
    assert "rebuild-index" in desk.call("doctor").out
    desk.ok("verify", "--rebuild-index")
    assert len(desk.ok("search", "newt", "--json").data["hits"]) >= 2


DISK_FULL = r"""
set -e
mount -t tmpfs -o size=2m,mode=0700 none "$WORKSTREAM_HOME"
cd "$1"; shift
code=0; "$@" run -q claude -p "$SCRIPT" 2> first.err || code=$?
echo "$code" > first.code
"$@" log -n 0 --json > before.json
mount -o remount,size=100m "$WORKSTREAM_HOME"
"$@" recover 2> /dev/null
"$@" log -n 0 --json > after.json
"""


def test_b139_a_full_disk_harms_neither_child_nor_ledger(desk: Desk) -> None:
    (desk.root / "empty").mkdir(mode=0o700)
    noise = "head -c 3000000 /dev/urandom | base64 -w 0 | fold -w 3900 | head -c 3900000"
    script = " ;; ".join(["say: begun", f"run: {noise}", "say: done"])
    env = {
        **desk.env,
        "WORKSTREAM_HOME": str(desk.root / "empty"),
        "SCRIPT": script,
        "STANDIN_DO": "exit=4",
    }
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", DISK_FULL, "sh", str(desk.repo), *COMMAND],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no file system of our own here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert (desk.repo / "first.code").read_text() == "4\n"
    told = (desk.repo / "first.err").read_text()
    assert str(desk.root / "empty") in told
    assert "pace" in told  # what to do: free some space
    after = json.loads((desk.repo / "after.json").read_text())["data"]["events"]
    kinds = [e["kind"] for e in after if e["kind"] not in ("checkpoint", "annotation")]
    assert kinds == [
        "user_message",
        "assistant_message",
        "tool_call",
        "tool_result",
        "assistant_message",
    ]


def test_b171_a_run_opens_no_session_but_its_own(desk: Desk) -> None:
    """Every other session is a pipe: whoever opened one for reading would wait for ever."""
    for harness in ("claude", "codex"):
        folder = (
            desk.home / ".claude/projects/-other"
            if harness == "claude"
            else desk.home / ".codex/sessions/2026/11/29"
        )
        folder.mkdir(parents=True)
        for number in range(300):
            identity = f"01a22cab-0000-7000-8000-{number:012d}"
            stem = f"rollout-2026-11-29T10-00-00-{identity}" if harness == "codex" else identity
            os.mkfifo(folder / f"{stem}.jsonl")
    opened = count_opens(desk, "run", "claude", "-p", "say: hi")
    assert opened == 0
    assert count_opens(desk, "run", "codex", "exec", "say: hi") == 0


def count_opens(desk: Desk, *args: str) -> int:
    """Run a command and return how many pipes it opened, or looked into."""
    strace = shutil.which("strace")
    if strace is None:
        answer = desk.ok(*args)
        return len(answer.report["annotations"])
    log = desk.root / "strace"
    running = desk.start(*args, before=[strace, "-f", "-e", "trace=openat", "-o", str(log)])
    assert running.end().code == 0
    return sum("01a22cab-0000" in line for line in log.read_text().splitlines())
