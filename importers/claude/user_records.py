"""User records: the person's words, slash commands, `!` lines, and what is not theirs.

A result of a tool is a user record too.
"""

from __future__ import annotations

from importers import own_output
from importers.base import Json, Kind
from importers.claude.collected import Collected, Record
from importers.claude.content import block_text, without_reminder
from importers.claude.records import ORIGIN, Block, Envelope, decode_or
from importers.claude.tool_results import ours, remember, tool_result
from importers.claude.visible import HARNESS, HUMAN, TYPED, Said, classify


def user_record(out: Collected, record: Record) -> None:
    """Take in a user record: results first, then what the person said, if it was the person."""
    envelope, message = record.envelope, record.message
    if message is None:
        out.leave("bookkeeping")
        return
    if envelope.is_compact_summary:
        out.leave("injected")
        return
    blocks = message.blocks()
    for number, block in enumerate(blocks):
        if block.type == "tool_result":
            tool_result(out, record, block, number)
    texts = [(number, b) for number, b in enumerate(blocks) if b.type != "tool_result"]
    if not texts:
        return
    if envelope.is_meta or _is_injected(envelope):
        out.leave("injected")
        return
    if envelope.row_source == HARNESS:
        _marked(out, record, texts)
        return
    _said(out, record, texts, typed=envelope.prompt_source in TYPED)


def _is_injected(envelope: Envelope) -> bool:
    origin = decode_or(envelope.origin, ORIGIN, None)
    if origin is not None and origin.kind is not None and origin.kind not in HUMAN:
        return True
    return envelope.prompt_source == "system" or envelope.agent_id is not None


def _marked(out: Collected, record: Record, texts: list[tuple[int, Block]]) -> None:
    """Take in a record that the harness wrote in the person's place: only an interruption counts.

    `rowSource` observed with Claude Code 2.1.332.
    """
    for number, block in texts:
        found = classify(block_text(block) or "", typed=False)
        said = found.said if found.said is Said.INTERRUPTION else Said.INJECTED
        special(out, record, number, said, found.text)


def _said(out: Collected, record: Record, texts: list[tuple[int, Block]], *, typed: bool) -> None:
    """Sort the text blocks of a user record; the person's words become one message."""
    words: list[str] = []
    first = texts[0][0]
    for number, block in texts:
        text = block_text(block)
        if text is None:
            out.leave(f"unknown:block {block.type[:40]}")
            continue
        found = classify(text, typed=typed) if block.type == "text" else None
        if found is None or found.said is Said.WORDS:
            first = number if not words else first
            words.append(text if found is None else found.text)
        else:
            special(out, record, number, found.said, found.text)
    if words:
        message(out, record, "\n".join(words), first)


def message(out: Collected, record: Record, text: str, block: int, at: int | None = None) -> None:
    """Yield the person's words, without what the harness or we put between them."""
    text, reminded = without_reminder(text)
    text, briefings = own_output.without_briefings(text)
    if reminded:
        out.leave("injected")
    for _ in briefings:
        out.leave("briefing")
    if not text.strip():
        return
    if record.envelope.prompt_id is None and at is None:
        record.turn = record.twig.uuid
    if at is None:
        out.abandon(record)
        out.turn(record, "open")
    out.event(record, Kind.USER_MESSAGE, "user", text, block=block, at=at)


def special(out: Collected, record: Record, block: int, said: Said, text: str) -> None:
    """Take in a text that is not plain words: a command, a shell line, a marker."""
    if said is Said.COMMAND:
        out.event(record, Kind.USER_MESSAGE, "user", text, block=block)
    elif said is Said.SHELL:
        _shell(out, record, block, text)
    elif said is Said.SHELL_OUTPUT:
        _shell_output(out, record, block, text)
    elif said is Said.INTERRUPTION:
        out.leave("bookkeeping")
        out.turn(record, "interrupted")
    elif said is Said.INJECTED:
        out.leave("injected")
    else:
        out.leave("bookkeeping")


def _shell(out: Collected, record: Record, block: int, command: str) -> None:
    call_id = f"shell:{record.twig.uuid}"
    out.state.shell = call_id
    tool_input: Json = {"command": command}
    remember(out, record, block, call_id, "shell", tool_input)
    out.event(
        record,
        Kind.TOOL_CALL,
        "user",
        command,
        block=block,
        call_id=call_id,
        tool="shell",
        tool_input=tool_input,
    )


def _shell_output(out: Collected, record: Record, block: int, text: str) -> None:
    call_id = out.state.shell or f"shell:{record.twig.parent}"
    call = out.state.calls.pop(call_id, None)
    out.event(
        record,
        Kind.TOOL_RESULT,
        "user",
        ours(out, record, call, text),
        block=block,
        call_id=call_id,
        tool="shell",
        status="unknown",
    )
