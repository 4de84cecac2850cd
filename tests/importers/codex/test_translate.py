"""What single records mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importers.base import FileFact, LeftOut, Limit, Plan, Receipt, Turn, Usage
from importers.codex.tools import outcome_of, patched_files
from importers.own_output import STUB
from tests.importers.codex.rollouts import (
    THREAD,
    Ledger,
    Record,
    agent,
    answer,
    call,
    command,
    developer,
    encode,
    event,
    imported,
    item,
    meta,
    old_agent,
    old_user,
    response,
    rollout,
    user,
)

DELIVERY = "dlv_abcdefgh23_0001"


def read(home: Path, *records: Record, paginated: bool = True, closed: bool = False) -> Ledger:
    rollout(home, encode([meta(), *records], ordinal=0 if paginated else None))
    return imported(home, closed=closed)


def tools(ledger: Ledger) -> list[tuple[str, str | None, str, int | None, str | None]]:
    return [
        (each.kind.value, each.tool, each.text, each.exit_code, each.status)
        for each in ledger.events.values()
        if each.kind.value.startswith("tool")
    ]


def left(ledger: Ledger) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in ledger.of(LeftOut):
        counts[each.kind] = counts.get(each.kind, 0) + each.number
    return counts


# --- messages -----------------------------------------------------------------------------------


def test_response_items_never_become_messages(tmp_path: Path) -> None:
    text = [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]
    ledger = read(
        tmp_path,
        response("message", role="user", content=text),
        response("message", role="user", content=[{"type": "input_text", "text": "true prompt"}]),
        user("true prompt"),
        response("message", role="assistant", content=[{"type": "output_text", "text": "ok"}]),
        agent("ok"),
    )
    assert ledger.conversation() == [("user", "true prompt"), ("assistant", "ok")]


def test_message_that_comes_as_item_and_as_older_event_is_one(tmp_path: Path) -> None:
    ledger = read(tmp_path, user("hi"), old_user("hi"), old_agent("yes"), agent("yes"))
    assert ledger.conversation() == [("user", "hi"), ("assistant", "yes")]


def test_images_become_descriptions_without_their_bytes(tmp_path: Path) -> None:
    data = "data:image/png;base64," + "A" * 4000
    ledger = read(
        tmp_path,
        item(
            "UserMessage",
            None,
            id="u",
            content=[{"type": "text", "text": "look"}, {"type": "image", "image_url": data}],
        ),
        event("user_message", message="x", images=[data]),
    )
    ((_, text),) = ledger.conversation()
    assert text.startswith("look\n[image image/png 3000 bytes sha256:")
    assert len(text) < 100


def test_turn_model_and_directory_are_taken_from_the_turn(tmp_path: Path) -> None:
    ledger = read(
        tmp_path,
        {"type": "turn_context", "payload": {"cwd": "/home/user/other", "model": "gpt-x"}},
        user("hi", "t1"),
    )
    (message,) = ledger.events.values()
    assert (message.turn, message.cwd) == ("t1", "/home/user/other")


def test_plan_text_is_an_assistant_message(tmp_path: Path) -> None:
    ledger = read(tmp_path, agent("thinking"), item("Plan", "t", id="p", text="1. do it"))
    assert ledger.conversation()[1] == ("assistant", "1. do it")


def test_answer_to_a_question_is_the_persons_words(tmp_path: Path) -> None:
    output = json.dumps({"answers": {"q1": {"answers": ["use sqlite"]}, "q2": {"answers": []}}})
    ledger = read(
        tmp_path, user("go"), call("c1", "request_user_input", questions=[]), answer("c1", output)
    )
    assert ledger.conversation() == [("user", "go"), ("user", "use sqlite")]


def test_lone_surrogate_and_nul_are_read_the_same_each_time(tmp_path: Path) -> None:
    line = encode([agent("a\0b")], ordinal=1).replace(b"a\\u0000b", rb"a\u0000b\ud83d")
    rollout(tmp_path, encode([meta()], ordinal=0) + line)
    assert imported(tmp_path).conversation() == [("assistant", "a\0b\ufffd")]
    assert imported(tmp_path).membership() == imported(tmp_path).membership()


# --- tools --------------------------------------------------------------------------------------


def test_killed_command_is_interrupted_once_the_session_is_closed(tmp_path: Path) -> None:
    records = (user("go"), call("c1", "exec_command", cmd="sleep 40"))
    assert tools(read(tmp_path, *records)) == []
    ledger = imported(tmp_path, closed=True)
    assert tools(ledger) == [
        ("tool_call", "exec_command", "sleep 40", None, None),
        ("tool_result", "exec_command", "", None, "interrupted"),
    ]


def test_next_turn_ends_calls_that_were_never_answered(tmp_path: Path) -> None:
    ledger = read(
        tmp_path,
        event("task_started", turn_id="t1"),
        call("c1", "exec_command", cmd="sleep 40"),
        event("task_started", turn_id="t2"),
    )
    assert [row[4] for row in tools(ledger)] == [None, "interrupted"]
    assert [each.turn for each in ledger.events.values()] == ["t1", "t1"]


def test_command_still_running_waits_for_its_item(tmp_path: Path) -> None:
    running = "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nhalf"
    records = [user("go"), call("c1", "exec_command", cmd="make"), answer("c1", running)]
    path = rollout(tmp_path, encode([meta(), *records], ordinal=0))
    ledger = imported(tmp_path)
    assert tools(ledger) == []
    more = [event("task_started", turn_id="t2"), command("c1", "make", "whole", 0)]
    with path.open("ab") as file:
        file.write(encode(more, ordinal=4, start=60))
    ledger.read(_source(tmp_path))
    assert tools(ledger)[1] == ("tool_result", "exec_command", "whole", 0, "ok")


def _source(home: Path) -> Any:
    from importers.codex import IMPORTER

    return IMPORTER.locate(home, THREAD)


def test_answer_whose_request_was_lost_is_a_result(tmp_path: Path) -> None:
    assert tools(read(tmp_path, answer("c9", "found"))) == [
        ("tool_result", "unknown", "found", None, "unknown")
    ]


def test_older_end_events_are_tools(tmp_path: Path) -> None:
    ledger = read(
        tmp_path,
        call("c1", "shell", command=["bash", "-lc", "ls"]),
        event(
            "exec_command_end",
            call_id="c1",
            command=["bash", "-lc", "ls"],
            stdout="a\n",
            stderr="b\n",
            exit_code=3,
            cwd="/p",
        ),
        answer("c1", "dup"),
        event(
            "mcp_tool_call_end",
            call_id="c2",
            invocation={"server": "s", "tool": "t", "arguments": {"a": 1}},
            result={"Err": "broke"},
        ),
        paginated=False,
    )
    assert tools(ledger) == [
        ("tool_call", "exec_command", "ls", None, None),
        ("tool_result", "exec_command", "a\nb\n", 3, "error"),
        ("tool_call", "mcp__s__t", 's.t {"a": 1}', None, None),
        ("tool_result", "mcp__s__t", "broke", None, "error"),
    ]


@pytest.mark.parametrize(
    ("output", "text", "code", "status"),
    [
        ("Chunk ID: a\nProcess exited with code 2\nOutput:\nx\n", "x\n", 2, "error"),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nok", "ok", 0, "ok"),
        ('{"output":"x","metadata":{"exit_code":1}}', "x", 1, "error"),
        ({"content": "no", "success": False}, "no", None, "error"),
        ([{"text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", None, "unknown"),
        ("aborted by user after 2.7s", "aborted by user after 2.7s", None, "interrupted"),
        ("Wall time: 2\naborted by user", "Wall time: 2\naborted by user", None, "interrupted"),
        ("log:\n" * 20 + "Exit code: 9", "log:\n" * 20 + "Exit code: 9", None, "unknown"),
        (None, "", None, "unknown"),
        ('{"output": broken', '{"output": broken', None, "unknown"),
    ],
)  # fmt: skip
def test_answers_are_read_for_exit_code_and_text(
    output: object, text: str, code: int | None, status: str
) -> None:
    outcome = outcome_of(output)
    assert (outcome.text, outcome.exit_code, outcome.status) == (text, code, status)


def test_patch_files_and_moves() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n@@\n"
        "*** Delete File: d\n*** Update File: e\n*** End Patch"
    )
    assert patched_files(patch) == [
        ("a", "create"),
        ("b", "delete"),
        ("c", "create"),
        ("d", "delete"),
        ("e", "edit"),
    ]


def test_patch_through_the_shell_tells_its_files(tmp_path: Path) -> None:
    text = "apply_patch <<'E'\n*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\nE"
    ledger = read(
        tmp_path,
        call("c", "exec_command", cmd=text, workdir="/p"),
        answer("c", '{"output":"ok","metadata":{"exit_code":0}}'),
        paginated=False,
    )
    assert [(fact.path, fact.action) for fact in ledger.of(FileFact)] == [("/p/a.txt", "create")]


def test_declined_patch_changes_no_file(tmp_path: Path) -> None:
    ledger = read(
        tmp_path,
        item("FileChange", id="c", status="declined", changes={"/p/a": {"type": "add"}}),
    )
    assert ledger.of(FileFact) == []
    assert tools(ledger)[1][4] == "error"


def test_relative_reads_are_seen_from_the_commands_directory(tmp_path: Path) -> None:
    parsed = [{"type": "read", "cmd": "cat a", "name": "a", "path": "a"}]
    ledger = read(
        tmp_path,
        command("c", "cat a", "x", 0, parsed_cmd=parsed),
        command("d", "cat a", "x", 1, parsed_cmd=parsed),
    )
    assert [(fact.path, fact.action) for fact in ledger.of(FileFact)] == [
        ("/home/user/project/a", "read")
    ]


def test_plan_updates_replace_each_other_and_are_no_tool(tmp_path: Path) -> None:
    steps = [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]
    ledger = read(tmp_path, call("c", "update_plan", plan=steps), answer("c", "Plan updated"))
    assert [plan.items for plan in ledger.of(Plan)] == [(("a", "completed"), ("b", "in_progress"))]
    assert tools(ledger) == []


# --- our own words ------------------------------------------------------------------------------


def test_delivery_ids_in_developer_context_are_sightings(tmp_path: Path) -> None:
    ledger = read(
        tmp_path,
        developer(f"BEGIN {DELIVERY} {DELIVERY}"),
        user("go"),
        answer("c1", DELIVERY),
        agent(DELIVERY),
    )
    assert [each.delivery for each in ledger.sightings] == [DELIVERY]
    assert left(ledger)["briefing"] == 1


@pytest.mark.parametrize(
    "record",
    [
        meta(base_instructions={"text": f"ours {DELIVERY}"}),
        {"type": "turn_context", "payload": {"developer_instructions": f"ours {DELIVERY}"}},
    ],
)
def test_delivery_ids_in_instructions_are_sightings(tmp_path: Path, record: Record) -> None:
    rollout(tmp_path, encode([record, user("go")], ordinal=0))
    assert [each.delivery for each in imported(tmp_path).sightings] == [DELIVERY]


def test_briefing_given_as_prompt_is_seen_and_not_stored(tmp_path: Path) -> None:
    fence = f"BEGIN WORKSTREAM {DELIVERY}\n| history\nEND WORKSTREAM {DELIVERY}"
    ledger = read(tmp_path, user(f"{fence}\n\nfix the bug"), user(fence), agent(f"I read: {fence}"))
    assert ledger.conversation() == [("user", "fix the bug"), ("assistant", f"I read: {fence}")]
    assert len(ledger.sightings) == 2


def test_output_of_our_own_commands_is_a_stub_and_gives_receipts(tmp_path: Path) -> None:
    line = "workstream-receipt/1 abc e30"
    ledger = read(
        tmp_path,
        command("c1", "workstream note hi", f"{line}\nrecorded when this run ends\n"),
        command("c2", "cat x", f"{line}\n"),
    )
    assert [row[2] for row in tools(ledger)] == [
        "workstream note hi",
        STUB,
        "cat x",
        f"{line}\n",
    ]
    assert [(each.line, each.call_id) for each in ledger.of(Receipt)] == [(line, "c1")]
    assert left(ledger)["own_output"] == 1


def test_briefing_read_back_from_a_file_is_not_imported(tmp_path: Path) -> None:
    fence = f"=== BEGIN WORKSTREAM {DELIVERY} ===\n| history\n=== END WORKSTREAM {DELIVERY} ==="
    ledger = read(tmp_path, command("c1", "cat /run/briefing", fence))
    assert tools(ledger)[1][2] == STUB
    assert ledger.sightings == []


# --- turns, limits, what is left out ------------------------------------------------------------


def test_failed_turn_says_why_and_a_usage_limit_says_until_when(tmp_path: Path) -> None:
    limits = {
        "primary": {"used_percent": 20.0, "window_minutes": 300, "resets_at": 1796050000},
        "secondary": {"used_percent": 100.0, "window_minutes": 10080, "resets_at": 1796090000},
    }
    error = {"message": "You've hit your usage limit.", "codex_error_info": "usage_limit_exceeded"}
    ledger = read(
        tmp_path,
        event("task_started", turn_id="t1"),
        event("token_count", info=None, rate_limits=limits),
        event("task_complete", turn_id="t1", error=error),
    )
    turn = ledger.of(Turn)[-1]
    assert (turn.state, turn.error) == ("failed", "You've hit your usage limit.")
    (limit,) = ledger.of(Limit)
    assert (limit.message, limit.resets_at) == (error["message"], 1796090000000)


def test_error_event_before_the_end_fails_the_turn(tmp_path: Path) -> None:
    info = {"response_too_many_failed_attempts": {"http_status_code": 429}}
    ledger = read(
        tmp_path,
        event("task_started", turn_id="t1"),
        event("error", message="429 Too Many Requests", codex_error_info=info),
        event("task_complete", turn_id="t1"),
    )
    assert ledger.of(Turn)[-1].state == "failed"
    assert [limit.message for limit in ledger.of(Limit)] == ["429 Too Many Requests"]


def test_reached_rate_limit_is_a_limit(tmp_path: Path) -> None:
    limits = {
        "primary": {"used_percent": 100, "resets_in_seconds": 60},
        "rate_limit_reached_type": "rate_limit_reached",
    }
    (limit,) = read(tmp_path, event("token_count", info=None, rate_limits=limits)).of(Limit)
    assert limit.resets_at == limit.at + 60_000


def test_tokens_of_another_thread_are_not_ours(tmp_path: Path) -> None:
    def record(thread: str, tokens: int) -> Record:
        usage = {"total_tokens": tokens, "output_tokens": 1}
        payload = {"thread_id": thread, "usage": usage, "thread_token_usage": usage}
        return {"type": "token_usage_record", "payload": payload}

    assert [u.context_tokens for u in read(tmp_path, record(THREAD, 7)).of(Usage)] == [7]
    assert read(tmp_path, record("other", 9)).of(Usage) == []


def count(tokens: int) -> Record:
    last = {"total_tokens": tokens}
    return event("token_count", info={"last_token_usage": last, "model_context_window": 100})


def test_what_was_measured_before_a_compaction_is_not_the_context(tmp_path: Path) -> None:
    compaction: Record = {"type": "compacted", "payload": {"message": ""}}
    (usage,) = read(tmp_path, count(95), compaction).of(Usage)
    assert (usage.context_tokens, usage.limit_tokens, usage.compactions) == (None, 100, 1)
    (usage,) = read(tmp_path, count(95), compaction, count(6)).of(Usage)
    assert (usage.context_tokens, usage.compactions) == (6, 1)


def test_a_full_context_is_told_until_a_turn_is_completed(tmp_path: Path) -> None:
    """Observed with codex 0.171.0: the figures of the refused request do not say it."""
    error = {"message": "Codex ran out of room", "codex_error_info": "context_window_exceeded"}
    refused = [
        event("task_started", turn_id="t1"),
        count(8),
        event("task_complete", turn_id="t1", error=error),
    ]
    assert [u.exceeded for u in read(tmp_path, *refused).of(Usage)] == [True]
    answered = [event("task_started", turn_id="t2"), event("task_complete", turn_id="t2")]
    assert [u.exceeded for u in read(tmp_path, *refused, *answered).of(Usage)] == [False]
    other = event("task_complete", turn_id="t2", error={"message": "503"})
    again = [event("task_started", turn_id="t2"), count(9), other]
    assert [u.exceeded for u in read(tmp_path, *refused, *again).of(Usage)] == [True]


def test_damaged_figures_do_not_stop_the_reading(tmp_path: Path) -> None:
    odd = rb'"payload":{"thread_id":"\x","type":"token_count","info":{"a":"\x"}}}' + b"\n"
    content = encode([meta()], ordinal=0)
    for kind in (b"token_usage_record", b"event_msg"):
        content += b'{"timestamp":"2026-11-30T10:00:05Z","type":"' + kind + b'",' + odd
    rollout(tmp_path, content + encode([agent("after")], start=9))
    ledger = imported(tmp_path)
    assert ledger.conversation() == [("assistant", "after")]
    assert ledger.of(Usage) == []


def test_unknown_kinds_are_counted_by_name(tmp_path: Path) -> None:
    ledger = read(
        tmp_path,
        {"type": "zz-progress"},
        event("zz_event"),
        item("ZzItem", id="z"),
        response("zz_response"),
    )
    assert {kind for kind in left(ledger) if kind.startswith("unknown")} == {
        "unknown:zz-progress",
        "unknown:event_msg.zz_event",
        "unknown:item.ZzItem",
        "unknown:response_item.zz_response",
    }


@pytest.mark.parametrize(
    "payload",
    ["null", "[]", '"x"', "7", '{"type":5}', '{"type":"item_completed","item":[]}',
     '{"type":"item_completed","item":{"type":"CommandExecution","id":"c","command":7,"cwd":[]}}',
     '{"type":"item_completed","item":{"type":"FileChange","id":"c","changes":[1]}}',
     '{"type":"item_completed","item":{"type":"McpToolCall","id":"c","result":3,"error":"x"}}',
     '{"type":"token_count","info":3,"rate_limits":{"primary":[]}}',
     '{"type":"task_complete","error":"x"}', '{"type":"thread_rolled_back","num_turns":"x"}'],
)  # fmt: skip
def test_odd_shapes_never_stop_the_reading(tmp_path: Path, payload: str) -> None:
    odd = f'{{"timestamp":"x","type":"event_msg","payload":{payload}}}\n'.encode()
    again = odd.replace(b"event_msg", b"response_item")
    content = encode([meta()], ordinal=0) + odd + again + encode([agent("after")], start=9)
    rollout(tmp_path, content)
    assert imported(tmp_path, closed=True).conversation() == [("assistant", "after")]
