from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importers import own_output
from importers.base import (
    Event,
    FileFact,
    Kind,
    LeftOut,
    Limit,
    Loss,
    Plan,
    Receipt,
    Sighting,
    Turn,
    Usage,
)
from importers.qwen import IMPORTER
from tests.conformance.kit import Reader

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"
FENCE = (
    "BEGIN WORKSTREAM BRIEFING dlv_abcdefghij_0001\n| news\n"
    "END WORKSTREAM BRIEFING dlv_abcdefghij_0001"
)


class Session:
    """A session's file, record after record."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / "projects" / "-w" / "chats" / f"{ID}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.leaf: str | None = None
        self.count = 0

    def record(self, kind: str, *, parent: str | None = "", **members: Any) -> str:
        name = f"u{self.count}"
        self.count += 1
        value = {
            "uuid": name,
            "parentUuid": self.leaf if parent == "" else parent,
            "sessionId": ID,
            "timestamp": f"2026-01-02T03:04:{self.count:02d}.000Z",
            "type": kind,
            "cwd": "/w",
            "version": "0.24.4",
            **members,
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")
        self.leaf = name
        return name

    def user(self, *texts: str, **members: Any) -> str:
        parts = [{"text": text} for text in texts]
        members.setdefault("provenance", "real_user")
        return self.record("user", message={"role": "user", "parts": parts}, **members)

    def model(self, *parts: dict[str, Any], **members: Any) -> str:
        message = {"role": "model", "parts": list(parts)}
        return self.record("assistant", message=message, model="m", **members)

    def call(self, tool: str, given: dict[str, Any], number: str = "c") -> str:
        return self.model({"functionCall": {"id": number, "name": tool, "args": given}})

    def result(self, tool: str, response: dict[str, Any], *, number: str = "c", **told: Any) -> str:
        answer = {"functionResponse": {"id": number, "name": tool, "response": response}}
        message = {"role": "user", "parts": [answer]}
        return self.record("tool_result", message=message, toolCallResult=told)

    def system(self, subtype: str, payload: dict[str, Any], **members: Any) -> str:
        return self.record("system", subtype=subtype, systemPayload=payload, **members)

    def reader(self) -> Reader:
        reader = Reader(IMPORTER, self.home, ID)
        reader.read()
        return reader


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def of(reader: Reader, kind: type[Any]) -> list[Any]:
    return [item for item in reader.items if isinstance(item, kind)]


def texts(reader: Reader, *kinds: Kind) -> list[str]:
    return [e.text for e in of(reader, Event) if not kinds or e.kind in kinds]


def left_out(reader: Reader) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in of(reader, LeftOut):
        found[item.kind] = found.get(item.kind, 0) + item.number
    return found


def test_what_a_hook_added_is_no_word_and_a_delivery_in_it_is_a_sighting(session: Session) -> None:
    context = f"<qwen:user-prompt-submit-context>\n{FENCE}\n</qwen:user-prompt-submit-context>"
    payload = {"displayText": "words", "hookContext": FENCE}
    session.user("words", context, systemPayload=payload)
    reader = session.reader()
    assert texts(reader) == ["words"]
    assert [s.delivery for s in of(reader, Sighting)] == ["dlv_abcdefghij_0001"]


def test_a_hooks_part_without_its_note_is_told_by_its_tags(session: Session) -> None:
    session.user(
        "words", f"<qwen:user-prompt-submit-context>\n{FENCE}\n</qwen:user-prompt-submit-context>"
    )
    reader = session.reader()
    assert texts(reader) == ["words"]
    assert len(of(reader, Sighting)) == 1


def test_the_same_tags_alone_are_a_persons_words(session: Session) -> None:
    typed = "<qwen:user-prompt-submit-context>\nmine\n</qwen:user-prompt-submit-context>"
    session.user(typed)
    assert texts(session.reader()) == [typed]


def test_files_that_are_named_are_no_words(session: Session) -> None:
    session.user(
        "see @a.txt",
        "\n--- Content from referenced files ---",
        "\nContent from @a.txt:\n",
        "what the file says",
        "\n--- End of content ---",
    )
    reader = session.reader()
    assert texts(reader) == ["see @a.txt"]
    assert left_out(reader) == {"injected": 4}


@pytest.mark.parametrize(
    "members",
    [{"subtype": "notification"}, {"subtype": "cron"}, {"provenance": "goal_runtime"}],
)
def test_what_nobody_typed_is_left_out(session: Session, members: dict[str, Any]) -> None:
    session.user("not a person", **members)
    reader = session.reader()
    assert texts(reader) == []
    assert left_out(reader) == {"injected": 1}


def test_words_typed_while_a_turn_runs_are_a_part_of_it(session: Session) -> None:
    turn = session.user("one")
    payload = {"displayText": "wait"}
    session.user("wait", subtype="mid_turn_user_message", systemPayload=payload)
    session.model({"text": "done"})
    reader = session.reader()
    assert texts(reader) == ["one", "wait", "done"]
    assert [(t.turn, t.state) for t in of(reader, Turn)] == [(turn, "open"), (turn, "complete")]


def test_thoughts_are_dropped_and_a_picture_is_a_placeholder(session: Session) -> None:
    data = {"mimeType": "image/png", "data": "aGVsbG8="}
    session.record(
        "user",
        provenance="real_user",
        message={"parts": [{"text": "look"}, {"inlineData": data}]},
    )
    session.model({"text": "hidden", "thought": True}, {"text": "seen"})
    reader = session.reader()
    first, second = texts(reader)
    assert first.startswith("look\n[image")
    assert "aGVsbG8=" not in first
    assert second == "seen"
    assert left_out(reader) == {"reasoning": 1}


def test_outcomes_of_commands(session: Session) -> None:
    session.user("go")
    outcomes: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"error": "Output: 42\nExit Code: 3"}, {"status": "error"}),
        ({"output": "Output: x\nExit Code: 0"}, {"status": "success"}),
        ({"error": "stopped"}, {"status": "cancelled"}),
        (
            {"output": "whole"},
            {
                "status": "error",
                "resultDisplay": {"type": "shell_result", "exitCode": 7, "output": "bare"},
            },
        ),
        (
            {"output": "whole"},
            {
                "status": "success",
                "resultDisplay": {"type": "shell_result", "output": "cut", "truncated": True},
            },
        ),
    ]
    for number, (response, told) in enumerate(outcomes):
        session.call("run_shell_command", {"command": "make"}, f"c{number}")
        session.result("run_shell_command", response, number=f"c{number}", **told)
    results = [e for e in of(session.reader(), Event) if e.kind is Kind.TOOL_RESULT]
    assert [(e.status, e.exit_code) for e in results] == [
        ("error", 3),
        ("ok", 0),
        ("interrupted", None),
        ("error", 7),
        ("ok", None),
    ]
    assert [e.text for e in results[3:]] == ["bare", "whole"]


def test_files_that_were_made_and_changed(session: Session) -> None:
    session.call("write_file", {"file_path": "/w/a"}, "1")
    text = "Successfully created and wrote to new file: /w/a."
    session.result("write_file", {"output": text}, number="1", status="success")
    session.call("edit", {"file_path": "/w/b"}, "2")
    session.result("edit", {"output": "changed"}, number="2", status="success")
    session.call("edit", {"file_path": "/w/c"}, "3")
    session.result("edit", {"error": "no"}, number="3", status="error")
    facts = of(session.reader(), FileFact)
    assert [(f.path, f.action) for f in facts] == [("/w/a", "create"), ("/w/b", "edit")]


def test_the_list_of_tasks_is_the_plan(session: Session) -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "odd"}]
    session.call("todo_write", {"todos": todos})
    shown = {"type": "todo_list", "todos": todos}
    session.result("todo_write", {"output": "ok"}, status="success", resultDisplay=shown)
    (plan,) = of(session.reader(), Plan)
    assert plan.items == (("a", "completed"), ("b", "pending"))


def test_a_receipt_of_ours_is_kept_and_the_output_is_not(session: Session) -> None:
    line = 'workstream-receipt/1 {"x":1}'
    session.call("run_shell_command", {"command": "workstream handoff commit"})
    session.result("run_shell_command", {"output": f"told\n{line}\n"}, status="success")
    reader = session.reader()
    assert texts(reader, Kind.TOOL_RESULT) == [own_output.STUB]
    assert [r.line for r in of(reader, Receipt)] == [line]


def error(message: str, **members: Any) -> dict[str, Any]:
    event = {"event.name": "qwen-code.api_error", "error_message": message, **members}
    return {"uiEvent": event}


def test_a_refusal_fails_the_turn_and_may_be_a_limit(session: Session) -> None:
    turn = session.user("go")
    session.system("ui_telemetry", error("429 usage limit reached|1767409440", status_code=429))
    reader = session.reader()
    assert of(reader, Turn)[-1]._replace(ended_at=None, record=0) == Turn(
        turn, "failed", 0, "429 usage limit reached|1767409440"
    )
    assert [limit.resets_at for limit in of(reader, Limit)] == [1767409440000]


def test_a_context_that_is_full_is_said(session: Session) -> None:
    session.user("go")
    session.system("ui_telemetry", error("400 prompt is too long: 210 tokens > 200"))
    (usage,) = of(session.reader(), Usage)
    assert (usage.context_tokens, usage.limit_tokens, usage.exceeded) == (210, 200, True)


def test_an_error_of_a_subagent_ends_no_turn(session: Session) -> None:
    session.user("go")
    session.system("ui_telemetry", error("no", subagent_name="memory"))
    session.model({"text": "fine"})
    assert [t.state for t in of(session.reader(), Turn)] == ["open", "complete"]


def test_what_telemetry_repeats_is_not_said_twice(session: Session) -> None:
    event = {"event.name": "qwen-code.api_response", "response_text": "fine"}
    session.user("go")
    session.system("ui_telemetry", {"uiEvent": event})
    session.model(
        {"text": "fine"}, usageMetadata={"promptTokenCount": 9, "candidatesTokenCount": 2}
    )
    reader = session.reader()
    assert texts(reader, Kind.ASSISTANT_MESSAGE) == ["fine"]
    (usage,) = of(reader, Usage)
    assert (usage.context_tokens, usage.output_tokens, usage.model) == (9, 2, "m")


def test_a_compaction_has_its_figures_and_no_summary(session: Session) -> None:
    session.user("go")
    info = {"originalTokenCount": 900, "newTokenCount": 90}
    history = [{"role": "user", "parts": [{"text": "the summary"}]}]
    session.system("chat_compression", {"info": info, "compressedHistory": history})
    reader = session.reader()
    (event,) = [e for e in of(reader, Event) if e.kind is Kind.COMPACTION]
    assert event.meta == {"tokens_before": 900}
    assert "the summary" not in event.text
    (usage,) = of(reader, Usage)
    assert (usage.context_tokens, usage.compactions) == (90, 1)


def test_a_rewind_leaves_the_branch_behind(session: Session) -> None:
    session.user("one")
    kept = session.model({"text": "first"})
    session.user("two")
    session.model({"text": "second"})
    session.system("rewind", {}, parent=kept)
    session.user("three")
    reader = session.reader()
    active = {e.text: e.active for e in of(reader, Event)}
    assert active == {"one": True, "first": True, "two": False, "second": False, "three": True}


def test_records_beside_the_conversation_are_never_its_leaf(session: Session) -> None:
    session.user("one")
    session.model({"text": "first"})
    session.system("session_artifact_event", {}, parent=None)
    assert all(e.active for e in of(session.reader(), Event))


def test_a_title_and_a_parent(session: Session) -> None:
    session.user("one", forkedFrom={"sessionId": "parent", "messageUuid": "u0"})
    session.system("custom_title", {"customTitle": "made up", "titleSource": "auto"})
    source = IMPORTER.locate(session.home, ID)
    facts = IMPORTER.describe(source)
    assert (facts.parent, facts.title, facts.cwd) == ("parent", "made up", "/w")
    session.system("custom_title", {"customTitle": "given", "titleSource": "manual"})
    assert IMPORTER.describe(IMPORTER.locate(session.home, ID)).title == "given"


def test_an_unknown_kind_is_counted(session: Session) -> None:
    session.record("odd")
    session.system("new_thing", {})
    reader = session.reader()
    assert left_out(reader) == {"unknown:odd": 1, "unknown:new_thing": 1}
    assert of(reader, Loss) == []
