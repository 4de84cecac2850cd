"""How the content of an event is stored, digested and chained: the one place that knows.

Canonical content is the four parts text, tool, tool input (the stored JSON text) and exit code, one
after the other: an absent part is `-`, another one its length in bytes in decimal, `:` and its
UTF-8 bytes. The digest of an event is sha256(salt || canonical content as stored), the chain value
sha256(previous chain value || seq as 8 bytes big-endian || event id || digest). Changing any of
this needs a new chain version.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Final

from ledger.visible import clean

INLINE: Final = 16 * 1024
"""Bytes of text that are stored as they are; longer text is compressed."""
LARGEST: Final = 4 * 1024 * 1024
"""Bytes of text that are stored at all; of longer text a stub is."""
STUB_HEAD: Final = 2048
"""Bytes of the beginning that a stub keeps, and as many of the end."""
CHAIN_START: Final = bytes(32)
"""Chain value before the first event of a workstream."""

PLAIN: Final = 0
ZLIB: Final = 1


def storable(text: str) -> tuple[str, bytes]:
    """Return text that UTF-8 can hold, and its bytes.

    Halves of a surrogate pair that stand beside each other are joined, a lone one becomes U+FFFD;
    everything else, NUL included, stays.
    """
    try:
        return text, text.encode()
    except UnicodeEncodeError:
        text = clean(text)
        return text, text.encode()


def canonical(
    text: str | bytes, tool: str | None, tool_input: str | None, exit_code: int | None
) -> bytes:
    """Return the canonical bytes of an event's content; lone surrogates are kept as they are.

    `text` may be given as its UTF-8 bytes.
    """
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if tool is None and tool_input is None and exit_code is None:
        return b"%d:%b---" % (len(raw), raw)
    return b"%d:%b%b%b%b" % (
        len(raw),
        raw,
        _part(tool),
        _part(tool_input),
        b"-" if exit_code is None else _part(str(exit_code)),
    )


def _part(text: str | None) -> bytes:
    if text is None:
        return b"-"
    raw = text.encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(raw), raw)


def digest(salt: bytes, content: bytes) -> bytes:
    """Return the content digest of canonical bytes."""
    return hashlib.sha256(salt + content).digest()


def link(previous: bytes, seq: int, event_id: str, content_digest: bytes) -> bytes:
    """Return the chain value of an event from the one before it."""
    return hashlib.sha256(
        previous + seq.to_bytes(8, "big") + event_id.encode() + content_digest
    ).digest()


def encode_body(raw: bytes) -> tuple[int, bytes]:
    """Return (codec, data) for the stored UTF-8 text."""
    if len(raw) <= INLINE:
        return PLAIN, raw
    return ZLIB, zlib.compress(raw, 1)


def decode_body(codec: int, data: bytes) -> str:
    """Return the stored text. Raises ValueError when the data does not fit the codec."""
    if not isinstance(data, bytes):  # a damaged or edited row may hold any type of value
        raise ValueError("the stored text is not a blob")  # noqa: TRY004  (damage, not misuse)
    if codec == PLAIN:
        return data.decode("utf-8")
    if codec == ZLIB:
        try:
            return zlib.decompress(data).decode("utf-8")
        except zlib.error as error:
            raise ValueError(f"compressed text is damaged: {error}") from error
    raise ValueError(f"unknown codec {codec}")


def stub(raw: bytes) -> bytes:
    """Return what is kept of a text longer than LARGEST: head, a line that says so, tail."""
    head = raw[:STUB_HEAD].decode("utf-8", "ignore")
    tail = raw[-STUB_HEAD:].decode("utf-8", "ignore")
    return f"{head}\n[… {len(raw)} bytes, too long to keep whole …]\n{tail}".encode()
