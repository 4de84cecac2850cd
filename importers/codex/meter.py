"""Token figures and provider limits: frequent records of which only the last one counts."""

from __future__ import annotations

import msgspec

from importers.base import Limit, Usage
from importers.codex.records import (
    ANY,
    TOKENS,
    RateLimits,
    Record,
    TokenCount,
    milliseconds,
    number_of,
    object_of,
    text_of,
)
from importers.codex.state import Context
from importers.jsonl import Undecodable, decode


class Meter:
    """Remembers the newest figures of one thread and decodes them when they are wanted."""

    def __init__(self, thread: str, context: Context) -> None:
        self._thread = thread
        self._context = context
        self._record: tuple[msgspec.Raw, str] | None = None
        self._count: tuple[TokenCount, str] | None = None
        self._stale = False
        """The count is from before a compaction: what it measured is not the context any more."""
        self._compactions = 0
        self._exceeded: bool | None = None

    def count(self, raw: msgspec.Raw, stamp: str) -> Limit | None:
        """Take a `token_count`; a limit if it says that one was reached. Raises Undecodable."""
        count = decode(raw, TOKENS)
        self._count, self._stale = (count, stamp), False
        reached = count.rate_limits.rate_limit_reached_type if count.rate_limits else None
        if not reached:
            return None
        at = milliseconds(stamp) or self._context.at or 0
        return Limit(at=at, message=reached, resets_at=self.resets_at())

    def record(self, raw: msgspec.Raw, stamp: str) -> None:
        """Take a `token_usage_record`."""
        self._record = (raw, stamp)

    def compacted(self) -> None:
        """Count a compaction; a `token_count` with the size after it follows (codex 0.171.0)."""
        self._compactions += 1
        self._record, self._stale = None, True
        self._exceeded = False

    def exceeded(self, *, now: bool) -> None:
        """Take that a request did not fit into the context, or that a turn was completed."""
        self._exceeded = now

    def resets_at(self) -> int | None:
        """Return when the fullest window resets, as far as is known: of full ones, the last."""
        if self._count is not None and self._count[0].rate_limits is not None:
            at = milliseconds(self._count[1]) or self._context.at or 0
            self._context.resets_at = _reset(self._count[0].rate_limits, at) or (
                self._context.resets_at
            )
        return self._context.resets_at

    def drain(self, now: int) -> Usage | None:
        """Return the figures that hold at the end of what was read, and forget them."""
        last: Record = {}
        total: Record = {}
        at = 0
        if self._count is not None:
            at = milliseconds(self._count[1]) or 0
            info = _figures(self._count[0].info)
            window = number_of(info.get("model_context_window"))
            self._context.window = window or self._context.window
            last = {} if self._stale else object_of(info.get("last_token_usage"))
            total = object_of(info.get("total_token_usage"))
            self.resets_at()
        if self._record is not None and (record := self._own(self._record[0])):
            at = max(at, milliseconds(self._record[1]) or 0)
            last = object_of(record.get("usage")) or last
            total = object_of(record.get("thread_token_usage")) or total
        tokens, output = number_of(last.get("total_tokens")), number_of(total.get("output_tokens"))
        compactions, exceeded = self._compactions, self._exceeded
        self._count, self._record, self._stale = None, None, False
        self._compactions, self._exceeded = 0, None
        if tokens is None and output is None and not compactions and not exceeded:
            return None
        return Usage(
            at=at or now,
            model=self._context.model,
            context_tokens=tokens,
            limit_tokens=self._context.window,
            output_tokens=output,
            compactions=compactions,
            exceeded=exceeded,
        )

    def _own(self, raw: msgspec.Raw) -> Record:
        record = _figures(raw)
        return record if text_of(record.get("thread_id")) in {"", self._thread} else {}


def _figures(raw: msgspec.Raw) -> Record:
    """Decode figures; damaged ones are unknown figures, not a reason to stop reading."""
    try:
        return object_of(decode(raw, ANY))
    except Undecodable:
        return {}


def _reset(limits: RateLimits, at: int) -> int | None:
    best: tuple[int, int] | None = None
    for raw in (limits.primary, limits.secondary, limits.individual_limit):
        window = _figures(raw)
        absolute, after = (
            number_of(window.get(name)) for name in ("resets_at", "resets_in_seconds")
        )
        if absolute is None and after is None:
            continue
        resets = absolute * 1000 if absolute is not None else at + (after or 0) * 1000
        used = min(number_of(window.get("used_percent")) or 0, 100)
        best = max(best or (0, 0), (used, resets))
    return best[1] if best else None
