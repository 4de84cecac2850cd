"""One thing that was looked at, and what an adapter may add to that.

Only the standard library is imported here, so that an adapter may use it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable


class Level(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; nothing is wrong."""
    WARNING = "warning"
    """Works, and something may be lost or go wrong later."""
    PROBLEM = "problem"
    """Does not work. `doctor` ends with 65 when there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, in one sentence without the final stop."""

    code: str
    """Stable name, for scripts."""
    level: Level
    sentence: str
    fix: str | None = None
    """Command or step that mends it."""
    about: str | None = None
    """What it is about when there are several of the kind: harness entry, run, workstream."""


@runtime_checkable
class Diagnosing(Protocol):
    """An adapter that knows more of its harness than every adapter has to."""

    def diagnose(self, home: Path, cwd: Path, env: Mapping[str, str]) -> Sequence[Finding]:
        """Look at the harness's own settings and processes; changes nothing, raises nothing.

        `home` is the store home, `env` the environment that a child would be started with.
        """
