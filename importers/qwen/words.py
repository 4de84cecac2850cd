"""What of a message's parts a person said, and what was put beside it.

What a `UserPromptSubmit` hook answers stands in a part of its own behind the words, with angle
brackets escaped. Files that the words name with `@` are read into parts behind them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from importers.binary import blob

_OPEN: Final = "<qwen:user-prompt-submit-context>\n"
_CLOSE: Final = "\n</qwen:user-prompt-submit-context>"
_FILES: Final = "--- Content from referenced files ---"
_REMINDER: Final = ("<system-reminder>", "</system-reminder>")


class Words(NamedTuple):
    """A person's message, taken apart."""

    text: str
    context: str | None = None
    """What a hook added."""
    others: int = 0
    """Other parts that nobody said."""


def parts_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a record's message."""
    message = record.get("message")
    parts = message.get("parts") if isinstance(message, dict) else None
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def payload_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return what a record carries beside its message."""
    payload = record.get("systemPayload")
    return payload if isinstance(payload, dict) else {}


def spoken(record: dict[str, Any]) -> Words:
    """Take a person's record apart."""
    payload, parts = payload_of(record), parts_of(record)
    context = payload.get("hookContext") if isinstance(payload.get("hookContext"), str) else None
    if len(parts) > 1 and (inside := _inside(str(parts[-1].get("text") or ""))) is not None:
        parts, context = parts[:-1], context if context is not None else inside
    shown = payload.get("displayText")
    texts = [text for part in parts if (text := part_text(part)).strip()]
    begin = next((n for n, text in enumerate(texts) if text.strip().startswith(_FILES)), None)
    said = [text for text in texts[:begin] if not _reminder(text)]
    if isinstance(shown, str):
        media = [part_text(part) for part in parts if "inlineData" in part]
        return Words("\n".join([shown, *media]), context, max(0, len(texts) - 1 - len(media)))
    return Words("\n".join(said), context, len(texts) - len(said))


def part_text(part: dict[str, Any]) -> str:
    """Return the visible text of a part, a placeholder for a picture."""
    if isinstance(part.get("inlineData"), dict):
        data = part["inlineData"]
        return blob("image", data.get("mimeType"), str(data.get("data") or ""))
    return part["text"] if isinstance(part.get("text"), str) else ""


def _inside(text: str) -> str | None:
    """Return the context inside a hook's part, None for any other part."""
    bare = text.strip()
    inside = bare.startswith(_OPEN) and bare.endswith(_CLOSE)
    return bare[len(_OPEN) : -len(_CLOSE)] if inside else None


def _reminder(text: str) -> bool:
    bare = text.strip()
    return bare.startswith(_REMINDER[0]) and bare.endswith(_REMINDER[1])
