"""`handoff draft --with` against the real programs: a fork answers, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.scripting import Rule, Scenario
from tests.lab.programs import harness_program, installed
from tests.real.stage import Stage, changed, children, listing, until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.server import Request
    from tests.real.stage import Answer

pytestmark = pytest.mark.real
HARNESSES = pytest.mark.parametrize("name", ["codex", "claude"])
WORK = "say: I begin ;; write: walrus.py => half\\n ;; run: exit 3 ;; say: the walrus is half done"
GOOD: dict[str, Any] = {
    "schema": "handoff.v1",
    "objective": "Have `walrus.py` whole",
    "state": [{"text": "`walrus.py` holds half a walrus.", "evidence": ["e4"]}],
    "disposition": "continuable",
    "next_action": {"text": "Write the other half of `walrus.py`.", "evidence": []},
    "blocker": None,
    "omissions": [],
}
BAD = {**GOOD, "state": [{"text": "All tests passed.", "evidence": []}]}


def work(stage: Stage, name: str) -> Answer:
    return stage.run(*(("codex", "exec") if name == "codex" else ("claude", "-p")), WORK)


def answers(stage: Stage, name: str, first: object, later: object = None) -> None:
    """Have the model answer the question with `first`, and a correction with `later`."""
    api = stage.responses if name == "codex" else stage.messages
    rules = [(r"(?s)Write the handoff of this work.*You have answered this before", later or first)]
    rules.append((r"Write the handoff of this work", first))
    api.scenario = Scenario(
        rules=tuple(Rule(match=re.compile(m), script=script(name, given)) for m, given in rules)
    )


def script(name: str, given: object) -> str:
    """Return the script of an answer; a text is a script already."""
    if isinstance(given, str):
        return given
    text = json.dumps(given)
    if name == "codex":
        return "say: " + text.replace("\\", "\\\\")
    return f"tool: StructuredOutput => {text} ;; say: there"


def asked(stage: Stage, name: str) -> list[Request]:
    """Return the requests with which the model was asked."""
    api = stage.responses if name == "codex" else stage.messages
    return [turn for turn in api.turns if "Write the handoff of this work" in turn.user_text]


def sessions(stage: Stage, name: str) -> dict[str, tuple[str, int, int]]:
    """Return everything in the session store of a harness, to the byte and the nanosecond."""
    if name == "codex":
        store = stage.codex.store
        return listing(store / "sessions", *store.glob("session_index*"), *store.glob("history*"))
    store = stage.claude.store
    return listing(store / "projects", *store.glob("history*"), *store.glob("session-env"))


def footprint(stage: Stage, name: str) -> dict[str, tuple[str, int, int]]:
    return {**sessions(stage, name), **listing(stage.repository)}


def tools(request: Request) -> set[str]:
    """Return the names of the tools that the model could call."""
    return {str(tool.get("name")) for tool in request.body.get("tools", ())}


@HARNESSES
def test_the_session_answers_and_is_not_touched(stage: Stage, name: str) -> None:
    session = work(stage, name).session
    before = footprint(stage, name)
    answers(stage, name, GOOD)
    data = stage.workstream("handoff", "draft", "--with", name, "--json").data
    assert data["author"]["kind"] == "agent"
    assert (data["author"]["session"], data["author"]["harness"]) == (session, name)
    assert data["content"]["objective"] == GOOD["objective"]
    assert data["content"]["state"][0]["evidence"][0]["kind"] == "ledger"
    assert len(data["asked"]["attempts"]) == 1
    assert changed(before, footprint(stage, name)) == set()

    (request,) = asked(stage, name)
    assert "the walrus is half done" in request.text  # it is asked with its own history
    assert "WORKSTREAM BRIEFING" not in request.text
    only = {"DeferredToolPlaceholder", "StructuredOutput"}
    assert "exec_command" not in tools(request) if name == "codex" else tools(request) <= only

    stage.run(*(("codex", "exec") if name == "codex" else ("claude", "-p")), "say: on we go")
    api = stage.responses if name == "codex" else stage.messages
    assert "Write the handoff" not in api.turns[-1].text
    assert stage.session(session)["native_id"] == session
    assert len({item["native_id"] for item in stage.status()["sessions"]}) == 1


@HARNESSES
def test_a_bad_answer_is_corrected_on_the_second_try(stage: Stage, name: str) -> None:
    work(stage, name)
    before = footprint(stage, name)
    answers(stage, name, BAD, GOOD)
    answer = stage.workstream("handoff", "draft", "--with", name, "--json")
    first, second = answer.data["asked"]["attempts"]
    assert [f["code"] for f in first["findings"] if f["severity"] == "E"] == ["check_claim_uncited"]
    assert not [f for f in second["findings"] if f["severity"] == "E"]
    assert answer.data["author"]["kind"] == "agent"
    assert "check_claim_uncited" in asked(stage, name)[-1].user_text
    assert "asking again (2 of 3)" in answer.err
    assert changed(before, footprint(stage, name)) == set()


@HARNESSES
def test_whatever_goes_wrong_gives_way_to_the_ledgers_draft(stage: Stage, name: str) -> None:
    work(stage, name)
    before = footprint(stage, name)
    answers(stage, name, BAD)
    never_good = gives_way(stage, name)
    assert "gave no handoff that can be taken in 3 attempts" in never_good.err
    assert "check_claim_uncited in state[0]" in never_good.err
    assert len(asked(stage, name)) == 3

    answers(stage, name, "fail: usage-limit")
    refused = gives_way(stage, name)
    assert ("usage limit" if name == "codex" else "rate limit") in refused.err

    answers(stage, name, "hold: for ever")
    assert "it took longer than 4 s" in gives_way(stage, name, "--timeout", "4").err
    assert changed(before, footprint(stage, name)) == set()


def gives_way(stage: Stage, name: str, *args: str) -> Answer:
    """Ask in vain."""
    answer = stage.workstream("handoff", "draft", "--with", name, *args)
    assert "made from the ledger instead" in answer.err
    assert "# Objective\n\nsay: I begin" in answer.out
    return answer


@HARNESSES
def test_the_fork_can_change_nothing(stage: Stage, name: str) -> None:
    work(stage, name)
    before = footprint(stage, name)
    tool, key = ("exec_command", "cmd") if name == "codex" else ("Bash", "command")
    path = str(stage.repository / "evil.txt")
    acts = f'tool: {tool} => {{"{key}": "echo evil > {path}"}}'
    if name == "codex":
        acts += " ;; write: evil.txt => evil"
    else:
        acts += f' ;; tool: Write => {{"file_path": "{path}", "content": "evil"}}'
    answers(stage, name, f"{acts} ;; {script(name, GOOD)}")
    data = stage.workstream("handoff", "draft", "--with", name, "--json").data
    assert data["author"]["kind"] == "agent"
    assert len(asked(stage, name)) == 3  # both calls came back as refused
    assert changed(before, footprint(stage, name)) == set()


@HARNESSES
def test_what_it_wrote_is_prepared_and_committed_as_its_own(stage: Stage, name: str) -> None:
    session = work(stage, name).session
    answers(stage, name, GOOD)
    prepared = stage.workstream("handoff", "draft", "--with", name, "--prepare").out.strip()
    stage.workstream("handoff", "commit", prepared)
    other = "claude" if name == "codex" else "codex"
    shown = stage.workstream("handoff", "show", "r1", "--json").data
    assert (shown["author"]["kind"], shown["author"]["session"]) == ("agent", session)
    taken = stage.run(*(("codex", "exec") if other == "codex" else ("claude", "-p")), "say: fine")
    assert taken.delivery["state"] == "seen"
    api = stage.responses if other == "codex" else stage.messages
    assert "holds half a walrus" in api.turns[-1].text


@HARNESSES
def test_a_session_that_was_killed_at_work_still_answers(stage: Stage, name: str) -> None:
    how = ("codex", "exec") if name == "codex" else ("claude", "-p")
    stage.run(*how, "say: I begin")
    api = stage.responses if name == "codex" else stage.messages
    run = stage.start(*how, "say: going on ;; run: true ;; hold: there")
    api.wait_held("there")
    victims = [pid for child in children(run.pid) for pid in (*children(child), child)]
    for pid in (run.pid, *victims):
        os.kill(pid, signal.SIGKILL)
    run.communicate()
    until(lambda: not any(alive(pid) for pid in victims), "their end")
    before = footprint(stage, name)
    made = {**GOOD, "state": [{"text": "`walrus.py` is not begun.", "evidence": []}]}
    answers(stage, name, made)
    data = stage.workstream("handoff", "draft", "--with", name, "--json").data
    assert data["author"]["kind"] == "agent"
    assert "Your last turn was cut off" in asked(stage, name)[-1].user_text
    assert changed(before, footprint(stage, name)) == set()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@HARNESSES
def test_the_session_of_another_directory_is_asked_there(stage: Stage, name: str) -> None:
    folder = stage.repository / "deep"
    folder.mkdir()
    how = ("codex", "exec") if name == "codex" else ("claude", "-p")
    stage.run(*how, "say: I begin", cwd=folder)
    before = footprint(stage, name)
    made = {**GOOD, "state": [{"text": "`walrus.py` is not begun.", "evidence": []}]}
    answers(stage, name, made)
    data = stage.workstream("handoff", "draft", "--with", name, "--json").data
    assert data["author"]["kind"] == "agent"
    assert changed(before, footprint(stage, name)) == set()

    folder.rmdir()  # and when that is gone, from here
    before = footprint(stage, name)
    data = stage.workstream("handoff", "draft", "--with", name, "--json").data
    assert data["author"]["kind"] == "agent"
    assert changed(before, footprint(stage, name)) == set()


def test_neither_hooks_nor_servers_of_the_person_run(stage: Stage) -> None:
    for name in ("codex", "claude"):
        work(stage, name)
    ran = stage.root / "ran"
    settings = {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {ran}"}]}]}
    }
    (stage.claude.store / "settings.json").write_text(json.dumps(settings))
    server = {"type": "stdio", "command": "/bin/sh", "args": ["-c", f"touch {ran}; cat"]}
    state = json.loads((stage.claude.store / ".claude.json").read_text())
    state["mcpServers"] = {"theirs": server}
    (stage.claude.store / ".claude.json").write_text(json.dumps(state))
    config = stage.codex.store / "config.toml"
    notify = f'notify = ["/bin/sh", "-c", "touch {ran}"]\n'
    table = f'\n[mcp_servers.theirs]\ncommand = "/bin/sh"\nargs = ["-c", "touch {ran}; cat"]\n'
    config.write_text(notify + config.read_text() + table)
    for name in ("codex", "claude"):
        answers(stage, name, GOOD)
        data = stage.workstream("handoff", "draft", "--with", name, "--json").data
        assert data["author"]["kind"] == "agent"
    assert not ran.exists()


@pytest.mark.parametrize("version", installed("claude@2.1.197"))
def test_an_older_claude_answers_too(stage: Stage, version: str) -> None:
    use(stage, version)
    work(stage, "claude")
    before = footprint(stage, "claude")
    answers(stage, "claude", BAD, GOOD)
    data = stage.workstream("handoff", "draft", "--with", "claude", "--json").data
    assert data["author"]["kind"] == "agent"
    assert len(data["asked"]["attempts"]) == 2
    assert changed(before, footprint(stage, "claude")) == set()


@pytest.mark.parametrize("version", installed("codex@0.130.0"))
def test_a_codex_that_cannot_be_asked_says_so(stage: Stage, version: str) -> None:
    use(stage, version)
    work(stage, "codex")
    answer = stage.workstream("handoff", "draft", "--with", "codex")
    assert "codex 0.130.0 does not know these arguments" in answer.err
    assert "made from the ledger instead" in answer.err
    assert asked(stage, "codex") == []


def use(stage: Stage, version: str) -> Path:
    """Put another version of a harness before the pinned one."""
    program = harness_program(version)
    stage.env["PATH"] = os.pathsep.join([str(program.parent), stage.env["PATH"]])
    return program
