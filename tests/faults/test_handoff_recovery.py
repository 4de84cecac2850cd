"""The recovery table of handoffs, row by row: what broke, what remains, what the next one does."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.run.desk import COMMAND, ROOT, Desk, alive, until

US = shlex.join(COMMAND)
CONFIRMED = "--confirmed live_state,capability,authorization"


def words(text: str = "`one.py` is there", *evidence: str, **changes: Any) -> str:
    content = {
        "schema": "handoff.v1",
        "objective": "Mend the walrus",
        "state": [{"text": text, "evidence": list(evidence)}],
        "disposition": "continuable",
        "next_action": {"text": "Finish `walrus.py`", "evidence": []},
    }
    return json.dumps({**content, **changes})


def prepare(desk: Desk, *args: str) -> str:
    made = desk.ok("handoff", "prepare", "--json", stdin=words(*args))
    return str(made.data["prepared_id"])


def commit(desk: Desk, name: str) -> dict[str, Any]:
    return dict(desk.ok("handoff", "commit", "--json", name).data)


def handed_off(desk: Desk, *args: str) -> None:
    """Codex works, and a person commits a handoff."""
    desk.codex("say: the walrus is half done")
    assert commit(desk, prepare(desk, *args))["revision"] == 1


def show(desk: Desk, name: str = "r1") -> dict[str, Any]:
    return dict(desk.ok("handoff", "show", "--json", name).data)


def killed(desk: Desk, sql: str, *args: str, stdin: str = "", after: bool = False) -> None:
    """Kill a command of ours where it commits the transaction with a statement."""
    dying = [sys.executable, "-I", str(ROOT / "tests" / "lab" / "dying.py")]
    trace = desk.root / "trace"
    state = desk.root / "played"
    shutil.copytree(desk.state, state, copy_function=shutil.copy2)
    how: dict[str, Any] = {"cwd": desk.repo, "input": stdin, "capture_output": True, "text": True}
    env = {**desk.env, "WORKSTREAM_HOME": str(state)}
    played = subprocess.run([*dying, f"trace:{trace}", *args], env=env, check=True, **how)
    statements = trace.read_text().splitlines()
    moved = next(n for n, text in enumerate(statements) if text.startswith(sql))
    there = next(n for n in range(moved, len(statements)) if statements[n] == "COMMIT")
    point = f"{'after' if after else 'before'}:{there}"
    done = subprocess.run([*dying, point, *args], env=desk.env, check=False, **how)
    assert (played.returncode, done.returncode, done.stdout) == (0, -signal.SIGKILL, "")


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    until(lambda: not alive(pid), "the harness to end")


def context(desk: Desk) -> str:
    """Return what the last session of Claude Code was given last."""
    found = []
    for line in desk.session_files("claude")[-1].read_bytes().splitlines():
        given = json.loads(line).get("attachment") or {}
        if given.get("type") == "hook_additional_context":
            found += given["content"]
    return found[-1] if found else ""


# --- before there is a revision -------------------------------------------------------------------


def test_during_prepare_nothing_is_left_and_the_same_facts_give_the_same_id(desk: Desk) -> None:
    desk.codex("say: the walrus is half done")
    killed(desk, "INSERT INTO handoff_prepared", "handoff", "prepare", stdin=words())
    assert desk.rows("SELECT 1 FROM handoff_prepared") == []
    name = prepare(desk)
    assert prepare(desk) == name
    assert [row["prepared_id"] for row in desk.rows("SELECT * FROM handoff_prepared")] == [name]


def test_prepared_and_not_committed_it_can_be_committed_later(desk: Desk) -> None:
    desk.codex("say: the walrus is half done")
    name = prepare(desk)
    desk.codex("say: more")
    assert commit(desk, name)["state"] == "committed"


def test_prepared_and_not_committed_it_is_transferred_as_it_is(desk: Desk) -> None:
    desk.codex("say: the walrus is half done")
    name = prepare(desk)
    take = f"run: {US} handoff acknowledge {name} accepted {CONFIRMED} ;; say: taken"
    assert desk.claude(take).delivery == "acknowledged"
    assert f"handoff full: prepared {name}" in context(desk)
    shown = show(desk, name)
    assert (shown["revision"], shown["transfer"]) == (None, "accepted")
    assert desk.rows("SELECT 1 FROM handoff_revision") == []


def test_a_lost_answer_of_commit_is_given_again(desk: Desk) -> None:
    desk.codex("say: the walrus is half done")
    name = prepare(desk)
    killed(desk, "INSERT INTO handoff_revision", "handoff", "commit", "--json", name, after=True)
    again = commit(desk, name)
    assert (again["state"], again["revision"], again["is_head"]) == ("already_committed", 1, True)
    assert commit(desk, prepare(desk, "`two.py` is there"))["revision"] == 2
    late = commit(desk, name)
    assert (late["state"], late["revision"], late["is_head"]) == ("already_committed", 1, False)


def test_a_head_that_another_advanced_needs_a_new_complete_preparation(desk: Desk) -> None:
    desk.codex("say: the walrus is half done")
    mine, other = prepare(desk), prepare(desk, "`other.py` is there")
    commit(desk, other)
    refused = desk.call("handoff", "commit", "--json", mine)
    assert refused.code == 75
    (error,) = json.loads(refused.out)["errors"]
    assert error["code"] == "head_conflict"
    assert error["facts"]["head"]["revision"] == 1
    assert show(desk, mine)["prepared_id"] == mine  # it is still there, and can be transferred
    again = prepare(desk)
    assert again != mine
    assert commit(desk, again)["revision"] == 2


# --- between the launch and the eyes of the receiver ----------------------------------------------


@pytest.mark.parametrize(
    ("do", "code"), [("signal-at-once=KILL", 137), ("nothing", 0), ("nohooks", 0), ("exit=3", 3)]
)
def test_a_harness_that_does_not_start_leaves_it_due_to_a_new_attempt(
    desk: Desk, do: str, code: int
) -> None:
    handed_off(desk)
    first = desk.call("run", "claude", "-p", "say-found: (Mend the walrus)", do=do)
    assert first.code == code
    told = first.out == "Mend the walrus\n"
    assert told == (do == "exit=3")  # only that one came as far as a conversation
    if not told:
        assert first.delivery == "failed"
        assert first.report["delivery"]["reason"]
        failed = show(desk)
        assert (failed["delivery"], failed["delivery_reason"]) == ("failed", "not_printed")
        again = desk.claude("say-found: (Mend the walrus)")
        assert (again.out, again.delivery) == ("Mend the walrus\n", "seen")
    assert show(desk)["delivery"] == "seen"


def test_a_harness_that_is_not_there_leaves_everything_as_it_was(desk: Desk) -> None:
    handed_off(desk)
    before = show(desk)
    gone = desk.call("run", "--executable", "/nonexistent/claude", "claude", "-p", "x")
    assert gone.code == 127
    assert show(desk) == before
    assert desk.claude("say-found: (Mend the walrus)").delivery == "seen"


def test_a_run_that_cannot_be_started_fails_its_delivery_too(desk: Desk) -> None:
    handed_off(desk)
    broken = desk.root / "broken"
    broken.mkdir()
    program = broken / "claude"
    stand_in = ROOT / "tests/fakes/standins/claude"
    program.write_text(f'#!/bin/sh\nexec {stand_in} "$@"\n')
    program.chmod(0o755)
    env = {"PATH": f"{broken}:{desk.env['PATH']}"}
    desk.ok("harnesses", env=env)  # it was asked for its version, and then it broke
    inode = program.stat()
    program.write_text("#!/nonexistent/interpreter\n".ljust(inode.st_size, "#"))
    os.utime(program, ns=(inode.st_atime_ns, inode.st_mtime_ns))
    gone = desk.call("run", "claude", "-p", "x", env=env)
    assert gone.code in (126, 127), gone.err
    failed = show(desk)
    assert (failed["delivery"], failed["delivery_reason"]) == ("failed", "not_started")
    assert desk.claude("say-found: (Mend the walrus)").delivery == "seen"


def test_another_session_than_the_meant_one_does_not_use_the_delivery_up(desk: Desk) -> None:
    """The program opens a new session instead of the one that it was to resume."""
    desk.claude("say: I was here first")
    (first,) = desk.session_files("claude")
    handed_off(desk)
    wilful = desk.root / "wilful"
    wilful.mkdir()
    (wilful / "claude").write_text(
        "#!/usr/bin/env python3\nimport os, sys\n"
        "args = [a for a in sys.argv[1:] if not a.startswith('--resume')]\n"
        f"os.execv({str(ROOT / 'tests/fakes/standins/claude')!r}, ['claude', *args])\n"
    )
    (wilful / "claude").chmod(0o755)
    env = {"PATH": f"{wilful}:{desk.env['PATH']}"}
    other = desk.claude("say-found: (Mend the walrus)", env=env)
    assert (other.out, other.delivery) == ("Mend the walrus\n", "seen")  # by the session it opened
    assert len(desk.session_files("claude")) == 2
    meant = desk.ok("run", "claude", "-p", "--resume", first.stem, "say-found: (Mend the walrus)")
    assert (meant.out, meant.delivery) == ("Mend the walrus\n", "seen")
    told = desk.rows(
        "SELECT DISTINCT session FROM delivery WHERE state = 'seen' AND run IN"
        " (SELECT id FROM run WHERE entry = 'claude')"
    )
    assert len(told) == 2


def test_killed_after_the_launch_and_before_it_was_seen_it_is_delivered_again(desk: Desk) -> None:
    handed_off(desk)
    running = desk.start("run", "claude", "-p", "say: x", do="hold=opened")
    pid = desk.held("opened")
    running.kill()
    end(pid)
    desk.ok("recover")
    failed = show(desk)
    assert (failed["delivery"], failed["delivery_reason"]) == ("failed", "not_found")
    again = desk.claude("say-found: (Mend the walrus)")
    assert (again.out, again.delivery) == ("Mend the walrus\n", "seen")
    rows = desk.rows(
        "SELECT delivery.id, state, handoff FROM delivery JOIN briefing"
        " ON briefing.id = delivery.briefing ORDER BY printed_at"
    )
    assert [row["state"] for row in rows] == ["failed", "seen"]
    assert len({row["id"] for row in rows}) == 2  # another attempt
    assert len({row["handoff"] for row in rows}) == 1  # of the same target


# --- seen -----------------------------------------------------------------------------------------


def test_seen_and_not_answered_it_is_asked_for_in_the_next_run(desk: Desk) -> None:
    handed_off(desk)
    assert desk.claude("say-found: (Mend the walrus)").delivery == "seen"
    for _ in range(2):
        asked = desk.claude("say-found: (r1 by [^ ]+ was shown to you and has no answer yet)")
        assert asked.out.startswith("r1 by ")
        assert "Finish `walrus.py`" not in context(desk)  # asked for, not told once more
    take = f"run: {US} handoff acknowledge r1 accepted {CONFIRMED} ;; say: taken"
    assert desk.claude(take).delivery == "acknowledged"
    assert desk.claude("say: on").delivery == "none"
    assert show(desk)["transfer"] == "accepted"


def test_seen_and_not_answered_the_senders_session_is_resumed_and_asked_nothing(
    desk: Desk,
) -> None:
    handed_off(desk)
    running = desk.start("run", "claude", "-p", "say: I look at it ;; hold: looking")
    pid = desk.held("looking")
    (sender,) = desk.session_files("codex")
    before = sender.read_bytes()
    for victim in (running.pid, pid):
        os.kill(victim, signal.SIGSTOP)
    assert desk.call("run", "codex", "exec", "say: too early").code == 75
    with desk.database() as db:  # the receiver's lease expires
        db.execute("UPDATE lease SET expires_at = renewed_at, renewed_boot = renewed_boot - 10")
    back = desk.codex("say: I go on myself")
    assert "resume" in desk.calls("codex")[-1]["args"]
    assert back.report["sessions"][0] in sender.name
    assert sender.read_bytes().startswith(before)
    for victim in (running.pid, pid):
        os.kill(victim, signal.SIGCONT)
    desk.release("looking")
    assert running.end().report["outcome"] == "lost"
    asked = desk.claude("say-found: (has no answer yet)")
    assert asked.out == "has no answer yet\n"


@pytest.mark.parametrize("status", ["needs_clarification", "declined"])
def test_given_back_the_sender_is_told_and_replaces_it_and_the_old_one_stays(
    desk: Desk, status: str
) -> None:
    desk.codex("say: the walrus is half done")
    (desk.repo / "one.json").write_text(words())
    desk.codex(f"run: {US} handoff prepare --file one.json ;; say: prepared it")
    (row,) = desk.rows("SELECT prepared_id, author_session FROM handoff_prepared")
    assert row["author_session"] is not None
    commit(desk, row["prepared_id"])
    desk.claude(f"run: {US} handoff acknowledge r1 {status} -m 'which walrus' ;; say: no")
    told = desk.codex(f'say-found: (gave the handoff r1 back as {status}: "which walrus")')
    assert told.out != "not found\n"
    assert "resume" in desk.calls("codex")[-1]["args"]
    assert desk.codex("say-found: (gave the handoff r1 back)").out != ""
    assert commit(desk, prepare(desk, "the walrus in `two.py`, not the one in `one.py`"))
    assert [show(desk, name)["transfer"] for name in ("r1", "r2")] == ["returned", "open"]
    assert show(desk, "r1")["content"]["state"][0]["text"] == "`one.py` is there"
    again = desk.claude("say-found: (the walrus in `two.py`)")
    assert again.out == "the walrus in `two.py`\n"


# --- later ----------------------------------------------------------------------------------------


def test_evidence_lost_later_degrades_its_statement_and_refuses_acceptance_only(
    desk: Desk,
) -> None:
    handed_off(desk, "`one.py` is there", "e1")
    desk.ok("forget", "--yes", "--event", "e1")
    received = desk.ok("handoff", "receive", "--json", "r1").data
    assert received["reestablish"] == ["state[0]"]
    told = desk.claude("say-found: (re-establish before use: .*)")
    assert told.out == "re-establish before use: state[0]\n"
    take = ("handoff", "acknowledge", "--json", "r1", "accepted", *CONFIRMED.split())
    refused = desk.call(*take)
    assert refused.code == 65
    assert [e["code"] for e in json.loads(refused.out)["errors"]] == ["evidence_expired"]
    desk.ok("handoff", "acknowledge", "r1", "needs_clarification", "-m", "where is it")
    assert commit(desk, prepare(desk, "`one.py` is there, seen again"))["revision"] == 2
    desk.ok("handoff", "acknowledge", "r2", "accepted", *CONFIRMED.split())


def test_one_damaged_row_is_named_and_concerns_nothing_else(desk: Desk) -> None:
    handed_off(desk)
    commit(desk, prepare(desk, "`two.py` is there"))
    desk.ok("run", "--new", "other", "codex", "exec", "say: elsewhere")
    with desk.database() as db:
        db.execute("UPDATE handoff_revision SET content = substr(content, 3) WHERE revision = 2")
    findings = json.loads(desk.call("doctor", "--json").out)["data"]["findings"]
    (named,) = [item for item in findings if item["code"] == "handoff_damaged"]
    assert "r2 of main" in named["sentence"]
    main = ("--workstream", "main")
    for args in (("handoff", "list", *main), ("status", *main), ("briefing", "claude", *main)):
        desk.ok(*args, "--json")
    reported = desk.ok("handoff", "report", "--json").data["workstreams"]
    assert sorted(entry["workstream"] for entry in reported) == ["main", "other"]
    assert desk.ok("handoff", "show", "--json", "r1", *main).data["revision"] == 1
    assert desk.call("handoff", "show", "--json", "r2", *main).code == 65
    desk.ok("run", "--workstream", "main", "claude", "-p", "say: on")
    third = desk.ok("handoff", "prepare", "--json", "--workstream", "main", stdin=words("`3.py`"))
    name = third.data["prepared_id"]
    done = desk.ok("handoff", "commit", "--json", "--workstream", "main", name)
    assert done.data["revision"] == 3
    assert desk.ok("run", "--workstream", "other", "claude", "-p", "say-found: (elsewhere)").out


def test_a_lost_ledger_gives_the_same_ids_again_and_says_that_handoffs_are_lost(
    desk: Desk,
) -> None:
    handed_off(desk)
    desk.claude("say: I look at it")
    query = "SELECT event_id FROM event WHERE kind NOT IN ('checkpoint', 'annotation') ORDER BY 1"
    before = [row["event_id"] for row in desk.rows(query)]
    assert len(before) == 4
    stores = {
        path: path.read_bytes() for h in ("codex", "claude") for path in desk.session_files(h)
    }
    shutil.rmtree(desk.state)
    told = [desk.ok("import", name, "--all", "--into", "main") for name in ("codex", "claude")]
    assert [row["event_id"] for row in desk.rows(query)] == before
    assert {path: path.read_bytes() for path in stores} == stores
    assert "handoff" not in told[0].err
    lost = "1 briefing of a ledger that is not here"
    assert lost in told[1].err
    for answer in (desk.call("handoff", "list"), desk.call("handoff", "receive")):
        assert answer.code == 0
        assert lost in answer.err
    document = desk.ok("handoff", "list", "--json").data
    assert (document["handoffs"], document["lost_deliveries"]) == ([], 1)
    findings = json.loads(desk.call("doctor", "--json").out)["data"]["findings"]
    assert [f["level"] for f in findings if f["code"] == "handoffs_lost"] == ["warning"]


def test_a_live_run_is_not_taken_for_a_lost_ledger(desk: Desk) -> None:
    handed_off(desk)
    running = desk.start("run", "claude", "-p", "say: I look at it ;; hold: looking")
    desk.held("looking")
    assert show(desk)["delivery"] == "prepared"  # what was printed is known when the run ends
    looked = desk.ok("handoff", "receive", "--json")  # imports what is there
    assert desk.rows("SELECT 1 FROM sighting")
    assert desk.ok("handoff", "list", "--json").data["lost_deliveries"] == 0
    desk.release("looking")
    assert running.end().delivery == "seen"
    assert looked.data["name"] == "r1"
