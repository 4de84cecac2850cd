"""The shape of foreign JSON, as pydantic checks it, and its complaints in the contract's codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from handoffs.models import (
    NEXT_ACTION,
    SCHEMA,
    Disposition,
    Finding,
    OmissionKind,
    RefKind,
    state_field,
)
from handoffs.shape import invalid

_Kind = Literal["ledger", "check", "git", "file", "note", "handoff"]
_OmissionKind = Literal[
    "unverified_check",
    "missing_host_state",
    "excluded_material",
    "unavailable_evidence",
    "uncaptured_context",
    "declared_only",
    "redacted",
    "other",
]
_Index = Annotated[int, Field(ge=0, le=1_000_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ForeignRef(_Strict):
    """A reference with its digest."""

    kind: _Kind
    id: Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]
    digest: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class ForeignStatement(_Strict):
    """A statement; `basis` may stand there, for our own answers hold it, and is not believed."""

    text: str
    evidence: list[ForeignRef | str] = []
    basis: Literal["cited", "declared"] | None = None


class ForeignOmission(_Strict):
    """An omission."""

    kind: _OmissionKind
    text: str
    covers: list[str] = []
    ref: ForeignRef | str | None = None


class Foreign(_Strict):
    """A content as it is given."""

    schema_: Annotated[Literal["handoff.v1"], Field(alias="schema")]
    objective: str
    state: list[ForeignStatement]
    disposition: Literal["continuable", "blocked", "complete"]
    next_action: ForeignStatement | None = None
    blocker: _Index | None = None
    omissions: list[ForeignOmission] = []


def read(value: Mapping[str, object]) -> Foreign | list[ErrorDetails]:
    """Return the value in its shape, or every complaint about it."""
    try:
        return Foreign.model_validate(dict(value))
    except ValidationError as error:
        return error.errors(include_url=False, include_context=False, include_input=False)


_BY_FIELD: Final = {
    "schema": ("schema_unknown", f'Use "schema": "{SCHEMA}"'),
    "objective": ("objective_missing", "Say what the work is for, as text"),
    "state": ("state_missing", "Give a list of at least one statement {text, evidence}"),
    "disposition": ("disposition_invalid", f"Use one of {', '.join(Disposition)}"),
    "next_action": ("next_action_missing", "Give a statement {text, evidence}, or null"),
    "blocker": ("blocker_missing", "Give the index of a statement in state, or null"),
}
"""Code and fix for what is missing or of another type at the top."""
_PLAIN: Final = {
    "extra_forbidden": ("field_unknown", "the contract has no such field", "Take it out"),
    "string_unicode": (
        "text_not_utf8",
        "the text is not valid Unicode",
        "Give the text as valid UTF-8",
    ),
}
"""Code, detail and fix by pydantic's name of the complaint."""


def problems(found: list[ErrorDetails], value: Mapping[str, object]) -> Iterator[Finding]:
    """Yield one finding for each place that is complained about."""
    said: set[tuple[str, str]] = set()
    for item in found:
        finding = _finding(item)
        key = (finding.code, finding.field)
        if key not in said and not _is_other_branch(item, value):
            said.add(key)
            yield finding


def _is_other_branch(item: ErrorDetails, value: Mapping[str, object]) -> bool:
    """Tell whether a complaint is about the alternative that was not meant: text or object."""
    at: object = value
    for part in item["loc"]:
        if part in ("str", "ForeignRef"):
            return part != ("str" if isinstance(at, str) else "ForeignRef")
        at = _child(at, part)
    return False


def _child(value: object, part: int | str) -> object:
    if isinstance(value, Mapping):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _finding(item: ErrorDetails) -> Finding:
    place = [part for part in item["loc"] if part not in ("str", "ForeignRef")]
    field = _named(place)
    plain = _PLAIN.get(item["type"])
    if plain is not None:
        code, detail, fix = plain
        return Finding(code=code, field=_statement_field(place), detail=detail, fix=fix)
    if len(place) == 1 and place[0] in _BY_FIELD:
        code, fix = _BY_FIELD[str(place[0])]
        return Finding(code=code, field=field, detail=item["msg"], fix=fix)
    if "evidence" in place and "omissions" not in place:
        return _no_reference(_named(place[: place.index("evidence")]), field, item["msg"])
    if place[:1] == ["state"] and (len(place) == 2 or place[-1] == "text"):
        return Finding(
            code="text_empty",
            field=_statement_field(place),
            detail="there is no statement {text, evidence}",
            fix="Give the text",
        )
    if place and place[-1] == "text":
        return Finding(
            code="text_empty",
            field=_statement_field(place),
            detail="there is no text",
            fix="Give the text",
        )
    return invalid(field, item["msg"], _choices(place))


def _no_reference(statement: str, place: str, why: str) -> Finding:
    """Return the finding for evidence that cannot be a reference to anything."""
    return Finding(
        code="evidence_missing",
        field=statement,
        detail=f"{place} is no reference: {why}",
        fix=f"Give {{kind, id, digest}} with one of the kinds {', '.join(RefKind)}, or a short"
        " reference such as e1532",
        facts={"ref": place, "malformed": True},
    )


def _choices(place: list[int | str]) -> str:
    if place and place[-1] == "kind":
        return f"Use one of {', '.join(RefKind if 'ref' in place else OmissionKind)}"
    return "Correct the value"


def _named(place: list[int | str]) -> str:
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part[:80]}" if text else part[:80]
    return text


def _statement_field(place: list[int | str]) -> str:
    return _named(place[:-1] if place and place[-1] == "text" else place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Salvaged:
    """What can be read of a misshapen content, to find what else is wrong in the same round."""

    foreign: Foreign
    unread: frozenset[str]
    """Fields that stand for something that could not be read."""
    half_cited: frozenset[str]
    """Statements of which not all evidence could be read."""


def salvage(value: Mapping[str, object]) -> Salvaged:
    """Return what can be read of a misshapen content."""
    unread = {"schema", "blocker"}
    half: set[str] = set()
    given = value.get("state")
    state = [
        _salvaged(state_field(index), item, unread, half)
        for index, item in enumerate(given if isinstance(given, list) else [None])
    ]
    action = value.get(NEXT_ACTION)
    objective = value.get("objective")
    if not isinstance(objective, str):
        unread.add("objective")
    known = next((item for item in Disposition if item.value == value.get("disposition")), None)
    if known is None:
        unread.add("disposition")
    foreign = Foreign.model_construct(
        schema_=SCHEMA,
        objective=objective if isinstance(objective, str) else _UNREAD,
        state=state,
        disposition=(known or Disposition.COMPLETE).value,
        next_action=None if action is None else _salvaged(NEXT_ACTION, action, unread, half),
        blocker=None,
        omissions=_omissions(value.get("omissions", []), unread),
    )
    return Salvaged(foreign=foreign, unread=frozenset(unread), half_cited=frozenset(half))


_UNREAD: Final = "(unread)"


def _salvaged(field: str, item: object, unread: set[str], half: set[str]) -> ForeignStatement:
    text = item.get("text") if isinstance(item, Mapping) else None
    if not isinstance(text, str):
        unread.add(field)
    given = item.get("evidence", []) if isinstance(item, Mapping) else []
    read_refs = [_ref(ref) for ref in given] if isinstance(given, list) else [None]
    evidence = [ref for ref in read_refs if ref is not None]
    if len(evidence) < len(read_refs):
        half.add(field)
    return ForeignStatement.model_construct(
        text=text if isinstance(text, str) else _UNREAD, evidence=evidence
    )


def _ref(given: object) -> ForeignRef | str | None:
    if isinstance(given, str):
        return given
    try:
        return ForeignRef.model_validate(given)
    except ValidationError:
        return None


def _omissions(given: object, unread: set[str]) -> list[ForeignOmission]:
    found = []
    for index, item in enumerate(given if isinstance(given, list) else [None]):
        try:
            found.append(ForeignOmission.model_validate(item))
        except ValidationError:
            unread |= {"omissions", f"omissions[{index}]"}
            found.append(ForeignOmission.model_construct(kind="other", text=_UNREAD, covers=[]))
    return found
