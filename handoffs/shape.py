"""What is wrong with the shape of a content: sizes, characters, indexes, missing parts.

Needs no ledger. All findings at once, in the order of the content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from handoffs.canonical import content_bytes
from handoffs.models import (
    MAX_CONTENT_BYTES,
    MAX_EVIDENCE,
    MAX_OMISSION_TEXT,
    MAX_OMISSIONS,
    MAX_STATE,
    MAX_TEXT,
    NEXT_ACTION,
    OBJECTIVE,
    SCHEMA,
    Content,
    Disposition,
    Finding,
    Omission,
    Ref,
    Severity,
    Statement,
    covered_index,
    is_digest,
    is_ref_id,
)

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""C0 and C1 without TAB and LF, and what turns the direction of text."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def shape_findings(content: Content) -> tuple[Finding, ...]:
    """Return everything that is wrong with a content by itself."""
    return (
        *_schema(content),
        *_objective(content),
        *_state(content),
        *_course(content),
        *_omissions(content),
        *_size(content),
    )


def text_findings(text: str, field: str, limit: int = MAX_TEXT) -> Iterator[Finding]:
    """Yield what is wrong with one text of at most `limit` characters."""
    if not text:
        yield Finding(
            code="text_empty", field=field, detail="there is no text", fix="Say it, or leave it out"
        )
    if len(text) > limit:
        yield _too_long("text_too_long", field, text, limit)
    yield from character_findings(text, field)


def character_findings(text: str, field: str) -> Iterator[Finding]:
    """Yield what is wrong with the characters of a text."""
    if _SURROGATE.search(text):
        yield Finding(
            code="text_not_utf8",
            field=field,
            detail="the text holds half of a surrogate pair, which is no character",
            fix="Give the text as valid UTF-8",
        )
    control = _CONTROLS.search(text)
    if control is not None:
        yield Finding(
            code="text_control_chars",
            field=field,
            detail=f"the text holds the control character U+{ord(control[0]):04X}"
            f" at character {control.start()}",
            fix="Leave control and direction characters out, or write them as an escape",
        )


def _too_long(code: str, field: str, text: str, limit: int) -> Finding:
    return Finding(
        code=code,
        field=field,
        detail=f"{len(text):,} characters, {limit:,} are allowed",
        fix="Say it shorter, or split it",
    )


def _schema(content: Content) -> Iterator[Finding]:
    if content.schema != SCHEMA:
        yield Finding(
            code="schema_unknown",
            field="schema",
            detail="the schema tag is not one that this version knows",
            fix=f'Use "schema": "{SCHEMA}"',
        )


def _objective(content: Content) -> Iterator[Finding]:
    text = content.objective
    if not text:
        yield Finding(
            code="objective_missing",
            field=OBJECTIVE,
            detail="there is no objective",
            fix="Say what the work is for",
        )
    if len(text) > MAX_TEXT:
        yield _too_long("objective_too_long", OBJECTIVE, text, MAX_TEXT)
    yield from character_findings(text, OBJECTIVE)


def _state(content: Content) -> Iterator[Finding]:
    number = len(content.state)
    if not number:
        yield Finding(
            code="state_missing",
            field="state",
            detail="there is no statement of where the work stands",
            fix="Give at least one",
        )
    if number > MAX_STATE:
        yield Finding(
            code="state_too_many",
            field="state",
            detail=f"{number} statements, {MAX_STATE} are allowed",
            fix="Join or leave out",
        )
    for field, statement in content.statements:
        if field != NEXT_ACTION:
            yield from _statement(field, statement)


def _statement(field: str, statement: Statement) -> Iterator[Finding]:
    yield from text_findings(statement.text, field)
    if len(statement.evidence) > MAX_EVIDENCE:
        yield Finding(
            code="evidence_too_many",
            field=field,
            detail=f"{len(statement.evidence)} references, {MAX_EVIDENCE} are allowed",
            fix="Cite the decisive ones",
        )
    for ref in statement.evidence:
        for why in _ref(ref):
            yield Finding(
                code="evidence_missing",
                field=field,
                detail=f"{ref.id[:80]!r} names nothing: {why}",
                fix="Give the reference as it was shown, or a short one such as e1532",
                facts={"ref": str(ref), "malformed": True},
            )


def _ref(ref: Ref) -> Iterator[str]:
    if not is_ref_id(ref.id):
        yield "the id of a reference is 1 to 200 printable characters without space"
    if not is_digest(ref.digest):
        yield "the digest of a reference is sha256: and 64 hex digits"


def invalid(field: str, detail: str, fix: str = "Correct the value") -> Finding:
    """Return the finding for a value that the contract has no code for.

    These are input that is no JSON object, and kinds, fields and references of omissions.
    """
    return Finding(code="value_invalid", field=field, detail=detail, fix=fix)


def _course(content: Content) -> Iterator[Finding]:
    """Yield what is wrong between disposition, next action and blocker."""
    action, disposition = content.next_action, content.disposition
    if action is not None:
        yield from _statement(NEXT_ACTION, action)
    if disposition is Disposition.CONTINUABLE and action is None:
        yield Finding(
            code="next_action_missing",
            field=NEXT_ACTION,
            detail="work that is continuable has a next action",
            fix="Say the one next thing to do, or choose blocked or complete",
        )
    if disposition is Disposition.COMPLETE and action is not None:
        yield Finding(
            code="next_action_after_complete",
            field=NEXT_ACTION,
            detail="complete work has a next action",
            fix="Leave it out, or choose continuable",
            severity=Severity.WARNING,
        )
    yield from _blocker(content)


def _blocker(content: Content) -> Iterator[Finding]:
    blocked = content.disposition is Disposition.BLOCKED
    if content.blocker is not None and not blocked:
        yield Finding(
            code="blocker_unexpected",
            field="blocker",
            detail=f"the work is {content.disposition.value}, not blocked",
            fix="Leave the blocker out, or choose blocked",
        )
    elif blocked and (content.blocker is None or not 0 <= content.blocker < len(content.state)):
        yield Finding(
            code="blocker_missing",
            field="blocker",
            detail="blocked work names the statement that says by what"
            if content.blocker is None
            else f"there is no state[{content.blocker}]",
            fix="Give the index of that statement in state, counted from 0",
        )


def _omissions(content: Content) -> Iterator[Finding]:
    if len(content.omissions) > MAX_OMISSIONS:
        yield invalid(
            "omissions",
            f"{len(content.omissions)} omissions, {MAX_OMISSIONS} are allowed",
            "Join those of one kind",
        )
    for index, omission in enumerate(content.omissions):
        yield from _omission(f"omissions[{index}]", omission, content)


def _omission(field: str, omission: Omission, content: Content) -> Iterator[Finding]:
    yield from text_findings(omission.text, field, MAX_OMISSION_TEXT)
    for name in omission.covers:
        index = covered_index(name)
        known = index is not None and (name == NEXT_ACTION or index < len(content.state))
        if not known or (name == NEXT_ACTION and content.next_action is None):
            yield invalid(
                field, f"it covers {name[:80]!r}, which is not there", "Cover state[i], next_action"
            )
    if omission.ref is not None:
        yield from (invalid(field, why) for why in _ref(omission.ref))


def _size(content: Content) -> Iterator[Finding]:
    try:
        size = len(content_bytes(content))
    except ValueError:
        return  # surrogates: already a finding
    if size > MAX_CONTENT_BYTES:
        yield Finding(
            code="content_too_large",
            field="",
            detail=f"{size:,} bytes, {MAX_CONTENT_BYTES:,} are allowed",
            fix="Shorten statements, or cite instead of telling",
        )
