"""Text of content blocks, and what may never be part of it: encoded binary, our own briefings.

Claude Code stores an image or a document as base64 inside the record, for tool results twice. The
reader keeps a placeholder with media type, size and digest, so that a changed picture is still
noticed and nothing of it reaches ledger, index or briefing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from importers.base import Json
from importers.binary import blob, without_binary, without_data_uris
from importers.claude.records import BLOCKS, EMPTY, Block, decode_or

REMINDER: Final = re.compile(
    r"\s*<system-reminder>(?:(?!<system-reminder>).)*</system-reminder>\s*\Z", re.S
)
NO_CONTENT: Final = "(no content)"
"""What the harness writes where the API needs a text and there is none."""


class Source(msgspec.Struct, gc=False):
    """Where the bytes of an image or document block are."""

    type: str = ""
    media_type: str | None = None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None


SOURCE: Final = msgspec.json.Decoder(Source | None)


def block_text(block: Block) -> str | None:
    """Return the visible text of one block, None if it is of a kind that has none."""
    if block.type == "text":
        return without_data_uris(block.text or "")
    if block.type in ("image", "document"):
        return _source_text(block.type, decode_or(block.source, SOURCE, None))
    if block.type == "tool_reference":
        return f"[tool {block.name or 'reference'}]"
    return None


def _source_text(kind: str, source: Source | None) -> str:
    if source is None:
        return f"[{kind}]"
    if source.type == "text" and source.data is not None:
        return source.data
    if source.data is not None:
        return blob(kind, source.media_type, source.data)
    return f"[{kind} {source.media_type or source.url or source.file_id or 'elsewhere'}]"


def result_text(content: msgspec.Raw) -> str:
    """Return the text of a tool result's content, which is a string or a list of blocks."""
    value = decode_or(content, BLOCKS, None)
    if value is None:
        return _unknown_text(content)
    if isinstance(value, str):
        return without_data_uris(value)
    return joined(value)


def _unknown_text(content: msgspec.Raw) -> str:
    """Keep a result of a shape never seen as its JSON, without encoded binary."""
    if content is EMPTY or bytes(content) == b"null":
        return ""
    return msgspec.json.encode(json_value(content)).decode()


def joined(blocks: Iterable[Block]) -> str:
    """Return the visible texts of blocks, one below the other."""
    texts = []
    for block in blocks:
        text = block_text(block)
        texts.append(f"[{block.type} block]" if text is None else text)
    return "\n".join(texts)


def without_reminder(text: str) -> tuple[str, bool]:
    """Cut `<system-reminder>` blocks off the end: older versions appended them to tool output."""
    found = False
    while text.endswith(("</system-reminder>", "</system-reminder>\n")):
        shorter = REMINDER.sub("", text)
        if shorter == text:
            break
        text, found = shorter, True
    return text, found


def json_value(raw: msgspec.Raw) -> Json:
    """Decode a member into plain JSON values with encoded binary replaced by placeholders."""
    value: Json = decode_or(raw, JSON, None)
    if len(memoryview(raw)) < 64:
        return value
    return without_binary(value)


JSON: Final[msgspec.json.Decoder[Json]] = msgspec.json.Decoder()
