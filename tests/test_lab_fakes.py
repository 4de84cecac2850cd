"""The scripted APIs that the family speaks, asked as its programs ask them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.chat_api import ChatApi
from tests.fakes.gemini_api import GeminiApi
from tests.fakes.performance import persons_text
from tests.fakes.scripting import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    Json = dict[str, Any]

BASH = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
    "required": ["command"],
}
WRITE = {
    "type": "object",
    "properties": {"filePath": {"type": "string"}, "content": {"type": "string"}},
    "required": ["filePath", "content"],
}
EDIT = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
                "required": ["oldText", "newText"],
            },
        },
    },
    "required": ["path", "edits"],
}


@pytest.fixture
def chat() -> Iterator[ChatApi]:
    with ChatApi(scenario=Scenario(title="A title", summary="A summary")) as api:
        yield api


@pytest.fixture
def gemini() -> Iterator[GeminiApi]:
    with GeminiApi() as api:
        yield api


def post(url: str, body: Json) -> str:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


def ask(api: ChatApi, messages: list[Json], **more: object) -> Json:
    """Ask for a whole answer and return its message."""
    body = {"model": "m", "messages": messages, **more}
    whole: Json = json.loads(post(f"{api.url}/v1/chat/completions", body))
    return dict(whole["choices"][0]["message"])


def offered(**schemas: Json) -> list[Json]:
    return [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in schemas.items()
    ]


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def test_a_chat_script_goes_on_after_each_tool_result(chat: ChatApi) -> None:
    tools = offered(bash=BASH)
    messages = [user("say: a ;; run: make ;; say: b ;; tokens: 50 7")]
    first = ask(chat, messages, tools=tools)
    (call,) = first["tool_calls"]
    assert first["content"] == "a"
    assert json.loads(call["function"]["arguments"])["command"] == "make"
    result = {"role": "tool", "tool_call_id": call["id"], "content": "made"}
    assert ask(chat, [*messages, first, result], tools=tools)["content"] == "b"
    assert [request.kind for request in chat.requests] == ["turn", "turn"]


def test_a_chat_stream_ends_with_usage(chat: ChatApi) -> None:
    body = {
        "messages": [user("say: hello ;; tokens: 50 7")],
        "stream": True,
        "tools": offered(bash=BASH),
    }
    lines = post(f"{chat.url}/v1/chat/completions", body).strip().split("\n\n")
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    said = [choice["delta"].get("content", "") for one in chunks for choice in one["choices"]]
    assert "".join(said) == "hello"
    assert chunks[-1]["usage"]["total_tokens"] == 57


def test_tools_are_called_by_the_schema_that_the_client_offers(
    chat: ChatApi, tmp_path: Path
) -> None:
    messages = [
        {"role": "system", "content": f"Working directory: {tmp_path}\nPlatform: linux"},
        user("write: a.txt => one ;; edit: a.txt => one => two"),
    ]
    tools = offered(bash=BASH, write=WRITE, edit=EDIT)
    first = ask(chat, messages, tools=tools)
    (write,) = first["tool_calls"]
    assert json.loads(write["function"]["arguments"]) == {
        "filePath": f"{tmp_path}/a.txt",
        "content": "one",
    }
    (edit,) = ask(chat, [*messages, first], tools=tools)["tool_calls"]
    assert json.loads(edit["function"]["arguments"]) == {
        "path": f"{tmp_path}/a.txt",
        "edits": [{"oldText": "one", "newText": "two"}],
    }


@pytest.mark.parametrize("folder", ["/commands/of/nobody", "/usr", "/"])
def test_a_folder_that_is_not_there_or_at_the_top_makes_no_path_absolute(
    chat: ChatApi, folder: str
) -> None:
    messages = [
        {"role": "system", "content": f"Working directory: {folder}\nPlatform: linux"},
        user("write: a.txt => one"),
    ]
    (write,) = ask(chat, messages, tools=offered(write=WRITE))["tool_calls"]
    assert json.loads(write["function"]["arguments"])["filePath"] == "a.txt"


def test_a_missing_write_tool_is_made_up_for_by_the_shell(chat: ChatApi) -> None:
    (call,) = ask(chat, [user("write: /x/a => it's")], tools=offered(bash=BASH))["tool_calls"]
    command = json.loads(call["function"]["arguments"])["command"]
    assert command == "printf %s 'it'\"'\"'s' > /x/a"


def test_a_step_without_a_tool_for_it_is_reported() -> None:
    api = ChatApi().start()
    with pytest.raises(urllib.error.HTTPError):
        ask(api, [user("run: make")], tools=offered(write=WRITE))
    with pytest.raises(ValueError, match="no shell tool"):
        api.__exit__(None, None)


@pytest.mark.parametrize(
    ("asked", "kind", "answer"),
    [
        ("You are a title generator. Output ONLY a title.", "title", "A title"),
        ("You are a context summarization assistant.", "compaction", "A summary"),
    ],
)
def test_calls_beside_the_conversation_are_told_apart(
    chat: ChatApi, asked: str, kind: str, answer: str
) -> None:
    messages = [{"role": "system", "content": asked}, user("say: hello")]
    assert ask(chat, messages)["content"] == answer
    assert [request.kind for request in chat.requests] == [kind]


def test_a_client_without_tools_gets_changes_as_blocks(chat: ChatApi) -> None:
    messages = [
        {"role": "system", "content": "All changes must be *SEARCH/REPLACE* blocks."},
        user("say: hi ;; write: a.txt => one ;; say: bye"),
    ]
    said = ask(chat, messages)["content"]
    block = "a.txt\n```\n<<<<<<< SEARCH\n=======\none\n>>>>>>> REPLACE\n```"
    assert said.startswith("hi\n")
    assert block in said
    assert said.endswith("bye\n")


def test_a_usage_limit_says_when_to_come_back(chat: ChatApi) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(chat, [user("fail: usage-limit 90")], tools=offered(bash=BASH))
    assert (caught.value.code, caught.value.headers["retry-after"]) == (429, "90")


def test_gemini_goes_on_after_each_function_response(gemini: GeminiApi) -> None:
    url = f"{gemini.url}/v1beta/models/m:streamGenerateContent?alt=sse"
    declared = [{"name": "run_shell_command", "parametersJsonSchema": BASH}]
    contents: list[Json] = [{"role": "user", "parts": [{"text": "run: make ;; say: b"}]}]
    body: Json = {"contents": contents, "tools": [{"functionDeclarations": declared}]}
    (call,) = [part["functionCall"] for part in parts(post(url, body)) if "functionCall" in part]
    assert (call["name"], call["args"]["command"]) == ("run_shell_command", "make")
    contents.append({"role": "model", "parts": [{"functionCall": {"name": call["name"]}}]})
    response = {"name": call["name"], "response": {"output": "made"}}
    contents.append({"role": "user", "parts": [{"functionResponse": response}]})
    assert "".join(part.get("text", "") for part in parts(post(url, body))) == "b"
    assert "made" in gemini.turns[-1].text


def parts(stream: str) -> list[Json]:
    events = [json.loads(line[6:]) for line in stream.split("\n") if line.startswith("data: ")]
    return [part for event in events for part in event["candidates"][0]["content"]["parts"]]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("<user_query>\nsay: a\n</user_query>", "say: a"),
        ("<system-reminder>\nsay: b\n</system-reminder>", ""),
        ("<current_datetime>now</current_datetime>\n\nsay: a\n\n<reminder>x</reminder>", "say: a"),
        ('"say: a b"', "say: a b"),
        ("This session is being continued from a previous conversation: say: b", ""),
    ],
)
def test_what_a_client_puts_around_the_persons_text_is_left_out(text: str, own: str) -> None:
    assert persons_text(text) == own
