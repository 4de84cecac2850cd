"""A scripted stand-in for the OpenAI Responses API, as far as codex uses it.

Observed with codex 0.171.0: streamed answers on `/v1/responses`, compaction both as an ordinary
request with a summarising prompt and on `/v1/responses/compact`, a title request of the terminal
interface, and WebSocket upgrades, which are refused with 426.
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = dict[str, Any]

_INJECTED: Final = re.compile(r"\s*(<[a-z_]+>|# AGENTS\.md|Warning: )")
"""Texts of role `user` that codex wrote, not the person."""
_SUMMARISING: Final = re.compile(r"CONTEXT CHECKPOINT COMPACTION|create a handoff summary", re.I)


class ResponsesApi(ScriptedServer):
    """A scripted OpenAI Responses API on 127.0.0.1."""

    def classify(self, path: str, headers: Mapping[str, str], body: Json) -> str:
        metadata = _metadata(headers)
        if path.endswith("/responses/compact"):
            return "compaction"
        if not path.endswith("/responses"):
            return "other"
        if "thread_title" in json.dumps(metadata):
            return "title"
        last = _items(body)[-1] if _items(body) else {}
        if last.get("type") == "compaction_trigger" or _SUMMARISING.search(_text_of(last)):
            return "compaction"
        return "turn"

    def user_text(self, body: Json) -> str:
        index = _script_index(body)
        return _text_of(_items(body)[index]) if index >= 0 else ""

    def context_texts(self, body: Json) -> Iterator[str]:
        if body.get("instructions"):
            yield str(body["instructions"])
        for item in _items(body):
            yield from _item_texts(item)

    def answer(self, request: Request, reply: Reply) -> None:
        if request.method != "POST":
            if "upgrade" in request.headers:
                reply.json(426, {"error": {"message": "no WebSocket here"}})
            else:
                reply.json(200, {"models": [], "data": [], "object": "list"})
        elif request.kind == "other":
            reply.json(404, {"error": {"message": f"nothing at {request.path}"}})
        elif request.path.endswith("/compact"):
            reply.json(200, {"output": [_compaction_item(self.scenario.summary)]})
        else:
            self._stream(request, reply)

    def _stream(self, request: Request, reply: Reply) -> None:
        if request.kind == "title":
            self._simple(reply, json.dumps({"title": self.scenario.title}))
        elif request.kind == "compaction":
            triggered = _items(request.body)[-1].get("type") == "compaction_trigger"
            summary = self.scenario.summary
            item = _compaction_item(summary) if triggered else _message(summary)
            stream = _Stream(reply, {})
            stream.item(item)
            stream.complete(Usage())
        else:
            self._script(request, reply)

    def _simple(self, reply: Reply, text: str) -> None:
        stream = _Stream(reply, {})
        stream.item(_message(text))
        stream.complete(Usage())

    def _script(self, request: Request, reply: Reply) -> None:
        script = self.scenario.script_for(request.user_text)
        number = next_answer(_call_ids(request.body))
        steps = script.answer(number)
        tools = _tools(request.body)
        headers: dict[str, str] = {}
        stream: _Stream | None = None
        for step in steps:
            if step.verb is Verb.LIMITS:
                headers.update(limit_headers(step))
                continue
            if step.verb is Verb.FAIL:
                if self.due(step, request):
                    failure = _failure(step)
                    reply.json(failure.status, failure.body, {**headers, **failure.headers})
                    return
                continue
            if stream is None:
                stream = _Stream(reply, headers)
            if step.verb in (Verb.HOLD, Verb.PAUSE):
                stream.begin_words()
                self.waiting(step, reply)
            elif step.verb is Verb.DROP:
                if self.due(step, request):
                    stream.words(step.field(0))
                    reply.drop()
            elif step.verb in TOOL_VERBS:
                for item in _calls(step, number, tools, request):
                    stream.item(item)
            else:
                final = steps[-1].verb not in TOOL_VERBS
                stream.item(_saying(step, request, final=final))
        (stream or _Stream(reply, headers)).complete(script.usage)


class _Stream:
    """The events of one streamed response."""

    def __init__(self, reply: Reply, headers: Mapping[str, str]) -> None:
        self._reply = reply
        self._id = f"resp_{uuid.uuid4().hex}"
        self._output = 0
        self._open: Json | None = None
        reply.open_stream(headers)
        reply.event({"type": "response.created", "response": {"id": self._id}})

    def begin_words(self) -> None:
        """Show the beginning of a message, so that the client is seen to be working."""
        if self._open is None:
            self.words("working on it\n\n")

    def words(self, text: str) -> None:
        """Stream a part of a message that is not complete."""
        if self._open is None:
            self._open = _message("")
            self._event("response.output_item.added", item=self._open)
        self._event("response.output_text.delta", item_id=self._open["id"], delta=text)

    def item(self, item: Json) -> None:
        """Send a whole output item."""
        if self._open is not None and item["type"] == "message":
            item = {**item, "id": self._open["id"]}
        elif item["type"] == "message":
            self._event("response.output_item.added", item={**item, "content": []})
        self._open = None
        for part in item.get("content", ()) if item["type"] == "message" else ():
            self._event("response.output_text.delta", item_id=item["id"], delta=part["text"])
        self._event("response.output_item.done", item=item)
        self._output += 1

    def complete(self, usage: Usage) -> None:
        """End the response."""
        figures = {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input + usage.output,
        }
        response = {"id": self._id, "status": "completed", "usage": figures, "output": []}
        self._reply.event({"type": "response.completed", "response": response})
        self._reply.close_stream()

    def _event(self, kind: str, **fields: object) -> None:
        self._reply.event({"type": kind, "output_index": self._output, **fields})


# -- output items ----------------------------------------------------------------------------


def _message(text: str, phase: str = "final_answer") -> Json:
    return {
        "type": "message",
        "id": f"msg_{uuid.uuid4().hex}",
        "role": "assistant",
        "status": "completed",
        "phase": phase,
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


def _compaction_item(summary: str) -> Json:
    return {"type": "compaction", "encrypted_content": f"sealed:{summary}"}


def _saying(step: Step, request: Request, *, final: bool) -> Json:
    if step.verb is Verb.THINK:
        return {
            "type": "reasoning",
            "id": f"rs_{uuid.uuid4().hex}",
            "summary": [{"type": "summary_text", "text": step.text}],
            "content": None,
            "encrypted_content": "sealed",
        }
    text = found_in(request, step.text) if step.verb is Verb.SAY_FOUND else step.text
    return _message(text, "final_answer" if final else "commentary")


def _calls(step: Step, answer: int, tools: dict[str, Json], request: Request) -> list[Json]:
    commands = list(step.fields) if step.verb is Verb.PARALLEL else [_command(step, request)]
    if step.verb in (Verb.WRITE, Verb.EDIT):
        return [_patch_call(step, new_call_id("call", answer, 0), tools)]
    if step.verb is Verb.TOOL:
        call = new_call_id("call", answer, 0)
        return [_function(call, step.field(0), json.loads(step.field(1, "{}")))]
    return [
        _shell_call(command, new_call_id("call", answer, number), tools)
        for number, command in enumerate(commands)
    ]


def _command(step: Step, request: Request) -> str:
    if step.verb is Verb.RUN_FOUND:
        return found_in(request, step.text, step.field(1))
    return f"cat {step.text}" if step.verb is Verb.READ else step.text


def _function(call: str, name: str, arguments: Json) -> Json:
    namespace, _, bare = name.rpartition("/")
    item = {"type": "function_call", "call_id": call, "name": bare}
    if namespace:
        item["namespace"] = namespace
    return {**item, "arguments": json.dumps(arguments)}


def _custom(call: str, name: str, text: str) -> Json:
    return {"type": "custom_tool_call", "call_id": call, "name": name, "input": text}


def _shell_call(command: str, call: str, tools: dict[str, Json]) -> Json:
    if "exec_command" in tools:
        return _function(call, "exec_command", {"cmd": command, "yield_time_ms": 30_000})
    if "shell_command" in tools:
        return _function(call, "shell_command", {"command": command})
    if "shell" in tools:
        return _function(call, "shell", {"command": ["bash", "-lc", command]})
    arguments = json.dumps({"cmd": command, "yield_time_ms": 30_000})
    return _custom(call, "exec", f"text(await tools.exec_command({arguments}));")


def _patch_call(step: Step, call: str, tools: dict[str, Json]) -> Json:
    patch = _patch(step)
    if tools.get("apply_patch", {}).get("type") == "custom":
        return _custom(call, "apply_patch", patch)
    if "exec" in tools:
        return _custom(call, "exec", f"text(await tools.apply_patch({json.dumps(patch)}));")
    return _shell_call(f"apply_patch <<'END_OF_PATCH'\n{patch}\nEND_OF_PATCH", call, tools)


def _patch(step: Step) -> str:
    path = step.field(0)
    if step.verb is Verb.WRITE:
        body = [f"*** Add File: {path}", *_prefixed("+", step.field(1))]
    else:
        old, new = _prefixed("-", step.field(1)), _prefixed("+", step.field(2))
        body = [f"*** Update File: {path}", "@@", *old, *new]
    return "\n".join(["*** Begin Patch", *body, "*** End Patch"])


def _prefixed(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.removesuffix("\n").split("\n")]


# -- errors and limits -----------------------------------------------------------------------


def _failure(step: Step) -> Failure:
    kind, _, rest = step.field(0).partition(" ")
    if kind == "usage-limit":
        seconds = int(rest or 3600)
        error: Json = {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": int(time.time()) + seconds,
            "resets_in_seconds": seconds,
        }
        return Failure(status=429, body={"error": error}, headers=_window(100, seconds))
    known = {
        "unauthorized": (401, "invalid_api_key", "Incorrect API key provided"),
        "too-long": (
            400,
            "context_length_exceeded",
            "Your input exceeds the context window of this model",
        ),
        "overloaded": (503, "server_is_overloaded", "The server is overloaded"),
    }
    status, code, message = known.get(kind) or (int(kind), "scripted", f"scripted error {kind}")
    body: Json = {"error": {"message": message, "type": "invalid_request_error", "code": code}}
    return Failure(status=status, body=body, headers={})


def limit_headers(step: Step) -> dict[str, str]:
    """Return the rate limit headers of `limits: PERCENT SECONDS_UNTIL_RESET`."""
    percent, _, seconds = step.text.partition(" ")
    return _window(float(percent), int(seconds or 3600))


def _window(percent: float, seconds: int) -> dict[str, str]:
    return {
        "x-codex-primary-used-percent": str(percent),
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-after-seconds": str(seconds),
        "x-codex-primary-reset-at": str(int(time.time()) + seconds),
    }


# -- reading requests ------------------------------------------------------------------------


def _items(body: Json) -> list[Json]:
    items = body.get("input", [])
    return items if isinstance(items, list) else [{"role": "user", "content": str(items)}]


def _metadata(headers: Mapping[str, str]) -> Json:
    try:
        found = json.loads(headers.get("x-codex-turn-metadata", "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _tools(body: Json) -> dict[str, Json]:
    tools = [*body.get("tools", ())]
    for item in _items(body):
        if item.get("type") == "additional_tools":
            tools.extend(item.get("tools", ()))
    return {tool["name"]: tool for tool in tools if isinstance(tool.get("name"), str)}


def _script_index(body: Json) -> int:
    """Return the index of the item that holds the person's last text, else -1."""
    items = _items(body)
    for index in range(len(items) - 1, -1, -1):
        text = _text_of(items[index])
        if items[index].get("role") == "user" and text and not _INJECTED.match(text):
            if _SUMMARISING.search(text):
                continue
            return index
    return -1


def _call_ids(body: Json) -> list[str]:
    later = _items(body)[_script_index(body) + 1 :]
    return [str(item["call_id"]) for item in later if "call_id" in item]


def _text_of(item: Json) -> str:
    return "\n".join(_item_texts(item)) if item.get("type", "message") == "message" else ""


def _item_texts(item: Json) -> Iterator[str]:
    for key in ("content", "output", "arguments", "input"):
        value = item.get(key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (part["text"] for part in value if isinstance(part.get("text"), str))


if __name__ == "__main__":
    sys.exit(serve(ResponsesApi))
