"""A scripted stand-in for the Anthropic Messages API, as far as Claude Code and DSH use it.

Observed with Claude Code 2.1.197 and 2.1.332: streamed answers on `/v1/messages?beta=true`, a
title request (JSON schema output, no tools), a summarising request for a compaction, token counts
on `/v1/messages/count_tokens`, and `HEAD /`.
"""

from __future__ import annotations

import json
import re
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.scripting import TOOL_VERBS, Step, Usage, Verb, new_call_id, next_answer
from tests.fakes.server import Failure, Reply, Request, ScriptedServer, found_in, serve
from tests.fakes.toolbox import Toolbox

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = dict[str, Any]

_INJECTED: Final = re.compile(
    r"\s*(<[a-z-]+>|\[Request interrupted|Caveat: |Continue from where you left off"
    r"|The user sent a new message while you were working"
    r"|Current runtime context\. )"
)
"""Texts of role `user` that Claude Code or DSH wrote, not the person."""
_SUMMARISING: Final = re.compile(r"create a detailed summary of (the|this|our) conversation", re.I)


class MessagesApi(ScriptedServer):
    """A scripted Anthropic Messages API on 127.0.0.1."""

    def classify(self, path: str, headers: Mapping[str, str], body: Json) -> str:
        del headers
        if path.partition("?")[0] != "/v1/messages":
            return "other"
        messages = body.get("messages") or [{}]
        if _SUMMARISING.search("\n".join(_texts(messages[-1].get("content")))):
            return "compaction"
        return "turn" if body.get("tools") else "title"

    def user_text(self, body: Json) -> str:
        return _script_text(body)[1]

    def context_texts(self, body: Json) -> Iterator[str]:
        yield from _texts(body.get("system"))
        for message in body.get("messages", ()):
            yield from _texts(message.get("content"))

    def answer(self, request: Request, reply: Reply) -> None:
        if request.path.endswith("/count_tokens"):
            reply.json(200, {"input_tokens": len(json.dumps(request.body)) // 4})
        elif request.method != "POST":
            reply.json(200, {})
        elif request.kind == "other":
            reply.json(404, _error("not_found_error", f"nothing at {request.path}"))
        elif request.kind == "turn":
            self._script(request, reply)
        else:
            summary = f"<summary>\n{self.scenario.summary}\n</summary>"
            title = json.dumps({"title": self.scenario.title})
            answer = _Answer(reply, request, Usage(), {})
            answer.words(summary if request.kind == "compaction" else title)
            answer.complete("end_turn")

    def _script(self, request: Request, reply: Reply) -> None:
        script = self.scenario.script_for(request.user_text)
        number = next_answer(_call_ids(request.body))
        steps = script.answer(number)
        headers: dict[str, str] = {}
        answer: _Answer | None = None
        for step in steps:
            if step.verb is Verb.LIMITS:
                headers.update(_limit_headers(step))
                continue
            if step.verb is Verb.FAIL:
                if self.due(step, request):
                    failure = _failure(step)
                    reply.json(failure.status, failure.body, {**headers, **failure.headers})
                    return
                continue
            if answer is None:
                answer = _Answer(reply, request, script.usage, headers)
            if step.verb in (Verb.HOLD, Verb.PAUSE):
                answer.words("working on it\n\n", whole=False)
                self.waiting(step, reply)
            elif step.verb is Verb.DROP:
                if self.due(step, request):
                    answer.words(step.field(0), whole=False)
                    reply.drop()
            elif step.verb is Verb.THINK:
                answer.thinking(step.text)
            elif step.verb in TOOL_VERBS:
                for name, arguments in _calls(step, request):
                    answer.call(name, arguments, number)
            else:
                said = step.verb is Verb.SAY_FOUND
                answer.words(found_in(request, step.text) if said else step.text)
        (answer or _Answer(reply, request, script.usage, headers)).complete(
            "tool_use" if steps[-1].verb in TOOL_VERBS else "end_turn"
        )


class _Answer:
    """One answer, streamed, or whole when the request asked for no stream."""

    def __init__(
        self, reply: Reply, request: Request, usage: Usage, headers: Mapping[str, str]
    ) -> None:
        self._reply = reply
        self._headers = headers
        self._stream = bool(request.body.get("stream"))
        self._usage = usage
        self._calls = 0
        self._blocks: list[Json] = []
        self._open: Json | None = None
        self._message: Json = {
            "id": f"msg_{uuid.uuid4().hex[:24]}",
            "type": "message",
            "role": "assistant",
            "model": request.body.get("model", "scripted"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _figures(usage, output=1),
        }
        if self._stream:
            reply.open_stream({"request-id": f"req_{uuid.uuid4().hex[:24]}", **headers})
            reply.event({"type": "message_start", "message": self._message})

    def words(self, text: str, *, whole: bool = True) -> None:
        """Say a text; not `whole`: leave the block open, so that more can follow."""
        if self._open is None:
            self._begin({"type": "text", "text": ""})
        self._delta({"type": "text_delta", "text": text}, "text", text)
        if whole:
            self._end()

    def thinking(self, text: str) -> None:
        """Think a text."""
        self._end()
        self._begin({"type": "thinking", "thinking": "", "signature": ""})
        self._delta({"type": "thinking_delta", "thinking": text}, "thinking", text)
        self._delta({"type": "signature_delta", "signature": "c2VhbGVk"}, "signature", "c2VhbGVk")
        self._end()

    def call(self, name: str, arguments: Json, answer: int) -> None:
        """Call a tool."""
        self._end()
        call = new_call_id("toolu", answer, self._calls)
        self._calls += 1
        self._begin({"type": "tool_use", "id": call, "name": name, "input": {}})
        raw = json.dumps(arguments)
        self._event("content_block_delta", delta={"type": "input_json_delta", "partial_json": raw})
        self._blocks[-1]["input"] = arguments
        self._end()

    def complete(self, stop_reason: str) -> None:
        """End the answer."""
        self._end()
        figures = _figures(self._usage, output=self._usage.output)
        if not self._stream:
            whole = {"content": self._blocks, "stop_reason": stop_reason, "usage": figures}
            self._reply.json(200, {**self._message, **whole}, self._headers)
            return
        delta = {"stop_reason": stop_reason, "stop_sequence": None}
        self._reply.event({"type": "message_delta", "delta": delta, "usage": figures})
        self._reply.event({"type": "message_stop"})
        self._reply.close_stream()

    def _begin(self, block: Json) -> None:
        self._open = dict(block)
        self._event("content_block_start", at=len(self._blocks), content_block=block)
        self._blocks.append(self._open)

    def _delta(self, delta: Json, key: str, text: str) -> None:
        self._event("content_block_delta", delta=delta)
        self._blocks[-1][key] += text

    def _end(self) -> None:
        if self._open is not None:
            self._event("content_block_stop")
            self._open = None

    def _event(self, kind: str, at: int | None = None, **fields: object) -> None:
        if self._stream:
            index = len(self._blocks) - 1 if at is None else at
            self._reply.event({"type": kind, "index": index, **fields})


def _figures(usage: Usage, *, output: int) -> Json:
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": output,
    }


def _calls(step: Step, request: Request) -> list[tuple[str, Json]]:
    """Return the tool calls of a step: name and input."""
    tools = request.body.get("tools") or ()
    if not any(tool.get("name") == "Bash" for tool in tools):
        box = Toolbox({tool["name"]: tool.get("input_schema") or {} for tool in tools})
        return box.calls(step, request)
    if step.verb is Verb.PARALLEL:
        return [_bash(command) for command in step.fields]
    if step.verb is Verb.RUN_FOUND:
        return [_bash(found_in(request, step.text, step.field(1)))]
    if step.verb is Verb.RUN:
        return [_bash(step.text)]
    if step.verb is Verb.TOOL:
        return [(step.field(0), json.loads(step.field(1, "{}")))]
    path = _absolute(step.field(0), request)
    if step.verb is Verb.READ:
        return [("Read", {"file_path": path})]
    if step.verb is Verb.WRITE:
        return [("Write", {"file_path": path, "content": step.field(1)})]
    texts = {"old_string": step.field(1), "new_string": step.field(2)}
    return [("Edit", {"file_path": path, **texts})]


def _bash(command: str) -> tuple[str, Json]:
    return "Bash", {"command": command, "description": "Scripted command"}


def _absolute(path: str, request: Request) -> str:
    """Return a path made absolute with the working directory that the client told the model."""
    if path.startswith("/"):
        return path
    for text in request.texts:
        found = re.search(r"(?:Primary working directory|Working directory): (.+)", text)
        if found:
            return f"{found[1].strip()}/{path}"
    message = f"the request names no working directory for {path!r}"
    raise ValueError(message)


# -- errors and limits -----------------------------------------------------------------------


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _failure(step: Step) -> Failure:
    kind, _, rest = step.field(0).partition(" ")
    if kind == "usage-limit":
        body = _error("rate_limit_error", "This request would exceed your account's rate limit.")
        return Failure(status=429, body=body, headers=_unified("rejected", int(rest or 3600)))
    known = {
        "unauthorized": (401, "authentication_error", "invalid x-api-key"),
        "too-long": (
            400,
            "invalid_request_error",
            "prompt is too long: 250000 tokens > 200000 maximum",
        ),
        "overloaded": (529, "overloaded_error", "Overloaded"),
    }
    status, name, message = known.get(kind) or (int(kind), "api_error", f"scripted error {kind}")
    return Failure(status=status, body=_error(name, message), headers={"x-should-retry": "false"})


def _limit_headers(step: Step) -> dict[str, str]:
    percent, _, seconds = step.text.partition(" ")
    headers = _unified("allowed_warning", int(seconds or 3600))
    return {**headers, "anthropic-ratelimit-unified-5h-utilization": str(float(percent) / 100)}


def _unified(status: str, seconds: int) -> dict[str, str]:
    reset = str(int(time.time()) + seconds)
    return {
        "x-should-retry": "false",
        "retry-after": str(seconds),
        "anthropic-ratelimit-unified-status": status,
        "anthropic-ratelimit-unified-reset": reset,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-5h-status": status,
        "anthropic-ratelimit-unified-5h-reset": reset,
        "anthropic-ratelimit-unified-fallback-percentage": "0.5",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "out_of_credits",
    }


# -- reading requests ------------------------------------------------------------------------


def _script_text(body: Json) -> tuple[int, str]:
    """Return the index of the message with the person's last text, and that text."""
    messages = body.get("messages", [])
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") != "user":
            continue
        own = [text for text in _own_texts(messages[index].get("content")) if text.strip()]
        if own:
            return index, own[-1]
    return -1, ""


def _own_texts(content: object) -> Iterator[str]:
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    for part in parts if isinstance(parts, list) else ():
        text = part.get("text", "") if part.get("type") == "text" else ""
        if text and not _INJECTED.match(text) and not _SUMMARISING.search(text):
            yield text


def _call_ids(body: Json) -> list[str]:
    later = body.get("messages", [])[_script_text(body)[0] + 1 :]
    blocks = [block for message in later for block in _blocks(message)]
    return [block["id"] for block in blocks if block.get("type") == "tool_use"]


def _blocks(message: Json) -> list[Json]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a content: of text blocks and of tool results."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block.get("text"), str):
            yield block["text"]
        elif block.get("type") == "tool_result":
            yield from _texts(block.get("content"))
        elif block.get("type") == "tool_use":
            yield json.dumps(block.get("input"))


if __name__ == "__main__":
    sys.exit(serve(MessagesApi))
