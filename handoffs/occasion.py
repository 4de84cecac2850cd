"""Why a handoff is prepared, and what was observed of its session: outside the content.

`user_requested`, `delegation` and `manual_checkpoint` need nothing more. The others are about the
host, and are refused without what they rest on:

- `host_context_budget` without an observation of the context's size, and `host_compaction` without
  one of a compaction: `observation_missing`;
- `context_quality` without a statement of who says so: `statement_missing`.

An observation is what a harness recorded, or what somebody gave by hand; it is untrusted, kept
beside the words, and never evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from handoffs.models import MAX_OMISSION_TEXT, Finding, HostObservation, Reason, normalized
from handoffs.parsing import parse_reasons
from handoffs.shape import character_findings, invalid, text_findings
from ledger.redaction import scrub

BY_HAND: Final = "flag:"
"""How the source of an observation begins that somebody gave; who it was follows."""
FROM_STORE: Final = "session_store:"
"""How the source of one begins that a harness recorded; entry and native id follow."""
MAX_MODEL: Final = 200
MAX_BY_HAND: Final = 8
NUMBERS: Final = ("context_tokens", "limit_tokens", "compactions", "age_seconds")
_NUMBER: Final = re.compile(r"[0-9]{1,12}")


class Occasion(NamedTuple):
    """Why, who says so, and what was observed."""

    reasons: tuple[Reason, ...] = ()
    statement: str | None = None
    """Who says that the context got bad, and why."""
    observations: tuple[HostObservation, ...] = ()


def parse(
    words: Iterable[str], observed: Iterable[str], statement: str | None, *, by: str
) -> tuple[Occasion, tuple[Finding, ...]]:
    """Return what was given by hand, and everything that is wrong with its shape.

    `observed` are lists such as `context_tokens=180000,limit_tokens=200000,model=M`; `by` is who
    gave them. What a reason rests on is not looked at here, see `unsupported`.
    """
    reasons, findings = parse_reasons(words)
    found = list(findings)
    given = list(observed)
    if len(given) > MAX_BY_HAND:
        found.append(invalid("observed", f"{len(given)} observations, {MAX_BY_HAND} are allowed"))
    observations = [
        _observation(f"observed[{index}]", text, by, found)
        for index, text in enumerate(given[:MAX_BY_HAND])
    ]
    said = None if statement is None else normalized(statement)
    if said is not None:
        found += text_findings(said, "statement", MAX_OMISSION_TEXT)
    return Occasion(reasons, said, tuple(observations)), tuple(found)


def unsupported(occasion: Occasion) -> tuple[Finding, ...]:
    """Return a finding for each reason that nothing here supports."""
    found = []
    for index, reason in enumerate(occasion.reasons):
        field = f"reasons[{index}]"
        rests_on = _RESTS_ON.get(reason)
        if reason is Reason.CONTEXT_QUALITY and not occasion.statement:
            found.append(
                Finding(
                    code="statement_missing",
                    field=field,
                    detail="nobody is named who says that the context got bad",
                    fix='Say who and why: --said-by "WHO: WHY"',
                )
            )
        elif rests_on is not None and not any(map(rests_on.holds, occasion.observations)):
            found.append(
                Finding(
                    code="observation_missing",
                    field=field,
                    detail=f"no observation {rests_on.says}",
                    fix=f"Give what the harness shows: --observed {rests_on.example};"
                    " or choose another reason, such as user_requested",
                )
            )
    return tuple(found)


class _RestsOn(NamedTuple):
    holds: Callable[[HostObservation], bool]
    says: str
    example: str


_RESTS_ON: Final = {
    Reason.HOST_CONTEXT_BUDGET: _RestsOn(
        lambda item: bool(item.context_tokens),
        "tells the size of the context",
        "context_tokens=N,limit_tokens=N",
    ),
    Reason.HOST_COMPACTION: _RestsOn(
        lambda item: bool(item.compactions),
        "tells of a compaction",
        "compactions=N",
    ),
}


def _observation(field: str, text: str, by: str, findings: list[Finding]) -> HostObservation:
    values: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if name in values:
            findings.append(invalid(field, f"{name} is given twice", "Give it once"))
        elif name == "model":
            findings += _model(field, value)
            values[name] = scrub(value).text
        elif name not in NUMBERS:
            findings.append(_unknown(field, name))
        elif _NUMBER.fullmatch(value) is None:
            findings.append(
                invalid(field, f"{name} is a whole number", f"Give {name}=N, digits only")
            )
        else:
            values[name] = int(value)
    if not values and not any(item.field == field for item in findings):
        findings.append(invalid(field, "it says nothing", "Give context_tokens=N or compactions=N"))
    return HostObservation(source=BY_HAND + by, **values)


def _model(field: str, value: str) -> Iterable[Finding]:
    if not 0 < len(value) <= MAX_MODEL:
        yield invalid(field, f"model is a name of 1 to {MAX_MODEL} characters")
    yield from character_findings(value, field)


def _unknown(field: str, name: str) -> Finding:
    return Finding(
        code="field_unknown",
        field=field,
        detail=f"{name[:80]!r} is nothing that is observed",
        fix=f"Use {', '.join(('model', *NUMBERS))}",
    )
