from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from http.client import IncompleteRead
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_api import MessagesApi
from tests.fakes.responses_api import ResponsesApi
from tests.fakes.scripting import Verb, load_scenario, new_call_id, next_answer, parse
from tests.fakes.server import ScriptedServer

FAKES = Path(__file__).parent / "fakes"


def ask(server: ScriptedServer, text: str, *later: dict[str, Any]) -> str:
    """Send one turn request with the person's text and return the raw answer."""
    user = {"type": "message", "role": "user", "content": [{"type": "text", "text": text}]}
    body: dict[str, Any]
    if isinstance(server, ResponsesApi):
        path, body = "/v1/responses", {"input": [user, *later], "tools": []}
    else:
        tools = [{"name": "Bash"}]
        path, body = "/v1/messages", {"messages": [user, *later], "tools": tools, "stream": True}
    request = urllib.request.Request(server.url + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as reply:
        return str(reply.read().decode())


def test_a_text_without_steps_is_echoed() -> None:
    (answer,) = parse("please look").answers
    assert [step.text for step in answer] == ["echo: please look"]


def test_a_tool_step_ends_an_answer_and_a_script_ends_with_words() -> None:
    answers = parse("say: a ;; run: x ;; think: b\nwrite: p => 1\\n2").answers
    assert [[step.verb for step in answer] for answer in answers] == [
        [Verb.SAY, Verb.RUN],
        [Verb.THINK, Verb.WRITE],
        [Verb.SAY],
    ]
    assert answers[1][1].fields == ("p", "1\n2")


def test_prose_around_the_steps_is_ignored() -> None:
    answers = parse("Fix the tests: now.\n\n  run: make check\nthanks").answers
    assert [step.text for step in answers[0]] == ["make check"]


def test_a_shell_command_keeps_its_backslashes() -> None:
    assert parse(r"run: printf 'a\nb'").answers[0][0].text == r"printf 'a\nb'"


def test_only_as_many_fields_are_split_as_a_verb_has() -> None:
    steps = parse('tool: T => {"a": "b => c"}\nrun: echo a => b\twith tab').answers
    assert steps[0][0].fields == ("T", '{"a": "b => c"}')
    assert steps[1][0].text == "echo a => b\twith tab"


def test_a_script_that_cannot_be_carried_out_is_reported() -> None:
    def misuse() -> None:
        with MessagesApi() as server, contextlib.suppress(IncompleteRead):
            ask(server, "tool: Bash => {no json")

    with pytest.raises(ValueError, match="cannot do"):
        misuse()


def test_the_next_answer_is_read_from_call_ids() -> None:
    assert next_answer([]) == 0
    assert next_answer(["call_of_another_kind"]) == 0
    assert next_answer([new_call_id("call", 0, 0), new_call_id("call", 1, 3)]) == 2


@pytest.mark.parametrize("make", [ResponsesApi, MessagesApi])
def test_both_apis_speak_and_log_what_they_got(make: type[ScriptedServer], tmp_path: Path) -> None:
    log = tmp_path / "log"
    with make(log=log) as server:
        assert "hello you" in ask(server, "say: hello you")
        assert server.turns[0].user_text == "say: hello you"
    assert json.loads(log.read_text())["texts"] == ["say: hello you"]


@pytest.mark.parametrize("make", [ResponsesApi, MessagesApi])
def test_both_apis_serve_a_limited_failure_and_then_go_on(make: type[ScriptedServer]) -> None:
    with make() as server:
        for _ in range(2):
            with pytest.raises(urllib.error.HTTPError, match="500"):
                ask(server, "fail: 500 => x2 ;; say: better")
        assert "better" in ask(server, "fail: 500 => x2 ;; say: better")


@pytest.mark.parametrize("make", [ResponsesApi, MessagesApi])
def test_both_apis_cut_a_dropped_answer_without_its_end(make: type[ScriptedServer]) -> None:
    with make() as server, pytest.raises(IncompleteRead):
        ask(server, "drop: half a")


@pytest.mark.parametrize("make", [ResponsesApi, MessagesApi])
def test_found_text_is_not_taken_from_the_question_itself(make: type[ScriptedServer]) -> None:
    note = {"type": "message", "role": "system", "content": "the id is d-77."}
    with make() as server:
        assert '"not found"' in ask(server, "about d-12\n" + r"say-found: d-\d+")
        assert '"d-77"' in ask(server, r"say-found: id is (d-\d+)", note)


def test_a_program_writes_its_port_and_releases_a_held_answer(tmp_path: Path) -> None:
    port = tmp_path / "port"
    scenario = tmp_path / "scenario"
    rule = {"match": "^do (.*)", "script": r"hold: here ;; say: \1 is done"}
    scenario.write_text(json.dumps({"rules": [rule]}))
    program = subprocess.Popen(
        [sys.executable, FAKES / "responses_api.py", "--port-file", port, "--scenario", scenario],
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 10
        while not port.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        url = f"http://127.0.0.1:{int(port.read_text())}"
        urllib.request.urlopen(f"{url}/lab/release/here", timeout=10).close()
        body = json.dumps({"input": [{"role": "user", "content": "do it"}]}).encode()
        request = urllib.request.Request(f"{url}/v1/responses", body)
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert "it is done" in reply.read().decode()
        with urllib.request.urlopen(f"{url}/lab/requests", timeout=10) as reply:
            assert json.load(reply)["requests"][0]["user_text"] == "do it"
    finally:
        program.terminate()
    assert program.wait(10) == 0


def test_a_scenario_without_rules_leaves_the_text_in_charge(tmp_path: Path) -> None:
    path = tmp_path / "scenario"
    path.write_text('{"title": "T"}')
    scenario = load_scenario(path)
    assert scenario.title == "T"
    assert scenario.script_for("say: x").answers[0][0].text == "x"
