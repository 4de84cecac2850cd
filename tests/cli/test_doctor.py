"""`doctor`: each thing that can be wrong is named, with what mends it; it never breaks itself."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses import codex_diagnosis
from tests.cli.desk import PROGRAMS, Answer, Desk
from tests.run.desk import until

Findings = dict[str, dict[str, Any]]


def _findings(answer: Answer) -> Findings:
    document = answer.envelope
    found: Findings = {}
    for finding in document["data"]["findings"]:
        assert finding["level"] in ("ok", "note", "warning", "problem")
        assert not finding["sentence"].endswith(".")
        found[finding["code"]] = finding
    problems = [f for f in document["data"]["findings"] if f["level"] == "problem"]
    assert [e["code"] for e in document["errors"]] == [f["code"] for f in problems]
    assert answer.code == (65 if problems else 0)
    assert document["data"]["ok"] is not bool(problems)
    return found


def doctor(desk: Desk, **env: str) -> Findings:
    return _findings(desk.run("doctor", "--json", env=env))


def test_a_sound_desk_has_no_warning_but_the_retention(furnished: Desk) -> None:
    furnished.ok("backup")
    (furnished.home / ".claude").mkdir(exist_ok=True)
    found = doctor(furnished)
    worse = {code for code, f in found.items() if f["level"] in ("warning", "problem")}
    assert worse == {"claude_retention"}
    assert {
        "program", "packages", "state_directory", "filesystem", "permissions", "sqlite", "schema",
        "journal", "size", "search_index", "backups", "harness", "store_home",
    } <= set(found)  # fmt: skip


def test_it_changes_nothing_but_remembers_the_programs(furnished: Desk) -> None:
    def listing() -> dict[str, bytes]:
        return {
            str(p): p.read_bytes()
            for p in furnished.state.rglob("*")
            if p.is_file() and not p.name.endswith(("-wal", "-shm"))
        }

    before = listing()
    doctor(furnished)
    after = listing()
    after.pop(str(furnished.state / "programs.json"), None)
    before.pop(str(furnished.state / "programs.json"), None)
    assert after == before


@contextlib.contextmanager
def _database(desk: Desk) -> Any:
    with contextlib.closing(sqlite3.connect(desk.state / "workstream.db")) as db, db:
        yield db


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ("missing", "no_ledger"),
        ("not a database", "ledger_state_corrupt"),
        ("empty", "ledger_older"),
        ("torn", "ledger_state_corrupt"),
        ("newer", "ledger_newer"),
        ("older", "ledger_older"),
        ("a directory", "ledger_state"),
    ],
)
def test_a_ledger_in_any_state_is_told(furnished: Desk, what: str, code: str) -> None:
    path = furnished.state / "workstream.db"
    if what in ("newer", "older"):
        with _database(furnished) as db:
            db.execute(f"PRAGMA user_version = {99 if what == 'newer' else 0}")
    else:
        raw = path.read_bytes()
        for file in furnished.state.glob("workstream.db*"):
            file.unlink()
        if what == "a directory":
            path.mkdir(mode=0o700)
        elif what != "missing":
            contents = {
                "not a database": b"no" * 5000,
                "empty": b"",
                "torn": raw[: len(raw) // 2],
            }
            path.write_bytes(contents[what])
            path.chmod(0o600)
    found = doctor(furnished)
    assert code in found, sorted(found)
    level = {"no_ledger": "note", "ledger_older": "warning"}.get(code, "problem")
    assert found[code]["level"] == level
    assert found[code]["fix"]


def test_damage_inside_a_page_is_found(furnished: Desk) -> None:
    path = furnished.state / "workstream.db"
    with _database(furnished) as db:
        page = db.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'event_user'"
        ).fetchone()[0]
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    found = doctor(furnished)
    assert found["ledger_state_corrupt"]["level"] == "problem"
    assert "restore" in found["ledger_state_corrupt"]["fix"]


def test_a_damaged_search_index_is_named_with_its_rebuild(furnished: Desk) -> None:
    with _database(furnished) as db:
        db.execute("DROP TABLE IF EXISTS search_data_copy")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM search_data")
    found = doctor(furnished)
    assert found["search_index"]["level"] == "problem"
    furnished.ok(*found["search_index"]["fix"].split()[1:])
    assert doctor(furnished)["search_index"]["level"] == "ok"


def test_files_that_others_can_read_are_named_and_the_fix_mends_them(furnished: Desk) -> None:
    (furnished.state / "workstream.db").chmod(0o644)
    found = doctor(furnished)["permissions"]
    assert found["level"] == "problem"
    assert "workstream.db" in found["sentence"]
    subprocess.run(found["fix"].split(), check=True)
    assert doctor(furnished)["permissions"]["level"] == "ok"


def test_a_state_directory_that_cannot_be_one_is_told(desk: Desk) -> None:
    desk.state.write_text("", encoding="utf-8")
    assert doctor(desk)["state_directory"]["level"] == "problem"


def test_run_folders_and_losses_and_lost_backups_are_counted(furnished: Desk) -> None:
    (furnished.state / "runs" / "run_of_old").mkdir(mode=0o700, parents=True)
    (furnished.state / "runs").chmod(0o700)
    store = furnished.home / "torn" / "projects" / "-x"
    store.mkdir(parents=True)
    (store / "11111111-2222-4333-8444-555555555555.jsonl").write_text(
        '{"type":"user","uuid":"aaaaaaaa-0000-4000-8000-000000000000","parentUuid":null,'
        '"sessionId":"11111111-2222-4333-8444-555555555555","cwd":"/x","version":"2.1.197",'
        '"timestamp":"2026-11-30T10:00:00.000Z","message":{"role":"user","content":"hi"}}\n'
        '{"type":"attachment","attach\n'
        '{"type":"zz-progress","sessionId":"11111111-2222-4333-8444-555555555555"}\n',
        encoding="utf-8",
    )
    home = str(furnished.home / "torn")
    furnished.ok("import", "claude", "--home", home, "--all", "--into", "past")
    furnished.ok("backup", str(furnished.state / "gone.db"))
    (furnished.state / "gone.db").unlink()
    found = doctor(furnished)
    assert "run_of_old" in found["left_over"]["sentence"]
    assert "1 torn_line" in found["losses"]["sentence"]
    assert "zz-progress" in found["unknown_kinds"]["sentence"]
    assert "not at its place" in found["backups"]["sentence"]


@pytest.mark.parametrize(
    ("settings", "level", "words"),
    [
        (None, "warning", "after 30 days (the default"),
        ('{"cleanupPeriodDays": 365}', "ok", "after 365 days"),
        ('{"cleanupPeriodDays": 7}', "warning", "less than the default"),
        ('{"cleanupPeriodDays": true}', "warning", "the default"),
        ("{broken", "warning", "the default"),
    ],
)
def test_b086_the_retention_of_claude_is_told(
    desk: Desk, settings: str | None, level: str, words: str
) -> None:
    home = desk.home / ".claude"
    home.mkdir()
    if settings is not None:
        (home / "settings.json").write_text(settings, encoding="utf-8")
    found = doctor(desk)["claude_retention"]
    assert (found["level"], words in found["sentence"]) == (level, True), found


def test_b095_effective_store_homes_say_which_variable_decides(desk: Desk) -> None:
    answer = desk.run(
        "harnesses",
        "--json",
        env={"CODEX_HOME": str(desk.home / "elsewhere"), "CLAUDE_CONFIG_DIR": "  "},
    )
    homes = {h["name"]: (h["home"], h["home_from"]) for h in answer.data["harnesses"]}
    assert homes["codex"] == (str(desk.home / "elsewhere"), "$CODEX_HOME")
    assert homes["claude"] == (
        str(desk.home / ".claude"),
        "default; $CLAUDE_CONFIG_DIR is blank",
    )


def test_hooks_that_are_switched_off_are_told(desk: Desk) -> None:
    home = desk.home / ".claude"
    home.mkdir()
    (home / "settings.json").write_text('{"disableAllHooks": true}', encoding="utf-8")
    found = doctor(desk)["hooks_off"]
    assert found["about"] == "claude"
    assert str(home / "settings.json") in found["sentence"]


def test_no_harness_at_all_is_a_problem_and_a_missing_configured_one_too(desk: Desk) -> None:
    path = ":".join(p for p in desk.env["PATH"].split(":") if p != str(PROGRAMS))
    found = doctor(desk, PATH=path)
    assert found["no_harness"]["level"] == "problem"
    config = desk.home / "config" / "workstream" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[harness.mine]\nuse = "nothing"\n', encoding="utf-8")
    missing = doctor(desk)["harness_not_found"]
    assert (missing["level"], missing["about"]) == ("problem", "mine")


def test_a_broken_configuration_is_a_finding(desk: Desk) -> None:
    config = desk.home / "config" / "workstream" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("budget = 'many'\n", encoding="utf-8")
    found = doctor(desk)["config"]
    assert found["level"] == "problem"
    assert str(config) in found["sentence"]


def test_a_program_that_does_not_answer_is_told(desk: Desk, tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    answer = desk.run("doctor", "--json", env={"PATH": f"{tmp_path}:{desk.env['PATH']}"})
    told = {
        finding["about"]: finding["sentence"]
        for finding in answer.envelope["data"]["findings"]
        if finding["code"] == "harness_not_found"
    }
    assert "--version" in told["codex"]


def test_the_human_form_ends_with_what_matters_most(desk: Desk) -> None:
    desk.state.write_text("", encoding="utf-8")
    answer = desk.run("doctor")
    assert answer.code == 65
    levels = [line.split()[0] for line in answer.out.splitlines() if not line.startswith(" ")]
    order = ["ok", "note", "warning", "problem"]
    assert levels == sorted(levels, key=order.index)
    assert levels[-1] == "problem"


def test_b134_everything_but_search_works_without_the_index(furnished: Desk) -> None:
    with _database(furnished) as db:
        db.execute("DELETE FROM search_data")
    past = ("--workstream", "past")
    furnished.ok("run", *past, "claude", "-p", "still works")
    assert "still works" in furnished.ok("log", *past).out
    answer = furnished.run("search", "file", *past)
    assert "--rebuild-index" in answer.err


@pytest.mark.skipif(not Path("/proc/self/exe").exists(), reason="needs /proc")
def test_the_background_server_of_codex_is_found_by_what_it_runs(tmp_path: Path) -> None:
    home = tmp_path / "codex"
    program = home / "packages" / "standalone" / "codex"
    program.parent.mkdir(parents=True)
    assert codex_diagnosis.daemon(home) is None
    program.write_bytes(Path("/bin/sleep").resolve().read_bytes())
    program.chmod(0o755)
    # The first word is what the server calls itself, the last keeps this stand-in busy.
    process = subprocess.Popen(["app-server", "30"], executable=program)
    try:
        # A process that has just been executed shows its command line a moment later.
        until(lambda: codex_diagnosis.daemon(home), "the server")
        found = codex_diagnosis.daemon(home)
        assert found is not None
        assert found.pid == process.pid
        assert codex_diagnosis.daemon(tmp_path / "other") is None
        (note,) = codex_diagnosis.diagnose(home)
        assert str(process.pid) in note.sentence
    finally:
        process.kill()
        process.wait()
