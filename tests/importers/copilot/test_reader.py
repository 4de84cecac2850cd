from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importers.base import Event, Kind, LeftOut, Limit, Sighting, Turn, Usage
from importers.copilot import IMPORTER
from importers.copilot.store import home
from tests.conformance.kit import Reader

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"
FENCE = (
    "BEGIN WORKSTREAM BRIEFING dlv_abcdefghij_0001\n| news\n"
    "END WORKSTREAM BRIEFING dlv_abcdefghij_0001"
)


class Session:
    """A session's file, event after event."""

    def __init__(self, root: Path) -> None:
        self.home = root
        self.path = root / "session-state" / ID / "events.jsonl"
        self.path.parent.mkdir(parents=True)
        self.count = 0
        self.event("session.start", selectedModel="m", copilotVersion="1", context={"cwd": "/w"})

    def event(self, kind: str, *, envelope: dict[str, Any] | None = None, **data: Any) -> None:
        self.count += 1
        value = {
            "type": kind,
            "data": data,
            "id": f"e{self.count}",
            "timestamp": f"2026-01-02T03:04:{self.count:02d}.000Z",
            "parentId": f"e{self.count - 1}",
            **(envelope or {}),
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")

    def user(self, text: str, sent: str | None = None, **data: Any) -> None:
        data.setdefault("interactionId", f"t{self.count}")
        self.event("user.message", content=text, transformedContent=sent or text, **data)

    def answer(self, text: str, *calls: dict[str, Any], **data: Any) -> None:
        self.event("assistant.message", content=text, toolRequests=list(calls), **data)

    def read(self) -> Reader:
        reader = Reader(IMPORTER, self.home, ID)
        reader.read()
        return reader


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def items(reader: Reader, kind: type[Any]) -> list[Any]:
    return [item for item in reader.items if isinstance(item, kind)]


def texts(reader: Reader) -> list[tuple[str, str]]:
    return [(str(event.role), event.text) for event in items(reader, Event)]


def left(reader: Reader) -> dict[str, int]:
    return {item.kind: item.number for item in items(reader, LeftOut)}


def call(command: str, number: str = "c") -> dict[str, Any]:
    return {"toolCallId": number, "name": "bash", "arguments": {"command": command}}


def test_the_home_is_where_the_variable_says(tmp_path: Path) -> None:
    assert home({"HOME": str(tmp_path)}) == tmp_path / ".copilot"
    assert home({"HOME": str(tmp_path), "COPILOT_HOME": " "}) == tmp_path / ".copilot"
    assert home({"HOME": "/x", "COPILOT_HOME": str(tmp_path)}) == tmp_path


def test_what_was_sent_beside_the_words_is_a_sighting_and_no_word(session: Session) -> None:
    session.user("hello", f"<now/>\n\nhello\n\n<system_reminder>\n{FENCE}\n</system_reminder>")
    reader = session.read()
    assert texts(reader) == [("user", "hello")]
    assert [item.delivery for item in items(reader, Sighting)] == ["dlv_abcdefghij_0001"]


def test_a_message_that_nobody_typed_is_left_out(session: Session) -> None:
    session.user("do go on", source="autopilot")
    reader = session.read()
    assert texts(reader) == []
    assert left(reader)["injected"] == 1


def test_reasoning_and_the_models_own_requests_are_never_stored(session: Session) -> None:
    session.user("hello")
    session.event("model.messages_snapshot", messages=[{"content": "hello SECRET"}])
    session.answer("fine", reasoningText="SECRET")
    session.event("system.message", content="SECRET")
    reader = session.read()
    assert texts(reader) == [("user", "hello"), ("assistant", "fine")]
    assert left(reader) == {"bookkeeping": 2, "injected": 1, "reasoning": 1}
    assert "SECRET" not in repr(reader.items)


def test_a_command_that_fails_is_an_error_with_its_code(session: Session) -> None:
    session.user("hello")
    session.answer("", call("false"))
    session.event("tool.execution_start", toolCallId="c", toolName="bash")
    session.event(
        "tool.execution_complete",
        toolCallId="c",
        success=True,
        shellExecution={"exitCode": 3},
        result={"content": "out\n<shellId: 0 completed with exit code 3>"},
    )
    (result,) = [e for e in items(session.read(), Event) if e.kind is Kind.TOOL_RESULT]
    assert (result.text, result.status, result.exit_code) == ("out", "error", 3)


def test_a_command_of_the_persons_own_is_theirs(session: Session) -> None:
    given = {"command": "ls"}
    session.event("tool.user_requested", toolCallId="u", toolName="bash", arguments=given)
    session.event("tool.execution_start", toolCallId="u", toolName="bash", arguments=given)
    session.event("tool.execution_complete", toolCallId="u", result={"content": "a"})
    assert texts(session.read()) == [("user", "ls"), ("tool", "a")]


def test_what_was_cut_off_stays_so_when_the_session_goes_on(session: Session) -> None:
    session.user("hello")
    session.answer("", call("sleep 9"))
    before = session.read()
    session.event("session.resume", context={"cwd": "/w"})
    error = {"message": "made up", "code": "interrupted"}
    session.event("tool.execution_complete", toolCallId="c", interactionId="resume", error=error)
    session.user("again")
    after = session.read()
    ends = [
        [(e.identity, e.text, e.status) for e in items(r, Event) if e.kind is Kind.TOOL_RESULT]
        for r in (before, after)
    ]
    assert ends[0] == ends[1]
    assert [(text, status) for _, text, status in ends[1]] == [("", "interrupted")]
    assert [t.state for t in items(after, Turn)][:3] == ["open", "interrupted", "open"]


def test_what_subagents_say_is_left_out(session: Session) -> None:
    session.answer("inside", parentToolCallId="c")
    session.event("assistant.message", envelope={"agentId": "a"}, content="inside")
    session.event("subagent.completed", toolCallId="c")
    reader = session.read()
    assert texts(reader) == []
    assert left(reader)["subagent"] == 3


def test_a_refusal_fails_the_turn_and_a_limit_is_one(session: Session) -> None:
    session.user("hello")
    session.event("session.error", errorType="rate_limit", message="429 quota", statusCode=429)
    reader = session.read()
    assert [(t.state, t.error) for t in items(reader, Turn)][-1] == ("failed", "429 quota")
    assert [limit.message for limit in items(reader, Limit)] == ["429 quota"]


def test_a_turn_that_the_person_stops_is_interrupted(session: Session) -> None:
    session.user("hello")
    session.event("abort", reason="user initiated")
    assert [t.state for t in items(session.read(), Turn)] == ["open", "interrupted"]


def test_only_the_conversations_own_requests_have_figures(session: Session) -> None:
    for kind in ("conversation-agent", "conversation-compaction"):
        usage = {"interactionType": kind, "inputTokens": 120, "maxPromptTokens": 1000}
        session.event("session.usage_record", usage=usage)
    (usage,) = items(session.read(), Usage)
    assert (usage.context_tokens, usage.limit_tokens) == (120, 1000)


def test_a_compaction_that_failed_is_none(session: Session) -> None:
    session.event("session.compaction_complete", success=False)
    session.event("session.compaction_complete", success=True, preCompactionTokens=9)
    kinds = [event.kind for event in items(session.read(), Event)]
    assert kinds == [Kind.COMPACTION]


def test_an_event_of_an_unknown_type_is_counted(session: Session) -> None:
    session.event("novel.thing", text="x")
    assert left(session.read())["unknown:novel.thing"] == 1
