from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from handoffs.models import (
    Basis,
    Confirmation,
    LiveChecks,
    Omission,
    OmissionKind,
    RefKind,
    Statement,
    covered_index,
    is_digest,
    is_ref_id,
    normalized,
)
from handoffs.parsing import parse_content, parse_reasons
from tests.handoffs.contents import check_ref, codes, content, ref, sha


def given(**changes: object) -> dict[str, object]:
    value: dict[str, object] = {
        "schema": "handoff.v1",
        "objective": "Fix parser",
        "state": [{"text": "Strings work in lexer.py", "evidence": []}],
        "disposition": "continuable",
        "next_action": {"text": "Do comments in lexer.py", "evidence": []},
        "blocker": None,
        "omissions": [],
    }
    return {key: item for key, item in {**value, **changes}.items() if item is not ...}


def test_text_is_trimmed_and_composed_whatever_door_it_comes_in_by() -> None:
    assert Statement(text=" \u00a0e\u0301\n ").text == "\u00e9"
    assert content(objective=" Fix parser ").objective == "Fix parser"
    parsed = parse_content(given(objective=" Fix parser "))
    assert parsed.content is not None
    assert (parsed.content.objective, parsed.findings) == ("Fix parser", ())


def test_trimming_does_not_swallow_control_characters() -> None:
    assert normalized("\x1fa\x85") == "\x1fa\x85"


def test_evidence_is_sorted_and_without_repetition() -> None:
    refs = (ref("b"), check_ref("z"), ref("a"), ref("b"))
    assert Statement(text="x", evidence=refs).evidence == (check_ref("z"), ref("a"), ref("b"))


def test_the_basis_follows_the_evidence() -> None:
    assert Statement(text="x").basis is Basis.DECLARED
    assert Statement(text="x", evidence=(ref(),)).basis is Basis.CITED


def test_a_given_basis_is_not_believed() -> None:
    state = [{"text": "Strings work", "evidence": [], "basis": "cited"}]
    parsed = parse_content(given(state=state))
    assert parsed.content is not None
    assert parsed.content.state[0].basis is Basis.DECLARED


def test_covered_fields_are_in_reading_order() -> None:
    covers = ("next_action", "state[10]", "state[2]", "state[2]")
    omission = Omission(kind=OmissionKind.OTHER, text="x", covers=covers)
    assert omission.covers == ("state[2]", "state[10]", "next_action")


@pytest.mark.parametrize("name", ["state[01]", "state[-1]", "state", "objective", "state[1] "])
def test_other_names_are_no_covered_field(name: str) -> None:
    assert covered_index(name) is None


def test_values_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ref().id = "other"  # type: ignore[misc]


def test_ids_and_digests_have_one_form() -> None:
    assert is_digest(sha("a"))
    assert not is_digest(sha("a").upper())
    assert not is_digest(sha("a") + "\n")
    assert is_ref_id("~" * 200)
    assert not any(is_ref_id(bad) for bad in ("", "a b", "é", "a\n", "~" * 201))


def test_only_three_confirmations_confirm() -> None:
    yes = Confirmation.CONFIRMED
    assert LiveChecks(live_state=yes, capability=yes, authorization=yes).confirmed
    assert not LiveChecks(live_state=yes, capability=yes).confirmed


# --- foreign JSON -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"objective": ...}, ["objective_missing"]),
        ({"objective": 3}, ["objective_missing"]),
        ({"objective": "  "}, ["objective_missing"]),
        ({"schema": "handoff.v9"}, ["schema_unknown"]),
        ({"schema": ...}, ["schema_unknown"]),
        ({"state": ...}, ["state_missing"]),
        ({"state": []}, ["state_missing"]),
        ({"state": "done"}, ["state_missing"]),
        ({"state": [{"evidence": []}]}, ["text_empty"]),
        ({"state": [{"text": " "}]}, ["text_empty"]),
        ({"state": [{"text": "a\ud800"}]}, ["text_not_utf8"]),
        ({"state": [{"text": "a\x1b[2J"}]}, ["text_control_chars"]),
        ({"state": [{"text": "a\u202eb"}]}, ["text_control_chars"]),
        ({"state": [{"text": "a\x00b"}]}, ["text_control_chars"]),
        ({"state": [{"text": "x" * 2001}]}, ["text_too_long"]),
        ({"state": [{"text": "x"}] * 33}, ["state_too_many"]),
        ({"objective": "x" * 2001}, ["objective_too_long"]),
        ({"disposition": "done"}, ["disposition_invalid"]),
        ({"disposition": "done", "next_action": None}, ["disposition_invalid"]),
        ({"disposition": ...}, ["disposition_invalid"]),
        ({"next_action": None}, ["next_action_missing"]),
        ({"disposition": "blocked"}, ["blocker_missing"]),
        ({"disposition": "blocked", "blocker": 1}, ["blocker_missing"]),
        ({"disposition": "blocked", "blocker": "0"}, ["blocker_missing"]),
        ({"blocker": 0}, ["blocker_unexpected"]),
        ({"mood": "good"}, ["field_unknown"]),
        ({"state": [{"text": "a b", "mood": 1}]}, ["field_unknown"]),
        ({"omissions": [{"kind": "sloth", "text": "x"}]}, ["value_invalid"]),
        ({"omissions": [{"kind": "other", "text": "x" * 501}]}, ["text_too_long"]),
        (
            {"omissions": [{"kind": "other", "text": "x", "covers": ["state[7]"]}]},
            ["value_invalid"],
        ),
        ({"state": [{"text": "x" * 2000}] * 7}, ["content_too_large"]),
        ({"state": [{"text": "a", "evidence": ["e9"]}]}, ["evidence_missing"]),
        (
            {"state": [{"text": "a", "evidence": [{"kind": "check", "id": "x"}]}]},
            ["evidence_missing"],
        ),
    ],
)
def test_a_misshapen_content_is_named(changes: dict[str, object], expected: list[str]) -> None:
    assert codes(parse_content(given(**changes)).findings) == expected


@pytest.mark.parametrize(
    ("length", "expected"), [(2000, []), (2001, ["text_too_long"]), (8193, ["text_too_long"])]
)
def test_the_limit_of_a_text_is_exact(length: int, expected: list[str]) -> None:
    parsed = parse_content(given(state=[{"text": "x" * length}]))
    assert codes(parsed.findings) == expected


def test_all_findings_come_at_once_with_their_places() -> None:
    found = parse_content(
        given(
            objective="x" * 3000,
            mood=1,
            state=[{"text": ""}, {"text": "a\x07"}, {"words": "b"}],
            disposition="done",
        )
    ).findings
    assert {(item.code, item.field) for item in found} == {
        ("objective_too_long", "objective"),
        ("field_unknown", "mood"),
        ("text_empty", "state[0]"),
        ("text_control_chars", "state[1]"),
        ("text_empty", "state[2]"),
        ("field_unknown", "state[2].words"),
        ("disposition_invalid", "disposition"),
    }
    assert all(item.detail and item.fix for item in found)


def test_seventeen_references_are_too_many() -> None:
    evidence = [{"kind": "ledger", "id": f"e{n}", "digest": sha(str(n))} for n in range(17)]
    state = [{"text": "a b", "evidence": evidence}]
    assert codes(parse_content(given(state=state)).findings) == ["evidence_too_many"]
    repeated = [{"text": "a b", "evidence": evidence[:16] + evidence[:9]}]
    assert parse_content(given(state=repeated)).findings == ()


def test_short_references_are_resolved() -> None:
    state = [{"text": "a b", "evidence": [" e15 "]}]
    known = {"e15": ref("ev1-15")}
    parsed = parse_content(given(state=state), resolve=known.get)
    assert parsed.content is not None
    assert parsed.content.state[0].evidence == (ref("ev1-15"),)


def test_an_omission_may_name_what_cannot_be_resolved() -> None:
    omissions = [{"kind": "unavailable_evidence", "text": "the log is gone", "ref": "e99"}]
    parsed = parse_content(given(omissions=omissions), resolve=lambda _: None)
    assert parsed.findings == ()
    assert parsed.content is not None
    cited = parsed.content.omissions[0].ref
    assert cited is not None
    assert (cited.kind, cited.id) == (RefKind.LEDGER, "e99")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"\xff\xfe", "text_not_utf8"),
        (b"{", "value_invalid"),
        (b"[]", "value_invalid"),
        (b"null", "value_invalid"),
        (b"[" * 100_000, "value_invalid"),
        (b'{"schema":1,"schema":2}', "value_invalid"),
        (b" " * 600_000, "content_too_large"),
        (b'{"blocker":' + b"9" * 5000 + b"}", "value_invalid"),
    ],
)
def test_input_that_is_no_json_object_is_a_finding(raw: bytes, expected: str) -> None:
    parsed = parse_content(raw)
    assert (parsed.content, codes(parsed.findings)) == (None, [expected])


def test_reasons_are_known_words_once_each() -> None:
    known, findings = parse_reasons(["delegation", "user_requested", "delegation", "boredom"])
    assert known == ("delegation", "user_requested")
    assert [(item.code, item.field) for item in findings] == [("reason_unknown", "reasons[3]")]


def test_pydantic_is_imported_only_for_foreign_json() -> None:
    program = (
        "import sys, handoffs.validation, handoffs.rendering, handoffs.markdown, handoffs.stored\n"
        "assert 'pydantic' not in sys.modules, 'too early'\n"
        "from handoffs.parsing import parse_content; parse_content(b'{}')\n"
        "assert 'pydantic' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
