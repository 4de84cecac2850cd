"""What a tool call is about: the file, the command, the file facts that follow from success."""

from __future__ import annotations

from typing import Final

import msgspec

from importers import own_output
from importers.base import FileFact, Json
from importers.claude.plans import TASK_TOOLS

SHELLS: Final = frozenset({"Bash", "BashTool", "PowerShell", "shell"})
READERS: Final = frozenset({"Read", "NotebookRead"})
EDITORS: Final = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Update"})
WRITERS: Final = frozenset({"Write"})
SEARCHERS: Final = frozenset({"Grep", "Glob", "Search", "LS"})
AGENTS: Final = frozenset({"Agent", "Task"})
OWN_SERVER: Final = "mcp__workstream__"
"""Prefix of the tools of our own server, if somebody connects it."""
DETAIL: Final = 4096
"""Most characters of a command that are kept until its result comes."""
LABEL: Final = 400
"""Most characters of the JSON that stands for the input of a tool without a better word for it."""
_PATHS: Final = ("file_path", "notebook_path", "path")
_PATTERNS: Final = ("pattern", "query", "path")


def label(tool: str, tool_input: Json) -> str:
    """Return what a person reads of a call: the command, path, pattern or task; else short JSON.

    The whole input stays beside it, structured.
    """
    if not isinstance(tool_input, dict):
        return "" if tool_input is None else _short(tool_input)
    if tool in SHELLS:
        return _first(tool_input, ("command",)) or _short(tool_input)
    if tool in READERS or tool in EDITORS or tool in WRITERS:
        return _first(tool_input, _PATHS) or _short(tool_input)
    if tool in SEARCHERS:
        return _first(tool_input, _PATTERNS) or _short(tool_input)
    if tool in AGENTS:
        return _first(tool_input, ("description", "prompt")) or _short(tool_input)
    return _short(tool_input) if tool_input else ""


def _first(values: dict[str, Json], keys: tuple[str, ...]) -> str:
    found = (values.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str) and value), "")


def _short(value: Json) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LABEL else text[:LABEL] + "…"


def detail(tool: str, tool_input: Json) -> str:
    """Return what has to be remembered of a call until its result comes."""
    if not isinstance(tool_input, dict):
        return ""
    if tool in SHELLS:
        command = tool_input.get("command")
        return command[:DETAIL] if isinstance(command, str) else ""
    if tool in READERS or tool in EDITORS or tool in WRITERS:
        return next((str(tool_input[key]) for key in _PATHS if tool_input.get(key)), "")
    if tool in TASK_TOOLS:
        kept = {key: tool_input.get(key) for key in ("taskId", "status", "subject")}
        return msgspec.json.encode(kept).decode()
    return ""


def is_own(tool: str, tool_input: Json) -> bool:
    """Return whether a call runs our own program, so that its output is history already."""
    if tool.startswith(OWN_SERVER):
        return True
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    return tool in SHELLS and isinstance(command, str) and own_output.runs_us(command)


def file_fact(
    tool: str, path: str, result_type: str | None, at: int, agent: str = ""
) -> FileFact | None:
    """Return what a successful call says about a file."""
    if not path:
        return None
    if tool in READERS:
        action = "read"
    elif tool in EDITORS:
        action = "edit"
    elif tool in WRITERS:
        action = "create" if result_type == "create" else "edit"
    else:
        return None
    return FileFact(path=path, action=action, at=at, agent=agent)
