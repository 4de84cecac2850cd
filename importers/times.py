"""Times of records, in whatever form a harness writes them, as milliseconds since the epoch."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

MAX_MILLISECONDS: Final = 1 << 48


def milliseconds(value: str | float | None) -> int | None:
    """Return a record's time as milliseconds since the epoch, None if it has none that is valid."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    if value is None or not 0 < value < MAX_MILLISECONDS:
        return None
    return int(value)
