"""Measuring child processes and calls: CPU of the process, wall time, peak memory, medians."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
OURS: Final = (sys.executable, "-I", str(ROOT / "workstream_entry.py"))
LIMIT: Final = 3600
"""Seconds that a child may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one child process used."""

    cpu: float
    """Seconds, user and system, of the process and the children it waited for."""
    wall: float
    rss: float
    """Megabytes at the peak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of the table."""

    name: str
    figure: str
    target: str
    floor: str = ""
    ratio: str = ""
    ok: bool | None = None
    """None: not measured, or no target."""

    def document(self) -> dict[str, str | bool | None]:
        """Return the row for the JSON file."""
        return {key: getattr(self, key) for key in self.__slots__}


def environment(home: Path, state: Path | None = None) -> dict[str, str]:
    """Return an environment with nothing of this process in it but PATH."""
    home.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "LANG": "C.UTF-8"}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return env if state is None else {**env, "WORKSTREAM_HOME": str(state)}


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: Path,
    *,
    stdin: bytes = b"",
    log: Path | None = None,
) -> Used:
    """Run a child to its end; return what it used. Raises RuntimeError when it fails."""
    with (log or Path(os.devnull)).open("w+b") as out:
        start = time.perf_counter()
        child = subprocess.Popen(
            argv, env=dict(env), cwd=cwd, stdin=subprocess.PIPE, stdout=out, stderr=out
        )
        if child.stdin is not None:
            child.stdin.write(stdin)
            child.stdin.close()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            out.seek(0)
            said = out.read()[-800:].decode("utf-8", "replace") if log else ""
            raise RuntimeError(f"{argv[:6]} ended with {child.returncode}: {said}")
    return Used(cpu=usage.ru_utime + usage.ru_stime, wall=wall, rss=usage.ru_maxrss / 1024)


def interleaved(repeats: int, *calls: Callable[[], Used]) -> list[Used]:
    """Call each in turn, `repeats` times; return the medians."""
    got: list[list[Used]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, into in zip(calls, got, strict=True):
            into.append(call())
    return [
        Used(
            cpu=median(used.cpu for used in each),
            wall=median(used.wall for used in each),
            rss=max(used.rss for used in each),
        )
        for each in got
    ]


def timed(call: Callable[[], object], repeats: int) -> list[float]:
    """Return the wall seconds of each of some calls in this process, sorted."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return sorted(times)


def share(times: Sequence[float], part: float) -> float:
    """Return a percentile of sorted times."""
    return times[min(len(times) - 1, int(part * len(times)))]


def ms(seconds: float) -> str:
    """Write a time in milliseconds."""
    return f"{seconds * 1000:.3g} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"


def write(path: Path, rows: Sequence[Row], about: Mapping[str, object]) -> None:
    """Write the JSON file."""
    document = {"version": 1, "about": dict(about), "rows": [row.document() for row in rows]}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
