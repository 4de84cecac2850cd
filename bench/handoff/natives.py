"""Scripted sessions in the stores' own formats, on top of the generators of synthetic stores.

Claude Code transcripts in the shape of 2.1.197, Codex rollouts in the shape of 0.171.0. Both write
the same things: what was asked, said, called, answered, planned, and how it ended.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Protocol

from bench import claude_store, codex_store
from bench.words import Words

Record = dict[str, Any]
Steps = list[tuple[str, str]]
"""A plan: (text, pending | in_progress | completed)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A file that a tool wrote."""

    path: str
    """Absolute."""
    action: str
    """edit, create, delete"""
    old: str = ""
    new: str = ""


class Native(Protocol):
    """A session that is being written."""

    id: str

    @property
    def at(self) -> datetime:
        """Time of the newest record."""

    def moved_on(self, at: datetime) -> None:
        """Let the session go on at a later time."""

    def delivered(self, text: str) -> None:
        """Record a briefing as the harness records what a hook printed."""

    def asked(self, text: str) -> None:
        """Record a message of the person; begins a turn."""

    def said(self, text: str) -> None:
        """Record a message of the agent within a turn."""

    def answered(self, text: str) -> None:
        """Record the agent's last message of a turn."""

    def ran(self, command: str, output: str, exit_code: int | None) -> None:
        """Record a command; without an exit code it has no result."""

    def read(self, path: str, content: str) -> None:
        """Record that a file was read."""

    def changed(self, change: Change) -> None:
        """Record that a file was written."""

    def planned(self, steps: Steps) -> None:
        """Record the plan as a whole."""

    def interrupted(self) -> None:
        """Record that the person stopped the turn."""

    def compacted(self, summary: str) -> None:
        """Record that the context was replaced by a summary."""

    def helped(self, task: str, child: Native, report: str) -> None:
        """Record the call of a subagent."""

    def child(self) -> Native:
        """Return a subagent's session."""

    def limited(self, message: str) -> None:
        """Record that the provider's limit was reached."""

    def cleared(self) -> Native:
        """Return the session that begins when the person clears the context."""

    def write_to(self, home: Path) -> Path:
        """Write all records so far; return the session's file."""


class Transcript(claude_store.Session):
    """A session of Claude Code."""

    def __init__(self, words: Words, cwd: str, at: datetime) -> None:
        super().__init__(words, cwd, 0, version=claude_store.OLD)
        self._at = at
        self._agent: str | None = None
        self._children: list[Transcript] = []

    @property
    def at(self) -> datetime:
        return self._at

    def moved_on(self, at: datetime) -> None:
        self._at = max(self._at, at)

    def delivered(self, text: str) -> None:
        context = {"content": [text], "hookName": "SessionStart", "hookEvent": "SessionStart"}
        given = {"type": "hook_additional_context", "toolUseID": "SessionStart", **context}
        self._tree("attachment", attachment=given)

    def asked(self, text: str) -> None:
        self._turn = self.words.uuid()
        source: Record = {"promptSource": "typed", "origin": {"kind": "human"}}
        if self._agent is not None:
            source = {}
        message = {"role": "user", "content": text}
        self._tree("user", message=message, promptId=self._turn, **source)

    def said(self, text: str) -> None:
        self._say([{"type": "text", "text": text}], "tool_use")

    def answered(self, text: str) -> None:
        self._say([{"type": "text", "text": text}], "end_turn")
        self._add({"type": "last-prompt", "leafUuid": self._tip})

    def ran(self, command: str, output: str, exit_code: int | None) -> None:
        given = {"command": command, "description": "Run it"}
        call, parent = self._asks("Bash", given)
        if exit_code is None:
            return
        told: object = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        text = output
        if exit_code:
            text = f"Exit code {exit_code}\n{output}"
            told = f"Error: {text}"
        self._gets(call, parent, text, told, failed=bool(exit_code))

    def read(self, path: str, content: str) -> None:
        call, parent = self._asks("Read", {"file_path": path})
        rows = content.split("\n")
        text = "\n".join(f"{number}\t{row}" for number, row in enumerate(rows, 1))
        file = {"filePath": path, "content": content, "numLines": len(rows)}
        self._gets(call, parent, text, {"type": "text", "file": file})

    def changed(self, change: Change) -> None:
        if change.action == "delete":
            self.ran(f"rm {change.path}", "", 0)
            return
        if change.action == "create":
            call, parent = self._asks("Write", {"file_path": change.path, "content": change.new})
            said, kind = f"File created successfully at: {change.path}", {"type": "create"}
        else:
            strings = {"old_string": change.old, "new_string": change.new}
            call, parent = self._asks("Edit", {"file_path": change.path, **strings})
            said, kind = f"The file {change.path} has been updated.", {}
        self._gets(call, parent, said, {"filePath": change.path, **kind})

    def planned(self, steps: Steps) -> None:
        todos = [{"content": t, "status": s, "activeForm": t} for t, s in steps]
        call, parent = self._asks("TodoWrite", {"todos": todos})
        said = "Todos have been modified successfully. Ensure that you continue to use the list."
        self._gets(call, parent, said, {"oldTodos": [], "newTodos": todos})

    def interrupted(self) -> None:
        block = {"type": "text", "text": "[Request interrupted by user]"}
        self._tree("user", message={"role": "user", "content": [block]}, promptId=self._turn)

    def compacted(self, summary: str) -> None:
        before, self._tip = self._tip, None
        self._tree(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata={"trigger": "auto", "preTokens": 155_000},
        )
        text = (
            "This session is being continued from a previous conversation that ran out of"
            f" context. {summary}"
        )
        message = {"role": "user", "content": text}
        self._tree("user", message=message, isCompactSummary=True, promptId=self._turn)

    def child(self) -> Transcript:
        made = Transcript(self.words, self.cwd, self._at)
        made.id, made._agent = self.id, self.words.hexes(17)
        self._children.append(made)
        return made

    def helped(self, task: str, child: Native, report: str) -> None:
        given = {"description": task, "prompt": task, "subagent_type": "general-purpose"}
        call, parent = self._asks("Agent", given)
        self.moved_on(child.at)
        agent = child._agent if isinstance(child, Transcript) else None
        content = [{"type": "text", "text": report}]
        told = {"status": "completed", "agentId": agent, "content": content}
        self._gets(call, parent, content, told)

    def limited(self, message: str) -> None:
        self._tree(
            "assistant",
            message={
                "id": self.words.uuid(),
                "type": "message",
                "role": "assistant",
                "model": "<synthetic>",
                "content": [{"type": "text", "text": message}],
                "stop_reason": "stop_sequence",
            },
            isApiErrorMessage=True,
            error="rate_limit",
            apiErrorStatus=429,
        )

    def cleared(self) -> Transcript:
        fresh = Transcript(self.words, self.cwd, self._at)
        tags = {"name": "/clear", "message": "clear", "args": ""}
        command = "\n".join(f"<command-{k}>{v}</command-{k}>" for k, v in tags.items())
        message = {"role": "user", "content": command}
        fresh._tree("user", message=message, promptId=self.words.uuid())
        return fresh

    def write_to(self, home: Path) -> Path:
        folder = home / "projects" / "".join(c if c.isalnum() else "-" for c in self.cwd)
        folder.mkdir(parents=True, exist_ok=True)
        for child in self._children:
            side: Record = {"isSidechain": True, "agentId": child._agent}
            records = [json.loads(line) for line in child.lines]
            self.agents[str(child._agent)] = [_dump({**record, **side}) for record in records]
        self.write(folder)
        return folder / f"{self.id}.jsonl"

    def _asks(self, tool: str, given: Record) -> tuple[str, str]:
        call = f"toolu_{self.words.hexes(24)}"
        block = {"type": "tool_use", "id": call, "name": tool, "input": given}
        return call, self._say([block], "tool_use")

    def _gets(
        self, call: str, parent: str, content: object, told: object, *, failed: bool = False
    ) -> None:
        block: Record = {"tool_use_id": call, "type": "tool_result", "content": content}
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


class Rollout(codex_store.Thread):
    """A thread of Codex."""

    def __init__(
        self, words: Words, cwd: str, at: datetime, *, root: codex_store.Thread | None = None
    ) -> None:
        hours = (at - codex_store.START).total_seconds() / 3600
        self._parts: list[Rollout] = []
        super().__init__(words, cwd, hours, root=root)
        self._open = False

    @property
    def at(self) -> datetime:
        return self._at

    def moved_on(self, at: datetime) -> None:
        self._at = max(self._at, at)

    def delivered(self, text: str) -> None:
        self._message("developer", text, "hooks.additional_context")

    def asked(self, text: str) -> None:
        self._turn = self.words.uuid()
        self._open = True
        self._event("task_started", turn_id=self._turn, model_context_window=258_400)
        self._add("turn_context", {"turn_id": self._turn, "cwd": self.cwd, "model": "gpt-5.5"})
        self._message("user", text, "user.text")
        content = [{"type": "text", "text": text, "text_elements": []}]
        self._item("UserMessage", id=self.words.uuid(), content=content)

    def said(self, text: str) -> None:
        self._agent(text, "commentary")

    def answered(self, text: str) -> None:
        self._agent(text, "final_answer")
        self._usage()
        self._event("task_complete", turn_id=self._turn, last_agent_message=text)
        self._open = False

    def ran(self, command: str, output: str, exit_code: int | None) -> None:
        call = self._calls("exec_command", {"cmd": command, "yield_time_ms": 10_000})
        if exit_code is None:
            return
        self._item(
            "CommandExecution",
            id=call,
            process_id="94723",
            command=["/bin/bash", "-lc", command],
            cwd=f"file://{self.cwd}",
            parsed_cmd=[{"type": "unknown", "cmd": command}],
            source="unified_exec_startup",
            status="failed" if exit_code else "completed",
            aggregated_output=output[:65_536],
            exit_code=exit_code,
            duration={"secs": 0, "nanos": 5_318_000},
        )
        self._gets(call, f"Process exited with code {exit_code}\nOutput:\n{output[:40_000]}")

    def read(self, path: str, content: str) -> None:
        self.ran(f"sed -n '1,200p' {path.removeprefix(self.cwd + '/')}", content, 0)

    def changed(self, change: Change) -> None:
        call = f"call_{self.words.hexes(24)}"
        self._response(
            "custom_tool_call", call_id=call, name="apply_patch", input=patch_text(change)
        )
        kinds = {
            "create": {"type": "add", "content": change.new},
            "delete": {"type": "delete", "content": change.old},
            "edit": {"type": "update", "unified_diff": f"@@\n-{change.old}\n+{change.new}\n"},
        }
        self._item(
            "FileChange",
            id=call,
            changes={change.path: kinds[change.action]},
            status="completed",
            stdout="Success. Updated the following files:\n",
            stderr="",
        )
        self._response("custom_tool_call_output", call_id=call, output="Exit code: 0\nOutput:\nok")

    def planned(self, steps: Steps) -> None:
        plan = [{"step": text, "status": status} for text, status in steps]
        self._gets(self._calls("update_plan", {"plan": plan}), "Plan updated")

    def interrupted(self) -> None:
        self._event("turn_aborted", turn_id=self._turn, reason="interrupted")
        self._open = False

    def compacted(self, summary: str) -> None:
        replaced = [{"type": "message", "role": "user", "content": summary}]
        content = [{"type": "output_text", "text": summary}]
        self._response("message", role="assistant", content=content)
        self._add("compacted", {"message": summary, "replacement_history": replaced})
        self._item("ContextCompaction", id=self.words.uuid())

    def child(self) -> Rollout:
        made = Rollout(self.words, self.cwd, self._at, root=self)
        self._parts.append(made)
        return made

    def helped(self, task: str, child: Native, report: str) -> None:
        if not isinstance(child, Rollout):
            raise TypeError("a Codex thread has Codex subagents")
        call = self._calls("spawn_agent", {"message": task})
        self.spawned(child)
        self.moved_on(child.at)
        self._gets(call, report)

    def limited(self, message: str) -> None:
        info = "usage_limit_exceeded"
        self._event("error", message=message, codex_error_info=info)
        failure = {"message": message, "codex_error_info": info}
        self._event("task_complete", turn_id=self._turn, last_agent_message=None, error=failure)
        self._open = False

    def cleared(self) -> Rollout:
        return Rollout(self.words, self.cwd, self._at)

    def write_to(self, home: Path) -> Path:
        for part in self._parts:
            part.write(home)
        self.write(home)
        return next(home.rglob(f"rollout-*-{self.id}.jsonl"))

    def _calls(self, name: str, given: Record) -> str:
        call = f"call_{self.words.hexes(24)}"
        self._response("function_call", name=name, arguments=json.dumps(given), call_id=call)
        return call

    def _gets(self, call: str, output: str) -> None:
        self._response("function_call_output", call_id=call, output=output)


def patch_text(change: Change) -> str:
    """Return a change as the text that a patch tool is given."""
    if change.action == "delete":
        return f"*** Begin Patch\n*** Delete File: {change.path}\n*** End Patch"
    if change.action == "create":
        added = "\n".join("+" + line for line in change.new.split("\n"))
        return f"*** Begin Patch\n*** Add File: {change.path}\n{added}\n*** End Patch"
    lines = f"@@\n-{change.old}\n+{change.new}"
    return f"*** Begin Patch\n*** Update File: {change.path}\n{lines}\n*** End Patch"


NATIVES: Final = {"claude": Transcript, "codex": Rollout}


def start_of(ms: int) -> datetime:
    """Return the time of a clock in milliseconds."""
    return datetime.fromtimestamp(ms / 1000, UTC)


def _dump(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
