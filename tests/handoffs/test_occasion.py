"""Why a handoff is prepared and what was observed: read, supported, kept, never evidence."""

from __future__ import annotations

from typing import Any

import pytest

from handoffs.canonical import content_bytes
from handoffs.errors import RefusedError
from handoffs.models import HostObservation, Reason
from handoffs.occasion import Occasion, parse, unsupported
from handoffs.store import occasions, reading
from importers.base import Usage
from tests.handoffs.setting import Setting
from tests.ledger.making import START

SIZE = HostObservation(source="flag:human", context_tokens=10)
COMPACTED = HostObservation(source="flag:human", compactions=1)


def codes(text: str) -> list[str]:
    return [item.code for item in parse((), [text], None, by="human")[1]]


def test_figures_are_read_as_they_were_given() -> None:
    text = "context_tokens=180000, limit_tokens=200000,compactions=0,age_seconds=7,model=m-1"
    occasion, findings = parse(["delegation"], [text], None, by="agent")
    assert findings == ()
    assert occasion.reasons == (Reason.DELEGATION,)
    assert occasion.observations == (
        HostObservation(
            source="flag:agent",
            model="m-1",
            context_tokens=180_000,
            limit_tokens=200_000,
            compactions=0,
            age_seconds=7,
        ),
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("tokens=5", "field_unknown"),
        ("source=store", "field_unknown"),
        ("context_tokens=many", "value_invalid"),
        ("context_tokens=-5", "value_invalid"),
        ("context_tokens=", "value_invalid"),
        ("context_tokens", "value_invalid"),
        ("context_tokens=٣", "value_invalid"),
        ("context_tokens=9999999999999", "value_invalid"),
        ("context_tokens=5,context_tokens=6", "value_invalid"),
        ("model=", "value_invalid"),
        ("model=a\x1b[31m", "text_control_chars"),
        ("", "value_invalid"),
        (" , ", "value_invalid"),
    ],
)
def test_what_has_no_shape_is_a_finding(text: str, code: str) -> None:
    assert codes(text) == [code]


def test_all_that_is_wrong_is_told_at_once() -> None:
    given = ["tokens=5", "compactions=x"]
    _, findings = parse(["boredom"], given, "\x07", by="human")
    assert [(item.code, item.field) for item in findings] == [
        ("reason_unknown", "reasons[0]"),
        ("field_unknown", "observed[0]"),
        ("value_invalid", "observed[1]"),
        ("text_control_chars", "statement"),
    ]


def test_no_more_observations_are_taken_than_make_sense() -> None:
    occasion, findings = parse((), ["compactions=1"] * 9, None, by="human")
    assert [item.code for item in findings] == ["value_invalid"]
    assert len(occasion.observations) == 8


@pytest.mark.parametrize("reason", ["user_requested", "delegation", "manual_checkpoint"])
def test_some_reasons_need_nothing_more(reason: str) -> None:
    assert unsupported(Occasion(reasons=(Reason(reason),))) == ()


@pytest.mark.parametrize(
    ("reason", "occasion", "code"),
    [
        (Reason.HOST_CONTEXT_BUDGET, Occasion(), "observation_missing"),
        (Reason.HOST_CONTEXT_BUDGET, Occasion(observations=(COMPACTED,)), "observation_missing"),
        (Reason.HOST_CONTEXT_BUDGET, Occasion(observations=(COMPACTED, SIZE)), None),
        (Reason.HOST_COMPACTION, Occasion(observations=(SIZE,)), "observation_missing"),
        (
            Reason.HOST_COMPACTION,
            Occasion(observations=(COMPACTED._replace(compactions=0),)),
            "observation_missing",
        ),
        (Reason.HOST_COMPACTION, Occasion(observations=(COMPACTED,)), None),
        (Reason.CONTEXT_QUALITY, Occasion(observations=(SIZE, COMPACTED)), "statement_missing"),
        (Reason.CONTEXT_QUALITY, Occasion(statement="ada: it repeats itself"), None),
    ],
)
def test_a_reason_of_the_host_rests_on_something(
    reason: Reason, occasion: Occasion, code: str | None
) -> None:
    found = unsupported(occasion._replace(reasons=(Reason.DELEGATION, reason)))
    assert [(item.code, item.field) for item in found] == (
        [] if code is None else [(code, "reasons[1]")]
    )


def test_a_reason_without_support_is_refused_at_the_door_of_the_store(here: Setting) -> None:
    with pytest.raises(RefusedError) as refused:
        here.prepare(here.content(), reasons=(Reason.HOST_COMPACTION,))
    assert refused.value.codes == ("observation_missing",)
    assert reading.open_prepared(here.store, here.workstream) == []


def test_it_is_kept_beside_the_words_and_is_no_part_of_them(here: Setting) -> None:
    plain = here.prepare(here.content()).prepared
    around: dict[str, Any] = {
        "reasons": (Reason.HOST_CONTEXT_BUDGET, Reason.CONTEXT_QUALITY),
        "observations": (SIZE,),
        "statement": "ada: it forgets",
    }
    again = here.prepare(here.content(), **around)
    assert (again.existed, again.prepared.prepared_id) == (True, plain.prepared_id)
    assert content_bytes(again.prepared.content) == content_bytes(plain.content)
    kept = occasions.of_prepared(here.store, plain.prepared_id)
    assert kept is not None
    assert kept.occasion == Occasion(**around)
    assert kept.policy is None


def test_secrets_in_a_statement_are_replaced(here: Setting) -> None:
    secret = "sk-ant-api03-" + "Ab1" * 31
    made = here.prepare(
        here.content(), reasons=(Reason.CONTEXT_QUALITY,), statement=f"ada: {secret}"
    )
    assert secret not in str(made.prepared.statement)
    (row,) = here.store.all("SELECT statement FROM handoff_prepared")
    assert secret not in row["statement"]


def test_more_reasons_are_added_and_newer_figures_replace_older_ones(here: Setting) -> None:
    here.prepare(here.content(), reasons=(Reason.DELEGATION,), observations=(SIZE,))
    newer = SIZE._replace(context_tokens=20)
    other = COMPACTED._replace(source="flag:agent")
    made = here.prepare(
        here.content(), reasons=(Reason.HOST_COMPACTION,), observations=(newer, other)
    )
    assert made.prepared.reasons == (Reason.DELEGATION, Reason.HOST_COMPACTION)
    assert made.prepared.observations == (newer, other)
    assert reading.prepared_value(here.store, made.prepared.prepared_id) == made.prepared


def test_a_draft_keeps_what_was_observed_of_its_sessions(here: Setting) -> None:
    from tests.handoffs.test_drafting import Running, ended

    running = Running(here)
    running.says("please fix `a.py`")
    here.add(Usage(at=START, context_tokens=5, limit_tokens=10))
    ended(running)
    (draft,) = reading.drafts(here.store, here.workstream)
    kept = occasions.of_prepared(here.store, draft.prepared_id)
    assert kept is not None
    (seen,) = kept.occasion.observations
    assert (seen.source, seen.context_tokens) == ("session_store:codex:native-codex", 5)


def test_what_is_gone_is_said_to_be_gone(here: Setting) -> None:
    first = here.committed(here.content()).revision.prepared_id
    for number in range(2):
        here.committed(here.content(words=f"`a{number}.py` rejects bad input"))
    assert occasions.of_prepared(here.store, first) is None
