"""Tool results: outcome, files, tasks, the person's words, our own output, outputs on disk."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

import msgspec

from importers import own_output
from importers.base import Json, Kind, Receipt, StoreUnreadable
from importers.binary import without_data_uris
from importers.claude import calls, plans, results
from importers.claude.collected import Collected, Record
from importers.claude.content import result_text, without_reminder
from importers.claude.records import ANY, Block, decode_or
from importers.claude.state import OPEN_CALLS, Call
from importers.files import open_regular

WORDS: Final = 1000
"""Added to the block number of what belongs behind a result in the same record."""
PERSISTED_LIMIT: Final = 4 * 1024 * 1024 - 4096
"""Most bytes of a persisted output that are kept: head and tail, with a remark between."""
TOOL_RESULTS: Final = "tool-results"
_LINE_NUMBER: Final = re.compile(r"^[ \t]*\d+(?:\t|→)", re.MULTILINE)
"""What the Read tool puts before each line."""


def remember(
    out: Collected, record: Record, block: int, call_id: str, tool: str, tool_input: Json
) -> None:
    """Keep of a call what its result will need; the oldest open call makes room."""
    twig, open_calls = record.twig, out.state.calls
    open_calls[call_id] = Call(
        uuid=twig.uuid,
        block=block,
        depth=twig.depth,
        record=twig.record,
        tool=tool,
        at=record.at,
        turn=record.turn,
        detail=calls.detail(tool, tool_input),
        own=calls.is_own(tool, tool_input),
        cwd=record.envelope.cwd,
    )
    while len(open_calls) > OPEN_CALLS:
        del open_calls[next(iter(open_calls))]


def tool_result(out: Collected, record: Record, block: Block, number: int) -> None:
    """Take in one result, with the person's words and the facts that follow from it."""
    envelope = record.envelope
    call_id = block.tool_use_id or ""
    call = out.state.calls.pop(call_id, None)
    tool = call.tool if call is not None else None
    told = results.told(envelope.tool_use_result)
    text, reminded = without_reminder(result_text(block.content))
    if reminded:
        out.leave("injected")
    is_error = bool(block.is_error)
    ended = results.outcome(text, told, is_error=is_error, denial=envelope.tool_denial_kind)
    if call is None and envelope.tool_denial_kind == results.CUT:
        out.leave("bookkeeping")  # the call was closed as interrupted when the session was read
        return
    spoken = results.spoken(text, envelope.tool_use_result, tool, is_error=is_error)
    if text.startswith(results.PERSISTED):
        text = _persisted(out, text, told)
    out.event(
        record,
        Kind.TOOL_RESULT,
        "tool",
        ours(out, record, call, text, call_id),
        block=number,
        call_id=call_id,
        tool=tool,
        exit_code=ended.exit_code,
        status=ended.status,
        meta={"refused": True} if ended.refused else None,
    )
    if spoken:
        out.event(record, Kind.USER_MESSAGE, "user", spoken, block=number, place=number + WORDS)
    if call is not None and ended.status == "ok":
        _succeeded(out, record, call, told, text)


def _succeeded(out: Collected, record: Record, call: Call, told: results.Told, text: str) -> None:
    fact = calls.file_fact(call.tool, call.detail, told.type, record.at)
    if fact is not None:
        out.items.append(fact)
    if call.tool in plans.TASK_TOOLS:
        given = decode_or(msgspec.Raw(call.detail.encode()), ANY, None)
        result = results.plain(record.envelope.tool_use_result)
        tasks = out.state.tasks
        given = given if isinstance(given, dict) else {}
        if plans.apply_task(tasks, call.tool, given, result, text):
            out.items.append(plans.task_plan(tasks, record.at))


def ours(out: Collected, record: Record, call: Call | None, text: str, call_id: str = "") -> str:
    """Return a result's text without what this program printed; keeps receipts."""
    if call is not None and call.own:
        out.leave("own_output")
        for line in own_output.receipts(text):
            out.items.append(Receipt(line=line, call_id=call_id, record=record.twig.record))
        return own_output.STUB
    rest, found = without_briefings(text)
    for _ in found:
        out.leave("own_output")
    return f"{rest}\n{own_output.STUB}".lstrip() if found else rest


def _persisted(out: Collected, preview: str, told: results.Told) -> str:
    """Return a large output that the harness moved to a file of its own.

    The file counts only inside the session's own folder, wherever that is now; without it the
    first 30,000 characters that Bash results repeat, or the preview.
    """
    recorded = results.persisted_path(preview, told)
    if recorded is not None:
        text = _bounded_file(out.side / TOOL_RESULTS / os.path.basename(recorded))  # noqa: PTH119
        if text is not None:
            return without_data_uris(text)
    return preview if not told.stdout else without_data_uris(told.stdout)


def without_briefings(text: str) -> tuple[str, list[str]]:
    """Take briefings out of a text, also where a tool put line numbers before its lines."""
    rest, found = own_output.without_briefings(text)
    if found or "BEGIN WORKSTREAM" not in text:
        return rest, found
    return own_output.without_briefings(_LINE_NUMBER.sub("", text))


def _bounded_file(path: Path) -> str | None:
    """Return a file's text, its middle left out beyond the limit; None if there is no such file."""
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            return None
        descriptor, status = open_regular(path)
    except (OSError, StoreUnreadable):
        return None
    try:
        if status.st_size <= PERSISTED_LIMIT:
            return _bytes(descriptor, 0, status.st_size).decode("utf-8", "replace")
        half = PERSISTED_LIMIT // 2
        head, tail = _bytes(descriptor, 0, half), _bytes(descriptor, status.st_size - half, half)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    left = status.st_size - 2 * half
    gap = f"\n[{left} bytes left out]\n"
    return head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")


def _bytes(descriptor: int, offset: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(descriptor, size, offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)
