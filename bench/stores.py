"""Both synthetic native stores, made once for a size and a seed and kept for later runs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import claude_store, codex_store

SEED: Final = 20261130
MEGABYTE: Final = 1_000_000
SESSION: Final = 525_000
"""Bytes of a session on average: 105 MB are 200 session files."""
_FORMAT: Final = 2
"""Raised when the generators change, so that kept stores are made anew."""

MAKERS: Final[dict[str, Callable[..., int]]] = {
    "claude": claude_store.make,
    "codex": codex_store.make,
}
APPENDERS: Final[dict[str, Callable[[Path], Path]]] = {
    "claude": claude_store.append_one,
    "codex": codex_store.append_one,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Native:
    """A store of one harness."""

    harness: str
    home: Path
    size: int
    files: int


def prepare(folder: Path, size: int, seed: int = SEED) -> list[Native]:
    """Return a Claude and a Codex store of about `size` bytes each, made when missing.

    The sessions say that they were recorded in `project/` beside them, a git repository.
    """
    project = repository(folder / "project")
    return [_prepare(folder, harness, size, seed, project) for harness in MAKERS]


def repository(path: Path) -> Path:
    """Return a git repository with one commit, made when missing."""
    if not (path / ".git").exists():
        path.mkdir(parents=True, exist_ok=True)
        (path / "README").write_text("bench\n", encoding="utf-8")
        who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")
        for args in (("init", "-q", "-b", "main"), ("add", "-A"), (*who, "commit", "-qm", "start")):
            subprocess.run(["git", *args], cwd=path, check=True)
    return path


def _prepare(folder: Path, harness: str, size: int, seed: int, project: Path) -> Native:
    home = folder / f"{harness}-{size}-{seed}-{_FORMAT}"
    if not home.exists():
        scratch = home.with_suffix(".part")
        shutil.rmtree(scratch, ignore_errors=True)
        sessions = max(1, size // SESSION)
        MAKERS[harness](scratch, size, seed, cwd=str(project), sessions=sessions)
        scratch.rename(home)
    paths = list(home.rglob("*.jsonl"))
    total = sum(path.stat().st_size for path in paths)
    return Native(harness=harness, home=home, size=total, files=len(paths))
