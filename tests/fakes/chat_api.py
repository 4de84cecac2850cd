"""A scripted stand-in for the OpenAI chat completions API, as most harnesses can speak it.

Observed with pi, GitHub Copilot CLI, Qwen Code, opencode, Kimi Code, Grok Build, OMP, Command Code
and aider: streamed and whole answers on `…/chat/completions`, model lists, and calls beside the
conversation (titles, summaries, memory), which are told apart by what their prompts ask for.
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

from tests.fakes.performance import perform, persons_text
from tests.fakes.scripting import (
    TOOL_VERBS,
    Script,
    Step,
    Usage,
    Verb,
    new_call_id,
    next_answer,
)
from tests.fakes.server import Failure, Reply, Request, ScriptedServer, serve
from tests.fakes.toolbox import Toolbox, filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = dict[str, Any]

_TITLE: Final = re.compile(
    r"(?i)\b(generate|create|write|give|provide|produce|output)\b[^.\n]{0,60}\b(title|name|slug)\b"
    r"|title generator"
)
_SUMMARISING: Final = re.compile(
    r"(?i)create a (?:structured|detailed)[^.\n]{0,60}summary"
    r"|summari[sz](?:e|es|ing|er)\b[^.\n]{0,60}\b(?:conversation|history|session)"
    r"|context (?:compaction|checkpoint|summari[sz]ation)|compact(?:ing)? the context"
    r"|anchored summary|(?:handoff|concise) summary|summary of (?:our|the) conversation"
    r"|<state_snapshot>|recent-work suffix retained"
)
_BESIDE: Final = re.compile(
    r"(?i)^\s*managed memory has|managed memory extraction|ultra-short dashboard line"
    r"|suggestion mode|predict what the user|next prompt suggestion"
)
_EDIT_BLOCKS: Final = "SEARCH/REPLACE"
"""In the prompt of a client without tools (aider) whose model writes changes as text."""
_FAITHFUL: Final = "faithful, concise summary"
"""In the prompt of Grok Build, which rejects a short summary as degenerate."""


class ChatApi(ScriptedServer):
    """A scripted OpenAI chat completions API on 127.0.0.1."""

    def classify(self, path: str, headers: Mapping[str, str], body: Json) -> str:
        del headers
        if not path.partition("?")[0].endswith("/chat/completions"):
            return "other"
        messages = body.get("messages") or [{}]
        asked = "\n".join(_texts(messages[-1]))
        told = "\n".join(
            text for message in messages if message.get("role") in _TOLD for text in _texts(message)
        )
        if _BESIDE.search(asked):
            return "utility"
        if body.get("tools"):
            asks = _SUMMARISING.search(asked) and not _has_steps(asked)
            return "compaction" if asks else "turn"
        if _EDIT_BLOCKS in told:
            return "turn"
        for kind, mark in (("compaction", _SUMMARISING), ("title", _TITLE), ("utility", _BESIDE)):
            if mark.search(told) or mark.search(asked):
                return kind
        return "utility" if told or _answer_schema(body) else "turn"

    def user_text(self, body: Json) -> str:
        return _script_text(body)[1]

    def context_texts(self, body: Json) -> Iterator[str]:
        for message in body.get("messages", ()):
            yield from _texts(message)
            for call in message.get("tool_calls") or ():
                yield str(call["function"].get("arguments", ""))

    def answer(self, request: Request, reply: Reply) -> None:
        if request.method != "POST":
            self._listing(request, reply)
        elif request.kind == "other":
            reply.json(404, _error(f"nothing at {request.path}", "not_found_error", "not_found"))
        elif request.kind == "turn":
            self._script(request, reply)
        else:
            answer = _ChatAnswer(reply, request, Usage(), {}, 0)
            answer.words(self._beside(request))
            answer.complete()

    def _listing(self, request: Request, reply: Reply) -> None:
        if not request.path.partition("?")[0].endswith("/models"):
            reply.json(404, _error(f"nothing at {request.path}", "not_found_error", "not_found"))
            return
        model = {"id": "scripted", "object": "model", "created": 0, "owned_by": "nobody"}
        reply.json(200, {"object": "list", "data": [model]})

    def _beside(self, request: Request) -> str:
        """Return the answer to a call beside the conversation."""
        schema = _answer_schema(request.body)
        text = {"title": self.scenario.title, "compaction": self.scenario.summary}.get(
            request.kind, "NONE"
        )
        if request.kind == "compaction" and any(_FAITHFUL in told for told in request.texts):
            text += " Nothing else of note happened." * 40
        if any("<state_snapshot>" in told for told in request.texts):
            text = f"<state_snapshot>{text}</state_snapshot>"
        if schema is None:
            return text
        return json.dumps({**filled(schema, {}), **({"title": text} if "title" in text else {})})

    def _script(self, request: Request, reply: Reply) -> None:
        script = self.scenario.script_for(request.user_text or "say: done")
        if not request.body.get("tools"):
            script = _in_words(script)
        number = next_answer(_call_ids(request.body))
        perform(self, request, reply, script, number, _ChatStage(request, reply, number))


class _ChatStage:
    """Opens answers and finds tools for one request."""

    def __init__(self, request: Request, reply: Reply, number: int) -> None:
        self._request = request
        self._reply = reply
        self._number = number

    def open(self, usage: Usage, headers: Mapping[str, str]) -> _ChatAnswer:
        return _ChatAnswer(self._reply, self._request, usage, headers, self._number)

    def calls(self, step: Step) -> list[tuple[str, Json]]:
        tools = [tool.get("function") or {} for tool in self._request.body.get("tools") or ()]
        box = Toolbox({tool["name"]: tool.get("parameters") or {} for tool in tools if tool})
        return box.calls(step, self._request)

    def failure(self, step: Step) -> Failure:
        return _failure(step)

    def limits(self, step: Step) -> dict[str, str]:
        percent, _, seconds = step.text.partition(" ")
        return {
            "x-ratelimit-limit-tokens": "1000",
            "x-ratelimit-remaining-tokens": str(1000 - int(float(percent) * 10)),
            "x-ratelimit-reset-tokens": f"{seconds or 3600}s",
        }


class _ChatAnswer:
    """One answer, streamed, or whole when the request asked for no stream."""

    def __init__(
        self,
        reply: Reply,
        request: Request,
        usage: Usage,
        headers: Mapping[str, str],
        number: int,
    ) -> None:
        self._reply = reply
        self._headers = headers
        self._number = number
        self._stream = bool(request.body.get("stream"))
        self._usage = _figures(usage)
        self._message: Json = {"role": "assistant", "content": ""}
        self._calls: list[Json] = []
        self._head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": request.body.get("model", "scripted"),
        }
        if self._stream:
            reply.open_stream(headers)
            self._chunk({"role": "assistant", "content": ""})

    def words(self, text: str) -> None:
        """Say a text."""
        self._message["content"] += text
        self._chunk({"content": text})

    def thinking(self, text: str) -> None:
        """Think a text."""
        self._message["reasoning_content"] = self._message.get("reasoning_content", "") + text
        self._chunk({"reasoning_content": text})

    def call(self, name: str, arguments: Json) -> None:
        """Call a tool."""
        index = len(self._calls)
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {
            "id": new_call_id("call", self._number, index),
            "type": "function",
            "function": function,
        }
        self._calls.append(call)
        self._chunk({"tool_calls": [{"index": index, **call}]})

    def complete(self) -> None:
        """End the answer."""
        reason = "tool_calls" if self._calls else "stop"
        if self._stream:
            self._chunk({}, reason)
            self._send({"choices": [], "usage": self._usage})
            self._reply.data("[DONE]")
            self._reply.close_stream()
            return
        if self._calls:
            self._message["tool_calls"] = self._calls
        choice = {"index": 0, "message": self._message, "finish_reason": reason}
        whole = {**self._head, "object": "chat.completion", "choices": [choice]}
        self._reply.json(200, {**whole, "usage": self._usage}, self._headers)

    def _chunk(self, delta: Json, reason: str | None = None) -> None:
        if self._stream:
            self._send({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    def _send(self, fields: Json) -> None:
        self._reply.data({**self._head, "object": "chat.completion.chunk", **fields})


def _figures(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


# -- clients without tools -------------------------------------------------------------------


def _in_words(script: Script) -> Script:
    """Return the script as one answer of words: changes as blocks, commands as a suggestion."""
    steps = []
    for step in (step for answer in script.answers for step in answer):
        if step.verb not in TOOL_VERBS:
            steps.append(step)
            continue
        if step.verb in (Verb.WRITE, Verb.EDIT):
            old = step.field(1) if step.verb is Verb.EDIT else ""
            text = _change(step.field(0), old, step.fields[-1])
        elif step.verb in (Verb.RUN, Verb.PARALLEL):
            text = "\n```bash\n" + "\n".join(step.fields) + "\n```\n"
        else:
            message = f"a client without tools cannot {step.verb}"
            raise ValueError(message)
        steps.append(Step(verb=Verb.SAY, fields=(text,)))
    words = [
        Step(verb=step.verb, fields=(step.text + "\n",)) if step.verb is Verb.SAY else step
        for step in steps
    ]
    return Script(answers=(tuple(words),), usage=script.usage)


def _change(path: str, old: str, new: str) -> str:
    before, after = (
        text if not text or text.endswith("\n") else text + "\n" for text in (old, new)
    )
    marks = ("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE")
    return f"\n{path}\n```\n{marks[0]}\n{before}{marks[1]}\n{after}{marks[2]}\n```\n"


# -- errors ----------------------------------------------------------------------------------


def _error(message: str, kind: str, code: str) -> Json:
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


def _failure(step: Step) -> Failure:
    kind, _, rest = step.field(0).partition(" ")
    if kind == "usage-limit":
        body = _error("You exceeded your current quota", "insufficient_quota", "insufficient_quota")
        headers = {"retry-after": rest or "3600", "x-should-retry": "false"}
        return Failure(status=429, body=body, headers=headers)
    known = {
        "unauthorized": (401, "invalid_api_key", "Incorrect API key provided"),
        "too-long": (
            400,
            "context_length_exceeded",
            "This model's maximum context length is 200000 tokens, you sent 250000",
        ),
        "overloaded": (503, "server_is_overloaded", "The server is overloaded"),
    }
    status, code, message = known.get(kind) or (int(kind), "scripted", f"scripted error {kind}")
    body = _error(message, "invalid_request_error" if status < 500 else "server_error", code)
    return Failure(status=status, body=body, headers={"x-should-retry": "false"})


# -- reading requests ------------------------------------------------------------------------

_TOLD: Final = ("system", "developer")


def _script_text(body: Json) -> tuple[int, str]:
    """Return the index of the message with the person's last text, and that text."""
    messages = body.get("messages", [])
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") != "user":
            continue
        own = [text for text in map(persons_text, _texts(messages[index])) if text]
        if own:
            scripted = [text for text in own if _has_steps(text)]
            return index, (scripted or own)[-1]
    return -1, ""


def _has_steps(text: str) -> bool:
    return re.search(r"(?m)^\s*(" + "|".join(Verb) + r"):\s", text) is not None


def _call_ids(body: Json) -> list[str]:
    later = body.get("messages", [])[_script_text(body)[0] + 1 :]
    return [str(call["id"]) for message in later for call in message.get("tool_calls") or ()]


def _texts(message: Json) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part.get("text"), str):
            yield part["text"]


def _answer_schema(body: Json) -> Json | None:
    """Return the JSON schema that the answer must meet, if the request names one."""
    shape = body.get("response_format") or {}
    if shape.get("type") not in ("json_schema", "json_object"):
        return None
    return dict((shape.get("json_schema") or {}).get("schema") or {})


if __name__ == "__main__":
    sys.exit(serve(ChatApi))
