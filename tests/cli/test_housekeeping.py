"""Names, places, copies: rename, relink, archive, backup, restore, verify, config, completion."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from tests.cli.desk import Desk, git

PAST = ("--workstream", "past")


def _names(desk: Desk, *options: str) -> list[str]:
    return [w["name"] for w in desk.ok("list", "--json", *options).data["workstreams"]]


def test_rename_keeps_the_events_and_refuses_a_name_that_is_taken(furnished: Desk) -> None:
    furnished.ok("run", "--new", "other", "claude", "-p", "x")
    assert furnished.run("rename", "other", *PAST).code == 64
    furnished.ok("rename", "better", *PAST, "--dry-run")
    assert "past" in _names(furnished)
    furnished.ok("rename", "better", *PAST)
    assert sorted(_names(furnished)) == ["better", "other"]
    assert len(furnished.ok("log", "--workstream", "better", "--json").data["events"]) > 10


def test_archive_hides_and_undo_shows(furnished: Desk) -> None:
    furnished.ok("archive", *PAST, "--dry-run")
    assert _names(furnished) == ["past"]
    furnished.ok("archive", *PAST)
    assert _names(furnished) == []
    assert _names(furnished, "--archived") == ["past"]
    furnished.ok("archive", *PAST, "--undo")
    assert _names(furnished) == ["past"]


def test_relink_finds_a_repository_that_was_copied_elsewhere(desk: Desk) -> None:
    desk.ok("run", "--new", "w", "claude", "-p", "x")
    moved = desk.root / "moved"
    shutil.copytree(desk.repo, moved)
    shutil.rmtree(desk.repo)
    assert desk.ok("list", "--json", cwd=moved).data["workstreams"] == []
    assert desk.run("relink", str(moved), cwd=moved).code == 64
    desk.ok("relink", str(moved), "--dry-run", cwd=moved)
    assert desk.ok("list", "--json", cwd=moved).data["workstreams"] == []
    desk.ok("relink", str(moved), "--yes", cwd=moved)
    (only,) = desk.ok("list", "--json", cwd=moved).data["workstreams"]
    assert only["name"] == "w"


def test_a_renamed_directory_is_known_by_itself(desk: Desk) -> None:
    desk.ok("run", "--new", "w", "claude", "-p", "x")
    moved = desk.repo.rename(desk.root / "renamed")
    (only,) = desk.ok("list", "--json", cwd=moved).data["workstreams"]
    assert only["name"] == "w"


def test_another_worktree_sees_the_workstreams_of_its_repository(desk: Desk) -> None:
    desk.ok("run", "--new", "w", "claude", "-p", "x")
    git(desk.repo, "worktree", "add", "-q", str(desk.root / "tree"), "-b", "side")
    answer = desk.ok("log", "--workstream", "w", "--json", cwd=desk.root / "tree")
    assert [e["text"] for e in answer.data["events"]][:1] == ["x"]


def test_backup_and_restore_bring_an_earlier_ledger_back(furnished: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    furnished.ok("backup", str(copy), "--dry-run")
    assert not copy.exists()
    furnished.ok("backup", str(copy))
    assert copy.stat().st_mode & 0o777 == 0o600
    assert furnished.run("backup", str(copy)).code == 64
    furnished.ok("rename", "changed", *PAST)
    checked = furnished.ok("restore", str(copy), "--dry-run")
    assert "sound backup" in checked.err
    assert _names(furnished) == ["changed"]
    assert furnished.run("restore", str(copy)).code == 64
    furnished.ok("restore", str(copy), "--yes")
    assert _names(furnished) == ["past"]
    assert len(list(furnished.state.glob("workstream.db.before-restore-*"))) == 1
    furnished.ok("verify")


def test_verify_tells_a_changed_body_with_65(furnished: Desk) -> None:
    with sqlite3.connect(furnished.state / "workstream.db") as db:
        db.execute("UPDATE body SET data = CAST('other words' AS BLOB) WHERE eid = 1")
        db.execute("UPDATE body SET data = 'no blob' WHERE eid = 2")
    db.close()
    answer = furnished.run("verify", "--json")
    assert answer.code == 65
    assert answer.data["ok"] is False
    assert {"digest", "body_unreadable"} <= {f["code"] for f in answer.data["findings"]}
    assert [e["code"] for e in answer.envelope["errors"]] == [
        f["code"] for f in answer.data["findings"]
    ]


def test_config_shows_where_values_come_from(desk: Desk) -> None:
    (desk.repo / ".workstream.toml").write_text(
        'budget = 5000\nyolo = true\n[harness.x]\nexecutable = "/bin/sh"\n', encoding="utf-8"
    )
    data = desk.ok("config", "--json", env={"WORKSTREAM_WAIT": "3"}).data
    assert (data["values"]["budget"], data["origins"]["budget"]) == (5000, ".workstream.toml")
    assert (data["values"]["wait"], data["origins"]["wait"]) == (3, "$WORKSTREAM_WAIT")
    assert (data["values"]["yolo"], data["harnesses"]) == (False, {})
    assert len(data["warnings"]) == 2
    path = desk.ok("config", "--path").out.strip()
    assert path == str(desk.home / "config" / "workstream" / "config.toml")


def test_the_example_configuration_is_one_that_can_be_read(desk: Desk) -> None:
    example = desk.ok("config", "--example").out
    file = desk.home / "config" / "workstream" / "config.toml"
    file.parent.mkdir(parents=True)
    uncommented = "\n".join(
        line.removeprefix("# ") for line in example.splitlines() if "=" in line or "[" in line
    )
    file.write_text(uncommented, encoding="utf-8")
    data = desk.ok("config", "--json").data
    assert data["values"]["harness"] == "codex"
    assert list(data["harnesses"]) == ["codex-work"]


def test_completion_scripts_name_the_command(desk: Desk) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_WORKSTREAM_COMPLETE" in desk.quick("completion", shell).out


def test_stop_of_nothing_is_69(furnished: Desk) -> None:
    answer = furnished.run("stop", *PAST)
    assert answer.code == 69
    assert "not running" in answer.err


def test_ls_is_list(furnished_once: Desk) -> None:
    assert furnished_once.ok("ls").out == furnished_once.ok("list").out
