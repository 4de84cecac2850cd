"""Figures of a refusal that a transcript has beside its words.

The harness writes an error as an assistant record with `isApiErrorMessage`; its text is what the
person saw. Limits come as `error: "rate_limit"`, as status 429, or (older versions) only as text; a
full context is `error: "invalid_request"` with `Prompt is too long`. Texts observed in the program
of Claude Code 2.1.197; 2.1.332 adds the figures as `quotaLimits`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from importers.claude.records import QUOTA, decode_or

_LAST_SECOND: Final = 1 << 38


def quota_resets_at(raw: msgspec.Raw) -> int | None:
    """Return when a limit ends, from `quotaLimits` (since 2.1.332). Milliseconds."""
    quota = decode_or(raw, QUOTA, None)
    if quota is None or quota.resets_at is None or not 0 < quota.resets_at < _LAST_SECOND:
        return None
    return int(quota.resets_at * 1000)
