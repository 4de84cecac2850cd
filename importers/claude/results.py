"""Outcome of a tool call, and the person's words that hide in it.

A result is told twice: as the block that the model got (`content`, `is_error`) and as the tool's
own object (`toolUseResult`; on errors a string). Shapes observed with Claude Code 2.1.197 and in
its type declarations.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from importers.claude.records import ANY, EMPTY, decode_or

CUT: Final = "interrupted"
"""`toolDenialKind` of the result that a resume writes for a call cut off by a kill (2.1.332)."""
PERSISTED: Final = "<persisted-output>"
_EXIT: Final = re.compile(r"(?:Error: )?Exit code (\d{1,3})(?:\n|$)")
_INTERRUPTIONS: Final = (
    "[Request interrupted by user",
    "Command was aborted before completion",
    "Interrupted by user",
)
_REFUSED: Final = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission for this tool use was denied.",
    "The agent proposed a plan that was rejected by the user.",
)
_WORDS: Final = re.compile(r"the user said:\s*\n(.*)", re.DOTALL | re.IGNORECASE)
_NOTE: Final = "\n\nNote: The user's next message may contain a correction or preference."
_RESPONDED: Final = "The user responded: "
_ANSWERED: Final = re.compile(
    r"(?:Your questions have been answered|User has answered your questions): (.*?)\.? "
    r"You can now continue",
    re.DOTALL,
)
_PERSISTED_PATH: Final = re.compile(r"Full output saved to: (\S.*)")


class Told(msgspec.Struct, rename="camel", gc=False):
    """The members of `toolUseResult` that are looked at; tools differ, all are optional."""

    stdout: str | None = None
    interrupted: bool | None = None
    return_code_interpretation: str | None = None
    background_task_id: str | None = None
    persisted_output_path: str | None = None
    exit_code: int | None = None
    code: int | None = None
    type: str | None = None
    file_path: str | None = None


class Answers(msgspec.Struct, gc=False):
    """`toolUseResult` of AskUserQuestion."""

    answers: dict[str, str | list[str]] | None = None
    response: str | None = None
    annotations: dict[str, dict[str, object] | None] | None = None


TOLD: Final = msgspec.json.Decoder(Told)
ANSWERS: Final = msgspec.json.Decoder(Answers)


class Outcome(NamedTuple):
    """How a call ended."""

    status: str
    """ok, error, interrupted, unknown"""
    exit_code: int | None = None
    refused: bool = False
    """The person did not allow it; nothing was run."""


def is_object(raw: msgspec.Raw) -> bool:
    """Return whether an undecoded member is a JSON object."""
    return raw is not EMPTY and bytes(memoryview(raw)[:1]) == b"{"


def told(raw: msgspec.Raw) -> Told:
    """Return the tool's own object, empty where there is none (an error's string, odd shapes)."""
    if not is_object(raw):
        return Told()
    return decode_or(raw, TOLD, Told())


def outcome(text: str, result: Told, *, is_error: bool, denial: str | None) -> Outcome:
    """Return status and exit code of a result; `denial` is the record's `toolDenialKind`."""
    if denial == CUT:
        return Outcome("interrupted")
    if denial is not None or (is_error and text.startswith(_REFUSED)):
        return Outcome("error", refused=True)
    if result.interrupted or text.startswith(_INTERRUPTIONS):
        return Outcome("interrupted")
    if is_error:
        found = _EXIT.match(text)
        return Outcome("error", int(found[1]) if found else result.exit_code)
    if result.background_task_id is not None:
        return Outcome("unknown")
    if result.stdout is None:
        return Outcome("ok", result.exit_code)
    plain = result.return_code_interpretation is None
    return Outcome("ok", result.exit_code if result.exit_code is not None else 0 if plain else None)


def spoken(text: str, raw: msgspec.Raw, tool: str | None, *, is_error: bool) -> str | None:
    """Return the person's own words in a result: an answer, or what they said when refusing."""
    if is_error:
        found = _WORDS.search(text) if text.startswith(_REFUSED) else None
        return (found[1].split(_NOTE)[0].strip() or None) if found else None
    if tool != "AskUserQuestion":
        return None
    if is_object(raw):
        return _answered(decode_or(raw, ANSWERS, Answers()))
    if text.startswith(_RESPONDED):
        return text.removeprefix(_RESPONDED).strip() or None
    found = _ANSWERED.search(text)
    return found[1] if found else None


def _answered(given: Answers) -> str | None:
    if given.response and given.response.strip():
        return given.response.strip()
    notes = given.annotations or {}
    lines = []
    for question, answer in (given.answers or {}).items():
        chosen = ", ".join(answer) if isinstance(answer, list) else answer
        note = (notes.get(question) or {}).get("notes")
        remark = f" ({note})" if isinstance(note, str) and note.strip() else ""
        if chosen or remark:
            lines.append(f"{question} {chosen}{remark}")
    return "\n".join(lines) or None


def persisted_path(text: str, result: Told) -> str | None:
    """Return where the whole of a large output was put, as recorded."""
    if result.persisted_output_path:
        return result.persisted_output_path
    found = _PERSISTED_PATH.search(text[:4096])
    return found[1].strip() if found else None


def plain(raw: msgspec.Raw) -> dict[str, object]:
    """Return `toolUseResult` as a plain object, empty where it is none."""
    value = decode_or(raw, ANY, None)
    return value if isinstance(value, dict) else {}
