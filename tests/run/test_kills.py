"""`kill -9` at every step of a run, of launcher, harness or both; then the next command mends it.

Nothing in the program helps these tests: it is stopped from outside, by a git on PATH that kills
its caller, by a stderr that nobody reads, by a lock on the ledger, by a harness that holds a turn.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from tests.run.desk import Desk, Running, alive, until

SCRIPT = "say: begun ;; run: echo worked ;; say: done"
WORK = [
    ("user_message", SCRIPT),
    ("assistant_message", "begun"),
    ("tool_call", ""),
    ("tool_result", "worked"),
    ("assistant_message", "done"),
]


def test_a_run_cut_off_while_it_is_planned_leaves_nothing(desk: Desk) -> None:
    env, trigger = deadly_git(desk)
    trigger.write_text("\n")
    assert desk.call("run", "claude", "-p", SCRIPT, env=env).code == -signal.SIGKILL
    assert step(desk) == "planned"
    assert desk.calls() == []
    next_run_is_as_if_nothing_had_been(desk)


def test_a_run_cut_off_before_the_spawn_leaves_nothing(desk: Desk) -> None:
    running, read = blocked_at_stderr(desk)
    assert step(desk) == "briefed"
    running.kill()
    os.close(read)
    assert desk.calls() == []
    next_run_is_as_if_nothing_had_been(desk)


def test_a_launcher_killed_while_it_spawns_leaves_no_harness(desk: Desk) -> None:
    running, read = blocked_at_stderr(desk)
    with desk.database() as db:
        db.execute("BEGIN IMMEDIATE")  # the pid cannot be committed
        os.set_blocking(read, False)
        until(lambda: drained(read) and children(running.pid), "the fork")
        (child,) = children(running.pid)
        running.kill()
        until(lambda: not Path(f"/proc/{child}").exists(), "the forked child to give up")
        db.execute("ROLLBACK")
    os.close(read)
    assert step(desk) == "briefed"
    assert desk.calls() == []
    next_run_is_as_if_nothing_had_been(desk)


@pytest.mark.parametrize("victims", ["both", "launcher then harness ends", "harness"])
def test_a_run_cut_off_while_it_runs_loses_and_doubles_nothing(desk: Desk, victims: str) -> None:
    running = desk.start("run", "claude", "-p", f"{SCRIPT} ;; hold: x")
    pid = desk.held("x")
    if victims == "harness":
        os.kill(pid, signal.SIGKILL)
        assert running.end().code == 137
    else:
        running.kill()
        if victims == "both":
            os.kill(pid, signal.SIGKILL)
        else:
            held = desk.call("run", "claude", "-p", "say: too early")
            assert held.code == 75  # the harness is alive and writes its session
            assert f"pid {pid}" in held.err
            desk.release("x")
        until(lambda: not alive(pid), "the harness to end")
    assert desk.ok("recover").code == 0
    assert work(desk)[1:4] == WORK[1:4]
    assert ids(desk) == ids_of_a_fresh_import(desk)
    assert free(desk)
    assert outcomes(desk) == ["ended" if victims == "harness" else "abandoned"]
    again = desk.claude("say: on")
    resume = next(a for a in desk.calls()[-1]["args"] if a.startswith("--resume="))
    assert resume.endswith(again.report["sessions"][0])
    assert ids(desk) == ids_of_a_fresh_import(desk)


def test_a_launcher_killed_before_the_end_is_stored_is_taken_over_at_once(desk: Desk) -> None:
    running = desk.start("run", "claude", "-p", f"{SCRIPT} ;; hold: x")
    pid = desk.held("x")
    with desk.database() as db:
        db.execute("BEGIN IMMEDIATE")
        desk.release("x")
        until(lambda: not alive(pid), "the harness to end")
        running.kill()
        db.execute("ROLLBACK")
    assert step(desk) == "running"
    began = time.monotonic()
    answer = desk.claude("say: on")
    assert time.monotonic() - began < 45  # half a lease
    assert "cut off" in answer.err
    assert ids(desk) == ids_of_a_fresh_import(desk)


@pytest.mark.parametrize("launcher_too", [False, True])
def test_a_finish_killed_in_the_middle_is_done_again(desk: Desk, launcher_too: bool) -> None:
    desk.codex("say: from codex")
    env, trigger = deadly_git(desk)
    running = desk.start("run", "claude", "-p", f"{SCRIPT} ;; hold: x", env=env)
    desk.held("x")
    trigger.write_text(f"{running.pid if launcher_too else ''}\n")
    desk.release("x")
    answer = running.end()
    assert answer.code == (-signal.SIGKILL if launcher_too else 0)
    assert step(desk) == "verified"
    desk.ok("recover")
    assert step(desk) == "closed"
    assert free(desk)
    assert ids(desk) == ids_of_a_fresh_import(desk)
    assert desk.deliveries() == ["seen"]
    assert not list((desk.state / "runs").iterdir())


def test_what_was_printed_and_never_seen_is_delivered_again(desk: Desk) -> None:
    desk.codex("say: the heron is grey")
    running = desk.start("run", "claude", "-p", "say: x", do="hold=opened")
    pid = desk.held("opened")
    running.kill()
    os.kill(pid, signal.SIGKILL)
    again = desk.claude("say-found: (heron is grey)")
    assert again.out == "heron is grey\n"
    assert again.delivery == "seen"
    assert desk.deliveries() == ["failed", "seen"]


def test_of_twenty_launchers_at_once_one_runs(desk: Desk) -> None:
    desk.claude("say: before")
    all_of_them = [desk.start("run", "claude", "-p", "hold: one") for _ in range(20)]
    desk.held("one")
    until(lambda: sum(r.process.poll() is None for r in all_of_them) == 1, "the others to give up")
    desk.release("one")
    codes = sorted(running.end().code for running in all_of_them)
    assert codes == [0] + [75] * 19
    assert len(desk.calls()) == 2
    assert desk.texts() == ["say: before", "before", "hold: one", "done"]


def test_b123_a_suspended_run_that_was_taken_over_moves_nothing_when_it_wakes(desk: Desk) -> None:
    first = desk.start("run", "claude", "-p", "say: one ;; hold: x ;; say: late")
    pid = desk.held("x")
    for victim in (first.pid, pid):
        os.kill(victim, signal.SIGSTOP)
    early = desk.call("run", "claude", "-p", "say: too early")
    assert early.code == 75
    lapse(desk)
    second = desk.claude("say: two")
    current = second.report["sessions"]
    os.kill(first.pid, signal.SIGCONT)
    os.kill(pid, signal.SIGCONT)
    desk.release("x")
    woken = first.end()
    assert woken.code == 0
    assert "another run took this workstream over" in woken.err
    assert woken.report["outcome"] == "lost"
    assert {"one", "two", "late"} <= set(desk.texts())
    linked = [s["native_id"] for s in desk.status()["sessions"] if s["current"]]
    assert linked == current  # not moved
    assert ids(desk) == ids_of_a_fresh_import(desk)
    desk.ok("verify")


# --- stopping the program from outside --------------------------------------------------------


def deadly_git(desk: Desk) -> tuple[dict[str, str], Path]:
    """Return variables with a git that kills its caller, once the trigger beside it exists.

    It does so when it is asked for the state of the tree; the trigger names who dies as well.
    """
    folder = desk.root / "git"
    folder.mkdir()
    program, trigger = folder / "git", folder / "trigger"
    program.write_text(
        f"#!/bin/sh\nif [ -e {trigger} ]; then case \"$*\" in *'HEAD^{{tree}}'*)\n"
        f"read -r pid < {trigger}; kill -9 $pid $PPID;; esac; fi\n"
        'PATH=/usr/bin:/bin exec git "$@"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{folder}:{desk.env['PATH']}"}, trigger


def blocked_at_stderr(desk: Desk) -> tuple[Running, int]:
    """Start a run that cannot print the line before its start; the reading end of its stderr."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"\n" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    running = desk.start("run", "claude", "say: hi", stderr=write)
    os.close(write)
    until(lambda: step(desk) == "briefed", "the run to be briefed")
    return running, read


def drained(read: int) -> bool:
    """Empty a pipe."""
    try:
        while os.read(read, 65536):
            continue
    except BlockingIOError:
        return True
    return True


def children(pid: int) -> list[int]:
    """Return the children of a process's main thread."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def lapse(desk: Desk) -> None:
    """Let the time of the lease be over."""
    with desk.database() as db:
        db.execute("UPDATE lease SET expires_at = renewed_at, renewed_boot = renewed_boot - 10")


# --- looking -----------------------------------------------------------------------------------


def step(desk: Desk) -> str | None:
    """Step of the newest run."""
    rows = desk.rows("SELECT step FROM run ORDER BY started_at DESC, id DESC LIMIT 1")
    return str(rows[0]["step"]) if rows else None


def outcomes(desk: Desk) -> list[str]:
    return [str(r["outcome"]) for r in desk.rows("SELECT outcome FROM run ORDER BY started_at")]


def free(desk: Desk) -> bool:
    return not desk.rows("SELECT 1 FROM lease WHERE run IS NOT NULL")


def work(desk: Desk) -> list[tuple[str, str]]:
    """Kind and text of what happened, in order."""
    events = json.loads(desk.call("log", "-n", "0", "--json").out)["data"]["events"]
    return [
        (e["kind"], "" if e["kind"] == "tool_call" else e["text"].strip())
        for e in events
        if e["kind"] not in ("checkpoint", "annotation")
    ]


def ids(desk: Desk, state: Path | None = None) -> list[str]:
    """Return the ids of all imported events, sorted; twice the same would show."""
    with sqlite3.connect((state or desk.state) / "workstream.db") as db:
        sql = "SELECT event_id FROM event WHERE kind NOT IN ('checkpoint', 'annotation')"
        rows = db.execute(sql)
        return sorted(str(row[0]) for row in rows)


def ids_of_a_fresh_import(desk: Desk) -> list[str]:
    """Return what an undisturbed import of the same native stores gives."""
    state = desk.root / f"fresh-{time.monotonic_ns()}"
    env = {**desk.env, "WORKSTREAM_HOME": str(state)}
    for harness in ("claude", "codex"):
        if desk.session_files(harness):
            desk.ok("import", harness, "--all", "--into", "x", env=env)
    return ids(desk, state)


def next_run_is_as_if_nothing_had_been(desk: Desk) -> None:
    answer = desk.claude(SCRIPT)
    assert answer.report["outcome"] == "ended"
    assert work(desk) == WORK
    assert outcomes(desk) == ["spawn_failed", "ended"]
    assert len(desk.calls()) == 1
    assert free(desk)
    assert not list((desk.state / "runs").iterdir())
