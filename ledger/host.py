"""This host and its processes: who is alive, since when, at which terminal.

A process is identified by pid **and** start time, so that a pid that was given to another program
is never taken for the old one. Linux answers come from `/proc` (about 16 us each); psutil is
imported only where there is no `/proc`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

_LINUX: Final = sys.platform.startswith("linux")
_STATE, _START = 0, 19
"""Positions after the command name in /proc/<pid>/stat: fields 3 and 22 of proc(5)."""
_DEAD_LETTERS: Final = frozenset("ZXx")
_STOPPED_LETTERS: Final = frozenset("Tt")


class Life(StrEnum):
    """What is known about one process."""

    RUNNING = "running"
    STOPPED = "stopped"
    """Suspended by a signal or a debugger: it exists and does nothing."""
    DEAD = "dead"
    """Not there, a zombie, or its pid now belongs to another process."""
    UNKNOWN = "unknown"
    """A process with that pid exists and this user may not see which one it is."""


def process_start(pid: int) -> int | None:
    """Return the start time of a process, or None when it is gone or cannot be seen.

    Clock ticks since boot on Linux, milliseconds since the epoch elsewhere: a value to compare
    for equality on the same host and boot, not a time. A zombie still has one.
    """
    found = _observe(pid)
    return None if found is None else found[1]


def life(pid: int, start: int | None) -> Life:
    """Say whether the process that had `pid` and `start` still lives.

    `start` None: any process with that pid counts as the one that is meant.
    """
    found = _observe(pid)
    if found is None:
        return Life.UNKNOWN if _exists(pid) else Life.DEAD
    letter, started = found
    if letter in _DEAD_LETTERS or (start is not None and started != start):
        return Life.DEAD
    return Life.STOPPED if letter in _STOPPED_LETTERS else Life.RUNNING


def alive(pid: int, start: int | None) -> bool:
    """Say whether that process is there, running or stopped; unknown counts as alive."""
    return life(pid, start) is not Life.DEAD


def boot_id() -> str:
    """Return an id of this boot of the kernel, or "" where the platform gives none."""
    if _LINUX:
        return _text(Path("/proc/sys/kernel/random/boot_id"))
    return _boot_session()


def pid_namespace() -> int:
    """Return the inode of our pid namespace, 0 where there are none."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino if _LINUX else 0
    except OSError:
        return 0


def machine_tag() -> str:
    """Return 8 hex digits that differ between machines which share a directory.

    From the machine id, else the host name. Never the id itself.
    """
    name = _text(Path("/etc/machine-id")) or os.uname().nodename
    return hashlib.sha256(b"workstream machine " + name.encode()).hexdigest()[:8]


def user_name() -> str:
    """Return the name of the effective user, or the number where it has no name."""
    import pwd

    uid = os.geteuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def terminal_name(env: Mapping[str, str]) -> str | None:
    """Return where a person finds this process: `tmux %3 (/dev/pts/4)`, `/dev/pts/4`, or None."""
    tty = _tty()
    pane = env.get("TMUX_PANE", "").strip() if env.get("TMUX", "").strip() else ""
    if pane:
        return f"tmux {pane} ({tty})" if tty else f"tmux {pane}"
    return tty


def terminal_idle_ms(terminal: str | None) -> int | None:
    """Return how long nobody has typed at a terminal named by `terminal_name`, in milliseconds.

    From the access time of the device, as `w` does; None when it is gone or not a terminal here.
    """
    if terminal is None:
        return None
    start = terminal.find("/dev/")
    if start < 0:
        return None
    try:
        read_at = Path(terminal[start:].rstrip(")")).stat().st_atime
    except OSError:
        return None
    return max(0, int((time.time() - read_at) * 1000))


def _tty() -> str | None:
    for fd in (0, 1, 2):
        try:
            return os.ttyname(fd)
        except OSError:
            continue
    return None


def _observe(pid: int) -> tuple[str, int] | None:
    """Return (state letter, start time) of a process, or None."""
    if pid <= 0:
        return None
    if not _LINUX:
        return _observe_elsewhere(pid)
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        raw = os.read(fd, 4096)
    except OSError:
        return None  # it ended between open and read
    finally:
        os.close(fd)
    return parse_stat(raw)


def parse_stat(raw: bytes) -> tuple[str, int] | None:
    """Read (state letter, start time) out of a /proc/<pid>/stat line.

    The command name in parentheses may itself hold spaces and parentheses: fields count from the
    last closing one. None when the line is not whole.
    """
    fields = raw[raw.rfind(b")") + 1 :].split()
    if len(fields) <= _START or not fields[_START].isdigit():
        return None
    return fields[_STATE].decode("ascii", "replace"), int(fields[_START])


def _observe_elsewhere(pid: int) -> tuple[str, int] | None:
    import psutil

    try:
        process = psutil.Process(pid)
        status, started = process.status(), process.create_time()
    except psutil.Error:
        return None
    letters = {psutil.STATUS_ZOMBIE: "Z", psutil.STATUS_DEAD: "X", psutil.STATUS_STOPPED: "T"}
    return letters.get(status, "R"), int(started * 1000)


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # EPERM: it exists and is another user's
    return True


def _boot_session() -> str:
    """Return the boot session of macOS; "" on a system without `kern.bootsessionuuid`."""
    import subprocess

    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"],
            capture_output=True,
            check=False,
            timeout=2,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
