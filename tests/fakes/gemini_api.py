"""A scripted stand-in for the Gemini API, as far as Gemini CLI uses it.

Observed with Gemini CLI 0.61.0: streamed answers on `…:streamGenerateContent?alt=sse`, whole ones
on `…:generateContent` for calls beside the conversation (next speaker, summaries), token counts.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.fakes.performance import perform, persons_text
from tests.fakes.scripting import Step, Usage, new_call_id, next_answer
from tests.fakes.server import Failure, Reply, Request, ScriptedServer, serve
from tests.fakes.toolbox import Toolbox, filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Json = dict[str, Any]

_SUMMARISING: Final = re.compile(
    r"(?i)<state_snapshot>|summari[sz]e[^.\n]{0,60}(?:conversation|history|session)"
)


class GeminiApi(ScriptedServer):
    """A scripted Gemini API on 127.0.0.1."""

    def classify(self, path: str, headers: Mapping[str, str], body: Json) -> str:
        del headers
        if not re.search(r":(streamG|g)enerateContent", path):
            return "other"
        last = (body.get("contents") or [{}])[-1]
        told = "\n".join([*_texts(body.get("systemInstruction") or {}), *_texts(last)])
        if _declarations(body):
            return "turn"
        return "compaction" if _SUMMARISING.search(told) else "utility"

    def user_text(self, body: Json) -> str:
        return _script_text(body)[1]

    def context_texts(self, body: Json) -> Iterator[str]:
        yield from _texts(body.get("systemInstruction") or {})
        for content in body.get("contents", ()):
            yield from _texts(content)
            for part in content.get("parts", ()):
                for key in ("functionCall", "functionResponse"):
                    if key in part:
                        yield from _strings(part[key].get("args") or part[key].get("response"))

    def answer(self, request: Request, reply: Reply) -> None:
        if ":countTokens" in request.path:
            reply.json(200, {"totalTokens": len(json.dumps(request.body)) // 4})
        elif request.kind == "other":
            reply.json(404, _error(404, "NOT_FOUND", f"nothing at {request.path}"))
        elif request.kind == "turn":
            script = self.scenario.script_for(request.user_text or "say: done")
            number = _next_answer(request.body)
            perform(self, request, reply, script, number, _GeminiStage(request, reply, number))
        else:
            answer = _GeminiAnswer(reply, request, Usage(), {}, 0)
            answer.words(self._beside(request))
            answer.complete()

    def _beside(self, request: Request) -> str:
        """Return the answer to a call beside the conversation."""
        settings = request.body.get("generationConfig") or {}
        schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
        if schema:
            return json.dumps(filled(schema, {}))
        if request.kind == "compaction":
            return f"<state_snapshot>{self.scenario.summary}</state_snapshot>"
        return self.scenario.title


class _GeminiStage:
    """Opens answers and finds tools for one request."""

    def __init__(self, request: Request, reply: Reply, number: int) -> None:
        self._request = request
        self._reply = reply
        self._number = number

    def open(self, usage: Usage, headers: Mapping[str, str]) -> _GeminiAnswer:
        return _GeminiAnswer(self._reply, self._request, usage, headers, self._number)

    def calls(self, step: Step) -> list[tuple[str, Json]]:
        return Toolbox(_declarations(self._request.body)).calls(step, self._request)

    def failure(self, step: Step) -> Failure:
        return _failure(step)

    def limits(self, step: Step) -> dict[str, str]:
        del step
        return {}  # the API has no such headers


class _GeminiAnswer:
    """One answer, streamed, or whole when the request asked for no stream."""

    def __init__(
        self, reply: Reply, request: Request, usage: Usage, headers: Mapping[str, str], number: int
    ) -> None:
        self._reply = reply
        self._headers = headers
        self._number = number
        self._stream = "streamGenerateContent" in request.path
        self._parts: list[Json] = []
        self._calls = 0
        model = re.search(r"models/([^:/]+)", request.path)
        self._model = model[1] if model else "scripted"
        self._id = uuid.uuid4().hex[:22]
        self._figures = {
            "promptTokenCount": usage.input,
            "cachedContentTokenCount": usage.cached,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output,
        }
        if self._stream:
            reply.open_stream(headers)

    def words(self, text: str) -> None:
        """Say a text."""
        self._part({"text": text})

    def thinking(self, text: str) -> None:
        """Think a text."""
        self._part({"text": text, "thought": True})

    def call(self, name: str, arguments: Json) -> None:
        """Call a tool."""
        call = new_call_id("call", self._number, self._calls)
        self._calls += 1
        self._part({"functionCall": {"id": call, "name": name, "args": arguments}})

    def complete(self) -> None:
        """End the answer."""
        if self._stream:
            self._reply.data(self._response([], "STOP"))
            self._reply.close_stream()
        else:
            self._reply.json(200, self._response(self._parts, "STOP"), self._headers)

    def _part(self, part: Json) -> None:
        self._parts.append(part)
        if self._stream:
            self._reply.data(self._response([part], None))

    def _response(self, parts: list[Json], reason: str | None) -> Json:
        content = {"role": "model", "parts": parts or [{"text": ""}]}
        candidate: Json = {"index": 0, "content": content}
        if reason is not None:
            candidate["finishReason"] = reason
        return {
            "candidates": [candidate],
            "usageMetadata": self._figures,
            "modelVersion": self._model,
            "responseId": self._id,
        }


# -- errors ----------------------------------------------------------------------------------


def _error(status: int, name: str, message: str) -> Json:
    return {"error": {"code": status, "message": message, "status": name}}


def _failure(step: Step) -> Failure:
    kind, _, rest = step.field(0).partition(" ")
    if kind == "usage-limit":
        body = _error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota")
        quota = {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
        }
        retry = {
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": f"{rest or 3600}s",
        }
        body["error"]["details"] = [quota, retry]
        return Failure(status=429, body=body, headers={})
    known = {
        "unauthorized": (401, "UNAUTHENTICATED", "API key not valid"),
        "too-long": (
            400,
            "INVALID_ARGUMENT",
            "The input token count (250000) exceeds the maximum number of tokens allowed (200000).",
        ),
        "overloaded": (503, "UNAVAILABLE", "The model is overloaded"),
    }
    status, name, message = known.get(kind) or (int(kind), "INTERNAL", f"scripted error {kind}")
    return Failure(status=status, body=_error(status, name, message), headers={})


# -- reading requests ------------------------------------------------------------------------


def _declarations(body: Json) -> dict[str, Json]:
    declared = [
        one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()
    ]
    return {
        one["name"]: one.get("parametersJsonSchema") or one.get("parameters") or {}
        for one in declared
    }


def _script_text(body: Json) -> tuple[int, str]:
    """Return the index of the content with the person's last text, and that text."""
    contents = body.get("contents", [])
    for index in range(len(contents) - 1, -1, -1):
        if contents[index].get("role") != "user":
            continue
        own = [text for text in map(persons_text, _texts(contents[index])) if text]
        if own:
            return index, own[0]
    return -1, ""


def _next_answer(body: Json) -> int:
    later = body.get("contents", [])[_script_text(body)[0] + 1 :]
    ids = [
        str(part["functionCall"].get("id", ""))
        for content in later
        for part in content.get("parts", ())
        if "functionCall" in part
    ]
    made = next_answer(ids)
    # A client that keeps no ids of ours: count the answers that called something.
    calling = sum(
        any("functionCall" in part for part in content.get("parts", ())) for content in later
    )
    return made or calling


def _texts(content: Json) -> Iterator[str]:
    for part in content.get("parts", ()):
        if isinstance(part.get("text"), str):
            yield part["text"]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


if __name__ == "__main__":
    sys.exit(serve(GeminiApi))
