"""Claude Code's session files and live processes, looked at without touching them.

Observed with 2.1.197 and 2.1.332.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from launcher.harnesses import processes
from launcher.harnesses.base import Preflight, Readiness

_LONGEST_SLUG: Final = 200
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_CONVERSATION: Final = re.compile(rb'"type"\s*:\s*"(?:user|assistant)"')


def slug(directory: Path) -> str:
    """Return the name of the folder below `projects/` for a directory; not injective.

    Every UTF-16 unit outside A-Z, a-z, 0-9 becomes a dash; a long name is cut at 200 and gets a
    hash of the whole path.
    """
    path = unicodedata.normalize("NFC", os.path.realpath(directory))
    units = _units(path)
    text = "".join(chr(unit) if _plain(unit) else "-" for unit in units)
    if len(text) <= _LONGEST_SLUG:
        return text
    return f"{text[:_LONGEST_SLUG]}-{_base36(abs(_hash(units)))}"


def locate(home: Path, native_id: str, path: Path | None = None) -> Path | None:
    """Return a session's file: where it was last, else wherever claude has moved it."""
    if path is not None and path.is_file():
        return path
    found = [p for p in (home / "projects").glob(f"*/{native_id}.jsonl") if p.is_file()]
    return max(found, key=lambda p: p.stat().st_mtime_ns, default=None)


def resumable_by_id(home: Path, native_id: str, cwd: Path) -> bool:
    """Whether claude, started in `cwd`, finds the session by its id."""
    return (home / "projects" / slug(cwd) / f"{native_id}.jsonl").is_file()


def preflight(home: Path, native_id: str, path: Path | None) -> Preflight:
    """Check that a session holds a conversation and that no live process has it."""
    holder = _live(home, native_id)
    if holder is not None:
        return holder
    found = locate(home, native_id, path)
    if found is None:
        return Preflight(
            readiness=Readiness.MISSING,
            detail=f"{home / 'projects'} has no session {native_id}",
        )
    try:
        talked = _has_conversation(found)
    except OSError as error:
        return Preflight(
            readiness=Readiness.UNREADABLE, detail=f"{found} cannot be read: {error.strerror}"
        )
    if not talked:
        return Preflight(
            readiness=Readiness.MISSING,
            detail=f"{found} was opened but never used; claude resumes no such session",
        )
    return Preflight(readiness=Readiness.READY)


def _live(home: Path, native_id: str) -> Preflight | None:
    """Return who has the session open right now, by claude's own registry."""
    for entry in _registry(home):
        pid = entry.get("pid")
        if entry.get("sessionId") != native_id or not isinstance(pid, int):
            continue
        started = processes.start_ticks(pid)
        if started is None or started != str(entry.get("procStart")):
            continue
        details = [f"pid {pid}"]
        details += [str(entry[key]) for key in ("status", "cwd") if entry.get(key)]
        kind = "a background claude" if entry.get("kind") == "bg" else "claude"
        return Preflight(
            readiness=Readiness.BUSY,
            detail=f"the session is open in {kind} ({', '.join(details)})",
            pid=pid,
        )
    return None


def _registry(home: Path) -> Iterator[dict[str, object]]:
    for path in (home / "sessions").glob("*.json"):
        try:
            entry = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(entry, dict):
            yield entry


def _has_conversation(path: Path) -> bool:
    with path.open("rb") as file:
        for line in file:
            if _CONVERSATION.search(line) and _record_type(line) in ("user", "assistant"):
                return True
    return False


def _record_type(line: bytes) -> object:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record.get("type") if isinstance(record, dict) else None


def _units(text: str) -> list[int]:
    raw = text.encode("utf-16-le", "surrogatepass")
    return [int.from_bytes(raw[i : i + 2], "little") for i in range(0, len(raw), 2)]


def _plain(unit: int) -> bool:
    return unit < 128 and chr(unit).isalnum()


def _hash(units: list[int]) -> int:
    value = 0
    for unit in units:
        value = (value * 31 + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _base36(value: int) -> str:
    text = ""
    while value:
        value, digit = divmod(value, 36)
        text = _DIGITS[digit] + text
    return text or "0"
