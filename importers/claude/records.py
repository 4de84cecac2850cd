"""Shapes of the records in a Claude Code transcript, as far as the reader looks at them.

Observed with Claude Code 2.1.197 and 2.1.332; older records lack fields, so that everything but
`type` may be absent. Heavy members stay undecoded (`Raw`) until somebody needs them: most of a
transcript's bytes are tool output that is stored twice.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from importers import jsonl

T = TypeVar("T")

EMPTY: Final = msgspec.Raw(b"")
REQUEST: Final = b'{"type":"api-request'
"""How a copy of an API request begins (2.1.332): most of a file's bytes, and all said elsewhere."""


class Envelope(msgspec.Struct, rename="camel", gc=False):
    """One line. Tree records carry `uuid`, `parentUuid` and `timestamp`; side records do not."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | msgspec.UnsetType | None = msgspec.UNSET
    logical_parent_uuid: str | None = None
    timestamp: str | int | float | None = None
    session_id: str | None = None
    cwd: str | None = None
    version: str | None = None
    entrypoint: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | str | None = None
    error: msgspec.Raw = EMPTY
    error_details: msgspec.Raw = EMPTY
    prompt_id: str | None = None
    prompt_source: str | None = None
    row_source: str | None = None
    tool_denial_kind: str | None = None
    quota_limits: msgspec.Raw = EMPTY
    origin: msgspec.Raw = EMPTY
    forked_from: msgspec.Raw = EMPTY
    message: msgspec.Raw = EMPTY
    attachment: msgspec.Raw = EMPTY
    tool_use_result: msgspec.Raw = EMPTY
    content: msgspec.Raw = EMPTY
    compact_metadata: msgspec.Raw = EMPTY
    leaf_uuid: str | None = None
    relocated_cwd: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None


class Block(msgspec.Struct, gc=False):
    """One content block of a message."""

    type: str = ""
    text: str | None = None
    id: str | None = None
    name: str | None = None
    input: msgspec.Raw = EMPTY
    tool_use_id: str | None = None
    content: msgspec.Raw = EMPTY
    is_error: bool | None = None
    source: msgspec.Raw = EMPTY


class Tokens(msgspec.Struct, gc=False):
    """Token figures of a message."""

    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None


class Message(msgspec.Struct, gc=False):
    """The API message inside a user or assistant record."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    stop_reason: str | None = None
    usage: Tokens | None = None

    def blocks(self) -> list[Block]:
        """Return the content as blocks; a plain string is one text block."""
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content or []


class Origin(msgspec.Struct, gc=False):
    """Who caused a user record."""

    kind: str | None = None


class Attachment(msgspec.Struct, rename="camel", gc=False):
    """An attachment record's payload."""

    type: str = ""
    content: msgspec.Raw = EMPTY
    stdout: msgspec.Raw = EMPTY
    prompt: msgspec.Raw = EMPTY
    command_mode: str | None = None
    is_meta: bool | None = None
    origin: Origin | None = None
    timestamp: str | int | float | None = None


class ForkedFrom(msgspec.Struct, rename="camel", gc=False):
    """Where a record of a `/branch` copy came from."""

    session_id: str | None = None


class Compact(msgspec.Struct, rename="camel", gc=False):
    """Figures of a compaction."""

    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None


class Quota(msgspec.Struct, rename="camel", gc=False):
    """What the provider said of its limits, with a refused request."""

    status: str | None = None
    resets_at: float | None = None
    """Unix seconds."""


ENVELOPE: Final = msgspec.json.Decoder(Envelope)
MESSAGE: Final = msgspec.json.Decoder(Message)
ATTACHMENT: Final = msgspec.json.Decoder(Attachment)
BLOCKS: Final = msgspec.json.Decoder(str | list[Block] | None)
ORIGIN: Final = msgspec.json.Decoder(Origin | None)
FORKED: Final = msgspec.json.Decoder(ForkedFrom | None)
COMPACT: Final = msgspec.json.Decoder(Compact | None)
QUOTA: Final = msgspec.json.Decoder(Quota | None)
TEXT: Final = msgspec.json.Decoder(str | None)
TEXTS: Final = msgspec.json.Decoder(str | list[str] | None)
ANY: Final = msgspec.json.Decoder()


def decode_or(raw: msgspec.Raw, decoder: msgspec.json.Decoder[T], default: T) -> T:
    """Decode an optional member; a shape that is not understood counts as absent."""
    if raw is EMPTY:
        return default
    try:
        return jsonl.decode(raw, decoder)
    except jsonl.Undecodable:
        return default
