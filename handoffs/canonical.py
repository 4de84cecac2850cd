"""Canonical JSON, and the digests and ids that are made from it.

The invariant this module protects: the same words give the same bytes. Keys are sorted, there are
no spaces, text is NFC and written as UTF-8, arrays keep their order, and there are no floats.
Author, time, reasons and session are no part of a content, so they cannot change its digest.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handoffs.models import Base, Content, Omission, Ref, Statement

PREPARED_PREFIX: Final = "prp_"
_PREPARED_DIGITS: Final = 26

Value = Mapping[str, "Value"] | list["Value"] | str | int | bool | None


def canonical(value: object) -> bytes:
    """Return the canonical JSON of plain values.

    Raises ValueError for floats, other types, keys that are no text or that become one key under
    NFC, and text that is no Unicode (lone surrogates).
    """
    text = json.dumps(
        _plain(value), ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode("utf-8")


def _plain(value: object) -> object:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", str(value))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return _plain_mapping(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise ValueError(f"{type(value).__name__} has no canonical JSON")


def _plain_mapping(value: Mapping[object, object]) -> dict[str, object]:
    plain: dict[str, object] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValueError("a key of canonical JSON is text")  # noqa: TRY004 - one error class
        name = unicodedata.normalize("NFC", key)
        if name in plain:
            raise ValueError(f"two keys are one after NFC: {name!r}")
        plain[name] = _plain(item)
    return plain


def digest(raw: bytes) -> str:
    """Return `sha256:` and the hex digest of `raw`."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def value_digest(value: object) -> str:
    """Return the digest of the canonical JSON of plain values."""
    return digest(canonical(value))


def text_digest(text: str) -> str:
    """Return the digest of text: its UTF-8 in NFC. Used for objectives."""
    return digest(unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass"))


NOTHING_READ: Final = digest(b"")
"""Digest of a cited thing of which nothing could be read; only an omission's ref carries it."""


def ref_value(ref: Ref) -> dict[str, object]:
    """Return a reference as plain JSON values."""
    return {"kind": ref.kind.value, "id": ref.id, "digest": ref.digest}


def statement_value(statement: Statement) -> dict[str, object]:
    """Return a statement as plain JSON values; the derived basis is not part of it."""
    return {"text": statement.text, "evidence": [ref_value(ref) for ref in statement.evidence]}


def omission_value(omission: Omission) -> dict[str, object]:
    """Return an omission as plain JSON values."""
    return {
        "kind": omission.kind.value,
        "text": omission.text,
        "covers": list(omission.covers),
        "ref": None if omission.ref is None else ref_value(omission.ref),
    }


def content_value(content: Content) -> dict[str, object]:
    """Return a content as plain JSON values, in the shape in which it is given and digested."""
    action = content.next_action
    return {
        "schema": content.schema,
        "objective": content.objective,
        "state": [statement_value(item) for item in content.state],
        "disposition": content.disposition.value,
        "next_action": None if action is None else statement_value(action),
        "blocker": content.blocker,
        "omissions": [omission_value(item) for item in content.omissions],
    }


def content_bytes(content: Content) -> bytes:
    """Return the canonical JSON of a content; what is stored, measured and digested."""
    return canonical(content_value(content))


def content_digest(content: Content) -> str:
    """Return the identity of the words: `sha256:` over the canonical content."""
    return digest(content_bytes(content))


def base_value(base: Base | None) -> dict[str, object] | None:
    """Return a base as plain JSON values."""
    if base is None:
        return None
    return {"revision": base.revision, "content_digest": base.content_digest}


def prepared_id(scope_id: str, base: Base | None, content_digest: str) -> str:
    """Return the id of a preparation: `prp_` and 26 base32 digits.

    The same scope, base and words give the same id, whoever prepares them and when.
    """
    raw = canonical(
        {"scope_id": scope_id, "base": base_value(base), "content_digest": content_digest}
    )
    digits = base64.b32encode(hashlib.sha256(raw).digest()).decode().lower()
    return PREPARED_PREFIX + digits[:_PREPARED_DIGITS]
