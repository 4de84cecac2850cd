"""Contents read back from our own rows.

Nothing here repairs anything: a row that does not have the exact shape in which
`handoffs.canonical` wrote it is damaged, and is said to be.
"""

from __future__ import annotations

import json

from handoffs.canonical import content_bytes
from handoffs.models import Content, Disposition, Omission, OmissionKind, Ref, RefKind, Statement
from ledger.errors import BadDataError


def content_from(raw: bytes | str) -> Content:
    """Return the content of a stored row.

    Raises BadDataError when the row is not the canonical JSON of a content.
    """
    stored = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    try:
        content = _content(json.loads(stored))
        same = content_bytes(content) == stored
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadDataError(
            "a stored handoff cannot be read", detail=f"{type(error).__name__}: {error}"
        ) from error
    if not same:
        raise BadDataError("a stored handoff is not in its canonical form")
    return content


def _content(value: dict[str, object]) -> Content:
    state = value["state"]
    omissions = value["omissions"]
    action = value["next_action"]
    blocker = value["blocker"]
    if not isinstance(state, list) or not isinstance(omissions, list):
        raise TypeError("state and omissions are lists")
    if blocker is not None and type(blocker) is not int:
        raise TypeError("blocker is a number")
    return Content(
        schema=_text(value["schema"]),
        objective=_text(value["objective"]),
        state=tuple(_statement(item) for item in state),
        disposition=Disposition(_text(value["disposition"])),
        next_action=None if action is None else _statement(action),
        blocker=blocker,
        omissions=tuple(_omission(item) for item in omissions),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _statement(value: object) -> Statement:
    if not isinstance(value, dict) or not isinstance(value["evidence"], list):
        raise TypeError("statement expected")
    return Statement(
        text=_text(value["text"]), evidence=tuple(_ref(item) for item in value["evidence"])
    )


def _omission(value: object) -> Omission:
    if not isinstance(value, dict) or not isinstance(value["covers"], list):
        raise TypeError("omission expected")
    ref = value["ref"]
    return Omission(
        kind=OmissionKind(_text(value["kind"])),
        text=_text(value["text"]),
        covers=tuple(_text(item) for item in value["covers"]),
        ref=None if ref is None else _ref(ref),
    )


def _ref(value: object) -> Ref:
    if not isinstance(value, dict):
        raise TypeError("reference expected")
    return Ref(
        kind=RefKind(_text(value["kind"])), id=_text(value["id"]), digest=_text(value["digest"])
    )
