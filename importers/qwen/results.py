"""Outcome of a tool call: what the model got, and what Qwen Code notes beside it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

_EXIT: Final = re.compile(r"^Exit Code: (\d{1,9})$", re.MULTILINE)
_STATUS: Final = {"success": "ok", "error": "error", "cancelled": "interrupted"}
_CREATED: Final = "Successfully created"
_STATUSES: Final = ("pending", "in_progress", "completed")


class Result(NamedTuple):
    """A call's outcome, in the contract's words."""

    text: str
    status: str
    exit_code: int | None
    created: bool


def of(response: dict[str, Any], told: dict[str, Any]) -> Result:
    """Return the outcome of a call from its response and the note beside it."""
    given = response.get("response")
    answer = given if isinstance(given, dict) else {}
    failed = "error" in answer
    whole = answer.get("error") if failed else answer.get("output")
    text = whole if isinstance(whole, str) else ""
    shown = told.get("resultDisplay")
    shell = shown if isinstance(shown, dict) and shown.get("type") == "shell_result" else {}
    code = shell.get("exitCode")
    if not isinstance(code, int):
        found = _EXIT.search(text) if response.get("name") == "run_shell_command" else None
        code = int(found[1]) if found is not None else None
    status = _STATUS.get(str(told.get("status")), "error" if failed else "ok")
    if isinstance(shell.get("output"), str) and not shell.get("truncated"):
        plain = [shell["output"], str(shell.get("error") or "")]
        return Result("\n".join(filter(None, plain)), status, code, created=False)
    return Result(text, status, code, created=text.startswith(_CREATED))


def plan(told: dict[str, Any]) -> tuple[tuple[str, str], ...] | None:
    """Return the list of tasks that a call set, None when it is about something else."""
    shown = told.get("resultDisplay")
    if not isinstance(shown, dict) or shown.get("type") != "todo_list":
        return None
    todos = shown.get("todos")
    if not isinstance(todos, list):
        return None
    return tuple(
        (
            str(item["content"]),
            str(item["status"]) if item.get("status") in _STATUSES else "pending",
        )
        for item in todos
        if isinstance(item, dict) and isinstance(item.get("content"), str)
    )
