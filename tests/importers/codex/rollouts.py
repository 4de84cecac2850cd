"""Small rollouts, written the way Codex writes them, and a miniature ledger to read them into."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backports import zstd

from importers.base import Event, Item, Limits, Loss, Mark, Node, NodeIndex, Sighting, Source
from importers.codex import IMPORTER

Record = dict[str, Any]

THREAD = "01a22cab-0000-7000-8000-000000000001"
FORK = "01a22cab-0000-7000-8000-000000000002"
CHILD = "01a22cab-0000-7000-8000-000000000003"
SEGMENT = "01a22cab-0001-7000-8000-0000000000aa"


def stamp(seconds: float) -> str:
    whole = int(seconds)
    return (
        f"2026-11-30T{10 + whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
        f".{int((seconds - whole) * 1000):03d}Z"
    )


def meta(thread: str = THREAD, **payload: Any) -> Record:
    return {
        "type": "session_meta",
        "payload": {
            "id": thread,
            "timestamp": stamp(0),
            "cwd": "/home/user/project",
            "originator": "codex-tui",
            "cli_version": "0.171.0",
            "source": "cli",
            "thread_source": "user",
            "model_provider": "fake",
            **payload,
        },
    }


def event(kind: str, /, **payload: Any) -> Record:
    return {"type": "event_msg", "payload": {"type": kind, **payload}}


def item(kind: str, turn: str | None = None, /, **fields: Any) -> Record:
    return event("item_completed", turn_id=turn, item={"type": kind, **fields})


def user(text: str, turn: str | None = None) -> Record:
    return item("UserMessage", turn, id="u", content=[{"type": "text", "text": text}])


def agent(text: str, turn: str | None = None) -> Record:
    return item("AgentMessage", turn, id="a", content=[{"type": "Text", "text": text}])


def old_user(text: str) -> Record:
    return event("user_message", message=text, images=[])


def old_agent(text: str) -> Record:
    return event("agent_message", message=text)


def command(call: str, text: str, output: str = "", code: int | None = 0, **more: Any) -> Record:
    return item(
        "CommandExecution",
        id=call,
        command=["/bin/bash", "-lc", text],
        cwd="file:///home/user/project",
        status="completed" if code == 0 else "failed",
        aggregated_output=output,
        exit_code=code,
        **more,
    )


def response(kind: str, /, **payload: Any) -> Record:
    return {"type": "response_item", "payload": {"type": kind, **payload}}


def call(call_id: str, name: str, **arguments: Any) -> Record:
    return response("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id)


def answer(call_id: str, output: Any) -> Record:
    return response("function_call_output", call_id=call_id, output=output)


def developer(text: str, kind: str = "hooks.additional_context") -> Record:
    return response(
        "message",
        role="developer",
        content=[{"type": "input_text", "text": text}],
        internal_chat_message_metadata_passthrough={"content_item_kinds": [kind]},
    )


def encode(records: Iterable[Record], *, ordinal: int | None = None, start: float = 1) -> bytes:
    """Return the lines of the records, one second apart; with an ordinal: paginated."""
    lines = []
    for index, record in enumerate(records):
        line: Record = {"timestamp": stamp(start + index)}
        if ordinal is not None:
            line["ordinal"] = ordinal + index
        line.update(record)
        lines.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    return b"".join(lines)


def rollout(
    home: Path,
    content: bytes,
    *,
    thread: str = THREAD,
    segment: str | None = None,
    archived: bool = False,
    packed: bool = False,
) -> Path:
    """Write a rollout where Codex would have put it."""
    folder = home / ("archived_sessions" if archived else "sessions/2026/11/30")
    folder.mkdir(parents=True, exist_ok=True)
    suffix = f"_{segment}" if segment else ""
    name = f"rollout-2026-11-30T10-00-00-{thread}{suffix}.jsonl"
    path = folder / (name + ".zst" if packed else name)
    path.write_bytes(zstd.compress(content) if packed else content)
    return path


class Nodes:
    """Stands for the ledger's index: Codex keeps no tree, only restarts matter."""

    def __init__(self) -> None:
        self.cleared = 0

    def get(self, uuid: str) -> Node | None:
        raise AssertionError(uuid)

    def children(self, uuid: str) -> list[Node]:
        raise AssertionError(uuid)

    def put(self, node: Node) -> None:
        raise AssertionError(node)

    def clear(self) -> None:
        self.cleared += 1


@dataclass
class Ledger:
    """Keeps what a ledger keeps of one session: events once, their record, and which are active."""

    state: str | None = None
    nodes: Nodes = field(default_factory=Nodes)
    events: dict[tuple[Any, ...], Event] = field(default_factory=dict)
    active: dict[tuple[Any, ...], bool] = field(default_factory=dict)
    records: dict[tuple[Any, ...], int] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    new: int = 0

    def read(
        self,
        source: Source,
        *,
        closed: bool = False,
        limits: Limits | None = None,
        batches: int | None = None,
    ) -> list[Item]:
        """Read what is new; stop after some batches as if the process had been killed."""
        got: list[Item] = []
        self.new = 0
        index: NodeIndex = self.nodes
        before = self.nodes.cleared
        stream: Iterator[Any] = IMPORTER.read(
            source, self.state, index, limits or Limits(), closed=closed
        )
        for number, batch in enumerate(stream):
            if batches is not None and number >= batches:
                break
            if self.nodes.cleared > before:
                self.records.clear()
                before = self.nodes.cleared
            for each in batch.items:
                self._take(each)
            self.state = batch.state
            got.extend(batch.items)
        self.items.extend(got)
        return got

    def _take(self, each: Item) -> None:
        if isinstance(each, Event):
            key = (each.kind, *each.identity)
            self.new += key not in self.events
            self.events.setdefault(key, each)
            if key not in self.records:
                self.records[key] = each.record
                self.active[key] = each.active
        elif isinstance(each, Mark):
            for key, record in self.records.items():
                if each.first <= record <= each.last:
                    self.active[key] = each.active

    def present(self) -> list[tuple[str, str, bool, int]]:
        """Kind, text, active, record of what the files hold now, in conversation order."""
        rows = [(record, self.events[key].block, key) for key, record in self.records.items()]
        return [
            (self.events[key].kind.value, self.events[key].text, self.active[key], record)
            for record, _, key in sorted(rows, key=lambda row: row[:2])
        ]

    def membership(self) -> dict[tuple[Any, ...], tuple[int, bool]]:
        """Return record and side of every event that the files hold now, by its id."""
        return {key: (record, self.active[key]) for key, record in self.records.items()}

    def conversation(self, *, active: bool = True) -> list[tuple[str, str]]:
        """Role and text of the messages on the active (or the superseded) side, in order."""
        return [
            (kind.removesuffix("_message"), text)
            for kind, text, alive, _ in self.present()
            if alive == active and kind.endswith("_message")
        ]

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the items of a type."""
        return [each for each in self.items if isinstance(each, kind)]

    @property
    def losses(self) -> list[Loss]:
        return self.of(Loss)

    @property
    def sightings(self) -> list[Sighting]:
        return self.of(Sighting)


def imported(home: Path, thread: str = THREAD, *, closed: bool = False) -> Ledger:
    """Read a thread from the start."""
    ledger = Ledger()
    ledger.read(IMPORTER.locate(home, thread), closed=closed)
    return ledger
