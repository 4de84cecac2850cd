"""Identifiers: random ones for our own records, derived ones for events.

An event id is the same on every host and in every import of the same native record. It is derived
from the native identity alone, never from text, so that redaction rules can change without
touching it. The tag names the derivation: a new rule gets a new tag.
"""

from __future__ import annotations

import base64
import hashlib
import os
import time
from collections.abc import Sequence
from typing import Final

EVENT_TAG: Final = "ev1-"
DELIVERY_PREFIX: Final = "dlv_"
NONCE_LENGTH: Final = 10
DELIVERY_PLACEHOLDER: Final = "dlv_@@@@@@@@@@_@@@@"
"""Stands in a briefing's text where the hook puts the delivery id; as long as a real one."""


def event_id(harness: str, kind: str, identity: Sequence[str]) -> str:
    """Return the id of an event: tag + 32 hex digits over (harness, kind, identity parts)."""
    parts = [part.encode("utf-8", "surrogatepass") for part in (harness, kind, *identity)]
    framed = b"".join([b"%d:%b" % (len(raw), raw) for raw in parts])
    return EVENT_TAG + hashlib.sha256(framed).hexdigest()[:32]


def random_id(prefix: str) -> str:
    """Return prefix + 26 base32 digits, ordered by creation time (48-bit ms, 80 bits random)."""
    raw = (time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(10)
    return prefix + base64.b32hexencode(raw).decode().rstrip("=").lower()


def nonce() -> str:
    """Return 10 random base32 digits (50 bits), for delivery ids and receipts of one run."""
    return base64.b32encode(os.urandom(7)).decode().lower()[:NONCE_LENGTH]


def delivery_id(run_nonce: str, number: int) -> str:
    """Return the delivery id of the n-th printing (from 1) of a run: `dlv_<nonce>_<4 digits>`."""
    return f"{DELIVERY_PREFIX}{run_nonce}_{number:04d}"
