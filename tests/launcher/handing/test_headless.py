from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from launcher.handing import headless
from launcher.harnesses.base import Spoken
from ledger.errors import NotExecutableError, NotFoundError, UnavailableError

ENV = {"PATH": os.environ.get("PATH", os.defpath)}


def call(folder: Path, script: str, *, stdin: str = "", seconds: float = 30) -> Spoken:
    given = folder / "stdin"
    given.write_text(stdin, encoding="utf-8")
    return headless.call(["/bin/sh", "-c", script], ENV, folder, given, seconds=seconds)


def alive(pid_file: Path) -> bool:
    """Whether the process whose id stands in a file still runs."""
    stat = Path(f"/proc/{pid_file.read_text().strip()}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def gone(pid_file: Path) -> bool:
    """Wait for its end; a bounded poll, for a killed orphan is reaped by somebody else."""
    end = time.monotonic() + 10
    while alive(pid_file):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def test_what_it_prints_and_how_it_ends_come_back(tmp_path: Path) -> None:
    spoken = call(tmp_path, "cat; echo wrong >&2; pwd; exit 3", stdin="hello\n")
    assert spoken == Spoken(code=3, out=f"hello\n{tmp_path}\n".encode(), err=b"wrong\n")


def test_an_end_by_a_signal_is_told_as_a_shell_does(tmp_path: Path) -> None:
    assert call(tmp_path, "kill -TERM $$").code == 143


def test_only_the_end_of_stderr_is_kept(tmp_path: Path) -> None:
    spoken = call(tmp_path, "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo the end >&2")
    assert len(spoken.err) <= headless.MAX_ERR
    assert spoken.err.endswith(b"the end\n")


def test_it_has_no_terminal_to_ask_on(tmp_path: Path) -> None:
    session, pid = call(tmp_path, "cut -d' ' -f6 /proc/$$/stat; echo $$").out.split()
    assert session == pid  # the leader of a new session has none


def test_whoever_prints_without_end_is_ended(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="printed more than 4 MiB"):
        call(tmp_path, "echo $$ > pid; yes")
    assert gone(tmp_path / "pid")


def test_whoever_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = "trap '' TERM; (trap '' TERM; echo $$ > parent; sleep 600) & echo $! > child; wait"
    started = time.monotonic()
    with pytest.raises(UnavailableError, match="longer than 1 s"):
        call(tmp_path, script, seconds=1)
    assert time.monotonic() - started < 20
    assert gone(tmp_path / "parent")
    assert gone(tmp_path / "child")


def test_what_is_left_of_its_group_does_not_outlive_it(tmp_path: Path) -> None:
    spoken = call(tmp_path, "sleep 600 & echo $! > child; echo done")
    assert spoken.out == b"done\n"
    assert gone(tmp_path / "child")


def test_somebody_else_who_holds_its_output_keeps_nobody_waiting(tmp_path: Path) -> None:
    script = f"{sys.executable} -c 'import os, time; os.setsid(); time.sleep(15)' & echo done"
    started = time.monotonic()
    assert call(tmp_path, script).out == b"done\n"
    assert time.monotonic() - started < 10


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "in").touch()
    with pytest.raises(NotFoundError, match="/nowhere/agent"):
        headless.call(["/nowhere/agent"], ENV, tmp_path, tmp_path / "in", seconds=5)
    (tmp_path / "plain").write_text("not a program")
    with pytest.raises(NotExecutableError):
        headless.call([str(tmp_path / "plain")], ENV, tmp_path, tmp_path / "in", seconds=5)
