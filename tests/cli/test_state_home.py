"""Where the state lives: private whatever the umask, and a clear word when it cannot be written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.desk import ENTRY, FIXTURES, Desk

CODEX = str(FIXTURES / "codex" / "plain" / "codex-home")
IMPORT = ("import", "codex", "--home", CODEX, "--all", "--into", "x")


def _read_only(desk: Desk, folder: Path, *args: str, **env: str) -> tuple[int, str]:
    """Call the command while `folder` cannot be written, also not by root."""
    command = [sys.executable, "-I", str(ENTRY), *args]
    if os.geteuid() == 0:
        mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
        command = ["unshare", "-m", "/bin/sh", "-c", mount, str(folder), *command]
    else:
        folder.chmod(0o500)
    variables = {**desk.env, **env}
    variables = {name: value for name, value in variables.items() if value}
    done = subprocess.run(
        command, env=variables, cwd=desk.repo, capture_output=True, text=True, check=False
    )
    folder.chmod(0o700)
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no read-only mount here: {done.stderr.strip()}")
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "args",
    [IMPORT, ("run", "claude", "-p", "x"), ("recover",)],
    ids=lambda args: args[0],
)
def test_b141_a_read_only_home_is_named_with_the_variable_that_helps(
    desk: Desk, args: tuple[str, ...]
) -> None:
    code, told = _read_only(desk, desk.home, *args, WORKSTREAM_HOME="", XDG_STATE_HOME="")
    assert code == 73
    assert str(desk.home) in told
    assert "WORKSTREAM_HOME" in told
    assert desk.calls() == []


def test_a_ledger_that_cannot_be_written_any_more_can_still_be_read(desk: Desk) -> None:
    desk.ok(*IMPORT)
    code, told = _read_only(desk, desk.state, "list")
    assert (code, told) == (0, "")


def test_a_file_in_the_place_of_the_state_directory_is_named(desk: Desk) -> None:
    desk.state.write_text("in the way", encoding="utf-8")
    answer = desk.run(*IMPORT)
    assert answer.code == 73
    assert str(desk.state) in answer.err
    assert desk.state.read_text(encoding="utf-8") == "in the way"


@pytest.mark.parametrize("mask", ["000", "022"])
def test_b142_everything_is_private_whatever_the_umask(desk: Desk, mask: str) -> None:
    for args in (
        IMPORT,
        ("run", "--workstream", "x", "claude", "-p", "hello"),
        ("run", "--workstream", "x", "--report", "report.json", "codex", "exec", "more"),
        ("backup",),
        ("verify",),
        ("verify", "--rebuild-index"),
    ):
        script = f'umask {mask}; exec "$0" "$@"'
        subprocess.run(
            ["/bin/sh", "-c", script, sys.executable, "-I", str(ENTRY), *args],
            env=desk.env,
            cwd=desk.repo,
            stdin=subprocess.DEVNULL,
            check=True,
            capture_output=True,
        )
    files = [desk.state, *desk.state.rglob("*"), desk.repo / "report.json"]
    assert len(files) > 5
    open_to_others = {
        str(path): oct(path.stat().st_mode)
        for path in files
        if stat.S_IMODE(path.stat().st_mode) != (0o700 if path.is_dir() else 0o600)
    }
    assert open_to_others == {}


def test_an_open_state_directory_is_tightened(desk: Desk) -> None:
    desk.state.mkdir(mode=0o755)
    desk.state.chmod(0o755)
    desk.ok(*IMPORT)
    assert stat.S_IMODE(desk.state.stat().st_mode) == 0o700


def test_a_blank_variable_counts_as_unset(desk: Desk) -> None:
    desk.ok(*IMPORT, env={"WORKSTREAM_HOME": "  "})
    assert (desk.home / "state" / "workstream" / "workstream.db").exists()
    assert not desk.state.exists()


def test_reading_commands_leave_an_absent_state_absent(desk: Desk) -> None:
    for args in (("list",), ("status",), ("doctor",), ("harnesses",), ("config",), ("log",)):
        desk.run(*args)
    assert not desk.state.exists()
