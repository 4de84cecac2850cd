"""What commands print: the JSON envelope, error messages, small formatting for people.

The envelope is a contract: `{"version": 1, "command": …, "data": …, "errors": [{"code", "message",
"detail"}]}`, one document on stdout. Everything that is not the answer goes to stderr.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ledger.errors import WorkstreamError

ENVELOPE_VERSION: Final = 1


def emit_json(command: str, data: object, errors: Sequence[Mapping[str, Any]] = ()) -> None:
    """Print one envelope on stdout."""
    document = {
        "version": ENVELOPE_VERSION,
        "command": command,
        "data": data,
        "errors": list(errors),
    }
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
    _write_stdout(text + "\n")


def error_entry(error: WorkstreamError) -> dict[str, Any]:
    """Return an error as an entry of the envelope's list."""
    return {
        "code": error.code,
        "message": error.message,
        "detail": error.detail,
        "next": error.next_step,
    }


def print_json_error(command: str, error: WorkstreamError) -> None:
    """Print an envelope that holds only an error."""
    emit_json(command, None, [error_entry(error)])


def print_error(error: WorkstreamError) -> None:
    """Print an error for a person on stderr: what happened, then what to do."""
    say(str(error))


def say(text: str) -> None:
    """Print one message of ours on stderr, prefixed with our name; controls made visible."""
    from ledger.visible import show

    try:
        sys.stderr.write(f"workstream: {show(text)}\n")
        sys.stderr.flush()
    except OSError:  # a closed terminal must not change an exit code
        return


def iso(ms: int | None) -> str | None:
    """Return a time as ISO 8601 in UTC with milliseconds and Z, or None."""
    if ms is None:
        return None
    moment = datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def local_time(ms: int) -> str:
    """Return a time for people, in the local zone: today's as HH:MM, others with the date."""
    moment = datetime.datetime.fromtimestamp(ms / 1000).astimezone()
    today = datetime.datetime.now().astimezone().date()
    return moment.strftime("%H:%M" if moment.date() == today else "%Y-%m-%d %H:%M")


def ago(ms: int | None, now: int) -> str:
    """Return the distance to a time in the past, for people: "3 min ago"."""
    if ms is None:
        return "never"
    return f"{duration(now - ms)} ago" if now - ms >= 1000 else "just now"


def duration(ms: int) -> str:
    """Return a length of time in its largest useful unit: "42 s", "3 min", "5 h", "12 d"."""
    seconds = max(ms, 0) // 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (seconds >= size and unit == "min"):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def size(count: int) -> str:
    """Return a number of bytes for people: "812 B", "3.4 KB", "210 MB"."""
    value = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if value >= 100 or unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError


def plural(count: int, noun: str, many: str | None = None) -> str:
    """Return "1 event", "2 events"."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def colours() -> bool:
    """Return whether stdout may carry colours: a terminal, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _write_stdout(text: str) -> None:
    data = text.encode("utf-8", "replace")
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
