"""Exit codes: one table, the README's and the code's, and what a person meets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from launcher.cli import COMMANDS
from launcher.exit_codes import TABLE
from ledger import errors
from tests.cli.desk import PROGRAMS, ROOT, Desk


def _classes(of: type[errors.WorkstreamError]) -> list[type[errors.WorkstreamError]]:
    return [of, *(found for sub in of.__subclasses__() for found in _classes(sub))]


def test_every_error_class_has_its_code_in_the_table_and_the_other_way_round() -> None:
    used = {cls.exit_code for cls in _classes(errors.WorkstreamError)}
    assert used <= set(TABLE)
    assert set(TABLE) - used == {0, 130, 141}


def test_the_readme_lists_exactly_the_codes_of_the_table() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.M)] == sorted(TABLE)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_of_any_command_is_a_usage_error_with_a_hint(
    desk: Desk, command: str
) -> None:
    answer = desk.quick(command, "--no-such-option")
    assert answer.code == 64
    assert f"workstream {command} --help" in answer.err
    assert answer.out == ""
    assert not desk.state.exists()


@pytest.mark.parametrize(
    ("word", "near"), [("serch", "search"), ("lgo", "log"), ("statsu", "status")]
)
def test_an_unknown_command_is_told_with_its_neighbours(desk: Desk, word: str, near: str) -> None:
    answer = desk.quick(word)
    assert answer.code == 64
    assert near in answer.err.partition("Did you mean")[2]


def test_help_and_version_end_with_0_and_touch_nothing(desk: Desk) -> None:
    for args in (("--help",), ("run", "--help"), ("--version",), ("-h",)):
        answer = desk.ok(*args)
        assert answer.out
        assert answer.err == ""
    assert not desk.state.exists()


def test_no_command_at_all_shows_the_help_and_is_a_usage_error(desk: Desk) -> None:
    answer = desk.run()
    assert answer.code == 64
    assert "Commands:" in answer.out + answer.err


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("run", "codx"), 69, "codex"),
        (("run",), 64, "no harness was used"),
        (("run", "-"), 64, "no other harness"),
        (("run", "--workstream", "nowhere", "codex"), 69, "--new nowhere"),
        (("run", "--new", "a", "--workstream", "b", "codex"), 64, "exclude each other"),
        (("run", "--executable", "/nowhere/codex", "codex"), 127, "no program"),
        (("run", "--executable", "readme.txt", "codex"), 126, "not executable"),
        (("run", "--budget", "5", "codex"), 64, "budget"),
        (("run", "--env", "NOEQUALS", "codex"), 64, "--env"),
        (("run", "--env-file", "nowhere.env", "codex"), 64, "nowhere.env"),
        (("restore", "nowhere.db", "--yes"), 69, "nowhere.db"),
        (("restore", "readme.txt", "--yes"), 65, "not a ledger"),
        (("relink", "nowhere"), 64, "nowhere"),
        (("import", "codx"), 69, "codex"),
        (("import", "codex", "--home", "nowhere"), 69, "nowhere"),
        (("completion", "tcsh"), 64, "bash"),
        (("status",), 69, "workstream run"),
    ],
)
def test_what_went_wrong_is_told_with_its_code(
    desk: Desk, args: tuple[str, ...], code: int, words: str
) -> None:
    answer = desk.quick(*args)
    assert (answer.code, words in answer.err) == (code, True), answer.err
    assert answer.err.startswith("workstream: ")
    assert answer.out == ""
    assert desk.calls() == []


def test_a_harness_that_is_nowhere_on_path_is_127(desk: Desk) -> None:
    path = ":".join(p for p in desk.env["PATH"].split(":") if p != str(PROGRAMS))
    answer = desk.run("run", "claude", env={"PATH": path})
    assert answer.code == 127
    assert "--executable" in answer.err


def test_a_broken_configuration_of_the_person_is_78_and_names_the_file(desk: Desk) -> None:
    file = desk.home / "config" / "workstream" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("budget = 'many'\n", encoding="utf-8")
    answer = desk.run("status")
    assert answer.code == 78
    assert str(file) in answer.err
    assert "many" not in answer.err


def test_a_directory_that_is_gone_is_69(desk: Desk, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"rmdir {gone}; exec python3 -I {ROOT / 'workstream_entry.py'} status"
    import subprocess

    done = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=gone,
        env=desk.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 69
    assert "does not exist any more" in done.stderr
    assert "Traceback" not in done.stderr
