"""Faults that people met in readers of Claude Code stores; each test is named after its case."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from importers.base import Event, LeftOut, Loss, Sighting, StoreState, StoreUnreadable, Turn
from importers.claude import IMPORTER
from tests.importers.claude.transcript import SESSION, Got, Transcript, join, read, source_of

HELD: dict[str, Any] = {"input_tokens": 1, "output_tokens": 1}


def _three() -> Transcript:
    t = Transcript()
    t.user("one")
    t.user("two")
    t.assistant("three")
    return t


def _put(home: Path, data: bytes, session: str = SESSION) -> Path:
    path = home / "projects" / "-p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_b001_a_torn_line_in_the_middle_hides_nothing_behind_it(tmp_path: Path) -> None:
    torn = b'{"type":"attachment","attachment":{"type'
    one, *rest = _three().lines
    got = read(_put(tmp_path, join([one, torn, *rest])))
    assert got.texts() == ["one", "two", "three"]
    (loss,) = got.of(Loss)
    assert (loss.position, loss.reason, loss.length) == (
        f"{SESSION}.jsonl@{len(one) + 1}",
        "torn_line",
        len(torn),
    )


def test_b001_a_record_glued_to_a_torn_one_is_still_taken(tmp_path: Path) -> None:
    one, two, three = _three().lines
    got = read(_put(tmp_path, join([one, two[:50] + three])))
    assert got.texts() == ["one", "three"]
    assert [(loss.reason, loss.length) for loss in got.of(Loss)] == [("torn_line", 50)]


def test_b002_a_half_written_record_waits_for_its_rest(tmp_path: Path) -> None:
    one, two, three = _three().lines
    path = _put(tmp_path, join([one, two]) + three[:60])
    got = Got()
    got.read(path)
    assert got.texts() == ["one", "two"]
    with path.open("ab") as file:
        file.write(three[60:] + b"\n")
    new = got.read(path)
    assert [item.text for item in new if isinstance(item, Event)] == ["three"]
    assert got.of(Loss) == []


def test_b003_invalid_utf8_in_a_record_does_not_hide_the_others(tmp_path: Path) -> None:
    one, two, three = _three().lines
    got = read(_put(tmp_path, join([one, two.replace(b'"two"', b'"two\xe6\x87"'), three])))
    assert got.texts() == ["one", "two\ufffd", "three"]


def test_b005_a_run_of_nul_bytes_is_one_loss(tmp_path: Path) -> None:
    one, two, _ = _three().lines
    got = read(_put(tmp_path, join([one, b"\0" * 300, two])))
    assert got.texts() == ["one", "two"]
    assert [loss.length for loss in got.of(Loss)] == [300]


def test_b007_a_byte_order_mark_hides_no_session(tmp_path: Path) -> None:
    data = _three().data()
    for number in range(3):
        _put(tmp_path, data, f"good-{number}")
    path = _put(tmp_path, b"\xef\xbb\xbf" + data)
    assert len(list(IMPORTER.discover(tmp_path))) == 4
    assert read(path).texts() == ["one", "two", "three"]
    assert IMPORTER.describe(source_of(path)).first_cwd == "/home/user/work/demo"


def test_b009_o01_a_lone_surrogate_becomes_valid_text(tmp_path: Path) -> None:
    t = Transcript()
    t.assistant("cut MARK")
    t.call("c1", "Bash", {"command": "echo MARK"})
    t.result("c1", "out MARK")
    lines = [line.replace(b"MARK", b"\\ud83d\\u2026") for line in t.lines]
    path = _put(tmp_path, join(lines))
    got = read(path)
    texts = [event.text for event in got.of(Event)]
    assert texts == ["cut \ufffd…", "echo \ufffd…", "out \ufffd…"]
    json.dumps([[e.text, e.tool_input] for e in got.of(Event)], ensure_ascii=False).encode()
    assert list(read(path).events()) == list(got.events())


def test_b013_nul_in_tool_output_is_text_like_any(tmp_path: Path) -> None:
    t = Transcript()
    t.call("c1", "Bash", {"command": "x"})
    t.result("c1", "a\0b secretword", {"stdout": "a\0b secretword"})
    assert read(t.write(tmp_path)).of(Event)[-1].text == "a\0b secretword"


def test_b019_a_screenshot_stored_twice_is_one_placeholder(tmp_path: Path) -> None:
    data = base64.b64encode(bytes(range(256)) * 4096).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    t = Transcript()
    t.call("c1", "mcp__browser__shot", {})
    t.result("c1", [image], [image])
    (event,) = [e for e in read(t.write(tmp_path)).of(Event) if e.kind == "tool_result"]
    assert "image/png, 1048576 bytes, sha256 " in event.text
    assert len(event.text) < 200


def test_b021_events_keep_their_own_times(tmp_path: Path) -> None:
    t = Transcript()
    t.user("early", timestamp="2026-01-01T00:00:00.000Z")
    t.user("late", timestamp="2026-02-15T00:00:00.000Z")
    early, late = read(t.write(tmp_path)).of(Event)
    assert late.at - early.at == 45 * 86_400_000


def test_b024_truncated_and_rewritten_shorter_is_read_anew(tmp_path: Path) -> None:
    t = _three()
    path = t.write(tmp_path)
    got = read(path)
    other = Transcript()
    other.user("rewritten", uuid="r1")
    path.write_bytes(other.data())
    new = got.read(path)
    assert [item.text for item in new if isinstance(item, Event)] == ["rewritten"]
    assert {key[0][0] for key in got.events()} == {"u0001", "u0002", "u0003", "r1"}


def test_b024_replaced_by_a_larger_file_gives_what_is_new_once(tmp_path: Path) -> None:
    t = _three()
    path = t.write(tmp_path)
    got = read(path)
    t.assistant("four")
    other = path.with_suffix(".tmp")
    other.write_bytes(t.data())
    other.replace(path)
    got.read(path)
    assert got.texts() == ["one", "two", "three", "four"]


def test_b026_growth_without_a_new_mtime_is_seen(tmp_path: Path) -> None:
    t = _three()
    path = t.write(tmp_path)
    got = read(path)
    status = path.stat()
    before = IMPORTER.locate(tmp_path, SESSION).signature
    t.assistant("four")
    path.write_bytes(t.data())
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert IMPORTER.locate(tmp_path, SESSION).signature != before
    assert [i.text for i in got.read(path) if isinstance(i, Event)] == ["four"]


def test_b031_unknown_records_cost_only_themselves(tmp_path: Path) -> None:
    t = _three()
    t.assistant("x" * 2_000_000)
    path = t.write(tmp_path)
    got = read(path)
    for _ in range(50):
        line = b'{"type":"zz-progress"}\n'
        with path.open("ab") as file:
            file.write(line)
        done = len(got.batches)
        got.read(path)
        assert sum(batch.read_bytes for batch in got.batches[done:]) == len(line)
    assert got.left_out()["unknown:zz-progress"] == 50


def test_b032_a_malformed_line_is_reported_once(tmp_path: Path) -> None:
    one, two, three = _three().lines
    path = _put(tmp_path, join([one, b'{"type":"user",}', two]))
    got = read(path)
    assert [(loss.reason, loss.record) for loss in got.of(Loss)] == [("undecodable", 1)]
    with path.open("ab") as file:
        file.write(three + b"\n")
    got.read(path)
    assert len(got.of(Loss)) == 1


def test_b036_a_fork_repeats_the_ids_of_what_it_copied(tmp_path: Path) -> None:
    t = Transcript()
    for number in range(3):
        t.user(f"turn {number}")
        t.assistant(f"answer {number}")
    origin = read(t.write(tmp_path))
    fork = Transcript("fork")
    fork.lines = [line.replace(SESSION.encode(), b"fork") for line in t.lines]
    fork.last, fork.count = t.last, t.count
    fork.user("new turn")
    copied = read(fork.write(tmp_path))
    assert set(origin.events()) < set(copied.events())
    assert len(copied.events()) == len(origin.events()) + 1


def test_b042_a_record_rewritten_into_the_file_counts_once(tmp_path: Path) -> None:
    t = Transcript()
    for number in range(10):
        t.user(f"turn {number}")
        t.assistant(f"answer {number}")
    path = _put(tmp_path, join(t.lines * 3))
    got = read(path)
    assert [event.record for event in got.of(Event)] == list(range(20))
    assert sum(batch.read_bytes for batch in got.batches) == path.stat().st_size
    with path.open("ab") as file:
        file.write(t.data())
    assert [item for item in got.read(path) if isinstance(item, Event)] == []


def test_b043_rows_of_one_message_are_joined_without_doubling(tmp_path: Path) -> None:
    t = Transcript()
    use = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    t.assistant("looking", id="m", stop=None, usage={**HELD, "output_tokens": 1})
    t.assistant("looking", use, id="m", stop="tool_use", usage={**HELD, "output_tokens": 30})
    got = Got()
    got.read(t.write(tmp_path))
    t.assistant("looking", id="m", stop="tool_use", usage={**HELD, "output_tokens": 30})
    got.read(t.write(tmp_path))
    assert [(event.kind.value, event.text) for event in got.of(Event)] == [
        ("assistant_message", "looking"),
        ("tool_call", "ls"),
    ]


def test_b047_ids_do_not_depend_on_how_often_or_how_finely_is_read(tmp_path: Path) -> None:
    t = _three()
    t.call("c1", "Bash", {})
    path = t.write(tmp_path)
    assert len({tuple(read(path, closed=True).events()) for _ in range(5)}) == 1


def test_b048_a_phantom_parent_loses_nothing_and_is_reported_once(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.assistant("two")
    t.user("three", parent="00000000-phantom")
    t.side("file-history-snapshot", messageId="u0004", snapshot={"messageId": "u0004"})
    t.assistant("four")
    t.user("five", parent="00000000-phantom")
    path = t.write(tmp_path)
    got = read(path, closed=True)
    assert got.texts() == ["one", "two", "three", "four", "five"]
    assert set(got.active().values()) == {True}
    assert [loss.reason for loss in got.of(Loss)] == ["missing_parent"]
    t.assistant("six")
    got.read(t.write(tmp_path), closed=True)
    assert len(got.of(Loss)) == 1


def test_b048_records_without_any_parent_field_follow_the_file(tmp_path: Path) -> None:
    t = _three()
    lines = []
    for line in t.lines:
        record = json.loads(line)
        del record["parentUuid"]
        lines.append(json.dumps(record).encode())
    got = read(_put(tmp_path, join(lines)), closed=True)
    assert got.texts() == ["one", "two", "three"]
    assert set(got.active().values()) == {True}


def test_b049_of_two_children_the_newer_branch_lives(tmp_path: Path) -> None:
    t = Transcript()
    t.user("shared")
    parent = t.assistant("answer")
    t.user("abandoned")
    t.user("kept", parent=parent)
    got = read(t.write(tmp_path))
    assert got.active() == {"shared": True, "answer": True, "abandoned": False, "kept": True}


def test_b058_a_prompt_typed_while_busy_is_one_message(tmp_path: Path) -> None:
    t = Transcript()
    t.user("work")
    t.side("queue-operation", operation="enqueue", content="also fix the docs")
    t.side("queue-operation", operation="remove", reason="absorbed_mid_turn")
    t.side("queue-operation", operation="enqueue", content="/compact")
    t.attachment("queued_command", prompt="also fix the docs", commandMode="prompt")
    assert read(t.write(tmp_path)).texts() == ["work", "also fix the docs"]


def test_b064_a_subagents_transcript_is_no_session_of_its_own(tmp_path: Path) -> None:
    path = _three().write(tmp_path)
    folder = path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    agent = Transcript(isSidechain=True, agentId="1")
    agent.user("prompt for the agent")
    agent.assistant("its report")
    (folder / "agent-1.jsonl").write_bytes(agent.data())
    (folder / "agent-1.meta.json").write_text("{}")
    assert [source.path for source in IMPORTER.discover(tmp_path)] == [path]
    got = read(path, closed=True)
    assert got.texts() == ["one", "two", "three"]
    assert got.left_out()["subagent"] == 2
    assert IMPORTER.describe(source_of(folder / "agent-1.jsonl")).subagent_of == SESSION


def test_b091_a_call_without_result_ends_as_interrupted(tmp_path: Path) -> None:
    t = Transcript()
    t.user("go")
    t.call("c1", "Bash", {"command": "rm -r build"})
    path = t.write(tmp_path)
    got = Got()
    got.read(path)
    assert [event.kind.value for event in got.of(Event)] == ["user_message", "tool_call"]
    new = got.read(path, closed=True)
    results = [item for item in new if isinstance(item, Event)]
    assert [(e.status, e.call_id, e.tool) for e in results] == [("interrupted", "c1", "Bash")]
    assert [turn.state for turn in got.of(Turn)] == ["open", "interrupted"]
    assert got.read(path, closed=True) == []


def test_b161_our_own_briefing_never_becomes_history(tmp_path: Path) -> None:
    mark = "dlv_abcdefghij_0001"
    briefing = f"BEGIN WORKSTREAM {mark}\n| old news\nEND WORKSTREAM {mark}\n"
    t = Transcript()
    t.attachment("hook_additional_context", hookEvent="SessionStart", content=[briefing])
    t.user(briefing)
    t.call("c1", "Read", {"file_path": "briefing.txt"})
    t.result("c1", briefing)
    got = read(t.write(tmp_path))
    assert "old news" not in json.dumps([[e.text, e.tool_input] for e in got.of(Event)])
    assert [item.delivery for item in got.of(Sighting)] == [mark]


def test_o03_odd_entries_are_reported_beside_the_good_session(tmp_path: Path) -> None:
    good = _three().write(tmp_path, "-p")
    folder = good.parent
    (folder / "link.jsonl").symlink_to(folder / "nowhere.jsonl")
    (folder / "dir.jsonl").mkdir()
    os.mkfifo(folder / "fifo.jsonl")
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "notes.txt").write_text("x")
    found = {source.native_id: source for source in IMPORTER.discover(tmp_path)}
    states = {name: source.state for name, source in found.items()}
    assert states == {
        SESSION: StoreState.PRESENT,
        "link": StoreState.UNREADABLE,
        "dir": StoreState.UNREADABLE,
        "fifo": StoreState.UNREADABLE,
        "empty": StoreState.UNREADABLE,
    }
    assert all(found[name].detail for name in ("link", "dir", "fifo", "empty"))
    assert read(good).texts() == ["one", "two", "three"]
    with pytest.raises(StoreUnreadable):
        read(folder / "fifo.jsonl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_o03_a_file_without_permission_is_reported(tmp_path: Path) -> None:
    path = _three().write(tmp_path)
    path.chmod(0)
    assert [source.state for source in IMPORTER.discover(tmp_path)] == [StoreState.UNREADABLE]
    assert IMPORTER.locate(tmp_path, SESSION).state is StoreState.UNREADABLE


def test_o05_white_space_and_key_order_change_nothing(tmp_path: Path) -> None:
    t = _three()
    t.call("c1", "Bash", {"command": "x", "description": "y"})
    t.result("c1", "out", {"stdout": "out"})
    compact = read(_put(tmp_path / "a", t.data()))
    records = [json.loads(line) for line in t.lines]
    spaced = [json.dumps(record, indent=None, separators=(" , ", " : ")) for record in records]
    turned = [json.dumps(dict(reversed(list(record.items())))) for record in records]
    for number, lines in enumerate((spaced, turned)):
        other = read(_put(tmp_path / str(number), join(line.encode() for line in lines)))
        assert [(e.identity, e.kind, e.text, e.tool_input) for e in other.of(Event)] == [
            (e.identity, e.kind, e.text, e.tool_input) for e in compact.of(Event)
        ]
    assert not any(isinstance(item, LeftOut) for item in compact.items)
