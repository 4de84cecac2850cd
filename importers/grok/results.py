"""Outcome of a tool call: what the model got, in the forms that Grok Build's tools leave."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_STATUS: Final = {"completed": "ok", "failed": "error", "cancelled": "interrupted"}
_TOLD: Final = ("tool_output_for_prompt", "summary_for_prompt")
"""Where tools that show something else say what the model got."""
_CREATED: Final = "has been created."
_PLAN: Final = ("pending", "in_progress", "completed")


class Result(NamedTuple):
    """A call's outcome, in the contract's words."""

    text: str
    status: str
    exit_code: int | None
    created: bool


def of(update: dict[str, Any]) -> Result | None:
    """Return the outcome that an update tells, None while the call goes on."""
    status = _STATUS.get(str(update.get("status")))
    if status is None:
        return None
    raw = update.get("rawOutput")
    output = raw if isinstance(raw, dict) else {}
    code = output.get("exit_code")
    exit_code = code if isinstance(code, int) else None
    if status == "ok" and (exit_code or output.get("timed_out") or output.get("signal")):
        status = "error"
    told = [
        inner[name]
        for inner in output.values()
        for name in _TOLD
        if isinstance(inner, dict) and isinstance(inner.get(name), str)
    ]
    text = told[0] if told else _text(update.get("content"))
    if not text and isinstance(raw, str):
        text = raw
    return Result(text, status, exit_code, created=text.endswith(_CREATED))


def plan(update: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the tasks of a plan as it stands now."""
    entries = update.get("entries")
    return tuple(
        (item["content"], item["status"] if item.get("status") in _PLAN else "pending")
        for item in (entries if isinstance(entries, list) else [])
        if isinstance(item, dict) and isinstance(item.get("content"), str)
    )


def _text(content: object) -> str:
    found = []
    for part in content if isinstance(content, list) else []:
        inner = part.get("content") if isinstance(part, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            found.append(inner["text"])
    return "\n".join(found)
