"""Stdout holds the answer and nothing else, plainly where it is no terminal."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.desk import ENTRY, FIXTURES, Desk

PAST = ("--workstream", "past")
READING = (
    ("status", *PAST),
    ("log", *PAST),
    ("show", "e1", *PAST),
    ("search", "file", *PAST),
    ("list",),
    ("briefing", "codex", *PAST),
    ("note", "--list", *PAST),
    ("harnesses",),
    ("doctor",),
    ("config",),
)


@pytest.mark.parametrize("args", READING, ids=lambda args: args[0])
def test_a_pipe_gets_no_control_characters(furnished_once: Desk, args: tuple[str, ...]) -> None:
    answer = furnished_once.ok(*args, env={"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert answer.out
    assert [c for c in answer.out if not c.isprintable() and c not in "\n\t"] == []


def test_progress_and_summary_of_an_import_go_to_stderr(desk: Desk) -> None:
    home = str(FIXTURES / "codex" / "plain" / "codex-home")
    answer = desk.ok("import", "codex", "--home", home, "--all", "--into", "x")
    assert answer.out == ""
    assert "1 session read into x" in answer.err
    assert "\x1b" not in answer.err


def test_inside_a_run_an_answer_is_fenced_and_capped(furnished_once: Desk) -> None:
    answer = furnished_once.ok("log", *PAST, "-n", "0", env={"WORKSTREAM_RUN_ID": "run_x"})
    lines = answer.out.splitlines()
    assert lines[0].startswith("BEGIN WORKSTREAM OUTPUT")
    assert lines[-1] == "END WORKSTREAM OUTPUT"
    assert all(line.startswith("| ") for line in lines[1:-1])
    assert len(answer.out.encode()) < 30_000


@pytest.mark.parametrize("args", [("log", *PAST, "-n", "0"), ("log", *PAST, "-n", "0", "--json")])
def test_a_reader_that_goes_away_is_no_error_message(
    furnished_once: Desk, args: tuple[str, ...]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-I", str(ENTRY), *args],
        env=furnished_once.env,
        cwd=furnished_once.repo,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    told = process.stderr.read()
    assert process.wait(30) == 141
    assert told == b""


def test_a_closed_stderr_changes_no_exit_code(desk: Desk) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec python3 -I {ENTRY} status 2>&-"],
        env=desk.env,
        cwd=desk.repo,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 69


def test_a_closed_stdout_is_told_and_nothing_breaks(furnished_once: Desk) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec python3 -I {ENTRY} list >&-"],
        env=furnished_once.env,
        cwd=furnished_once.repo,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 73, 141)
