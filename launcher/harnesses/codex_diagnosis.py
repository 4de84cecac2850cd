"""What `doctor` says about Codex: its background server, which keeps sessions to itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from launcher.diagnosis.finding import Finding, Level
from launcher.harnesses import processes


def diagnose(home: Path) -> tuple[Finding, ...]:
    """Return a note when codex's background server runs for this store."""
    found = daemon(home)
    if found is None:
        return ()
    return (
        Finding(
            code="codex_daemon",
            level=Level.NOTE,
            sentence=f"codex's background server runs for {home} (pid {found.pid}); a session that"
            " it has open cannot be resumed elsewhere",
            fix="codex app-server daemon stop",
        ),
    )


def daemon(home: Path, proc: Path = processes.PROC) -> processes.Process | None:
    """Return codex's background server of a store home, by what it runs or what it has locked.

    The server is a copy of codex below `packages` of the store home (observed with 0.171.0). None
    also where /proc does not tell.
    """
    for process in _processes(proc):
        if "app-server" in process.command and _is_copy(process, home, proc):
            return process
    for lock in (home / "thread-writer-locks").glob("*.lock"):
        holder = processes.lock_holder(lock, proc)
        if holder is not None and "app-server" in holder.command:
            return holder
    return None


def _is_copy(process: processes.Process, home: Path, proc: Path) -> bool:
    try:
        program = os.readlink(proc / str(process.pid) / "exe")  # noqa: PTH115  (text is enough)
    except OSError:
        program = process.command[0]
    packages = f"{os.path.realpath(home / 'packages')}{os.sep}"
    return os.path.realpath(program).startswith(packages)


def _processes(proc: Path) -> Iterator[processes.Process]:
    try:
        names = sorted(entry for entry in os.listdir(proc) if entry.isdigit())  # noqa: PTH208
    except OSError:
        return
    for name in names:
        yield processes.describe(int(name), proc)
