"""Shapes of Codex rollout records, and careful access to values of unknown shape.

Observed with codex 0.98.0, 0.130.0, 0.150.0 and 0.171.0. Only the envelope and the few fields that
decide what a record is are typed; payloads stay raw until somebody wants them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

Record: TypeAlias = dict[str, Any]


NULL: Final = msgspec.Raw(b"null")


class Envelope(msgspec.Struct):
    """One line of a rollout."""

    type: str
    timestamp: str | None = None
    ordinal: int | None = None
    """Only in paginated threads: from 0, without gaps within a lineage of segments."""
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class EventHead(msgspec.Struct):
    """What an `event_msg` is."""

    type: str = ""
    turn_id: str | None = None
    item: msgspec.Raw = NULL


class Passthrough(msgspec.Struct):
    """Codex's own marks on a response item; absent before 0.150."""

    content_item_kinds: list[str | None] | None = None


class ResponseHead(msgspec.Struct, rename={"marks": "internal_chat_message_metadata_passthrough"}):
    """What a `response_item` is; message content is left alone on purpose."""

    type: str = ""
    role: str | None = None
    name: str | None = None
    namespace: str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw = NULL
    input: msgspec.Raw = NULL
    output: msgspec.Raw = NULL
    action: msgspec.Raw = NULL
    marks: Passthrough | None = None


class RateLimits(msgspec.Struct):
    """How full the provider's windows are; `rate_limit_reached_type` only when one is used up."""

    primary: msgspec.Raw = NULL
    secondary: msgspec.Raw = NULL
    individual_limit: msgspec.Raw = NULL
    rate_limit_reached_type: str | None = None


class TokenCount(msgspec.Struct):
    """A `token_count` event: frequent, and only the last one of a batch counts."""

    info: msgspec.Raw = NULL
    rate_limits: RateLimits | None = None


ENVELOPE: Final = msgspec.json.Decoder(Envelope)
EVENT: Final = msgspec.json.Decoder(EventHead)
RESPONSE: Final = msgspec.json.Decoder(ResponseHead)
TOKENS: Final = msgspec.json.Decoder(TokenCount)
OBJECT: Final = msgspec.json.Decoder(Record)
ANY: Final = msgspec.json.Decoder()


def text_of(value: object) -> str:
    """Return a string as it is, anything else as nothing."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> int | None:
    """Return an integer (a float is cut), or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def object_of(value: object) -> Record:
    """Return a JSON object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def objects_of(value: object) -> list[Record]:
    """Return the objects in a JSON list; anything else as nothing."""
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def milliseconds(stamp: str | None) -> int | None:
    """Return the milliseconds since the epoch of an RFC 3339 time, or None."""
    if not stamp:
        return None
    try:
        parsed = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    if parsed.tzinfo is None:
        return None
    return round(parsed.timestamp() * 1000)
