from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handoffs.canonical import content_digest
from handoffs.errors import RefusedError
from handoffs.facts import Comparison, KnownFacts
from handoffs.models import (
    CheckStatus,
    Content,
    Disposition,
    EvidenceState,
    Finding,
    Omission,
    OmissionKind,
    Severity,
    Statement,
    errors,
    warnings,
)
from handoffs.parsing import parse_content, parse_reasons
from handoffs.validation import (
    findings_of,
    refuse,
    required_omissions,
    validate,
    with_declared_only,
)
from tests.handoffs.contents import check_ref, codes, content, facts, handed, ref, run

PASSED = "All tests passed."


def omission(kind: OmissionKind, *covers: str, **more: object) -> Omission:
    return Omission(kind=kind, text="said", covers=covers, **more)  # type: ignore[arg-type]


def claiming(*evidence: object, text: str = PASSED, **changes: object) -> Content:
    statement = Statement(text=text, evidence=evidence)  # type: ignore[arg-type]
    return content(**{"state": (statement,), **changes})


def test_a_good_handoff_has_no_finding() -> None:
    assert validate(content(), facts()) == ()


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("keep going", ["next_action_empty_wording"]),
        ("Do what we discussed", ["next_action_transcript_reference"]),
        ("See the conversation above", ["next_action_transcript_reference"]),
        ("Improve the robustness of the whole thing", ["next_action_no_anchor"]),
        (
            'Document why "continue above" wording is invalid, then run tests.',
            ["next_action_no_anchor"],
        ),
        ("Continue the parser rewrite in parser.py: handle unterminated strings", []),
    ],
)
def test_the_words_of_the_next_action_are_judged(text: str, expected: list[str]) -> None:
    action = Statement(text=text, evidence=(ref(),))
    found = validate(content(next_action=action), facts())
    assert codes(found) == expected
    assert {item.field for item in found} <= {"next_action"}


def test_a_missing_anchor_is_only_a_warning() -> None:
    found = validate(content(next_action=Statement(text="Fix it all", evidence=(ref(),))), facts())
    assert [item.severity for item in found] == [Severity.WARNING]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("see the conversation above", "state_transcript_reference"),
        ("Continue.", "state_empty_wording"),
    ],
)
def test_the_words_of_a_state_are_judged(text: str, code: str) -> None:
    assert [(f.code, f.field) for f in validate(content("ok in a.py", text), facts())] == [
        (code, "state[1]")
    ]


def test_an_objective_that_came_back_changed_is_refused() -> None:
    found = validate(content(), facts(), expected_objective="Fix the lexer")
    assert codes(found) == ["objective_changed"]
    assert validate(content(), facts(), expected_objective="  Fix parser\n") == ()


# --- evidence -----------------------------------------------------------------------------------


def test_what_is_neither_cited_nor_covered_is_refused() -> None:
    bare = Statement(text="Write lexer.py")
    value = content(state=(bare,), next_action=bare)
    assert codes(validate(value, facts())) == ["state_uncited", "next_action_uncited"]
    covered = dataclasses.replace(
        value, omissions=(omission(OmissionKind.DECLARED_ONLY, "state[0]", "next_action"),)
    )
    assert validate(covered, facts()) == ()


def test_declared_statements_are_covered_by_one_omission() -> None:
    value = with_declared_only(content(state=(Statement(text="a in b.py"),)))
    assert [(item.kind, item.covers) for item in value.omissions] == [
        (OmissionKind.DECLARED_ONLY, ("state[0]",))
    ]
    assert with_declared_only(value) is value
    assert validate(value, facts()) == ()


def test_an_omission_that_covers_declared_statements_is_extended() -> None:
    first = with_declared_only(content(state=(Statement(text="a in b.py"),)))
    more = dataclasses.replace(first, state=(*first.state, Statement(text="c in d.py")))
    assert [item.covers for item in with_declared_only(more).omissions] == [
        ("state[0]", "state[1]")
    ]


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (EvidenceState.CHANGED, "evidence_changed"),
        (EvidenceState.MISSING, "evidence_missing"),
        (EvidenceState.EXPIRED, "evidence_expired"),
        (EvidenceState.UNAUTHORIZED, "evidence_unauthorized"),
        (EvidenceState.WRONG_SCOPE, "evidence_wrong_scope"),
    ],
)
def test_unusable_evidence_is_named_with_its_statement(state: EvidenceState, code: str) -> None:
    bad = ref("ev1-bad")
    value = content(next_action=Statement(text="Open a.py", evidence=(ref(), bad)))
    found = validate(value, facts(states={ref(): EvidenceState.AVAILABLE, bad: state}))
    assert [(item.code, item.field) for item in found] == [(code, "next_action")]
    assert found[0].facts["ref"] == str(bad)


def test_each_statement_that_cites_a_lost_thing_is_named() -> None:
    lost = facts(states={})
    assert [item.field for item in validate(content(), lost)] == [
        *("state[0]", "state[1]", "next_action")
    ]


def test_the_reference_of_an_omission_is_not_checked() -> None:
    value = content(omissions=(omission(OmissionKind.OTHER, ref=ref("gone")),))
    assert validate(value, facts()) == ()


# --- claims -------------------------------------------------------------------------------------


def test_a_claim_with_a_fresh_passing_check_stands() -> None:
    assert validate(claiming(check_ref()), facts(run())) == ()


def test_a_claim_without_evidence_is_refused() -> None:
    value = with_declared_only(claiming())
    assert codes(validate(value, facts())) == ["check_claim_uncited"]


def test_a_claim_that_cites_no_check_is_refused() -> None:
    assert codes(validate(claiming(ref()), facts())) == ["check_claim_wrong_evidence"]


@pytest.mark.parametrize(
    "failed",
    [
        {"status": CheckStatus.FAILED, "exit_code": 1},
        {"status": CheckStatus.UNKNOWN, "exit_code": 1},
        {"status": CheckStatus.PASSED, "exit_code": 0, "failures": 2},
        {"status": CheckStatus.FAILED, "exit_code": 0, "failures": 1},
        {"status": CheckStatus.TIMED_OUT, "exit_code": 124},
    ],
)
def test_a_claim_against_a_failed_check_is_refused(failed: dict[str, Any]) -> None:
    found = validate(claiming(check_ref()), facts(run(**failed)))
    assert codes(found) == ["check_claim_contradicted"]


def test_a_failed_check_beside_a_passed_one_contradicts() -> None:
    other = run("chk-2", command="mypy .", status=CheckStatus.FAILED, exit_code=1, position=20)
    value = claiming(check_ref(), check_ref("chk-2"))
    assert codes(validate(value, facts(run(), other))) == ["check_claim_contradicted"]


def test_a_cited_failure_contradicts_whatever_passed_later() -> None:
    failed = run("chk-2", status=CheckStatus.FAILED, exit_code=1, position=5)
    value = claiming(check_ref(), check_ref("chk-2"))
    assert codes(validate(value, facts(run(), failed))) == ["check_claim_contradicted"]
    assert validate(claiming(check_ref()), facts(run(), failed)) == ()


def test_an_unknown_result_supports_no_claim() -> None:
    unknown = run(status=CheckStatus.UNKNOWN)
    assert codes(validate(claiming(check_ref()), facts(unknown))) == ["check_claim_wrong_evidence"]


def test_a_check_that_is_gone_is_a_finding_about_evidence_only() -> None:
    assert codes(validate(claiming(check_ref()), facts())) == ["evidence_missing"]


def test_a_check_before_the_last_change_is_stale() -> None:
    found = validate(claiming(check_ref()), facts(run(tree=Comparison.CHANGED)))
    assert codes(found) == ["check_claim_stale"]
    assert found[0].severity is Severity.ERROR


def test_an_edit_after_the_check_counts_where_trees_cannot_be_compared() -> None:
    unknown = run(tree=Comparison.UNKNOWN)
    edited = validate(claiming(check_ref()), facts(unknown, last_change=11))
    assert [(item.code, item.severity) for item in edited] == [("check_claim_stale", "E")]
    before = validate(claiming(check_ref()), facts(unknown, last_change=9))
    assert [(item.code, item.severity) for item in before] == [("check_claim_stale", "W")]


def test_a_commit_after_the_check_is_no_change() -> None:
    assert validate(claiming(check_ref()), facts(run(tree=Comparison.SAME), last_change=99)) == ()


def test_a_stale_claim_that_is_covered_is_kept() -> None:
    value = claiming(check_ref(), omissions=(omission(OmissionKind.UNVERIFIED_CHECK, "state[0]"),))
    found = validate(value, facts(run(tree=Comparison.CHANGED)))
    assert [(item.code, item.severity) for item in found] == [("check_claim_stale", "W")]


def test_a_newer_check_is_looked_at_before_an_older_one() -> None:
    old = run("chk-0", position=1, tree=Comparison.CHANGED)
    value = claiming(check_ref("chk-0"), check_ref())
    assert validate(value, facts(old, run())) == ()


def test_every_cited_check_has_to_be_fresh() -> None:
    stale = run("chk-2", command="mypy .", position=5, tree=Comparison.CHANGED)
    value = claiming(check_ref(), check_ref("chk-2"), text="Tests and mypy pass.")
    found = validate(value, facts(run(), stale))
    assert codes(found) == ["check_claim_stale"]
    assert "mypy" in found[0].detail
    unknown = stale._replace(tree=Comparison.UNKNOWN)
    assert [item.severity for item in validate(value, facts(run(), unknown))] == ["W"]


def test_a_text_that_names_failures_claims_nothing() -> None:
    value = claiming(check_ref(), text="pytest: 2 passed, 1 failed")
    assert validate(value, facts(run(status=CheckStatus.FAILED, exit_code=1))) == ()


def test_the_next_action_claims_nothing() -> None:
    action = Statement(text="Tag v1 now that all tests passed", evidence=(ref(),))
    assert validate(content(next_action=action), facts()) == ()


# --- what must be said --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last",
    [
        run(status=CheckStatus.FAILED, exit_code=1),
        run(tree=Comparison.CHANGED),
        run(tree=Comparison.UNKNOWN, position=3),
    ],
)
def test_a_check_that_proves_nothing_must_be_said(last: object) -> None:
    known = facts(last, last_check=last, last_change=4)  # type: ignore[arg-type]
    assert codes(validate(content(), known)) == ["omission_required"]
    cited = content(state=(Statement(text="Look at it in a.py", evidence=(check_ref(),)),))
    assert validate(cited, known) == ()
    said = content(omissions=(omission(OmissionKind.UNVERIFIED_CHECK),))
    assert validate(said, known) == ()
    about_another = content(
        omissions=(omission(OmissionKind.UNVERIFIED_CHECK, ref=check_ref("chk-9")),)
    )
    assert codes(validate(about_another, known)) == ["omission_required"]


def test_a_fresh_passed_check_need_not_be_said() -> None:
    assert validate(content(), facts(run(), last_check=run())) == ()


@pytest.mark.parametrize(
    ("fact", "kind"),
    [
        ("skipped_lines", OmissionKind.UNCAPTURED_CONTEXT),
        ("redactions", OmissionKind.REDACTED),
        ("cut", OmissionKind.EXCLUDED_MATERIAL),
    ],
)
def test_losses_must_be_said(fact: str, kind: OmissionKind) -> None:
    known = facts(**{fact: 2})
    found = validate(content(), known)
    assert [(item.code, item.facts["kind"]) for item in found] == [("omission_required", kind)]
    assert validate(content(omissions=(omission(kind),)), known) == ()


def test_the_launcher_can_say_all_that_must_be_said() -> None:
    last = run(status=CheckStatus.FAILED, exit_code=1, command="x" * 900)
    known = facts(last, last_check=last, skipped_lines=1, redactions=1, cut=1)
    needed = required_omissions(content(), known)
    assert len(needed) == 4
    assert validate(content(omissions=needed), known) == ()


def test_all_findings_come_at_once() -> None:
    value = content(
        state=(Statement(text=PASSED), Statement(text="TBD", evidence=(ref("gone"),))),
        next_action=None,
        objective="",
    )
    assert codes(validate(value, facts(skipped_lines=1))) == [
        *("objective_missing", "next_action_missing", "state_empty_wording", "state_uncited"),
        *("evidence_missing", "check_claim_uncited", "omission_required"),
    ]


def test_a_refusal_carries_every_finding() -> None:
    found = validate(content("TBD", "Continue."), facts())
    with pytest.raises(RefusedError) as caught:
        refuse(found, "no")
    assert caught.value.codes == ("state_empty_wording", "state_empty_wording")
    assert caught.value.exit_code == 65
    assert "state[1]: state_empty_wording" in str(caught.value)


def test_warnings_alone_refuse_nothing() -> None:
    found = validate(content(next_action=Statement(text="Fix it", evidence=(ref(),))), facts())
    assert warnings(found)
    refuse(found, "no")


def test_a_finding_is_one_entry_of_a_json_answer() -> None:
    (found,) = validate(content(next_action=Statement(text="TBD", evidence=(ref(),))), facts())
    assert set(found.value()) >= {"code", "field", "detail", "fix"}
    json.dumps(found.value())


def test_misshapen_input_is_judged_as_far_as_it_can_be_read() -> None:
    raw = {
        "schema": "handoff.v1",
        "objective": "Fix",
        "state": [{"text": "see the chat above"}, {"text": 4}],
        "disposition": "done",
        "extra": 1,
    }
    found = findings_of(parse_content(raw), facts())
    assert {(item.code, item.field) for item in found} == {
        ("field_unknown", "extra"),
        ("disposition_invalid", "disposition"),
        ("text_empty", "state[1]"),
        ("state_transcript_reference", "state[0]"),
    }


def misshapen(**changes: object) -> list[tuple[str, str]]:
    """Codes and fields for a handoff that is good but for the changes."""
    check = {"kind": "check", "id": "chk-1", "digest": check_ref().digest}
    value = {
        "schema": "handoff.v1",
        "objective": "Fix parser",
        "state": [{"text": PASSED, "evidence": [check]}],
        "disposition": "continuable",
        "next_action": {"text": "Open a.py", "evidence": [check]},
        "omissions": [{"kind": "redacted", "text": "a key"}],
        **changes,
    }
    given = {key: item for key, item in value.items() if item is not ...}
    found = findings_of(parse_content(given), facts(run(), redactions=1))
    return [(item.code, item.field) for item in found]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"extra": 1}, [("field_unknown", "extra")]),
        ({"schema": "handoff.v2"}, [("schema_unknown", "schema")]),
        ({"disposition": "Blocked"}, [("disposition_invalid", "disposition")]),
        ({"disposition": ...}, [("disposition_invalid", "disposition")]),
        ({"blocker": "0"}, [("blocker_missing", "blocker")]),
        ({"objective": 5}, [("objective_missing", "objective")]),
        ({"state": ["All is well in a.py"]}, [("text_empty", "state[0]")]),
        ({"next_action": "Open a.py"}, [("next_action_missing", "next_action")]),
        (
            {"omissions": [{"kind": "redacted", "text": "a key", "more": 1}]},
            [("field_unknown", "omissions[0].more")],
        ),
        ({"omissions": [{"kind": "lost", "text": "a"}]}, [("value_invalid", "omissions[0].kind")]),
    ],
)
def test_one_bad_field_is_one_finding(
    changes: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    assert misshapen(**changes) == expected


@pytest.mark.parametrize(
    "evidence",
    [
        [{"kind": "event", "id": "chk-1", "digest": check_ref().digest}],
        [{"kind": "check", "id": "chk-1", "digest": "sha256:12"}],
        [{"kind": "check", "id": "chk 1", "digest": check_ref().digest}],
        [{"kind": "check", "id": "chk-1"}],
        ["e999"],
        [5],
        "chk-1",
        None,
    ],
)
def test_evidence_that_is_none_is_missing_and_no_more_is_made_of_it(evidence: object) -> None:
    found = misshapen(state=[{"text": PASSED, "evidence": evidence}])
    assert found == [("evidence_missing", "state[0]")]
    both = misshapen(state=[{"text": PASSED, "evidence": evidence}], extra=1)
    assert set(both) == {("evidence_missing", "state[0]"), ("field_unknown", "extra")}


def test_a_bad_field_hides_no_other_finding() -> None:
    found = misshapen(
        extra=1,
        state=[{"text": "keep going", "evidence": ["e7"]}, {"text": "a\x01"}, {"text": " "}],
        next_action={"text": "see the chat above"},
        omissions=[],
    )
    assert set(found) == {
        ("field_unknown", "extra"),
        ("evidence_missing", "state[0]"),
        ("state_empty_wording", "state[0]"),
        ("text_control_chars", "state[1]"),
        ("text_empty", "state[2]"),
        ("next_action_transcript_reference", "next_action"),
        ("omission_required", "omissions"),
    }


# --- the table of cases -------------------------------------------------------------------------

CASES = json.loads((Path(__file__).parent / "data" / "handoff-cases.json").read_text())["cases"]
BY_ID = {case["id"]: case for case in CASES}

BASE = {
    "schema": "handoff.v1",
    "objective": "Fix parser",
    "state": [{"text": "Strings work in lexer.py"}],
    "disposition": "continuable",
    "next_action": {"text": "Do comments in lexer.py"},
}


def judged(known: KnownFacts | None = None, **changes: object) -> tuple[Finding, ...]:
    """What the command line's door finds; `...` takes a field out."""
    value = {key: item for key, item in {**BASE, **changes}.items() if item is not ...}
    known = known or facts()
    refs = {item.id: item for item in known.states}
    return findings_of(parse_content(value, resolve=refs.get), known, expected_objective=None)


def cited(text: str, *evidence: str) -> list[dict[str, object]]:
    return [{"text": text, "evidence": list(evidence)}]


def _changed_objective() -> tuple[Finding, ...]:
    return findings_of(parse_content(BASE), facts(), expected_objective="Fix the lexer")


def _failing() -> KnownFacts:
    last = run(status=CheckStatus.FAILED, exit_code=1)
    return facts(last, last_check=last)


def _wrong_scope() -> KnownFacts:
    return facts(states={ref("of-a"): EvidenceState.WRONG_SCOPE})


def action(text: str) -> Callable[[], tuple[Finding, ...]]:
    return lambda: judged(next_action={"text": text})


COVERED: dict[str, Callable[[], tuple[Finding, ...]]] = {
    "objective-changed": _changed_objective,
    "objective-padded": lambda: judged(objective=" Fix parser "),
    "objective-missing": lambda: judged(objective=...),
    "vague-no-anchor": action("Improve the robustness of the whole thing"),
    "vague-5": action("keep going"),
    "vague-6": action("Do what we discussed"),
    "vague-2": action("See the conversation above"),
    "vague-state": lambda: judged(state=cited("see the conversation above")),
    "vague-quoted": action('Document why "continue above" wording is invalid, then run tests.'),
    "tests-cited-old-run": lambda: judged(
        facts(run(tree=Comparison.CHANGED)), state=cited(PASSED, "chk-1")
    ),
    "tests-cited-none": lambda: judged(state=[{"text": PASSED, "basis": "cited"}]),
    "tests-cited-failing-run": lambda: judged(
        facts(run(status=CheckStatus.FAILED, exit_code=1)), state=cited(PASSED, "chk-1")
    ),
    "tests-omitted": lambda: judged(_failing()),
    "tests-declared-with-evidence": lambda: judged(
        state=[{"text": "a in b.py", "evidence": ["ev1-a"], "basis": "declared"}]
    ),
    "ev-missing-finalize": lambda: judged(state=cited("a in b.py", "e999")),
    "ev-omission-missing": lambda: judged(
        omissions=[{"kind": "other", "text": "the log", "ref": "e999"}]
    ),
    "ev-changed": lambda: judged(
        facts(states={ref(): EvidenceState.CHANGED}), state=cited("a in b.py", "ev1-a")
    ),
    "scope-evidence": lambda: judged(_wrong_scope(), state=cited("a in b.py", "of-a")),
    "disp-continuable-absent": lambda: judged(next_action=...),
    "disp-continuable-present": judged,
    "disp-done-absent": lambda: judged(disposition="done", next_action=...),
    "disp-blocked-present": lambda: judged(disposition="blocked", blocker=0),
    "disp-complete-present": lambda: judged(disposition="complete"),
    "limit-text": lambda: judged(state=cited("x" * 8193)),
    "shape-surrogate": lambda: judged(state=cited("a\udc80b")),
    "limit-dup-evidence": lambda: judged(state=cited("a in b.py", "ev1-a", "ev1-a")),
    "limit-state": lambda: judged(state=cited("a in b.py") * 65),
    "reason-unknown": lambda: parse_reasons(["boredom"])[1],
    "reason-dup": lambda: parse_reasons(["delegation", "delegation"])[1],
    "shape-version": lambda: judged(schema="handoff.v9"),
    "model-no-state": lambda: judged(state=[]),
    "model-unknown-ref": lambda: judged(state=cited("a in b.py", "made-up")),
}


@pytest.mark.parametrize("name", sorted(COVERED))
def test_case(name: str) -> None:
    expected = BY_ID[name]["expect"]
    found = COVERED[name]()
    assert sorted(codes(found)) == sorted(expected["codes"])
    refused = expected["outcome"].startswith("reject") or name == "ev-changed"
    assert bool(errors(found)) == refused


def test_a_case_that_is_ok_gives_the_same_digest_on_every_surface() -> None:
    padded = parse_content({**BASE, "objective": " Fix parser "}).content
    plain = parse_content(BASE).content
    assert padded is not None
    assert plain is not None
    assert content_digest(padded) == content_digest(plain) == handed(plain).content_digest
    assert plain.disposition is Disposition.CONTINUABLE
