"""What a provider's refusal says: a limit and when it ends, or that the context is full.

Providers and harnesses say it in words; a few stores have figures beside them. A status 429, an
error named like a limit, or only a text: `usage limit reached|<epoch seconds>`, `… limit reached
∙ resets 3pm (Europe/Berlin)`, `prompt is too long: 210000 tokens > 200000`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from importers.base import Usage

LIMIT_ERRORS: Final = frozenset({"rate_limit", "rate_limit_error", "billing_error"})
TOO_MANY: Final = 429
_LIMIT_TEXT: Final = re.compile(
    r"(?:usage|session|weekly|5-hour|hour|opus|sonnet|spend|spending|credit)\s+limit|"
    r"hit your [\w ]{0,40}limit|limit reached|rate[_ ]limit|out of (?:extra )?usage|"
    r"credit balance is too low|quota",
    re.IGNORECASE,
)
_OVERFLOW: Final = re.compile(
    r"prompt is too long(?:[^0-9]{0,20}(?P<tokens>\d{1,12}) tokens? > (?P<limit>\d{1,12}))?|"
    r"exceed context limit(?:: (?P<input>\d{1,12}) \+ \d{1,12} > (?P<window>\d{1,12}))?|"
    r"input is too long for requested model|context limit reached",
    re.IGNORECASE,
)
_EPOCH: Final = re.compile(r"\|(\d{10})(?:\d{3})?\b")
_HEADER: Final = re.compile(
    r"""["']?resets?_?at["']?\s*[:=]\s*["']?(\d{10})(?:\d{3})?\b""", re.IGNORECASE
)
_RESETS: Final = re.compile(
    r"reset(?:s|ting)?(?: at)?\s+(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.? (?P<day>\d{1,2}),? "
    r"(?:(?P<year>\d{4}),? )?(?:at )?)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>[ap]m)"
    r"\s*\((?P<zone>[\w+/-]{1,40})\)",
    re.IGNORECASE,
)
_MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_DAY: Final = timedelta(days=1)
_STALE: Final = timedelta(days=180)


def is_limit(error: str, status: int | None, text: str) -> bool:
    """Return whether an API error is a quota, rate or usage limit."""
    return error in LIMIT_ERRORS or status == TOO_MANY or _LIMIT_TEXT.search(text) is not None


def overflow(at: int, text: str, details: str) -> Usage | None:
    """Return the figures of an API error that says that the context is full; None for others.

    The provider's own words have the tokens that were sent and how many it takes; without them
    nothing but the refusal is known.
    """
    found = [match for said in (details, text) if (match := _OVERFLOW.search(said))]
    if not found:
        return None
    figures = next((m for m in found if m["tokens"] or m["input"]), None)
    if figures is None:
        return Usage(at=at, exceeded=True)
    return Usage(
        at=at,
        context_tokens=int(figures["tokens"] or figures["input"]),
        limit_tokens=int(figures["limit"] or figures["window"]),
        exceeded=True,
    )


def resets_at(text: str, at: int) -> int | None:
    """Return when a limit ends, from its text; `at` is when it was written. Milliseconds.

    A time of day counts only with its zone (new versions write it): the zone of the machine that
    wrote an old text is not known.
    """
    epoch = _EPOCH.search(text) or _HEADER.search(text)
    if epoch is not None:
        return int(epoch[1]) * 1000
    found = _RESETS.search(text)
    if found is None:
        return None
    try:
        zone = ZoneInfo(found["zone"])
    except (KeyError, ValueError, OSError):
        return None
    try:
        return _moment(found, datetime.fromtimestamp(at / 1000, UTC).astimezone(zone))
    except ValueError:
        return None


def _moment(found: re.Match[str], written: datetime) -> int:
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "pm" else 0)
    moment = written.replace(
        hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0, fold=0
    )
    if found["month"]:
        month = _MONTHS.index(found["month"].lower()) // 3 + 1
        year = int(found["year"] or written.year)
        moment = moment.replace(year=year, month=month, day=int(found["day"]))
        if not found["year"] and moment < written - _STALE:
            moment = moment.replace(year=year + 1)
    elif moment <= written:
        moment += _DAY
    return int(moment.timestamp() * 1000)
