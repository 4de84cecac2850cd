"""A Claude Code store of any size, in the shapes that 2.1.197 and 2.1.332 write."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench.words import Words

Record = dict[str, Any]

OLD: Final = "2.1.197"
NEW: Final = "2.1.332"
START: Final = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
_USAGE: Final = {
    "input_tokens": 19091,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 12000,
    "output_tokens": 230,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
    "inference_geo": "",
    "iterations": [],
    "speed": "standard",
}


class Session:
    """Writes one transcript, and its subagents beside it."""

    def __init__(
        self, words: Words, cwd: str, number: int, *, version: str, parent: Session | None = None
    ) -> None:
        self.words = words
        self.id = words.uuid()
        self.cwd = cwd
        self.version = version
        self.lines: list[bytes] = []
        self.agents: dict[str, list[bytes]] = {}
        self.size = 0
        self._at = START + timedelta(hours=number)
        self._tip: str | None = None
        self._turn = ""
        if parent is not None:
            self._copy(parent)
        elif version == NEW:
            shape = {"system": words.prose(24_000), "tools": words.prose(40_000)}
            self._add({"type": "api-request-shape", "hash": words.hexes(16), **shape})

    def _copy(self, parent: Session) -> None:
        """A fork repeats its parent's records with its own session id."""
        for line in parent.lines[: len(parent.lines) // 2]:
            record = json.loads(line)
            if "uuid" in record:
                record["sessionId"] = self.id
                self._tip = record["uuid"]
                self._add(record)

    def turn(self) -> None:
        """Write a person's message and the work that follows."""
        words = self.words
        self._turn = words.uuid()
        text = words.prose(words.size(160, 8000) + 20)
        self._tree(
            "user",
            message={"role": "user", "content": text},
            promptId=self._turn,
            promptSource="typed",
            origin={"kind": "human"},
        )
        self._request(text)
        for _ in range(words.random.randint(1, 9)):
            self._step()
        self._say([{"type": "text", "text": words.prose(words.size(500, 6000) + 40)}], "end_turn")
        self._add({"type": "last-prompt", "lastPrompt": text[:200], "leafUuid": self._tip})
        if words.random.random() < 0.03:
            self._compact()
        if words.random.random() < 0.05:
            self._subagent()

    def _step(self) -> None:
        words = self.words
        message = f"msg_{words.hexes(24)}"
        if words.random.random() < 0.5:
            thought = {"type": "thinking", "thinking": "", "signature": words.hexes(600)}
            self._say([thought], "tool_use", message)
        if words.random.random() < 0.4:
            self._say([{"type": "text", "text": words.prose(140)}], "tool_use", message)
        calls = [self._call(message) for _ in range(1 if words.random.random() < 0.85 else 3)]
        for call, tool, given, parent in calls:
            self._result(call, tool, given, parent)

    def _call(self, message: str) -> tuple[str, str, Record, str]:
        words = self.words
        call = f"toolu_{words.hexes(24)}"
        file = f"{self.cwd}/{words.path()}"
        tool = words.random.choice(("Bash", "Bash", "Bash", "Read", "Read", "Edit", "Write"))
        given: Record = {"file_path": file}
        if tool == "Bash":
            given = {"command": words.command(), "description": "Run it"}
        elif tool == "Edit":
            given |= {"old_string": words.code(200), "new_string": words.code(260)}
        elif tool == "Write":
            given |= {"content": words.code(words.size(1200, 20_000))}
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        return call, tool, given, self._say([block], "tool_use", message)

    def _result(self, call: str, tool: str, given: Record, parent: str) -> None:
        words = self.words
        size = words.size(1100, 60_000)
        failed = tool == "Bash" and words.random.random() < 0.1
        told: Any
        if tool == "Bash":
            text = words.output(size)
            told = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
            if failed:
                text = f"Exit code 1\n{text}"
                told = f"Error: {text}"
        elif tool == "Read":
            plain = words.code(size)
            rows = plain.split("\n")
            text = "\n".join(f"{number}\t{row}" for number, row in enumerate(rows, 1))
            file = {"filePath": given["file_path"], "content": plain, "numLines": len(rows)}
            told = {"type": "text", "file": file}
        else:
            text = f"The file {given['file_path']} has been updated. Here's the result: ok"
            told = {
                "filePath": given["file_path"],
                "structuredPatch": [{"lines": words.code(400).split("\n")}],
                "originalFile": words.code(size),
            }
        block: Record = {"tool_use_id": call, "type": "tool_result", "content": text}
        if failed:
            block["is_error"] = True
        self._tree(
            "user",
            parent=parent,
            promptId=self._turn,
            message={"role": "user", "content": [block]},
            toolUseResult=told,
            sourceToolAssistantUUID=parent,
        )
        self._request(text)

    def _request(self, text: str) -> None:
        """Write what 2.1.332 keeps of the request to the API."""
        if self.version != NEW:
            return
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        hashed = self.words.hexes(16)
        self._add({"type": "api-request-blob", "hash": hashed, "message": message})
        self._add({"type": "api-request", "id": hashed, "params": {"max_tokens": 64000}, "keep": 3})

    def _compact(self) -> None:
        before = self._tip
        self._tip = None
        self._tree(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata={"trigger": "auto", "preTokens": 155_000},
        )
        summary = "This session is being continued. " + self.words.prose(6000)
        message = {"role": "user", "content": summary}
        self._tree("user", message=message, isCompactSummary=True, promptId=self._turn)

    def _subagent(self) -> None:
        agent = self.words.hexes(17)
        main, self.lines = self.lines, []
        tip, self._tip = self._tip, None
        side: Record = {"isSidechain": True, "agentId": agent}
        prompt = {"role": "user", "content": self.words.prose(300)}
        self._tree("user", message=prompt, **side)
        for _ in range(4):
            self._step()
        self.lines = [
            _dump({**json.loads(line), **side}) if b'"uuid"' in line else line
            for line in self.lines
        ]
        self.agents[agent] = self.lines
        self.lines, self._tip = main, tip

    def _say(self, content: list[Record], stop: str, message: str = "") -> str:
        return self._tree(
            "assistant",
            message={
                "id": message or f"msg_{self.words.hexes(24)}",
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": content,
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": _USAGE,
            },
            requestId=f"req_{self.words.hexes(24)}",
        )

    def _tree(self, kind: str, *, parent: str | None = None, **fields: Any) -> str:  # noqa: ANN401
        uuid = self.words.uuid()
        self._at += timedelta(milliseconds=self.words.random.randint(20, 9000))
        record: Record = {
            "parentUuid": parent or self._tip,
            "isSidechain": False,
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": f"{self._at:%Y-%m-%dT%H:%M:%S}.{self._at.microsecond // 1000:03d}Z",
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": self.version,
            "gitBranch": "main",
        }
        self._tip = uuid
        self._add(record)
        return uuid

    def _add(self, record: Record) -> None:
        record.setdefault("sessionId", self.id)
        line = _dump(record)
        self.size += len(line) + 1
        self.lines.append(line)

    def write(self, folder: Path) -> int:
        """Write the files; return their bytes."""
        path = folder / f"{self.id}.jsonl"
        total = _write(path, self.lines)
        for agent, lines in self.agents.items():
            side = folder / self.id / "subagents"
            side.mkdir(parents=True, exist_ok=True)
            total += _write(side / f"agent-{agent}.jsonl", lines)
            meta = {"agentType": "general-purpose", "description": "Look", "spawnDepth": 1}
            (side / f"agent-{agent}.meta.json").write_text(json.dumps(meta), encoding="utf-8")
        return total


def make(home: Path, size: int, seed: int, *, cwd: str, sessions: int) -> int:
    """Write a store of about `size` bytes in about `sessions` sessions; return the bytes."""
    words = Words(seed)
    folder = home / "projects" / "".join(c if c.isalnum() else "-" for c in cwd)
    folder.mkdir(parents=True, exist_ok=True)
    done = number = 0
    before: Session | None = None
    while done < size:
        version = NEW if words.random.random() < 0.25 else OLD
        fork = before if before is not None and words.random.random() < 0.05 else None
        session = Session(words, cwd, number, version=version, parent=fork)
        wanted = min(words.size(0.6 * size / sessions, size) + 2000, size - done)
        while session.size < wanted:
            session.turn()
        done += session.write(folder)
        before, number = session, number + 1
    return done


def append_one(home: Path) -> Path:
    """Append one person's message to the newest session, as the program would; return the file."""
    path = max(home.rglob("projects/*/*.jsonl"), key=lambda p: p.name)
    last = None
    for line in path.read_bytes().splitlines():
        record = json.loads(line)
        if record.get("uuid"):
            last = record
    if last is None:
        raise ValueError(f"{path} has no record to go on from")
    record = {
        **{key: last[key] for key in ("cwd", "sessionId", "version", "timestamp", "entrypoint")},
        "parentUuid": last["uuid"],
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": "one more thing, please"},
        "promptSource": "typed",
        "uuid": Words(hash(last["uuid"]) & 0xFFFF).uuid(),
    }
    with path.open("ab") as file:
        file.write(_dump(record) + b"\n")
    return path


def _write(path: Path, lines: list[bytes]) -> int:
    data = b"\n".join(lines) + b"\n"
    path.write_bytes(data)
    return len(data)


def _dump(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
