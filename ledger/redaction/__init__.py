"""Secrets are replaced by typed markers before any text is cut, stored or indexed.

``scrub`` and ``scrub_json`` are deterministic and idempotent: the same input and
``SCRUB_VERSION`` give the same output, and scrubbing scrubbed text changes nothing.  A
marker looks like ``[redacted:github-token]``; its name is the type, never part of the value.

What is found: provider keys by their prefix, private key blocks, credentials in URLs, headers,
cookies and command lines, and values assigned to names such as ``password`` or ``api_key``.
What is not: a secret without prefix, name or context (a bare hash or base64 text).
"""

from __future__ import annotations

from ledger.redaction.scrubbing import (
    SCRUB_VERSION,
    Json,
    Scrubbed,
    loose_strings,
    scrub,
    scrub_json,
)

__all__ = ["SCRUB_VERSION", "Json", "Scrubbed", "loose_strings", "scrub", "scrub_json"]
