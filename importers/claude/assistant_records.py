"""Assistant records: text, calls, usage, how the turn ended; reasoning is only counted."""

from __future__ import annotations

import hashlib
from typing import Final

from importers.base import Kind, Limit, Usage
from importers.binary import without_data_uris
from importers.claude import calls, plans
from importers.claude.collected import Collected, Record
from importers.claude.content import block_text, json_value
from importers.claude.records import ANY, EMPTY, Block, Message, decode_or
from importers.claude.refusals import quota_resets_at
from importers.claude.state import RECENT_MESSAGES, Spoken
from importers.claude.tool_results import remember, tool_result, without_briefings
from importers.refusals import is_limit, overflow, resets_at

SYNTHETIC: Final = "<synthetic>"
ENDED: Final = frozenset({"end_turn", "stop_sequence"})
OVERFLOW: Final = "model_context_window_exceeded"
STOPPED: Final = frozenset({"refusal", OVERFLOW})


def assistant_record(out: Collected, record: Record) -> None:
    """Take in an assistant record: one or several blocks of an API message, or an API error."""
    envelope, message = record.envelope, record.message
    if message is None:
        out.leave("bookkeeping")
        return
    if envelope.is_api_error_message:
        _api_error(out, record, message)
        return
    if message.model == SYNTHETIC:
        out.leave("bookkeeping")
        return
    if message.model is not None:
        out.state.facts.model = message.model
    spoken = _spoken(out, message, record.twig.uuid)
    for number, block in enumerate(message.blocks()):
        _assistant_block(out, record, block, number, spoken)
    _count(out, record, message, spoken)
    _stop(out, record, message.stop_reason)


def _assistant_block(
    out: Collected, record: Record, block: Block, number: int, spoken: Spoken | None
) -> None:
    kind = block.type
    if kind in ("thinking", "redacted_thinking"):
        out.leave("reasoning")
    elif kind == "text":
        _assistant_text(out, record, block.text or "", number, spoken)
    elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        _tool_use(out, record, block, number)
    elif kind.endswith("tool_result"):
        tool_result(out, record, block, number)
    else:
        text = block_text(block)
        if text is None:
            out.leave(f"unknown:block {kind[:40]}")
        else:
            out.event(record, Kind.ASSISTANT_MESSAGE, "assistant", text, block=number)


def _assistant_text(
    out: Collected, record: Record, text: str, number: int, spoken: Spoken | None
) -> None:
    if not text.strip() or text.strip() == "(no content)":
        return
    if spoken is not None:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        if digest in spoken.texts:
            out.leave("bookkeeping")  # the same block once more, under another uuid
            return
        spoken.texts.append(digest)
    rest, found = without_briefings(text)
    for _ in found:
        out.leave("briefing")
    if rest:
        rest = without_data_uris(rest)
        out.event(record, Kind.ASSISTANT_MESSAGE, "assistant", rest, block=number)


def _tool_use(out: Collected, record: Record, block: Block, number: int) -> None:
    tool, call_id = block.name or "", block.id or ""
    tool_input = json_value(block.input)
    remember(out, record, number, call_id, tool, tool_input)
    out.event(
        record,
        Kind.TOOL_CALL,
        "assistant",
        calls.label(tool, tool_input),
        block=number,
        call_id=call_id,
        tool=tool,
        tool_input=tool_input,
    )
    if tool == "TodoWrite":
        plan = plans.todo_plan(tool_input, record.at)
        if plan is not None:
            out.items.append(plan)


def _spoken(out: Collected, message: Message, uuid: str) -> Spoken | None:
    if message.id is None:
        return None
    recent = out.state.messages
    for spoken in recent:
        if spoken.id == message.id:
            spoken.uuids.append(uuid)
            del spoken.uuids[:-RECENT_MESSAGES]
            return spoken
    spoken = Spoken(message.id, [uuid], [])
    recent.append(spoken)
    del recent[:-RECENT_MESSAGES]
    return spoken


def _count(out: Collected, record: Record, message: Message, spoken: Spoken | None) -> None:
    tokens = message.usage
    if tokens is None or spoken is None or record.envelope.forked_from is not EMPTY:
        return
    asked = [
        tokens.input_tokens,
        tokens.cache_creation_input_tokens,
        tokens.cache_read_input_tokens,
    ]
    figures = [*asked, tokens.output_tokens]
    if figures == spoken.usage:
        return
    spoken.usage = figures
    known = [part for part in asked if part is not None]
    out.usage[spoken.id] = Usage(
        at=record.at,
        model=message.model,
        context_tokens=sum(known) if known else None,
        output_tokens=tokens.output_tokens,
        exceeded=message.stop_reason == OVERFLOW,
    )


def _stop(out: Collected, record: Record, reason: str | None) -> None:
    if reason in ENDED:
        out.turn(record, "complete")
    elif reason in STOPPED:
        out.turn(record, "failed", reason)
    elif reason is not None and out.state.open != record.turn:
        out.turn(record, "open")


def _api_error(out: Collected, record: Record, message: Message) -> None:
    out.leave("bookkeeping")
    envelope = record.envelope
    text = "\n".join(block.text or "" for block in message.blocks() if block.type == "text")
    error = decode_or(envelope.error, ANY, None)
    details = decode_or(envelope.error_details, ANY, None)
    name = error if isinstance(error, str) else ""
    told = details if isinstance(details, str) else ""
    status = envelope.api_error_status
    number = int(status) if status is not None and str(status).isdigit() else None
    out.turn(record, "failed", text.strip() or name or told or "API error")
    if (figures := overflow(record.at, text, told)) is not None:
        out.measure(record, figures)
    if is_limit(name, number, text):
        when = (
            quota_resets_at(envelope.quota_limits)
            or resets_at(text, record.at)
            or resets_at(told, record.at)
        )
        out.items.append(Limit(at=record.at, message=text.strip() or told or name, resets_at=when))
