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
OWN_SERVER: Final = "mcp__workstream__"
"""Prefix of the tools of our own server, if somebody connects it."""
DETAIL: Final = 4096
"""Most characters of a command that are kept until its result comes."""
_PATHS: Final = ("file_path", "notebook_path", "path")


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
