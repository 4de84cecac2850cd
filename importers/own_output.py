"""Recognise our own words inside a harness's records, so that they are not imported as history.

Without this every switch would feed the last briefing back into the ledger. Three things are ours:
a fenced briefing, the output of a `workstream` command that an agent ran, and the receipt lines
in such output. Recognition works on text alone; readers decide what a hit means for a record.
"""

from __future__ import annotations

import re
from typing import Final

DELIVERY: Final = re.compile(r"dlv_[a-z2-7]{10}_[0-9]{4}(?![0-9a-z_])")
DELIVERY_BYTES: Final = re.compile(rb"dlv_[a-z2-7]{10}_[0-9]{4}(?![0-9a-z_])")
STUB: Final = "[output of a workstream command; not kept a second time]"
RECEIPT: Final = "workstream-receipt/1 "

_VERBS: Final = (
    "run|resume|stop|list|ls|status|log|show|search|note|objective|briefing|handoff|import|recover|"
    "verify|backup|restore|forget|rename|relink|archive|harnesses|doctor|config|completion"
)
_FOLDER: Final = r"(?:'[^'\n]*/|\"[^\"\n]*/|[\"']?(?:[^\s;&|()\"'`]*/)?)"
"""Where a program lies: a quoted path may have blanks in it."""
_END: Final = r"[\"']?(?=[\s;&|)`]|$)"
# At the start of a simple command, after assignments and common prefixes. The long name is ours
# whatever follows; the short one belongs to other programs too, so it needs one of our verbs.
_COMMAND: Final = re.compile(
    r"(?:^|[;&|\n(`{]|\bthen\b|\bdo\b|\belse\b)\s*"
    r"(?:(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s;&|'\"]*)"
    r"|env|sudo|command|exec|time|nohup|uvx|uv\s+run|pipx\s+run)\s+)*"
    rf"(?:{_FOLDER}python[\w.]*[\"']?\s+(?:-\w+\s+)*{_FOLDER}workstream_entry\.py{_END}"
    rf"|{_FOLDER}(?:workstream{_END}|ws[\"']?\s+(?:-\S+\s+)*(?:{_VERBS})\b))"
)
_BEGIN: Final = re.compile(r"^[^\w\n]*BEGIN WORKSTREAM\b.*$", re.MULTILINE)
_FENCE: Final = re.compile(
    r"^[^\w\n]*BEGIN WORKSTREAM\b[^\n]*?(dlv_(?:[a-z2-7]{10}_[0-9]{4}|@{10}_@{4}))[^\n]*"
    r"(?:\n(?:.*?\n)??[^\w\n]*END WORKSTREAM\b[^\n]*\1[^\n]*(?:\n|\Z)|.*\Z)",
    re.MULTILINE | re.DOTALL,
)


def runs_us(command: str) -> bool:
    """Return whether a shell command runs our program, directly or as one part of it."""
    return ("workstream" in command or "ws" in command) and _COMMAND.search(command) is not None


def holds_briefing(text: str) -> bool:
    """Return whether the text contains the first line of a fenced briefing."""
    return "BEGIN WORKSTREAM" in text and _BEGIN.search(text) is not None


def receipts(text: str) -> list[str]:
    """Return the receipt lines in the output of one of our commands."""
    if RECEIPT not in text:
        return []
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith(RECEIPT)]


def without_briefings(text: str) -> tuple[str, list[str]]:
    """Take fenced briefings out of a text; return what is left and their delivery ids.

    One that was never printed (its file was read) has the placeholder in place of an id. A fence
    counts only with one of them on its first line; without its end it reaches to the end of the
    text. What remains is stripped of blank edges when something was taken out.
    """
    if "BEGIN WORKSTREAM" not in text:
        return text, []
    found = [match.group(1) for match in _FENCE.finditer(text)]
    if not found:
        return text, []
    return _FENCE.sub("", text).strip(), found
