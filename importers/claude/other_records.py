"""Attachments and system records: queued messages, deliveries, compactions, local commands."""

from __future__ import annotations

from importers import own_output
from importers.base import Json, Kind, Sighting, Usage
from importers.claude.collected import Collected, Record
from importers.claude.content import block_text
from importers.claude.records import (
    ATTACHMENT,
    BLOCKS,
    COMPACT,
    TEXT,
    TEXTS,
    Attachment,
    Block,
    decode_or,
)
from importers.claude.user_records import message, special
from importers.claude.visible import HUMAN, Said, classify
from importers.times import milliseconds


def attachment_record(out: Collected, record: Record) -> None:
    """Take in an attachment: most are injected, a queued message is the person's."""
    attachment = decode_or(record.envelope.attachment, ATTACHMENT, Attachment())
    if attachment.type == "queued_command":
        _queued(out, record, attachment)
    elif attachment.type in ("hook_additional_context", "hook_success"):
        _hook(out, record, attachment)
    else:
        out.leave("injected")


def _queued(out: Collected, record: Record, attachment: Attachment) -> None:
    """Yield a message that the person sent while the harness was busy."""
    origin = attachment.origin
    human = origin is None or origin.kind is None or origin.kind in HUMAN
    if attachment.command_mode not in (None, "prompt") or attachment.is_meta or not human:
        out.leave("injected")
        return
    at = milliseconds(attachment.timestamp) or record.at
    prompt = decode_or(attachment.prompt, BLOCKS, None)
    blocks = [Block(type="text", text=prompt)] if isinstance(prompt, str) else prompt or []
    texts = [text for text in map(block_text, blocks) if text]
    if origin is None and texts and classify(texts[0], typed=False).said is Said.INJECTED:
        out.leave("injected")
    elif texts:
        message(out, record, "\n".join(texts), 0, at)


def _hook(out: Collected, record: Record, attachment: Attachment) -> None:
    content = decode_or(attachment.content, TEXTS, None)
    texts = [content] if isinstance(content, str) else list(content or ())
    texts.append(decode_or(attachment.stdout, TEXT, None) or "")
    found = {name for text in texts for name in own_output.DELIVERY.findall(text)}
    out.leave("briefing" if found else "injected")
    for delivery in sorted(found - out.sighted):
        out.sighted.add(delivery)
        out.items.append(
            Sighting(
                delivery=delivery,
                depth=record.twig.depth,
                record=record.twig.record,
                active=record.twig.active,
            )
        )


def system_record(out: Collected, record: Record) -> None:
    """Take in a system record: a compaction, a local command, the end of a turn, bookkeeping."""
    envelope = record.envelope
    if envelope.subtype == "compact_boundary":
        _compaction(out, record)
        return
    if envelope.subtype == "local_command":
        text = decode_or(envelope.content, TEXT, None) or ""
        found = classify(text, typed=False)
        if found.said is not Said.WORDS:
            special(out, record, 0, found.said, found.text)
            return
    elif envelope.subtype == "turn_duration" and out.state.open == record.turn:
        out.turn(record, "complete")
    out.leave("bookkeeping")


def _compaction(out: Collected, record: Record) -> None:
    figures = decode_or(record.envelope.compact_metadata, COMPACT, None)
    meta: dict[str, Json] = {}
    if figures is not None:
        meta = {
            key: value
            for key, value in (
                ("trigger", figures.trigger),
                ("tokens_before", figures.pre_tokens),
                ("tokens_after", figures.post_tokens),
            )
            if value is not None
        }
    text = decode_or(record.envelope.content, TEXT, None) or "Conversation compacted"
    out.event(record, Kind.COMPACTION, None, text, meta=meta)
    usage = Usage(
        at=record.at,
        model=out.state.facts.model,
        context_tokens=None if figures is None else figures.post_tokens,
        compactions=1,
        exceeded=False,
    )
    out.measure(record, usage)
