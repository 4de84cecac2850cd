from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from importers.base import Event, Item, Limit, Limits, Turn
from importers.grok import IMPORTER
from tests.importers.claude.transcript import MemoryNodes

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"


def line(number: int, kind: str, *, stream: int = 1, **update: Any) -> str:
    meta = {
        "eventId": f"{ID}-{number}",
        "agentTimestampMs": 1_796_000_000_000 + number,
        "streamStartMs": stream,
    }
    params = {"sessionId": ID, "update": {"sessionUpdate": kind, **update}, "_meta": meta}
    return json.dumps({"timestamp": 1, "method": "session/update", "params": params}) + "\n"


def words(number: int, text: str, *, stream: int = 1) -> str:
    content = {"type": "text", "text": text}
    return line(number, "agent_message_chunk", stream=stream, content=content)


def store(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "sessions" / "%2Fhome%2Fuser" / ID / "updates.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(lines))
    return path


def read(tmp_path: Path, state: str | None = None, *, closed: bool) -> tuple[list[Item], str]:
    source = IMPORTER.locate(tmp_path, ID)
    items: list[Item] = []
    for batch in IMPORTER.read(source, state, MemoryNodes(), Limits(), closed=closed):
        items += batch.items
        state = batch.state
    assert state is not None
    return items, state


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, Event)]


def test_pieces_of_one_stream_are_one_message_over_several_reads(tmp_path: Path) -> None:
    path = store(tmp_path, words(1, "Grü"))
    items, state = read(tmp_path, closed=False)
    assert texts(items) == []
    with path.open("a") as file:
        file.write(words(2, "ße") + words(3, "next", stream=2))
    items, state = read(tmp_path, state, closed=False)
    assert texts(items) == ["Grüße"]
    items, _ = read(tmp_path, state, closed=True)
    assert texts(items) == ["next"]


def test_a_refusal_that_is_a_limit_is_told_and_fails_the_turn(tmp_path: Path) -> None:
    message = "Too many requests: usage limit reached"
    store(
        tmp_path,
        line(1, "user_message_chunk", content={"type": "text", "text": "go on"}),
        line(2, "retry_state", type="failed", error_type="rate_limit", message=message),
        line(3, "turn_completed", stop_reason="error", agent_result=message),
    )
    items, _ = read(tmp_path, closed=True)
    assert [item.message for item in items if isinstance(item, Limit)] == [message]
    states = [item.state for item in items if isinstance(item, Turn)]
    assert states == ["open", "failed"]
