"""A Codex store of any size, in the paginated shapes that 0.171.0 writes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench.words import Words

Record = dict[str, Any]

START: Final = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
_COUNTS: Final = {
    "input_tokens": 3015,
    "cached_input_tokens": 2000,
    "cache_write_input_tokens": 0,
    "output_tokens": 110,
    "reasoning_output_tokens": 60,
    "total_tokens": 3125,
}
_META: Final = {"history_sequence": 6, "sampled_through_sequence": 3, "client_authored": False}


class Thread:
    """Writes one rollout."""

    def __init__(
        self,
        words: Words,
        cwd: str,
        number: float,
        *,
        base: Thread | None = None,
        root: Thread | None = None,
    ) -> None:
        self.words = words
        self.cwd = cwd
        at = START + timedelta(hours=number)
        self.began = at
        raw = words.hexes(20)
        stamp = f"{int(at.timestamp() * 1000):012x}"
        self.id = f"{stamp[:8]}-{stamp[8:]}-7{raw[:3]}-a{raw[3:6]}-{raw[6:18]}"
        self.lines: list[bytes] = []
        self.size = 0
        self.ordinal: int = base.ordinal // 2 if base else 0
        self._at = at
        self._turn = ""
        self._begin(base, root)

    def _begin(self, base: Thread | None, root: Thread | None) -> None:
        meta: Record = {
            "session_id": root.id if root else self.id,
            "id": self.id,
            "timestamp": self._stamp(),
            "cwd": self.cwd,
            "originator": "codex-tui",
            "cli_version": "0.171.0",
            "source": "cli",
            "thread_source": "subagent" if root else "user",
            "model_provider": "openai",
            "base_instructions": {"text": self.words.prose(12_000)},
            "history_mode": "paginated",
        }
        if base is not None:
            cut = sum(len(line) + 1 for line in base.lines[: self.ordinal])
            meta |= {
                "forked_from_id": base.id,
                "forked_from_ordinal_exclusive": self.ordinal,
                "history_base": {
                    "thread_id": base.id,
                    "end_ordinal_exclusive": self.ordinal,
                    "end_byte_offset": cut,
                },
            }
        if root is not None:
            spawn = {"parent_thread_id": root.id, "depth": 1, "agent_path": "/root/look"}
            meta |= {"parent_thread_id": root.id, "source": {"subagent": {"thread_spawn": spawn}}}
        self._add("session_meta", meta)
        for _ in range(3):
            self._message("developer", self.words.prose(4000), "generic.developer_instructions")

    def turn(self) -> None:
        """Write a person's message and the work that follows."""
        words = self.words
        self._turn = words.uuid()
        self._event("task_started", turn_id=self._turn, model_context_window=258_400)
        self._add("turn_context", {"turn_id": self._turn, "cwd": self.cwd, "model": "gpt-5.5"})
        text = words.prose(words.size(160, 8000) + 20)
        self._message("user", text, "user.text")
        content = [{"type": "text", "text": text, "text_elements": []}]
        self._item("UserMessage", id=words.uuid(), content=content)
        for _ in range(words.random.randint(1, 9)):
            self._step()
        answer = words.prose(words.size(500, 6000) + 40)
        self._agent(answer, "final_answer")
        self._usage()
        self._event("task_complete", turn_id=self._turn, last_agent_message=answer)
        if words.random.random() < 0.03:
            self._compact()

    def _step(self) -> None:
        words = self.words
        if words.random.random() < 0.6:
            self._reason()
        if words.random.random() < 0.4:
            self._agent(words.prose(140), "commentary")
        call = f"call_{words.hexes(24)}"
        if words.random.random() < 0.2:
            self._patch(call)
        else:
            self._shell(call)
        self._usage()

    def _reason(self) -> None:
        words = self.words
        thought, name = words.prose(160), f"rs_{words.hexes(40)}"
        self._item("Reasoning", id=name, summary_text=[thought], raw_content=[])
        self._response(
            "reasoning",
            id=name,
            summary=[{"type": "summary_text", "text": thought}],
            content=None,
            encrypted_content="gAAAA" + words.hexes(1400),
        )

    def _shell(self, call: str) -> None:
        words = self.words
        command = words.command()
        failed = words.random.random() < 0.1
        given = json.dumps({"cmd": command, "yield_time_ms": 10_000})
        self._response("function_call", name="exec_command", arguments=given, call_id=call)
        output = words.output(words.size(1100, 60_000))
        self._item(
            "CommandExecution",
            id=call,
            process_id="94723",
            command=["/bin/bash", "-lc", command],
            cwd=f"file://{self.cwd}",
            parsed_cmd=[{"type": "unknown", "cmd": command}],
            source="unified_exec_startup",
            status="failed" if failed else "completed",
            aggregated_output=output,
            exit_code=int(failed),
            duration={"secs": 0, "nanos": 5_318_000},
        )
        shown = f"Chunk ID: {words.hexes(6)}\nWall time: 0.1 seconds\nOutput:\n{output[:40_000]}"
        self._response("function_call_output", call_id=call, output=shown)

    def _patch(self, call: str) -> None:
        words = self.words
        path, content = f"{self.cwd}/{words.path()}", words.code(words.size(900, 20_000))
        added = "\n".join("+" + line for line in content.split("\n"))
        patch = f"*** Begin Patch\n*** Add File: {path}\n{added}\n*** End Patch"
        self._response("custom_tool_call", call_id=call, name="apply_patch", input=patch)
        self._item(
            "FileChange",
            id=call,
            changes={path: {"type": "add", "content": content}},
            status="completed",
            stdout="Success. Updated the following files:\n",
            stderr="",
        )
        self._response("custom_tool_call_output", call_id=call, output="Exit code: 0\nOutput:\nok")

    def spawned(self, child: Thread) -> None:
        """Write that a subagent was started."""
        self._item(
            "SubAgentActivity",
            id=f"call_{self.words.hexes(24)}",
            kind="started",
            agent_thread_id=child.id,
            agent_path="/root/look",
        )

    def _compact(self) -> None:
        summary = self.words.prose(6000)
        replaced = [{"type": "message", "role": "user", "content": self.words.prose(20_000)}]
        self._response(
            "message", role="assistant", content=[{"type": "output_text", "text": summary}]
        )
        self._add("compacted", {"message": summary, "replacement_history": replaced})
        self._item("ContextCompaction", id=self.words.uuid())

    def _agent(self, text: str, phase: str) -> None:
        name = f"msg_{self.words.hexes(40)}"
        content = [{"type": "Text", "text": text}]
        self._item("AgentMessage", id=name, content=content, phase=phase)
        shown = [{"type": "output_text", "text": text, "annotations": []}]
        self._response("message", id=name, role="assistant", content=shown, phase=phase)

    def _message(self, role: str, text: str, kind: str) -> None:
        self._response(
            "message",
            id=f"msg_{self.words.uuid()}",
            role=role,
            content=[{"type": "input_text", "text": text}],
            internal_chat_message_metadata_passthrough={
                "turn_id": self._turn,
                "content_item_kinds": [kind],
            },
        )

    def _usage(self) -> None:
        usage = {"usage": _COUNTS, "turn_token_usage": _COUNTS, "thread_token_usage": _COUNTS}
        self._add("token_usage_record", {"thread_id": self.id, "turn_id": self._turn, **usage})
        info = {"total_token_usage": _COUNTS, "last_token_usage": _COUNTS}
        limits = {"limit_id": "codex", "primary": None, "secondary": None, "credits": None}
        self._event(
            "token_count", info={**info, "model_context_window": 258_400}, rate_limits=limits
        )

    def _item(self, name: str, /, **fields: Any) -> None:  # noqa: ANN401
        self._event(
            "item_completed",
            thread_id=self.id,
            turn_id=self._turn,
            item={"type": name, **fields},
            completed_at_ms=int(self._at.timestamp() * 1000),
        )

    def _event(self, name: str, /, **fields: Any) -> None:  # noqa: ANN401
        self._add("event_msg", {"type": name, **fields})

    def _response(self, name: str, /, **fields: Any) -> None:  # noqa: ANN401
        self._add("response_item", {"type": name, **fields}, metadata=_META)

    def _add(self, kind: str, payload: Record, **more: Any) -> None:  # noqa: ANN401
        self._at += timedelta(milliseconds=self.words.random.randint(2, 900))
        record = {
            "timestamp": self._stamp(),
            "ordinal": self.ordinal,
            "type": kind,
            "payload": payload,
            **more,
        }
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
        self.ordinal += 1
        self.size += len(line) + 1
        self.lines.append(line)

    def _stamp(self) -> str:
        return f"{self._at:%Y-%m-%dT%H:%M:%S}.{self._at.microsecond // 1000:03d}Z"

    def write(self, home: Path) -> int:
        """Write the file; return its bytes."""
        folder = home / f"sessions/{self.began:%Y/%m/%d}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"rollout-{self.began:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"
        data = b"\n".join(self.lines) + b"\n"
        path.write_bytes(data)
        return len(data)


def make(home: Path, size: int, seed: int, *, cwd: str, sessions: int) -> int:
    """Write a store of about `size` bytes in about `sessions` threads; return the bytes."""
    words = Words(seed)
    done = number = 0
    before: Thread | None = None
    while done < size:
        base = before if before is not None and words.random.random() < 0.05 else None
        thread = Thread(words, cwd, number, base=base)
        wanted = min(words.size(0.6 * size / sessions, size) + 2000, size - done)
        thread.turn()
        while thread.size < wanted:
            thread.turn()
            if words.random.random() < 0.01:
                number += 1
                child = Thread(words, cwd, number, root=thread)
                child.turn()
                thread.spawned(child)
                done += child.write(home)
        done += thread.write(home)
        before, number = thread, number + 1
    return done


def append_one(home: Path) -> Path:
    """Append one person's message to the newest thread, as the program would; return the file."""
    path = max(home.rglob("rollout-*.jsonl"), key=lambda p: p.name)
    last = json.loads(path.read_bytes().splitlines()[-1])
    content = [{"type": "text", "text": "one more thing, please", "text_elements": []}]
    record = {
        "timestamp": last["timestamp"],
        "ordinal": last["ordinal"] + 1,
        "type": "event_msg",
        "payload": {
            "type": "item_completed",
            "turn_id": "late",
            "item": {"type": "UserMessage", "id": f"late-{last['ordinal']}", "content": content},
        },
    }
    with path.open("ab") as file:
        file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
    return path
