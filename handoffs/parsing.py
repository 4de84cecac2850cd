"""Foreign JSON becomes a content, or findings: the trust boundary.

The invariant this module protects: nothing foreign is dropped or guessed. An unknown field, an
unknown schema tag, a wrong type is a finding, and all of them are returned at once. pydantic is
imported when the first foreign content arrives, not before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from handoffs.canonical import NOTHING_READ
from handoffs.models import (
    NEXT_ACTION,
    Content,
    Disposition,
    Finding,
    Omission,
    OmissionKind,
    Reason,
    Ref,
    RefKind,
    Severity,
    Statement,
    is_ref_id,
)
from handoffs.shape import invalid, shape_findings

if TYPE_CHECKING:
    from handoffs.foreign import Foreign, ForeignOmission, ForeignRef, ForeignStatement

Resolve = Callable[[str], Ref | None]
"""Finds what a short reference (`e1532`, a commit, a check id) names; None: nothing."""

MAX_INPUT: Final = 512 * 1024
"""Bytes of foreign JSON that are looked at; a content is at most 12 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A content, or None when it has no shape; and what is wrong with the shape so far."""

    content: Content | None
    findings: tuple[Finding, ...]
    """Empty when `content` may go on to `handoffs.validation`."""
    partial: Content | None = None
    """Without a content, what could be read of it: only to find what else is wrong with it."""
    unread: frozenset[str] = frozenset()
    """Fields of `partial` that stand for something that could not be read."""
    half_cited: frozenset[str] = frozenset()
    """Statements of `partial` whose evidence could not all be read."""


def parse_content(
    raw: bytes | str | Mapping[str, object], *, resolve: Resolve | None = None
) -> Parsed:
    """Return the content in foreign JSON. Never raises for what is in it.

    Evidence may be a reference with digest, or a short reference as text that `resolve` knows.
    """
    value, findings = _loaded(raw)
    if findings:
        return Parsed(content=None, findings=findings)
    from handoffs.foreign import problems, read, salvage

    if not isinstance(value, Mapping):
        return Parsed(content=None, findings=(invalid("", "a handoff is a JSON object"),))
    foreign = read(value)
    if isinstance(foreign, list):
        saved = salvage(value)
        built = _built(saved.foreign, resolve)
        half = saved.half_cited | {item.field for item in built.findings if item.code == _LOST}
        return Parsed(
            content=None,
            findings=merged(tuple(problems(foreign, value)), built.findings, saved.unread),
            partial=built.content,
            unread=saved.unread,
            half_cited=half,
        )
    built = _built(foreign, resolve)
    half = frozenset(item.field for item in built.findings if item.code == _LOST)
    return replace(built, half_cited=half)


def parse_reasons(values: Iterable[str]) -> tuple[tuple[Reason, ...], tuple[Finding, ...]]:
    """Return the reasons once each, in order, and a finding for each unknown word."""
    known: dict[Reason, None] = {}
    findings = []
    for index, word in enumerate(values):
        try:
            known[Reason(word)] = None
        except ValueError:
            findings.append(
                Finding(
                    code="reason_unknown",
                    field=f"reasons[{index}]",
                    detail="it is not one of the known reasons",
                    fix=f"Use one of {', '.join(Reason)}",
                )
            )
    return tuple(known), tuple(findings)


def merged(
    first: tuple[Finding, ...],
    more: Iterable[Finding],
    unread: frozenset[str] = frozenset(),
    half_cited: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """Return `first` and those errors of `more` that are about something else and was read.

    That nothing, or no check, is cited is not said of a statement in `half_cited`.
    """
    said = {(item.code, item.field, item.facts.get("ref")) for item in first}
    added = [
        item
        for item in more
        if item.severity is Severity.ERROR
        and (item.code, item.field, item.facts.get("ref")) not in said
        and item.field not in unread
        and not (item.field == "blocker" and "disposition" in unread)
        and not (item.field in half_cited and item.code.endswith(_NOT_CITED))
    ]
    return (*first, *added)


_LOST: Final = "evidence_missing"
_NOT_CITED: Final = ("_uncited", "_wrong_evidence")


class _RepeatedKeyError(ValueError):
    """One JSON object has a key twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError
    return found


def _loaded(
    raw: bytes | str | Mapping[str, object],
) -> tuple[object, tuple[Finding, ...]]:
    if isinstance(raw, Mapping):
        return raw, ()
    size = len(raw)
    if size > MAX_INPUT:
        return None, (_too_large(size),)
    try:
        text = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
        return json.loads(text, object_pairs_hook=_object), ()
    except UnicodeDecodeError as error:
        return None, (
            Finding(
                code="text_not_utf8",
                field="",
                detail=f"byte {error.start} is not UTF-8",
                fix="Give the handoff as UTF-8",
            ),
        )
    except _RepeatedKeyError:
        return None, (invalid("", "a JSON object has one key twice", "Give each key once"),)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "the input"
        return None, (invalid("", f"{where} is not JSON", "Give one JSON object"),)


def _too_large(size: int) -> Finding:
    return Finding(
        code="content_too_large",
        field="",
        detail=f"{size:,} bytes of input, {MAX_INPUT:,} are looked at",
        fix="Give only the handoff",
    )


def _built(foreign: Foreign, resolve: Resolve | None) -> Parsed:
    findings: list[Finding] = []
    state = tuple(
        _statement(f"state[{index}]", item, resolve, findings)
        for index, item in enumerate(foreign.state)
    )
    action = foreign.next_action
    content = Content(
        schema=foreign.schema_,
        objective=foreign.objective,
        state=state,
        disposition=Disposition(foreign.disposition),
        next_action=None if action is None else _statement(NEXT_ACTION, action, resolve, findings),
        blocker=foreign.blocker,
        omissions=tuple(
            _omission(f"omissions[{index}]", item, resolve, findings)
            for index, item in enumerate(foreign.omissions)
        ),
    )
    return Parsed(content=content, findings=merged(tuple(findings), shape_findings(content)))


def _statement(
    field: str, item: ForeignStatement, resolve: Resolve | None, findings: list[Finding]
) -> Statement:
    refs = []
    for given in item.evidence:
        ref = _ref(given, resolve)
        if ref is None:
            findings.append(_unresolved(field, given))
        else:
            refs.append(ref)
    return Statement(text=item.text, evidence=tuple(refs))


def _omission(
    field: str, item: ForeignOmission, resolve: Resolve | None, findings: list[Finding]
) -> Omission:
    ref = None if item.ref is None else _ref(item.ref, resolve)
    if ref is None and isinstance(item.ref, str):
        name = item.ref.strip()
        if is_ref_id(name):
            # An omission may name what nobody can read any more.
            ref = Ref(kind=RefKind.LEDGER, id=name, digest=NOTHING_READ)
        else:
            findings.append(invalid(field, "its reference has no id"))
    return Omission(
        kind=OmissionKind(item.kind), text=item.text, covers=tuple(item.covers), ref=ref
    )


def _ref(given: ForeignRef | str, resolve: Resolve | None) -> Ref | None:
    if isinstance(given, str):
        return None if resolve is None else resolve(given.strip())
    return Ref(kind=RefKind(given.kind), id=given.id, digest=given.digest)


def _unresolved(field: str, given: object) -> Finding:
    return Finding(
        code="evidence_missing",
        field=field,
        detail=f"{str(given)[:80]!r} names nothing in this workstream",
        fix="Cite an event (e1532), a check id, a commit, or a reference with its digest",
        facts={"ref": str(given)[:200]},
    )
