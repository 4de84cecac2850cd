"""What `doctor` says about Claude Code: how long it keeps sessions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from launcher.diagnosis.finding import Finding, Level
from launcher.harnesses import claude_args, claude_settings

DEFAULT_DAYS: Final = 30
"""Sessions older than this are deleted while nothing else is set; observed with 2.1.197."""
_SETTING: Final = "cleanupPeriodDays"


def diagnose(home: Path, cwd: Path, env: Mapping[str, str], managed: Path) -> tuple[Finding, ...]:
    """Return the retention of this store."""
    del env
    return (_retention(home, cwd, managed),)


def _retention(home: Path, cwd: Path, managed: Path) -> Finding:
    found = retention(home, cwd, managed)
    if found is None:
        return Finding(
            code="claude_retention",
            level=Level.WARNING,
            sentence=f"Claude Code deletes its sessions in {home} after {DEFAULT_DAYS} days"
            f" (the default; {_SETTING} is not set); what was imported stays in the ledger",
            fix=f"Set {_SETTING} in {home / 'settings.json'}, for example to 365.",
        )
    days, where = found
    short = days < DEFAULT_DAYS
    return Finding(
        code="claude_retention",
        level=Level.WARNING if days <= DEFAULT_DAYS else Level.OK,
        sentence=f"Claude Code deletes its sessions in {home} after {days} days"
        f" ({_SETTING} in {where})" + ("; that is less than the default" if short else ""),
        fix=f"Raise {_SETTING} there." if days <= DEFAULT_DAYS else None,
    )


def retention(home: Path, cwd: Path, managed: Path) -> tuple[int, str] | None:
    """Return the days that count in this directory and where they are set; None: the default."""
    found = None
    for layer in claude_settings.layers(claude_args.take_apart(()), home, cwd, managed):
        days = layer.settings.get(_SETTING)
        if not isinstance(days, int) or isinstance(days, bool):
            continue
        if layer.managed:
            return days, layer.where
        found = days, layer.where  # the project's own files come after the user's, and win
    return found
