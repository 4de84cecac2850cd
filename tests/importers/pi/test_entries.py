from __future__ import annotations

import base64
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
    Receipt,
    SessionFacts,
    Sighting,
    Turn,
    Usage,
)
from importers.pi import IMPORTER
from tests.conformance.kit import Reader

ID = "0b5e1cf2-0000-4000-8000-00000000abcd"
NAME = f"2026-01-02T03-04-05-678Z_{ID}.jsonl"
FENCE = (
    "BEGIN WORKSTREAM BRIEFING dlv_abcdefghij_0001\n| news\n"
    "END WORKSTREAM BRIEFING dlv_abcdefghij_0001"
)


class Session:
    """A session's file, entry after entry."""

    def __init__(self, home: Path, *, version: int | None = 3, **header: Any) -> None:
        self.home = home
        self.path = home / "sessions" / "--w--" / NAME
        self.path.parent.mkdir(parents=True)
        self.leaf: str | None = None
        self.count = 0
        first = {"type": "session", "id": ID, "timestamp": self.time(), "cwd": "/w", **header}
        self.append(first if version is None else {**first, "version": version})

    def time(self) -> str:
        self.count += 1
        return f"2026-01-02T03:04:{self.count:02d}.000Z"

    def append(self, entry: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def entry(self, kind: str, *, parent: str | None = "", **members: Any) -> str:
        name = f"{self.count:08x}"
        above = self.leaf if parent == "" else parent
        stamp = self.time()
        self.append({"type": kind, "id": name, "parentId": above, "timestamp": stamp, **members})
        self.leaf = name
        return name

    def say(self, role: str, content: Any, *, parent: str | None = "", **members: Any) -> str:
        message = {"role": role, "content": content, **members}
        return self.entry("message", parent=parent, message=message)

    def reader(self) -> Reader:
        return Reader(IMPORTER, self.home, ID)

    def read(self, *, closed: bool = True) -> list[Any]:
        return self.reader().read(closed=closed)

    def facts(self) -> SessionFacts:
        return IMPORTER.describe(IMPORTER.locate(self.home, ID))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def texts(items: list[Any], kind: Kind) -> list[str]:
    return [i.text for i in items if isinstance(i, Event) and i.kind is kind]


def left(items: list[Any]) -> dict[str, int]:
    return {i.kind: i.number for i in items if isinstance(i, LeftOut)}


def only(items: list[Any], kind: type) -> Any:
    (found,) = [i for i in items if isinstance(i, kind)]
    return found


def call(name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"type": "toolCall", "id": "call-1", "name": name, "arguments": arguments}]


def result(session: Session, text: str, *, failed: bool = False, tool: str = "bash") -> None:
    content = [{"type": "text", "text": text}]
    session.say("toolResult", content, toolCallId="call-1", toolName=tool, isError=failed)


# --- branches ------------------------------------------------------------------------------------


def test_what_was_rewound_is_superseded_and_comes_back(session: Session) -> None:
    session.say("user", "one")
    fork = session.say("assistant", "first", stopReason="stop")
    session.say("user", "two")
    last = session.say("assistant", "second", stopReason="stop")
    reader = session.reader()
    reader.read()
    assert reader.superseded() == set()

    session.say("user", "two again", parent=fork)
    reader.read()
    names = dict(zip(reader.ids(), texts(reader.items, Kind.USER_MESSAGE), strict=False))
    assert len(reader.superseded()) == 2
    session.say("user", "three", parent=last)
    reader.read()
    gone = reader.superseded()
    events = [i for i in reader.items if isinstance(i, Event)]
    assert len(gone) == 1
    assert [e.text for e, n in zip(events, reader.ids(), strict=True) if n in gone] == ["two again"]
    assert names


def test_a_second_root_leaves_the_first_behind(session: Session) -> None:
    session.say("user", "one")
    session.say("user", "another beginning", parent=None)
    reader = session.reader()
    reader.read()
    gone = reader.superseded()
    events = [i for i in reader.items if isinstance(i, Event)]
    assert [e.text for e, n in zip(events, reader.ids(), strict=True) if n in gone] == ["one"]


def test_a_parent_that_is_not_there_is_said_and_costs_nothing(session: Session) -> None:
    session.say("user", "one")
    session.say("assistant", "an orphan", parent="ffffffff", stopReason="stop")
    items = session.read()
    assert only(items, Loss).reason == "missing_parent"
    assert texts(items, Kind.ASSISTANT_MESSAGE) == ["an orphan"]


def test_a_fork_has_the_same_ids(session: Session, tmp_path: Path) -> None:
    session.say("user", "one")
    session.say("assistant", "first", stopReason="stop")
    before = session.reader()
    before.read()
    lines = session.path.read_text().splitlines()
    header = {**json.loads(lines[0]), "id": "fork", "parentSession": f"/s/{NAME}"}
    path = session.path.with_name("2026-01-03T03-04-05-678Z_fork.jsonl")
    path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    fork = Reader(IMPORTER, tmp_path, "fork")
    fork.read()
    assert fork.ids() == before.ids()
    assert IMPORTER.describe(fork.source()).parent == ID


# --- what is said --------------------------------------------------------------------------------


def test_a_briefing_in_an_extensions_message_is_a_delivery(session: Session) -> None:
    session.entry("custom_message", customType="workstream", content=FENCE, display=False)
    session.entry("custom_message", customType="other", content=[{"type": "text", "text": "x"}])
    session.say("user", "words")
    items = session.read()
    assert only(items, Sighting).delivery == "dlv_abcdefghij_0001"
    assert texts(items, Kind.USER_MESSAGE) == ["words"]
    assert left(items) == {"briefing": 1, "injected": 1}


def test_a_briefing_before_the_persons_words_is_taken_out(session: Session) -> None:
    session.say("user", f"{FENCE}\n\nthe words")
    items = session.read()
    assert texts(items, Kind.USER_MESSAGE) == ["the words"]
    assert only(items, Sighting).active


def test_a_briefing_that_was_rewound_is_not_seen(session: Session) -> None:
    root = session.say("user", "one")
    session.entry("custom_message", customType="workstream", content=FENCE)
    session.say("user", "two", parent=root)
    assert not only(session.read(), Sighting).active


def test_reasoning_prompts_and_pictures_are_not_kept(session: Session) -> None:
    data = base64.b64encode(b"picture" * 999).decode()
    session.say("system", "", sections={"preamble": "SECRET PROMPT", "addendum": None})
    image = {"type": "image", "data": data, "mimeType": "image/png"}
    session.say("user", [{"type": "text", "text": "look"}, image])
    thought = {"type": "thinking", "thinking": "HIDDEN"}
    session.say("assistant", [thought, {"type": "text", "text": "ok"}], stopReason="stop")
    items = session.read()
    (words,) = texts(items, Kind.USER_MESSAGE)
    assert words.startswith("look\n[image image/png, 6993 bytes, sha256 ")
    assert not any(secret in repr(items) for secret in ("HIDDEN", "SECRET", data[:60]))
    assert left(items) == {"injected": 1, "reasoning": 1}


def test_a_command_of_the_person_is_a_call_of_theirs(session: Session) -> None:
    session.say("bashExecution", None, command="make", output="done\n", exitCode=2)
    events = [i for i in session.read() if isinstance(i, Event)]
    assert [(e.kind, e.role, e.tool, e.exit_code) for e in events] == [
        (Kind.TOOL_CALL, "user", "shell", None),
        (Kind.TOOL_RESULT, "tool", "shell", 2),
    ]


@pytest.mark.parametrize(
    ("text", "failed", "status", "code"),
    [
        ("fine\n", False, "ok", 0),
        ("no\n\nCommand exited with code 3", True, "error", 3),
        ("half\n\nCommand aborted", True, "interrupted", None),
        ("Command timed out after 5 seconds", True, "error", None),
    ],
)
def test_the_outcome_of_a_command(
    session: Session, text: str, failed: bool, status: str, code: int | None
) -> None:
    session.say("assistant", call("bash", command="make"), stopReason="toolUse")
    result(session, text, failed=failed)
    found = next(i for i in session.read() if isinstance(i, Event) and i.kind is Kind.TOOL_RESULT)
    assert (found.status, found.exit_code, found.tool) == (status, code, "bash")


def test_the_output_of_our_own_command_is_not_history(session: Session) -> None:
    session.say("assistant", call("bash", command="workstream log"), stopReason="toolUse")
    result(session, "old words\nworkstream-receipt/1 nonce payload\n")
    items = session.read()
    assert texts(items, Kind.TOOL_RESULT) == [own_output.STUB]
    assert only(items, Receipt).line == "workstream-receipt/1 nonce payload"
    assert left(items) == {"own_output": 1}


def test_files_that_were_read_and_written_are_facts(session: Session) -> None:
    session.say("assistant", call("write", path="a.txt", content="x"), stopReason="toolUse")
    result(session, "ok", tool="write")
    fact = only(session.read(), FileFact)
    assert (fact.path, fact.action) == ("a.txt", "edit")


def test_a_call_without_a_result_is_interrupted_once_nobody_writes(session: Session) -> None:
    session.say("user", "go")
    session.say("assistant", call("bash", command="sleep 9"), stopReason="toolUse")
    reader = session.reader()
    assert texts(reader.read(closed=False), Kind.TOOL_RESULT) == []
    closed = reader.read()
    assert [e.status for e in closed if isinstance(e, Event)] == ["interrupted"]
    assert [t.state for t in closed if isinstance(t, Turn)] == ["interrupted"]
    assert reader.read() == []


def test_a_provider_that_refuses_is_told(session: Session) -> None:
    session.say("user", "go")
    text = "429: usage limit reached|1796044545"
    session.say("assistant", [], stopReason="error", errorMessage=text)
    items = session.read()
    assert only(items, Limit).resets_at == 1796044545000
    assert [(t.state, t.error) for t in items if isinstance(t, Turn)][-1] == ("failed", text)


def test_a_full_context_is_told(session: Session) -> None:
    session.say("user", "go")
    text = "prompt is too long: 210000 tokens > 200000 maximum"
    session.say("assistant", [], stopReason="error", errorMessage=text)
    figures = [i for i in session.read() if isinstance(i, Usage)]
    assert [(u.exceeded, u.context_tokens, u.limit_tokens) for u in figures] == [
        (True, 210000, 200000)
    ]


def test_a_compaction_is_noted_without_its_summary(session: Session) -> None:
    session.say("user", "go")
    session.entry("compaction", summary="SUMMARY", tokensBefore=120, firstKeptEntryId="x")
    session.entry("branch_summary", summary="SUMMARY of a branch", fromId="x")
    items = session.read()
    assert left(items) == {"injected": 1}
    (event,) = [i for i in items if isinstance(i, Event) and i.kind is Kind.COMPACTION]
    assert event.meta == {"tokens_before": 120}
    assert "SUMMARY" not in repr(items)
    assert only(items, Usage).compactions == 1


def test_kinds_never_seen_are_counted(session: Session) -> None:
    session.entry("brand_new")
    session.append({"type": "without an id"})
    session.say("narrator", "words")
    assert left(session.read()) == {
        "unknown:brand_new": 1,
        "unknown:without an id": 1,
        "unknown:role narrator": 1,
    }


@pytest.mark.parametrize("version", [None, 1, 4])
def test_a_format_never_seen_is_a_loss(tmp_path: Path, version: int | None) -> None:
    session = Session(tmp_path, version=version)
    assert only(session.read(), Loss).reason == "unknown_version"
    assert session.facts().version not in IMPORTER.versions


# --- what a session is ---------------------------------------------------------------------------


def test_a_session_tells_what_it_is(tmp_path: Path) -> None:
    session = Session(tmp_path, parentSession="/s/2026-01-01T00-00-00-000Z_older_one.jsonl")
    session.entry("model_change", provider="p", modelId="m")
    session.entry("session_info", name="my work")
    session.say("user", "go")
    facts = session.facts()
    assert (facts.cwd, facts.parent, facts.model, facts.title) == (
        "/w",
        "older_one",
        "m",
        "my work",
    )
    assert facts.version in IMPORTER.versions
    assert facts.started_at is not None
    assert facts.last_at is not None
    assert facts.last_at - facts.started_at == 3000


def test_a_flat_session_folder_is_a_store(tmp_path: Path) -> None:
    session = Session(tmp_path / "agent")
    session.say("user", "go")
    (tmp_path / "flat").mkdir()
    session.path.rename(tmp_path / "flat" / NAME)
    env = {"HOME": "/nowhere", "PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "flat")}
    home = IMPORTER.home(env)
    assert [source.native_id for source in IMPORTER.discover(home)] == [ID]


def test_the_settings_may_name_the_session_folder(tmp_path: Path) -> None:
    agent = tmp_path / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text('{"sessionDir":"~/elsewhere"}')
    assert IMPORTER.home({"HOME": str(tmp_path)}) == tmp_path / "elsewhere"
    (agent / "settings.json").write_text("{torn")
    assert IMPORTER.home({"HOME": str(tmp_path)}) == agent
