"""Events, sessions and leases as the JSON contract and the human listings show them."""

from __future__ import annotations

import json
from typing import Any

from launcher.output import iso, local_time
from ledger.model import EventKind, EventRow
from ledger.visible import cut, show


def event_document(event: EventRow) -> dict[str, Any]:
    """Return an event as `log --json`, `show --json` and `search --json` give it."""
    return {
        "seq": event.seq,
        "event_id": event.event_id,
        "kind": str(event.kind),
        "role": event.role,
        "harness": event.harness,
        "session": event.session,
        "text": event.text,
        "truncated": event.truncated,
        "bytes": event.bytes,
        "call_id": event.call_id,
        "tool": event.tool,
        "tool_input": _json(event.tool_input),
        "exit_code": event.exit_code,
        "status": event.status,
        "occurred_at": iso(event.occurred_at),
        "turn": event.turn,
        "branch": str(event.branch),
        "run": event.run,
        "origin": str(event.origin),
    }


def _json(text: str | None) -> Any:  # noqa: ANN401  (any JSON value)
    return None if text is None else json.loads(text)


WORDS = {
    EventKind.USER_MESSAGE: "user",
    EventKind.ASSISTANT_MESSAGE: "assistant",
    EventKind.TOOL_CALL: "call",
    EventKind.TOOL_RESULT: "result",
    EventKind.COMPACTION: "compaction",
    EventKind.CHECKPOINT: "checkpoint",
    EventKind.ANNOTATION: "loss",
}


def event_head(event: EventRow) -> str:
    """Return the line that names an event: reference, time, harness, kind, outcome."""
    parts = [
        f"e{event.seq}",
        local_time(event.occurred_at),
        event.harness or "-",
        WORDS[event.kind] + (f" {show(event.tool, newline=False)}" if event.tool else ""),
    ]
    if event.exit_code is not None:
        parts.append(f"exit {event.exit_code}")
    elif event.status not in (None, "ok"):
        parts.append(str(event.status))
    if event.branch == "superseded":
        parts.append("(superseded)")
    if event.origin == "archive":
        parts.append("(archive)")
    return "  ".join(parts)


def event_text(event: EventRow, limit: int | None = None) -> str:
    """Return an event's text for people, cut to `limit` bytes."""
    text = show(event.text).rstrip()
    if not text and event.tool_input:
        text = show(event.tool_input)
    return text if limit is None else cut(text, limit, keep="both").text


def event_line(event: EventRow, width: int) -> str:
    """Return an event in one line of at most about `width` characters."""
    head = event_head(event)
    first = " ".join(event_text(event, 400).split())
    room = max(20, width - len(head) - 2)
    return f"{head}  {first if len(first) <= room else first[: room - 1] + '…'}"
