"""Which session a run resumes, and where: faults that people reported of programs of this kind."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.run.desk import STANDINS, Desk, until


def resumed(desk: Desk, harness: str) -> str | None:
    """Return what the last call of a harness was asked to resume."""
    args = desk.calls(harness)[-1]["args"]
    if harness == "codex":
        return args[args.index("resume") + 1] if "resume" in args else None
    return next((a.partition("=")[2] for a in args if a.startswith("--resume=")), None)


def by_hand(desk: Desk, name: str, *args: str, cwd: Path | None = None) -> None:
    """Start a harness without us."""
    subprocess.run(
        [STANDINS / name, *args],
        env=desk.env,
        cwd=cwd or desk.repo,
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )


def test_b067_b086_a_session_that_is_gone_is_replaced_once_and_nothing_is_lost(desk: Desk) -> None:
    desk.claude("say: the axolotl is in the attic")
    (file,) = desk.session_files("claude")
    file.unlink()
    fresh = desk.claude("say-found: (axolotl is in the attic)")
    assert f"{file.stem} is gone from its store" in fresh.err
    assert fresh.out == "axolotl is in the attic\n"
    assert resumed(desk, "claude") is None
    desk.claude("say: more")
    assert resumed(desk, "claude") == fresh.report["sessions"][0]
    hits = desk.ok("search", "axolotl", "--json").data["hits"]
    assert [hit["text"] for hit in hits if hit["session"] == file.stem] != []
    doctor = desk.call("doctor", "--json").out
    assert "cleanupPeriodDays" in doctor


@pytest.mark.parametrize(
    ("do", "code"), [("exit=1", 1), ("exit=130", 130), ("signal=TERM", 143), ("signal=KILL", 137)]
)
def test_b084_b090_b097_an_unhappy_end_keeps_the_link_and_the_status(
    desk: Desk, do: str, code: int
) -> None:
    first = desk.call("run", "claude", "-p", "say: hi", do=do)
    assert first.code == code
    assert first.report["exit_code"] == code
    desk.claude("say: again")
    assert resumed(desk, "claude") == first.report["sessions"][0]
    assert desk.texts() == ["say: hi", "hi", "say: again", "again"]


def test_b088_a_refused_resume_becomes_a_new_session_once(desk: Desk) -> None:
    desk.codex("say: the zebra is striped")
    again = desk.codex("say-found: (zebra is striped)", do="refuse")
    assert again.out == "zebra is striped\n"
    assert again.err.count("refused to resume") == 1
    assert [c["args"].count("resume") for c in desk.calls("codex")] == [0, 1, 0]
    desk.codex("say: on")
    assert resumed(desk, "codex") == again.report["sessions"][0]


def test_b091_a_call_cut_off_by_a_kill_is_told_as_such_and_not_replayed(desk: Desk) -> None:
    killed = desk.call("run", "claude", "-p", "run: echo deploy; kill -9 $PPID")
    assert killed.code == 137
    (result,) = desk.rows("SELECT status FROM event WHERE kind = 'tool_result'")
    assert result["status"] == "interrupted"
    again = desk.claude("say-found: (.*echo deploy.*)", do="refuse")
    assert "interrupted" in again.out
    assert "echo deploy" in again.out
    assert len(desk.rows("SELECT 1 FROM event WHERE kind = 'tool_call'")) == 1


def test_b079_b089_the_linked_session_is_resumed_whatever_is_newer(desk: Desk) -> None:
    linked = desk.claude("say: ours").report["sessions"][0]
    by_hand(desk, "claude", "-p", "say: somebody else's")
    assert desk.session_files("claude")[-1].stem != linked
    calls = len(desk.calls())
    desk.claude("say: go on")
    assert resumed(desk, "claude") == linked
    assert len(desk.calls()) == calls + 1  # nothing was asked for a list
    assert desk.texts() == ["say: ours", "ours", "say: go on", "go on"]


def test_b082_clear_in_the_harness_makes_the_new_session_the_current_one(desk: Desk) -> None:
    typed = json.dumps(["/clear", "say: second"])
    run = desk.claude("say: first", env={"STANDIN_TYPED": typed})
    assert len(run.report["sessions"]) == 2
    assert desk.texts() == ["say: first", "first", "say: second", "second"]
    desk.claude("say: third")
    assert resumed(desk, "claude") == run.report["sessions"][1]


def test_b092_two_processes_never_share_a_session(desk: Desk) -> None:
    desk.claude("say: hi")
    first = desk.start("run", "claude", "-p", "hold: busy")
    pid = desk.held("busy")
    second = desk.call("run", "claude", "-p", "say: me too")
    assert second.code == 75
    assert "claude" in second.err
    assert str(pid) in second.err
    desk.release("busy")
    session = first.end().report["sessions"][0]
    hand = subprocess.Popen(
        [STANDINS / "claude", "-p", f"--resume={session}", "hold: hand"],
        env=desk.env,
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    desk.held("hand")
    third = desk.call("run", "claude", "-p", "say: me too")
    desk.release("hand")
    assert hand.wait(30) == 0
    assert third.code == 75
    assert f"pid {hand.pid}" in third.err
    assert third.report["started"] is False


def test_b095_the_store_named_by_the_variables_is_the_only_one(desk: Desk, tmp_path: Path) -> None:
    env = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "cfg"),
        "CODEX_HOME": str(tmp_path / "cdx"),
    }
    desk.claude("say: one", env=env)
    desk.codex("say-found: (one)", env=env)
    again = desk.claude("say: two", env=env)
    assert resumed(desk, "claude") == again.report["sessions"][0]
    assert list((tmp_path / "cfg" / "projects").rglob("*.jsonl"))
    assert list((tmp_path / "cdx" / "sessions").rglob("*.jsonl"))
    assert not (desk.home / ".claude").exists()
    assert not (desk.home / ".codex").exists()


def test_b096_a_blank_variable_is_unset_for_us_and_for_the_child(desk: Desk) -> None:
    desk.claude("say: one", env={"CLAUDE_CONFIG_DIR": ""})
    desk.codex("say: two", env={"CODEX_HOME": "  "})
    assert "CLAUDE_CONFIG_DIR" not in desk.calls("claude")[0]["env"]
    assert "CODEX_HOME" not in desk.calls("codex")[0]["env"]
    assert desk.session_files("claude")
    assert desk.session_files("codex")
    assert desk.texts() == ["say: one", "one", "say: two", "two"]


def test_b070_b077_another_way_to_the_repository_is_the_same_work(
    desk: Desk, tmp_path: Path
) -> None:
    session = desk.claude("say: at the top").report["sessions"][0]
    below = desk.repo / "sub" / "dir"
    below.mkdir(parents=True)
    desk.claude("say: below", cwd=below)
    assert desk.calls()[-1]["cwd"] == str(below)
    path = resumed(desk, "claude")
    assert path == str(desk.session_files("claude")[0])
    link = tmp_path / "link"
    link.symlink_to(desk.repo)
    desk.claude("say: by the link", cwd=link)
    assert resumed(desk, "claude") == session
    assert len(desk.ok("list", "--json").data["workstreams"]) == 1
    assert len(desk.session_files("claude")) == 1


def test_b071_a_moved_repository_keeps_its_workstream(desk: Desk) -> None:
    desk.codex("say: hi")
    moved = desk.repo.with_name("repo2")
    desk.repo.rename(moved)
    before = {path: path.read_bytes() for path in desk.session_files("codex")}
    again = desk.codex("say: hi again", cwd=moved)
    assert resumed(desk, "codex") == again.report["sessions"][0]
    assert all(path.read_bytes().startswith(data) for path, data in before.items())
    desk.repo = moved
    assert desk.texts() == ["say: hi", "hi", "say: hi again", "hi again"]


def test_b073_work_of_a_worktree_that_was_removed_goes_on_elsewhere(desk: Desk) -> None:
    tree = desk.root / "tree"
    desk.git("worktree", "add", "-q", "-b", "side", str(tree))
    desk.ok("run", "--new", "side", "claude", "-p", "say: the owl hoots", cwd=tree)
    desk.git("worktree", "remove", "--force", str(tree))
    went_on = desk.claude("say-found: (owl hoots)", "--workstream", "side")
    assert went_on.out == "owl hoots\n"
    assert desk.calls()[-1]["cwd"] == str(desk.repo)


def test_b075_two_checkouts_with_one_bucket_keep_to_themselves(desk: Desk) -> None:
    places = [desk.root / "x" / "a-b", desk.root / "x" / "a" / "b"]
    for number, place in enumerate(places):
        shutil.copytree(desk.repo, place, symlinks=True)
        by_hand(desk, "claude", "-p", f"say: only in {number}", cwd=place)
    assert len({path.parent for path in desk.session_files("claude")}) == 1
    for number, place in enumerate(places):
        answer = desk.ok("import", "claude", "--into", "here", "--json", cwd=place)
        assert answer.data["imported"] == {"user_message": 1, "assistant_message": 1}
        desk.repo = place
        hits = desk.ok("search", "only", "--workstream", "here", "--json", cwd=place).data["hits"]
        assert {re.sub("say: ", "", hit["text"]) for hit in hits} == {f"only in {number}"}


def test_b157_a_run_is_told_nothing_of_another_repository(desk: Desk) -> None:
    other = desk.root / "other"
    shutil.copytree(desk.repo, other, symlinks=True)
    desk.ok("run", "--new", "b", "codex", "exec", "say: of b", cwd=other)
    first = desk.start("run", "--new", "a", "claude", "-p", "say: secret of a ;; hold: a")
    desk.held("a")
    given = next(a for a in desk.calls("claude")[-1]["args"] if a.startswith("--settings="))
    hooks = json.loads(Path(given.partition("=")[2]).read_bytes())
    command = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    second = desk.start("run", "claude", "-p", "say-found: (of b|of a) ;; hold: b", cwd=other)
    desk.held("b")
    desk.release("a")
    assert first.end().code == 0
    late = subprocess.run(  # the folder of run a is gone by now
        command, shell=True, input=b"{}", capture_output=True, check=False, env=os.environ
    )
    desk.release("b")
    done = second.end()
    assert late.stdout == b""
    assert done.out.splitlines()[0] == "of b"
    rows = desk.rows(
        "SELECT w.name AS name, count(*) AS n FROM event e JOIN workstream w ON w.id = e.workstream"
        " WHERE e.kind = 'user_message' GROUP BY w.name ORDER BY w.name"
    )
    assert [(r["name"], r["n"]) for r in rows] == [("a", 1), ("b", 2)]
    until(lambda: not list((desk.state / "runs").iterdir()), "the run folders to go")
