"""Is a handoff true to what the ledger knows? Every finding, with its place and what to do.

E refuses, at prepare and again at commit; W is kept and shown to the person and to the receiver.
Nothing here writes or reads a database: what the ledger knows comes as `Facts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from handoffs.canonical import text_digest
from handoffs.errors import RefusedError
from handoffs.facts import CheckFact, Comparison, Facts, changed_since
from handoffs.models import (
    MAX_OMISSION_TEXT,
    NEXT_ACTION,
    OBJECTIVE,
    CheckStatus,
    Content,
    EvidenceState,
    Finding,
    Omission,
    OmissionKind,
    Ref,
    RefKind,
    Severity,
    Statement,
    errors,
    normalized,
)
from handoffs.parsing import Parsed, merged
from handoffs.shape import shape_findings

__all__ = [
    "findings_of",
    "refuse",
    "required_omissions",
    "shape_findings",
    "validate",
    "with_declared_only",
]

DECLARED_TEXT: Final = "Said by the author; nothing in the ledger was cited for it."
_SHOWN_COMMAND: Final = 120


def validate(
    content: Content, facts: Facts, *, expected_objective: str | None = None
) -> tuple[Finding, ...]:
    """Return all findings, shape first, then statement by statement, then what must be said.

    `expected_objective`: the caller's own words, which a draft must bring back unchanged.
    """
    return (
        *shape_findings(content),
        *_objective_changed(content, expected_objective),
        *_vague(content),
        *_uncited(content),
        *_evidence(content, facts),
        *_claims(content, facts),
        *_unsaid(content, facts),
    )


def findings_of(
    parsed: Parsed, facts: Facts, *, expected_objective: str | None = None
) -> tuple[Finding, ...]:
    """Return all findings about something parsed, also where it has no proper shape.

    For the door of the command line and of a model: with `declared_only` added first, so that
    what nothing is cited for is no finding.
    """
    found = parsed.content or parsed.partial
    if found is None:
        return parsed.findings
    content = with_declared_only(found)
    more = validate(content, facts, expected_objective=expected_objective)
    found_all = merged(parsed.findings, more, parsed.unread, parsed.half_cited)
    if parsed.content is None:
        return found_all
    return (*found_all, *(item for item in more if item.severity is Severity.WARNING))


def refuse(findings: Sequence[Finding], message: str) -> None:
    """Raise RefusedError with all findings when one of them is an error."""
    if errors(findings):
        raise RefusedError(message, findings)


def with_declared_only(content: Content) -> Content:
    """Return the content with one `declared_only` omission for what nothing is cited for.

    Unchanged when every statement is cited or covered. An omission of that kind that covers
    nothing yet is used instead of a new one.
    """
    open_fields = tuple(
        name
        for name, item in content.statements
        if not item.evidence and not _covers(content, name)
    )
    if not open_fields:
        return content
    omissions = list(content.omissions)
    for index, omission in enumerate(omissions):
        if omission.kind is OmissionKind.DECLARED_ONLY:
            omissions[index] = replace(omission, covers=(*omission.covers, *open_fields))
            return replace(content, omissions=tuple(omissions))
    added = Omission(kind=OmissionKind.DECLARED_ONLY, text=DECLARED_TEXT, covers=open_fields)
    return replace(content, omissions=(*omissions, added))


def required_omissions(content: Content, facts: Facts) -> tuple[Omission, ...]:
    """Return the omissions that the ledger asks for and the content does not have."""
    return tuple(omission for omission, _ in _needed(content, facts))


# --- words --------------------------------------------------------------------------------------


def _objective_changed(content: Content, expected: str | None) -> Iterator[Finding]:
    if expected is None or not content.objective:
        return
    if text_digest(content.objective) != text_digest(normalized(expected)):
        yield Finding(
            code="objective_changed",
            field=OBJECTIVE,
            detail="the objective is not the one that was given",
            fix="Bring back the objective word for word; put what you think of it into state",
        )


_FIX: Final = {
    "transcript_reference": "Say here what was said there: the receiver has no conversation",
    "empty_wording": "Say what exactly: which file, command, or thing",
}
_SAYS: Final = {
    "transcript_reference": "it sends the reader to a conversation",
    "empty_wording": "it says only that something goes on",
}


def _vague(content: Content) -> Iterator[Finding]:
    from handoffs.text_rules import has_anchor, vague  # many patterns: not part of every finish

    for field, statement in content.statements:
        if not statement.text:
            continue
        reason = vague(statement.text)
        owner = NEXT_ACTION if field == NEXT_ACTION else "state"
        if reason is not None:
            yield Finding(
                code=f"{owner}_{reason.value}",
                field=field,
                detail=_SAYS[reason.value],
                fix=_FIX[reason.value],
            )
        elif field == NEXT_ACTION and not has_anchor(statement.text):
            yield Finding(
                code="next_action_no_anchor",
                field=field,
                detail="it names no path, command, identifier or number",
                fix="Name the file, command or thing to begin with",
                severity=Severity.WARNING,
            )


# --- evidence -----------------------------------------------------------------------------------


def _covers(content: Content, field: str, kind: OmissionKind | None = None) -> bool:
    return any(
        field in omission.covers and kind in (None, omission.kind) for omission in content.omissions
    )


def _uncited(content: Content) -> Iterator[Finding]:
    for field, statement in content.statements:
        if statement.evidence or _covers(content, field):
            continue
        owner = NEXT_ACTION if field == NEXT_ACTION else "state"
        yield Finding(
            code=f"{owner}_uncited",
            field=field,
            detail="nothing is cited for it and no omission covers it",
            fix="Cite an event, check, commit or file, or add an omission that covers it",
        )


_GONE: Final = {
    EvidenceState.CHANGED: ("evidence_changed", "is not what it was when it was cited"),
    EvidenceState.MISSING: ("evidence_missing", "is not in the ledger"),
    EvidenceState.EXPIRED: ("evidence_expired", "was removed by retention or forget"),
    EvidenceState.UNAUTHORIZED: ("evidence_unauthorized", "may not be read here"),
    EvidenceState.WRONG_SCOPE: ("evidence_wrong_scope", "belongs to another workstream"),
}


def _evidence(content: Content, facts: Facts) -> Iterator[Finding]:
    known: dict[Ref, EvidenceState] = {}
    for field, statement in content.statements:
        for ref in statement.evidence:
            if ref not in known:
                known[ref] = facts.evidence(ref)
            if known[ref] is EvidenceState.AVAILABLE:
                continue
            code, says = _GONE[known[ref]]
            yield Finding(
                code=code,
                field=field,
                detail=f"{ref.kind.value} {ref.id} {says}",
                fix="Cite it anew, cite something else, or take the reference out",
                facts={"ref": str(ref)},
            )


# --- claims of passed checks --------------------------------------------------------------------


def _claims(content: Content, facts: Facts) -> Iterator[Finding]:
    from handoffs.text_rules import claims_pass

    for field, statement in content.statements:
        if field != NEXT_ACTION and claims_pass(statement.text):
            finding = _claim(content, field, statement, facts)
            if finding is not None:
                yield finding


def _claim(content: Content, field: str, statement: Statement, facts: Facts) -> Finding | None:
    cited = [ref for ref in statement.evidence if ref.kind is RefKind.CHECK]
    if not statement.evidence:
        return _check_finding("uncited", field, "it says that a check passed and cites none")
    if not cited:
        return _check_finding("wrong_evidence", field, "what it cites is not a check")
    runs = [run for ref in cited if (run := facts.check(ref)) is not None]
    if not runs:
        return None  # a finding about the evidence says why
    failed = next((run for run in runs if has_failed(run)), None)
    if failed is not None:
        return _check_finding("contradicted", field, f"{_named(failed)} {_failure(failed)}")
    passed = [run for run in runs if run.status is CheckStatus.PASSED]
    if not passed:
        return _check_finding(
            "wrong_evidence", field, f"the result of {_named(runs[0])} is not known"
        )
    stale = (_stale(content, field, run, facts) for run in _newest_of_each(passed))
    found = [finding for finding in stale if finding is not None]
    return min(found, key=lambda item: item.severity, default=None)


def _newest_of_each(runs: Sequence[CheckFact]) -> list[CheckFact]:
    """Return the newest run of each command: the older ones say nothing more."""
    newest = {" ".join(run.command.split()): run for run in sorted(runs, key=_when)}
    return list(newest.values())


def _when(run: CheckFact) -> int:
    return run.position


def has_failed(run: CheckFact) -> bool:
    """Tell whether a run counts as failed: by its status, exit code or failing count."""
    if run.status is CheckStatus.PASSED:
        return bool(run.failures)
    return (
        run.status in (CheckStatus.FAILED, CheckStatus.TIMED_OUT)
        or run.exit_code not in (None, 0)
        or bool(run.failures)
    )


def _stale(content: Content, field: str, run: CheckFact, facts: Facts) -> Finding | None:
    change = changed_since(run, facts.last_change)
    if change is Comparison.SAME:
        return None
    if change is Comparison.UNKNOWN:
        detail = f"it cannot be told whether files changed after {_named(run)}"
    else:
        detail = f"files changed after {_named(run)}"
    covered = _covers(content, field, OmissionKind.UNVERIFIED_CHECK)
    mild = covered or change is Comparison.UNKNOWN
    return _check_finding("stale", field, detail, Severity.WARNING if mild else Severity.ERROR)


_CHECK_FIX: Final = {
    "uncited": "Cite the run, or say only what you know: `handoff check -- COMMAND` records one",
    "wrong_evidence": "Cite a run with a known result: `handoff check -- COMMAND` records one",
    "contradicted": "Say that it failed, or cite the run that passed",
    "stale": "Run it again, or add an omission unverified_check that covers the statement",
}


def _check_finding(
    sort: str, field: str, detail: str, severity: Severity = Severity.ERROR
) -> Finding:
    return Finding(
        code=f"check_claim_{sort}",
        field=field,
        detail=detail,
        fix=_CHECK_FIX[sort],
        severity=severity,
    )


def _named(run: CheckFact) -> str:
    command = (
        run.command if len(run.command) <= _SHOWN_COMMAND else run.command[:_SHOWN_COMMAND] + "…"
    )
    return f"check {run.id} ({command})"


def _failure(run: CheckFact) -> str:
    if run.failures:
        return f"had {run.failures} failing"
    return "failed" if run.exit_code is None else f"ended with exit code {run.exit_code}"


# --- what must be said --------------------------------------------------------------------------


def _unsaid(content: Content, facts: Facts) -> Iterator[Finding]:
    for omission, why in _needed(content, facts):
        yield Finding(
            code="omission_required",
            field="omissions",
            detail=why,
            fix=f"Add an omission of kind {omission.kind.value}"
            + (", or cite the check" if omission.kind is OmissionKind.UNVERIFIED_CHECK else ""),
            facts={"kind": omission.kind.value},
        )


def _needed(content: Content, facts: Facts) -> Iterator[tuple[Omission, str]]:
    kinds = {omission.kind for omission in content.omissions}
    run = facts.last_check
    why = None if run is None else _unverified(run, facts)
    if run is not None and why is not None and not _mentions(content, run):
        yield Omission(kind=OmissionKind.UNVERIFIED_CHECK, text=_short(why)), why
    counted = (
        (
            facts.skipped_lines,
            OmissionKind.UNCAPTURED_CONTEXT,
            "lines of a session store could not be read",
        ),
        (facts.redactions, OmissionKind.REDACTED, "secrets were replaced"),
        (
            facts.cut,
            OmissionKind.EXCLUDED_MATERIAL,
            "events or statements were left out for the budget",
        ),
    )
    for number, kind, what in counted:
        if number and kind not in kinds:
            why = f"{what}: {number:,}"
            yield Omission(kind=kind, text=why), why


def _unverified(run: CheckFact, facts: Facts) -> str | None:
    if has_failed(run):
        return f"the last check failed: {_named(run)} {_failure(run)}"
    if changed_since(run, facts.last_change) is Comparison.CHANGED:
        return f"the last check is older than the last change: {_named(run)}"
    return None


def _mentions(content: Content, run: CheckFact) -> bool:
    """Tell whether a check is cited, or left unverified in so many words."""
    if any(ref.kind is RefKind.CHECK and ref.id == run.id for ref in content.refs):
        return True
    return any(
        omission.kind is OmissionKind.UNVERIFIED_CHECK
        and (
            omission.ref is None
            or omission.ref.kind is not RefKind.CHECK
            or omission.ref.id == run.id
        )
        for omission in content.omissions
    )


def _short(text: str) -> str:
    return text if len(text) <= MAX_OMISSION_TEXT else text[: MAX_OMISSION_TEXT - 1] + "…"
