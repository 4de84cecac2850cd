"""The situations of the table that need a store, each by its id."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from handoffs.errors import HeadConflictError, RefusedError
from handoffs.models import (
    ActorKind,
    Author,
    Confirmation,
    LiveChecks,
    Outcome,
    OutcomeStatus,
    Reason,
    ReceiptStatus,
    Statement,
)
from handoffs.store import answering, committing, reading, receiving
from handoffs.store.answering import Answer
from ledger import forget, workstreams
from ledger.store import Store
from tests.handoffs.setting import ALL_CONFIRMED, PERSON, Setting
from tests.ledger.making import SetClock

CASES = json.loads((Path(__file__).parent / "data" / "handoff-cases.json").read_text())["cases"]
BY_ID = {case["id"]: case for case in CASES}

Codes = list[str]


def tick(here: Setting) -> None:
    assert isinstance(here.store.clock, SetClock)
    here.store.clock.now += 1000


def answer(
    here: Setting,
    name: str,
    status: ReceiptStatus = ReceiptStatus.ACCEPTED,
    *,
    key: str = "k1",
    checks: LiveChecks | None = ALL_CONFIRMED,
    message: str | None = None,
) -> None:
    received = receiving.receive(here.store, here.workstream, name, here.tree)
    assert received is not None
    answering.acknowledge(
        here.store,
        here.workstream,
        received,
        Answer(
            receipt_key=key,
            receiver=PERSON,
            session=None,
            status=status,
            checks=checks if status is ReceiptStatus.ACCEPTED else None,
            message=message,
            exact=name != "latest",
        ),
        holder=here.holder,
    )


def outcome(here: Setting, key: str | None, status: OutcomeStatus) -> None:
    value = Outcome(outcome_key="o1", receipt_key=key, status=status, summary="told")
    answering.record_outcome(here.store, here.workstream, value, PERSON, holder=here.holder)


def two(here: Setting) -> tuple[object, object]:
    return here.prepare(here.content()), here.prepare(here.content(words="`b.py` is new"))


def valid_loop(here: Setting) -> Codes:
    here.committed(here.content(here.says("please fix a.py")))
    answer(here, "r1")
    outcome(here, "k1", OutcomeStatus.COMPLETED)
    return []


def continue_empty(here: Setting) -> Codes:
    assert receiving.receive(here.store, here.workstream, "latest", here.tree) is None
    return ["no_handoff"]


def cas_stale(here: Setting) -> Codes:
    one, other = two(here)
    here.commit(one)
    here.commit(other)
    return []


def cas_rebase(here: Setting) -> Codes:
    one, other = two(here)
    here.commit(one)
    with pytest.raises(HeadConflictError):
        here.commit(other)
    assert here.committed(here.content(words="`b.py` is new")).revision.revision == 2
    return []


def idem_same(here: Setting) -> Codes:
    one = here.prepare(here.content())
    here.commit(one)
    return [str(here.commit(one).state)]


def idem_after_other(here: Setting) -> Codes:
    one = here.prepare(here.content())
    here.commit(one)
    here.committed(here.content(words="`b.py` is new"))
    again = here.commit(one)
    assert (again.revision.revision, again.is_head) == (1, False)
    return [str(again.state)]


def idem_new_boundary(here: Setting) -> Codes:
    here.committed(here.content())
    tick(here)
    agent = Author(kind=ActorKind.AGENT, session="another", harness="claude")
    return [str(here.commit(here.prepare(here.content(), author=agent)).state)]


def idem_reason_only(here: Setting) -> Codes:
    here.committed(here.content())
    again = here.prepare(here.content(), reasons=(Reason.DELEGATION,))
    return [str(here.commit(again).state)]


def _lost(here: Setting) -> None:
    asked = here.says("please fix a.py")
    ref = here.ref(asked)
    here.committed(here.content(asked, next_action=Statement(text="Add `t.py`")))
    forget.forget(here.store, events=[ref.id], who="ada")


def ev_deleted(here: Setting) -> Codes:
    _lost(here)
    received = receiving.receive(here.store, here.workstream, "latest", here.tree)
    assert received is not None
    states = {item.field: str(item.state) for item in received.evidence}
    assert states == {"state[0]": "available", "state[1]": "expired", "next_action": "available"}
    return []


def ev_missing_clarify(here: Setting) -> Codes:
    _lost(here)
    answer(here, "r1", ReceiptStatus.NEEDS_CLARIFICATION, message="where is it")
    return []


def scope_prepared(here: Setting) -> Codes:
    value = here.prepare(here.content()).prepared
    other = workstreams.create(here.store, here.workstream.repository, "other")
    committing.commit(here.store, other, value, here.facts(), PERSON, holder=here.holder)
    return []


def scope_relabel(here: Setting) -> Codes:
    value = here.prepare(here.content()).prepared
    other = workstreams.create(here.store, here.workstream.repository, "other")
    relabelled = value._replace(scope_id=other.uid)
    committing.commit(here.store, other, relabelled, here.facts(), PERSON, holder=here.holder)
    return []


def ack_two(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1")
    answer(here, "r1", key="k2")
    return []


def ack_no_message(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1", ReceiptStatus.NEEDS_CLARIFICATION)
    return []


def ack_latest(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "latest")
    return []


def ack_after_decline(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1", ReceiptStatus.DECLINED, message="not now")
    answer(here, "r1", key="k2")
    return []


def _with(confirmation: Confirmation) -> Callable[[Setting], Codes]:
    def case(here: Setting) -> Codes:
        here.committed(here.content())
        answer(here, "r1", checks=ALL_CONFIRMED._replace(live_state=confirmation))
        return []

    return case


def ack_superseded(here: Setting) -> Codes:
    here.committed(here.content())
    here.committed(here.content(words="`b.py` is new"))
    answer(here, "r1")
    return []


def outcome_failed(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1")
    outcome(here, "k1", OutcomeStatus.FAILED)
    return []


def outcome_declined(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1", ReceiptStatus.DECLINED, message="no")
    outcome(here, "k1", OutcomeStatus.COMPLETED)
    return []


def secret(here: Setting) -> Codes:
    token = "ghp_" + "a1B2" * 9
    content = here.prepare(here.content(words=f"`.env` has {token}")).prepared.content
    assert token not in str(content)
    assert [str(item.kind) for item in content.omissions].count("redacted") == 1
    return []


def recover_loop(here: Setting) -> Codes:
    here.committed(here.content())
    answer(here, "r1", ReceiptStatus.NEEDS_CLARIFICATION, message="which file")
    here.committed(here.content(words="`a.py` it is"))
    answer(here, "r2", key="k2")
    outcome(here, "k2", OutcomeStatus.COMPLETED)
    return []


def rollover_20(here: Setting) -> Codes:
    for number in range(20):
        here.committed(here.content(words=f"`{number}.py` is new"))
    assert reading.head_numbers(here.store, here.workstream) == (
        20,
        reading.exact(here.store, here.workstream, "latest").content_digest,
    )
    return []


COVERED: dict[str, Callable[[Setting], Codes]] = {
    "valid-loop": valid_loop,
    "valid-continue-empty": continue_empty,
    "cas-stale": cas_stale,
    "cas-rebase": cas_rebase,
    "idem-same": idem_same,
    "idem-after-other": idem_after_other,
    "idem-new-boundary": idem_new_boundary,
    "idem-reason-only": idem_reason_only,
    "ev-deleted": ev_deleted,
    "ev-missing-continue": ev_deleted,
    "ev-missing-clarify": ev_missing_clarify,
    "scope-prepared": scope_prepared,
    "scope-relabel": scope_relabel,
    "ack-two-receivers": ack_two,
    "ack-no-message": ack_no_message,
    "ack-latest": ack_latest,
    "ack-after-decline": ack_after_decline,
    "ack-mismatch": _with(Confirmation.FAILED),
    "ack-not-checked": _with(Confirmation.UNKNOWN),
    "ack-superseded": ack_superseded,
    "outcome-failed": outcome_failed,
    "outcome-declined": outcome_declined,
    "secret": secret,
    "recover-loop": recover_loop,
    "rollover-20": rollover_20,
}


@pytest.mark.parametrize("name", sorted(COVERED))
def test_the_case_ends_as_the_table_says(here: Setting, name: str) -> None:
    expected = BY_ID[name]["expect"]
    refused = False
    try:
        codes = COVERED[name](here)
    except RefusedError as error:
        codes, refused = sorted(set(error.codes)), True
    except HeadConflictError as error:
        codes, refused = [error.code], True
    assert codes == expected["codes"]
    assert refused == (expected["outcome"] == "reject")


def test_another_workstream_does_not_find_the_record(here: Setting, store: Store) -> None:
    value = here.prepare(here.content()).prepared
    other = workstreams.create(store, here.workstream.repository, "other")
    assert reading.open_prepared(store, other) == []
    assert value.scope_id == here.workstream.uid
