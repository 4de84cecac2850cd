"""Apply the finders: collect spans, merge the overlapping ones, put markers in their place."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, TypeAlias

from ledger.redaction import assignments, contexts
from ledger.redaction.assignments import find_assignments, is_secret_name
from ledger.redaction.contexts import find_contextual
from ledger.redaction.prefixes import find_tokens, long_runs
from ledger.redaction.values import MARKER, is_placeholder

SCRUB_VERSION: Final[int] = 1
"""Raised whenever the rules change, so that a stored event says which rules it went through."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_GATES: Final = tuple(sorted(assignments.GATES | contexts.GATES))
_DEEPEST: Final = 200
_PASSES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbed:
    """Text without its secrets, and how many of each marker type were put in."""

    text: str
    counts: dict[str, int]


def scrub(text: str) -> Scrubbed:
    """Replace every secret in ``text`` by ``[redacted:TYPE]``; clean text comes back unchanged.

    Linear in the length of the text.  Accepts any string, lone surrogates included.
    """
    raw = text.encode("utf-8", "surrogatepass")
    counts: Counter[str] = Counter()
    for _ in range(_PASSES):
        spans = _spans(raw)
        if not spans:
            break
        raw = _replace(raw, spans)
        counts.update(kind for _, _, kind in spans)
    if not counts:
        return Scrubbed(text=text, counts={})
    return Scrubbed(text=raw.decode("utf-8", "surrogatepass"), counts=dict(sorted(counts.items())))


def scrub_json(value: Json) -> tuple[Json, dict[str, int]]:
    """Scrub a decoded JSON value: every string in it, keys included; the input stays as it is.

    A string under a key such as ``password`` goes as a whole.  So does the value beside
    ``"name": "Authorization"`` and the argument after ``"--token"``.  What is nested deeper than
    200 levels is replaced by a marker too.
    """
    counts: Counter[str] = Counter()
    return _walk(value, counts, 0), dict(sorted(counts.items()))


def loose_strings(value: Json) -> list[str] | None:
    """Give all strings of a JSON value when ``scrub_json`` is no more than ``scrub`` of each.

    None when a name, a neighbour or the depth decides about a part of it: then only
    ``scrub_json`` knows.
    """
    found: list[str] = []
    level: list[Json] = [value]
    for _ in range(_DEEPEST):
        below: list[Json] = []
        for item in level:
            if isinstance(item, str):
                found.append(item)
            elif isinstance(item, list):
                if any(isinstance(each, str) and _steers(each) for each in item):
                    return None
                below += item
            elif isinstance(item, dict):
                if _names_secret(item):
                    return None
                found += item
                below += item.values()
        if not below:
            return found
        level = below
    return None


def _steers(argument: str) -> bool:
    """Tell whether an argument says what another one is."""
    return argument.endswith("curl") or (argument.startswith("--") and "=" not in argument)


def _names_secret(fields: dict[str, Json]) -> bool:
    if "value" in fields and ("name" in fields or "key" in fields):
        return True
    return any(is_secret_name(key) for key in fields)


def _spans(raw: bytes) -> list[tuple[int, int, str]]:
    """Give the disjoint spans to replace, in order; of overlapping ones the first names it."""
    lower = raw.lower()
    words = frozenset(filter(lower.__contains__, _GATES))
    runs = long_runs(raw)
    found = [
        *find_tokens(raw, runs),
        *find_contextual(raw, lower, words, runs),
        *find_assignments(raw, lower, words),
    ]
    if not found:
        return found
    found.sort(key=lambda span: (span[0], -span[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, kind in found:
        if MARKER.now.fullmatch(raw, start, end):
            continue
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(last, end), name)
        else:
            merged.append((start, end, kind))
    return merged


def _replace(raw: bytes, spans: list[tuple[int, int, str]]) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, end, kind in spans:
        parts += (raw[at:start], b"[redacted:" + kind.encode() + b"]")
        at = end
    parts.append(raw[at:])
    return b"".join(parts)


def _walk(value: Json, counts: Counter[str], depth: int) -> Json:
    if isinstance(value, str):
        return _counted(value, counts)
    if not isinstance(value, (list, dict)):
        return value
    if depth >= _DEEPEST:
        return _marked("nested-too-deep", counts)
    if isinstance(value, list):
        return _walk_list(value, counts, depth + 1)
    return _walk_object(value, counts, depth + 1)


def _walk_list(items: list[Json], counts: Counter[str], depth: int) -> list[Json]:
    out: list[Json] = []
    kind: str | None = None
    for item in items:
        if kind and isinstance(item, str) and not _is_harmless(item):
            out.append(_marked(kind, counts))
        else:
            out.append(_walk(item, counts, depth))
        kind = _flag_kind(item)
    return _with_command_user(out, counts)


def _flag_kind(item: Json) -> str | None:
    if isinstance(item, str) and item.startswith("--") and "=" not in item:
        return is_secret_name(item)
    return None


def _with_command_user(argv: list[Json], counts: Counter[str]) -> list[Json]:
    """Mask the password of ``["curl", "-u", "user:password"]``."""
    if not any(isinstance(item, str) and item.rpartition("/")[2] == "curl" for item in argv):
        return argv
    for at in range(1, len(argv)):
        item = argv[at]
        if argv[at - 1] in ("-u", "--user", "--proxy-user") and isinstance(item, str):
            user, colon, password = item.partition(":")
            if colon and not _is_harmless(password):
                argv[at] = f"{user}:{_marked('password', counts)}"
    return argv


def _walk_object(fields: dict[str, Json], counts: Counter[str], depth: int) -> dict[str, Json]:
    label = fields.get("name", fields.get("key"))
    named = is_secret_name(label) if isinstance(label, str) else None
    out: dict[str, Json] = {}
    for key, item in fields.items():
        kind = named if key == "value" and named else is_secret_name(key)
        if kind and isinstance(item, str) and not _is_harmless(item):
            scrubbed: Json = _marked(kind, counts)
        else:
            scrubbed = _walk(item, counts, depth)
        out[_free_key(_counted(key, counts), out)] = scrubbed
    return out


def _free_key(key: str, taken: dict[str, Json]) -> str:
    """Keep two fields apart whose names became the same marker."""
    if key not in taken:
        return key
    number = 2
    while f"{key}#{number}" in taken:
        number += 1
    return f"{key}#{number}"


def _is_harmless(value: str) -> bool:
    raw = value.encode("utf-8", "surrogatepass")
    return is_placeholder(raw) or value.lower().startswith(("http://", "https://"))


def _marked(kind: str, counts: Counter[str]) -> str:
    counts[kind] += 1
    return f"[redacted:{kind}]"


def _counted(text: str, counts: Counter[str]) -> str:
    scrubbed = scrub(text)
    counts.update(scrubbed.counts)
    return scrubbed.text
