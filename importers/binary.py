"""Encoded binary inside records: replaced by what it is, so that nothing of it is kept.

Harnesses store an image or a document as base64 inside a record, some of them twice. A placeholder
with media type, size and digest stands for it, so that a changed picture is still noticed and
nothing of it reaches ledger, index or briefing.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from typing import Final

from importers.base import Json

LONG: Final = 4096
"""A string of base64 digits alone, at least this long, is taken for encoded binary."""
BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
DATA_URI: Final = re.compile(
    r"data:([\w.+/-]{0,100})(?:;[\w=.-]{1,60}){0,4};base64,([\w+/-]+={0,2})"
)


def blob(kind: str, media: str | None, data: str) -> str:
    """Return the placeholder of base64 data: what it is, bytes when decoded, digest of those."""
    try:
        raw = binascii.a2b_base64(data)
    except (binascii.Error, ValueError):
        raw = data.encode("utf-8", "replace")
    digest = hashlib.sha256(raw).hexdigest()
    return f"[{kind} {media or 'of unknown type'}, {len(raw)} bytes, sha256 {digest}]"


def without_data_uris(text: str) -> str:
    """Replace the base64 of `data:` URIs in a text."""
    if ";base64," not in text:
        return text
    return DATA_URI.sub(lambda found: blob("data", found[1] or None, found[2]), text)


def without_binary(value: Json, name: str = "") -> Json:
    """Return the value with every base64 string in it replaced by a placeholder."""
    if isinstance(value, str):
        return _string(value, name)
    if isinstance(value, list):
        return [without_binary(item) for item in value]
    if isinstance(value, dict):
        media = value.get("media_type") or value.get("mimeType")
        if value.get("type") == "base64" and isinstance(value.get("data"), str):
            data = str(value["data"])
            return {**value, "data": blob("data", str(media) if media else None, data)}
        return {key: without_binary(item, key) for key, item in value.items()}
    return value


def _string(text: str, name: str) -> str:
    if name == "base64" or (len(text) >= LONG and BASE64.fullmatch(text)):
        return blob("data", None, text)
    return without_data_uris(text)
