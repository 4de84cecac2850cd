"""Outcome of a tool call, as Copilot CLI notes it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

_TRAILER: Final = re.compile(r"\n?<shellId: [\w-]{1,40} completed with exit code (-?\d{1,9})>\s*\Z")
"""What Copilot CLI puts behind the output of a command that is over."""
_CANCELLED: Final = frozenset({"rejected", "denied", "aborted", "cancelled", "interrupted"})


class Result(NamedTuple):
    """A call's outcome, in the contract's words."""

    text: str
    status: str
    exit_code: int | None
    created: bool


def of(data: dict[str, Any]) -> Result:
    """Return the outcome of a call that is over."""
    result, error = data.get("result"), data.get("error")
    shell = data.get("shellExecution")
    text = result.get("content") if isinstance(result, dict) else None
    text = text if isinstance(text, str) else ""
    code = shell.get("exitCode") if isinstance(shell, dict) else None
    trailer = _TRAILER.search(text)
    if trailer is not None and isinstance(code, int):
        text = text[: trailer.start()]
    status = "ok" if data.get("success") is not False and code in (None, 0) else "error"
    if isinstance(error, dict):
        text = text or str(error.get("message") or "")
        if error.get("code") in _CANCELLED:
            status = "interrupted"
    return Result(text, status, code if isinstance(code, int) else None, _creates(data))


def _creates(data: dict[str, Any]) -> bool:
    edits = data.get("fileEdits")
    listed = edits if isinstance(edits, list) else []
    return any(isinstance(edit, dict) and edit.get("kind") == "create" for edit in listed)
