"""The run's private folder: hook, briefings, event file. 0700, files 0600, one for each run."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.errors import StateError, StateFullError

RUNS: Final = "runs"
EVENTS: Final = "events.jsonl"
MAX_EVENT_LINE: Final = 64 * 1024


class HookEvent(NamedTuple):
    """A line of the run's event file, as the hook wrote it."""

    at: int
    event: str
    session: str
    transcript: str | None
    source: str | None
    cwd: str | None
    briefing: int | None
    delivery: str | None
    proof: bool = True
    """False: the printed text leaves no trace in the native store."""


def path_of(home: Path, run: str) -> Path:
    """Return the folder of a run; it may not exist (any more)."""
    return home / RUNS / run


def create(home: Path, run: str) -> Path:
    """Create the folder of a run with an empty event file. Raises StateError."""
    folder = path_of(home, run)
    try:
        (home / RUNS).mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        write(folder, EVENTS, b"")
    except OSError as error:
        raise _failed(error, folder) from error
    return folder


def write(folder: Path, name: str, data: bytes) -> Path:
    """Create a file 0600 below the folder (parents 0700). Raises StateError."""
    path = folder / name
    try:
        for parent in reversed(path.relative_to(folder).parents[:-1]):
            (folder / parent).mkdir(mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o600)
            file.write(data)
    except OSError as error:
        raise _failed(error, path) from error
    return path


def write_json(folder: Path, name: str, document: Mapping[str, Any]) -> Path:
    """Create a JSON file 0600 below the folder. Raises StateError."""
    return write(folder, name, json.dumps(document, ensure_ascii=False).encode())


def events(folder: Path) -> list[HookEvent]:
    """Return the complete lines of the event file, in order; a line that is no event is skipped.

    The hook is the only writer, one line per write; anything else in the file is not ours.
    """
    try:
        raw = (folder / EVENTS).read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _failed(error, folder / EVENTS) from error
    found = []
    for line in raw.split(b"\n")[:-1]:
        event = _event(line)
        if event is not None:
            found.append(event)
    return found


def remove(home: Path, run: str) -> None:
    """Remove the folder of a run; nothing happens when it is gone already."""
    with contextlib.suppress(FileNotFoundError):
        import shutil

        shutil.rmtree(path_of(home, run))


def _event(line: bytes) -> HookEvent | None:
    if len(line) > MAX_EVENT_LINE:
        return None
    try:
        record = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or not isinstance(record.get("session"), str):
        return None
    return HookEvent(
        at=record["at"] if isinstance(record.get("at"), int) else 0,
        event=str(record.get("event")),
        session=record["session"],
        transcript=_text(record.get("transcript")),
        source=_text(record.get("source")),
        cwd=_text(record.get("cwd")),
        briefing=record["briefing"] if isinstance(record.get("briefing"), int) else None,
        delivery=_text(record.get("delivery")),
        proof=record.get("proof") is not False,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _failed(error: OSError, path: Path) -> StateError:
    import errno

    kind = StateFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else StateError
    return kind(
        f"cannot write {path}",
        detail=error.strerror,
        next_step="Free some space, or set WORKSTREAM_HOME to a directory you can write to.",
    )
