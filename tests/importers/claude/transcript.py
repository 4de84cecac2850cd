"""Transcripts for tests, in the shape of Claude Code 2.1.197, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from importers.base import (
    Batch,
    Event,
    Item,
    Limits,
    Mark,
    Node,
    SessionFacts,
    Sighting,
    Source,
    StoreState,
)
from importers.claude import IMPORTER
from importers.claude.store import signature

SESSION = "11111111-2222-4333-8444-555555555555"
START = 1_796_045_700_000


class MemoryNodes:
    """A NodeIndex without a database."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.below: dict[str, dict[str, None]] = {}
        self.calls = 0

    def get(self, uuid: str) -> Node | None:
        self.calls += 1
        return self.nodes.get(uuid)

    def children(self, uuid: str) -> list[Node]:
        self.calls += 1
        found = [self.nodes[child] for child in self.below.get(uuid, ())]
        return sorted((n for n in found if n.parent == uuid), key=lambda node: node.record)

    def put(self, node: Node) -> None:
        self.nodes[node.uuid] = node
        if node.parent is not None:
            self.below.setdefault(node.parent, {})[node.uuid] = None

    def clear(self) -> None:
        self.nodes, self.below = {}, {}


class Transcript:
    """Builds the lines of one session; each record follows the one before unless told otherwise."""

    def __init__(self, session: str = SESSION, **common: Any) -> None:
        self.session = session
        self.common = common
        self.lines: list[bytes] = []
        self.last: str | None = None
        self.count = 0
        self.turn = "turn-0"

    def raw(self, line: bytes) -> None:
        self.lines.append(line)

    def side(self, kind: str, **fields: Any) -> None:
        self.raw(_dump({"type": kind, **fields, "sessionId": self.session}))

    def leaf(self, uuid: str) -> None:
        self.side("last-prompt", lastPrompt="x", leafUuid=uuid)

    def record(self, kind: str, *, parent: Any = "before", uuid: str = "", **fields: Any) -> str:
        self.count += 1
        uuid = uuid or f"u{self.count:04d}"
        at = START + self.count * 1000
        self.raw(
            _dump(
                {
                    "parentUuid": self.last if parent == "before" else parent,
                    "isSidechain": False,
                    "type": kind,
                    "uuid": uuid,
                    "timestamp": stamp(at),
                    "userType": "external",
                    "entrypoint": "cli",
                    "cwd": "/home/user/work/demo",
                    "sessionId": self.session,
                    "version": "2.1.197",
                    "gitBranch": "main",
                    **self.common,
                    **fields,
                }
            )
        )
        self.last = uuid
        return uuid

    def user(self, text: Any, **fields: Any) -> str:
        self.turn = f"turn-{self.count + 1}"
        fields.setdefault("promptId", self.turn)
        fields.setdefault("promptSource", "typed")
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def injected(self, text: Any, **fields: Any) -> str:
        """Add a user record without the fields that say who gave it."""
        return self.record("user", message={"role": "user", "content": text}, **fields)

    def assistant(
        self,
        *blocks: Any,
        id: str = "",  # noqa: A002
        stop: str | None = "end_turn",
        **fields: Any,
    ) -> str:
        content = [
            {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks
        ]
        message = {
            "id": id or f"msg_{self.count + 1}",
            "type": "message",
            "role": "assistant",
            "model": fields.pop("model", "claude-opus-4-8"),
            "content": content,
            "stop_reason": stop,
            "usage": fields.pop("usage", {"input_tokens": 10, "output_tokens": 5}),
        }
        return self.record("assistant", message=message, **fields)

    def call(self, call: str, tool: str, given: Any, **fields: Any) -> str:
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        return self.assistant(block, stop="tool_use", **fields)

    def result(self, call: str, content: Any, told: Any = None, **fields: Any) -> str:
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": content}
        if fields.pop("error", False):
            block["is_error"] = True
        if told is not None:
            fields["toolUseResult"] = told
        return self.record(
            "user",
            message={"role": "user", "content": [block]},
            promptId=self.turn,
            **fields,
        )

    def attachment(self, kind: str, *, parent: Any = "before", **fields: Any) -> str:
        return self.record("attachment", attachment={"type": kind, **fields}, parent=parent)

    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def write(self, home: Path, slug: str = "-home-user-work-demo") -> Path:
        folder = home / "projects" / slug
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.session}.jsonl"
        path.write_bytes(self.data())
        return path


@dataclass
class Got:
    """Everything that reads of one session gave, kept like a ledger would."""

    nodes: MemoryNodes = field(default_factory=MemoryNodes)
    state: str | None = None
    items: list[Item] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    facts: SessionFacts | None = None

    def read(self, path: Path, *, closed: bool = False, limits: Limits | None = None) -> list[Item]:
        """Read on; returns what is new."""
        new: list[Item] = []
        source = source_of(path)
        for batch in IMPORTER.read(
            source, self.state, self.nodes, limits or Limits(), closed=closed
        ):
            self.state, self.facts = batch.state, batch.facts
            self.batches.append(batch)
            new += batch.items
        self.items += new
        return new

    def events(self) -> dict[tuple[tuple[str, ...], str, bool], Event]:
        """Return the events by id, each with its newest place and state."""
        found: dict[tuple[tuple[str, ...], str, bool], Event] = {}
        for item in self.items:
            if isinstance(item, Event):
                found[(item.identity, item.kind.value, item.status == "interrupted")] = item
        return found

    def active(self) -> dict[str, bool]:
        """Return the state of each event by its text, marks applied in order."""
        states: dict[int, bool] = {}
        texts: dict[str, int] = {}
        for item in self.items:
            if isinstance(item, Event):
                states[item.record] = item.active
                texts[item.text or f"{item.kind.value} {item.call_id}"] = item.record
            elif isinstance(item, Sighting):
                states[item.record] = item.active
                texts[item.delivery] = item.record
            elif isinstance(item, Mark):
                for record in states:
                    if item.first <= record <= item.last:
                        states[record] = item.active
        return {text: states[record] for text, record in texts.items()}

    def of(self, kind: type[Any]) -> list[Any]:
        return [item for item in self.items if isinstance(item, kind)]

    def texts(self) -> list[str]:
        """Return the texts of messages in conversation order."""
        ordered = sorted(
            self.events().values(), key=lambda event: (event.depth, event.record, event.block)
        )
        return [
            event.text for event in ordered if event.role in ("user", "assistant") and event.text
        ]

    def left_out(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for item in self.of(_left_out()):
            counts[item.kind] = counts.get(item.kind, 0) + item.number
        return counts


def _left_out() -> type[Any]:
    from importers.base import LeftOut

    return LeftOut


def source_of(path: Path) -> Source:
    return Source(
        harness="claude",
        home=path.parents[2],
        native_id=path.stem,
        state=StoreState.PRESENT,
        paths=(path,),
        signature=signature(path),
    )


def read(path: Path, *, closed: bool = False, limits: Limits | None = None) -> Got:
    got = Got()
    got.read(path, closed=closed, limits=limits)
    return got


def stamp(at: int) -> str:
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(at / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def join(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)
