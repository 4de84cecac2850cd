"""Whether codex can resume a session right now: its files, its writer's lock, its provider."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from launcher.harnesses import codex_config, processes
from launcher.harnesses.base import Preflight, Readiness
from launcher.harnesses.codex_args import Call


class StoreUnreadableError(Exception):
    """The head of a session file cannot be read; the message says why."""


def preflight(
    home: Path, native_id: str, path: Path | None, cwd: Path, call: Call, system: Path
) -> Preflight:
    """Check a session without touching it."""
    found = path if path is not None and _is_live(path, home) else _newest(home, native_id)
    if found is None:
        if archived(home, native_id):
            return Preflight(
                readiness=Readiness.ARCHIVED,
                detail=f"the session is archived; codex unarchive {native_id} brings it back",
            )
        return Preflight(
            readiness=Readiness.MISSING, detail=f"{home / 'sessions'} has no session {native_id}"
        )
    holder = processes.lock_holder(home / "thread-writer-locks" / f"{native_id}.lock")
    if holder is not None:
        return Preflight(readiness=Readiness.BUSY, detail=_busy(holder), pid=holder.pid)
    try:
        meta = head(found)
    except StoreUnreadableError as error:
        return Preflight(readiness=Readiness.UNREADABLE, detail=str(error))
    refusal = _refusal(home, meta, codex_config.read(home, cwd, call, system), call)
    if refusal is not None:
        return Preflight(readiness=Readiness.REFUSED, detail=refusal)
    return Preflight(readiness=Readiness.READY)


def head(path: Path) -> dict[str, object]:
    """Return the payload of a session's first record. Raises StoreUnreadableError."""
    try:
        if path.suffix == ".zst":
            line = _first_line_packed(path)
        else:
            with path.open("rb") as file:
                line = file.readline()
        record = json.loads(line)
    except (OSError, ValueError) as error:
        raise StoreUnreadableError(f"{path} cannot be read: {error}") from error
    payload = record.get("payload") if isinstance(record, dict) else None
    if not isinstance(payload, dict):
        raise StoreUnreadableError(f"{path} does not begin with a session's description")
    return payload


def archived(home: Path, native_id: str) -> bool:
    """Whether a session has been archived."""
    return any((home / "archived_sessions").glob(f"rollout-*{native_id}*.jsonl*"))


def _is_live(path: Path, home: Path) -> bool:
    return path.is_file() and home / "archived_sessions" not in path.parents


def _newest(home: Path, native_id: str) -> Path | None:
    """Return the file that is being appended to: the newest segment of the session."""
    found = (home / "sessions").glob(f"*/*/*/rollout-*-{native_id}*.jsonl*")
    return max(found, key=lambda path: path.name, default=None)


def _busy(holder: processes.Process) -> str:
    who = holder.name if holder.pid is None else f"{holder.name} (pid {holder.pid})"
    text = f"the session is being written by {who}"
    if "app-server" in holder.command:
        return f"{text}, codex's background server; codex app-server daemon stop ends it"
    return text


def _refusal(
    home: Path, meta: dict[str, object], config: codex_config.Config, call: Call
) -> str | None:
    provider = meta.get("model_provider")
    if isinstance(provider, str) and not call.has("--oss") and provider != config.provider():
        return (
            f"the session belongs to the model provider {provider}, this launch uses"
            f" {config.provider()}, and codex does not change it"
        )
    base = meta.get("history_base")
    parent = base.get("thread_id") if isinstance(base, dict) else None
    if isinstance(parent, str) and _newest(home, parent) is None and not archived(home, parent):
        return f"the session continues {parent}, whose file is gone"
    return None


def _first_line_packed(path: Path) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    try:
        with zstd.open(path, "rb") as file:
            return bytes(file.readline())
    except zstd.ZstdError as error:
        raise OSError(str(error)) from error
