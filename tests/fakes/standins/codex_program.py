"""Codex as a stand-in: arguments, session-flag hooks with their trust, rollout, writer's lock.

Records in the shape of codex 0.171.0 (paginated rollouts), as in tests/fixtures/codex.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.scripting import Step, Verb
from tests.fakes.standins.program import Json, RefusedError, Session, append, lock, now, uuid7

_VALUED = {
    "-c": "-c",
    "--config": "-c",
    "-C": "-C",
    "--cd": "-C",
    "-m": "-m",
    "--model": "-m",
    "-s": "-s",
    "--sandbox": "-s",
    "--color": "--color",
    "-a": "-a",
}
_PLAIN = {
    "--dangerously-bypass-approvals-and-sandbox",
    "--json",
    "--no-daemon",
    "--skip-git-repo-check",
    "--yolo",
    "--last",
    "--full-auto",
}
_UTILITIES = {"login", "logout", "mcp", "doctor", "completion", "features", "archive"}


class Codex:
    """One call of `codex`."""

    name = "codex"
    version = "codex-cli 0.171.0"
    help = "Usage: codex [OPTIONS] [PROMPT]\n      --no-daemon"

    def __init__(self, args: list[str]) -> None:
        self.args = args
        self.received: list[str] = []
        self._options: dict[str, list[str]] = {}
        self._words: list[str] = []
        named = os.environ.get("CODEX_HOME")
        self.home = Path(named or f"{os.environ['HOME']}/.codex")
        self.hooks: Mapping[str, Sequence[str]] = {}
        self.one_shot = False
        self._resume: str | None = None
        if not self.utility() and args[-1:] not in (["--version"], ["--help"], ["-V"], ["-h"]):
            self._take_apart()
            self.hooks = self._trusted_hooks()
        self.prompt = self._words[0] if self._words else None

    def utility(self) -> bool:
        return self.args[:1] != [] and self.args[0] in _UTILITIES

    @property
    def source(self) -> str:
        return "startup" if self._resume is None else "resume"

    def open(self) -> Session:
        instructions = self._config().get("developer_instructions")
        if isinstance(instructions, str):
            self.received.append(instructions)
        if self._resume is None:
            return self.fresh("startup")
        found = (self.home / "sessions").glob(f"*/*/*/rollout-*-{self._resume}.jsonl")
        path = next(found, None)
        if path is None:
            raise RefusedError(f"ERROR: No saved session found with ID {self._resume}")
        self.received += [
            line.decode("utf-8", "replace") for line in path.read_bytes().split(b"\n")
        ]
        return Rollout(self, self._resume, path)

    def fresh(self, source: str) -> Session:
        del source
        thread = uuid7()
        at = time.localtime()
        folder = self.home / "sessions" / time.strftime("%Y/%m/%d", at)
        stamp = time.strftime("%Y-%m-%dT%H-%M-%S", at)
        return Rollout(self, thread, folder / f"rollout-{stamp}-{thread}.jsonl")

    def payload(self, session: Session) -> Json:
        assert isinstance(session, Rollout)
        return {
            "session_id": session.id,
            "transcript_path": str(session.path),
            "cwd": str(Path.cwd()),
            "model": "gpt-5.5",
            "permission_mode": "default",
        }

    def provider(self) -> object:
        return self._config().get("model_provider", "openai")

    def _take_apart(self) -> None:
        rest, words = list(self.args), []
        while rest:
            word = rest.pop(0)
            name, equals, value = word.partition("=")
            if word == "--":
                words += rest
                break
            if name in _VALUED:
                given = value if equals else rest.pop(0)
                self._options.setdefault(_VALUED[name], []).append(given)
            elif word in _PLAIN:
                self._options.setdefault(word, []).append("")
            elif word.startswith("-"):
                raise SystemExit(f"error: unexpected argument '{word}' found")
            elif word in ("exec", "e") and not words and not self.one_shot:
                self.one_shot = True
            else:
                words.append(word)
        at = words.index("resume") if "resume" in words[: 1 + self.one_shot] else None
        if at is not None:  # `codex exec PROMPT resume ID` is understood as well
            self._resume, words = words[at + 1], [*words[:at], *words[at + 2 :]]
        self._words = words
        if len(words) > 1:
            raise SystemExit(f"error: unexpected argument '{words[1]}' found")

    def _config(self) -> dict[str, Any]:
        """Return config.toml with the session flags applied."""
        path = self.home / "config.toml"
        table: dict[str, Any] = tomllib.loads(path.read_text()) if path.exists() else {}
        for given in self._options.get("-c", ()):
            name, _, raw = given.partition("=")
            inner = table
            *outer, last = name.strip().split(".")
            for key in outer:
                inner = inner.setdefault(key, {})
            try:
                inner[last] = tomllib.loads(f"value = {raw}")["value"]
            except tomllib.TOMLDecodeError:
                inner[last] = raw
        return table

    def _trusted_hooks(self) -> Mapping[str, Sequence[str]]:
        """Return the hooks of the session flags whose hash is trusted; others are not run."""
        config = self._config()
        if config.get("features", {}).get("hooks") is False:
            return {}
        hooks = config.get("hooks", {})
        state = hooks.get("state", {})
        found: dict[str, list[str]] = {}
        for event, snake in (("SessionStart", "session_start"), ("SessionEnd", "session_end")):
            for number, group in enumerate(hooks.get(event, ())):
                key = f"/<session-flags>/config.toml:{snake}:{number}:0"
                trusted = state.get(key, {}).get("trusted_hash")
                if trusted == _hash(snake, group):
                    found.setdefault(event, []).extend(h["command"] for h in group["hooks"])
        return found


class Rollout:
    """A session file; nothing is written before the first message."""

    def __init__(self, harness: Codex, thread: str, path: Path) -> None:
        self.id, self.path = thread, path
        self._harness = harness
        self._turn = ""
        self._pending: list[str] = []
        self._ordinal = len(path.read_bytes().splitlines()) if path.exists() else 0
        self._lock_path = harness.home / "thread-writer-locks" / f"{thread}.lock"
        self._lock = lock(self._lock_path)
        if self._lock is None:
            raise RefusedError(f"ERROR: thread {thread} is being written by another process")

    def context(self, text: str, source: str, command: str, out: str) -> None:
        del source, command, out  # codex keeps the text only
        self._pending.append(text)

    def user(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._ordinal == 0:
            self._write("session_meta", self._meta())
        self._turn = uuid7()
        self._event("task_started", started_at=int(time.time()), model_context_window=258400)
        context = {"turn_id": self._turn, "cwd": str(Path.cwd()), "model": "gpt-5.5"}
        self._write("turn_context", context)
        for given in self._pending:
            self._message("developer", given, "hooks.additional_context")
        self._pending = []
        self._message("user", text, "user.text")
        self._item("UserMessage", id=uuid7(), content=[{"type": "text", "text": text}])

    def say(self, text: str, *, last: bool) -> None:
        phase = "final_answer" if last else "commentary"
        content = [{"type": "Text", "text": text}]
        self._item("AgentMessage", id=f"msg_{uuid7()}", content=content, phase=phase)
        if last:
            self._event("task_complete", last_agent_message=text, completed_at=int(time.time()))

    def call(self, call: str, step: Step) -> None:
        if step.verb is Verb.WRITE:
            added = "".join(f"+{line}\n" for line in step.field(1).splitlines())
            patch = f"*** Begin Patch\n*** Add File: {step.text}\n{added}*** End Patch"
            given = {"type": "custom_tool_call", "name": "apply_patch", "input": patch}
        else:
            arguments = json.dumps({"cmd": _command(step)})
            given = {"type": "function_call", "name": "exec_command", "arguments": arguments}
        self._write("response_item", {**given, "call_id": call})

    def result(self, call: str, step: Step, output: str, code: int) -> None:
        kind = "function_call_output"
        status = "completed" if code == 0 else "failed"
        if step.verb is Verb.WRITE:
            kind = "custom_tool_call_output"
            changes = {str(Path.cwd() / step.text): {"type": "add", "content": step.field(1)}}
            self._item("FileChange", id=call, changes=changes, status=status, stdout=output)
        else:
            self._item(
                "CommandExecution",
                id=call,
                command=["/bin/bash", "-lc", _command(step)],
                cwd=f"file://{Path.cwd()}",
                source="unified_exec_startup",
                status=status,
                aggregated_output=output,
                exit_code=code,
            )
        self._write(
            "response_item",
            {"type": kind, "call_id": call, "output": f"Exit code: {code}\nOutput:\n{output}"},
        )

    def close(self) -> None:
        self._lock_path.unlink(missing_ok=True)

    def _meta(self) -> Json:
        return {
            "session_id": self.id,
            "id": self.id,
            "timestamp": now(),
            "cwd": str(Path.cwd()),
            "originator": "codex_exec" if self._harness.one_shot else "codex-tui",
            "cli_version": "0.171.0",
            "source": "exec" if self._harness.one_shot else "cli",
            "thread_source": "user",
            "model_provider": self._harness.provider(),
            "history_mode": "paginated",
        }

    def _message(self, role: str, text: str, kind: str) -> None:
        payload = {
            "type": "message",
            "id": f"msg_{uuid7()}",
            "role": role,
            "content": [{"type": "input_text", "text": text}],
            "internal_chat_message_metadata_passthrough": {
                "turn_id": self._turn,
                "content_item_kinds": [kind],
            },
        }
        self._write("response_item", payload)

    def _item(self, kind: str, **fields: object) -> None:
        at = time.time_ns() // 10**6
        self._event(
            "item_completed",
            thread_id=self.id,
            item={"type": kind, **fields},
            started_at_ms=at,
            completed_at_ms=at,
        )

    def _event(self, kind: str, **fields: object) -> None:
        self._write("event_msg", {"type": kind, "turn_id": self._turn, **fields})

    def _write(self, kind: str, payload: Json) -> None:
        line = {"timestamp": now(), "ordinal": self._ordinal, "type": kind, "payload": payload}
        append(self.path, line)
        self._ordinal += 1


def _command(step: Step) -> str:
    return f"cat {step.text}" if step.verb is Verb.READ else step.text


def _hash(event: str, group: Json) -> str:
    """Return what codex trusts: sha256 of the compact JSON of event and normalised handlers."""
    handlers = [{"async": False, "type": "command", **handler} for handler in group["hooks"]]
    text = json.dumps(
        {"event_name": event, "hooks": handlers},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
