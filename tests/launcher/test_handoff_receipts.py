"""Receipts of handoff verbs: what a sandboxed command printed, applied at the end of its run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handoffs.errors import RefusedError
from handoffs.models import ActorKind, Author, Reason, ReceiptStatus
from handoffs.occasion import Occasion, unsupported
from handoffs.store import answering, occasions, reading, receiving
from handoffs.store import receipts as stored
from handoffs.store.answering import Answer
from importers.base import Receipt, Usage
from launcher import receipts
from launcher.handing import composing
from ledger import receipts as pending
from ledger import repositories, runs, workstreams
from ledger.model import RepositoryKeys, RepositoryKind, RunRow
from ledger.store import Store, open_store
from tests.handoffs.setting import Setting, make
from tests.ledger.making import START, SetClock, start_run

CONTENT = {
    "schema": "handoff.v1",
    "objective": "Fix parser",
    "state": [{"text": "The request for `a.py` is recorded", "evidence": ["e1"]}],
    "disposition": "continuable",
    "next_action": {"text": "Add a test for `a.py`", "evidence": []},
    "blocker": None,
    "omissions": [],
}
CONFIRMED = dict.fromkeys(("live_state", "capability", "authorization"), "confirmed")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state", clock=SetClock()) as opened:
        yield opened


@pytest.fixture
def here(store: Store, tmp_path: Path) -> Setting:
    keys = RepositoryKeys(
        kind=RepositoryKind.GIT,
        name="project",
        worktree=str(tmp_path / "tree"),
        common_dir=str(tmp_path),
    )
    workstream = workstreams.create(store, repositories.create(store, keys).id, "main")
    return make(store, workstream, tmp_path / "tree")


@pytest.fixture
def run(here: Setting) -> RunRow:
    here.says("please fix a.py")
    started = start_run(here.store, here.workstream, worktree=str(here.tree))
    runs.touch_session(here.store, started, here.session(), "startup")
    return started


def apply(
    here: Setting,
    run: RunRow,
    *payloads: dict[str, Any],
    nonce: str | None = None,
    call: str = "call-1",
) -> list[str]:
    lines = [receipts.line(nonce or run.nonce, payload) for payload in payloads]
    items = [Receipt(line=line, call_id=call, record=1) for line in lines]
    with here.store.transaction():
        pending.keep(here.store, here.session(), items)
        return receipts.apply(here.store, run, here.workstream)


def count(here: Setting, table: str) -> int:
    row = here.store.one(f"SELECT count(*) AS n FROM {table}")
    assert row is not None
    return int(row["n"])


def prepared(**changes: Any) -> dict[str, Any]:
    return {"do": "handoff_prepared", "text": json.dumps({**CONTENT, **changes}), "reasons": []}


def accepted(target: str) -> dict[str, Any]:
    return {
        "do": "acknowledge",
        "target": target,
        "status": "accepted",
        "checks": CONFIRMED,
        "key": "k1",
    }


def test_a_prepared_handoff_is_kept_as_the_agents(here: Setting, run: RunRow) -> None:
    assert apply(here, run, prepared()) == []
    (found,) = reading.open_prepared(here.store, here.workstream)
    assert (found.author.kind, found.author.session) == ("agent", "native-codex")
    assert found.author_session == here.session().id
    assert found.content.state[0].evidence[0].kind == "ledger"


def test_a_refused_one_is_told_with_its_reason(here: Setting, run: RunRow) -> None:
    (notice,) = apply(here, run, prepared(next_action={"text": "keep going", "evidence": []}))
    assert "next_action_empty_wording" in notice
    assert reading.open_prepared(here.store, here.workstream) == []


def test_reasons_and_figures_of_a_line_are_kept_with_those_of_the_store(
    here: Setting, run: RunRow
) -> None:
    here.add(Usage(at=START, context_tokens=90, limit_tokens=100, compactions=1))
    why = {
        "reasons": ["host_compaction", "context_quality"],
        "observed": ["context_tokens=95,limit_tokens=100"],
        "said_by": "the agent: it lost the plan",
    }
    assert apply(here, run, {**prepared(), **why}) == []
    (found,) = reading.open_prepared(here.store, here.workstream)
    kept = occasions.of_prepared(here.store, found.prepared_id)
    assert kept is not None
    assert [str(reason) for reason in kept.occasion.reasons] == why["reasons"]
    assert kept.occasion.statement == why["said_by"]
    given, recorded = kept.occasion.observations
    assert (given.source, given.context_tokens) == ("flag:agent", 95)
    assert (recorded.source, recorded.compactions) == ("session_store:codex:native-codex", 1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"reasons": ["host_compaction"]}, "observation_missing"),
        ({"reasons": ["context_quality"]}, "statement_missing"),
        ({"observed": ["tokens=1"]}, "field_unknown"),
        ({"observed": "compactions=1"}, "does not have its shape"),
        ({"reasons": [1]}, "does not have its shape"),
    ],
)
def test_a_line_whose_reasons_rest_on_nothing_is_refused_aloud(
    here: Setting, run: RunRow, changes: dict[str, Any], told: str
) -> None:
    (notice,) = apply(here, run, {**prepared(), **changes})
    assert told in notice
    assert reading.open_prepared(here.store, here.workstream) == []


def test_an_acknowledgement_and_its_outcome_are_applied_in_order(
    here: Setting, run: RunRow
) -> None:
    apply(here, run, prepared())
    name = reading.open_prepared(here.store, here.workstream)[0].name
    outcome = {
        "do": "outcome",
        "status": "completed",
        "summary": "done",
        "receipt": "k1",
        "key": "o",
    }
    assert apply(here, run, accepted(name), outcome) == []
    receipt = stored.by_key(here.store, here.workstream, "k1")
    assert receipt is not None
    assert receipt.session == here.session().id
    assert answering.outcome_of(here.store, here.workstream, "k1") is not None


def test_a_line_of_another_run_makes_no_receipt(here: Setting, run: RunRow) -> None:
    apply(here, run, prepared())
    name = reading.open_prepared(here.store, here.workstream)[0].name
    (notice,) = apply(here, run, accepted(name), nonce="aaaaaaaaaa")
    assert "another run" in notice
    assert stored.by_key(here.store, here.workstream, "k1") is None


def test_a_line_printed_again_in_its_run_counts_once_and_is_no_loss(
    here: Setting, run: RunRow
) -> None:
    note = {"do": "note", "text": "remember"}
    assert apply(here, run, note) == []
    assert apply(here, run, note, call="call-2") == []
    assert count(here, "note") == 1


def test_a_line_printed_again_in_a_later_run_is_refused_aloud(here: Setting, run: RunRow) -> None:
    note = {"do": "note", "text": "remember"}
    apply(here, run, note)
    later = start_run(here.store, here.workstream, worktree=str(here.tree))
    assert apply(here, later, note, nonce=run.nonce) == []  # the record itself, read once more
    (notice,) = apply(here, later, note, nonce=run.nonce, call="call-2")
    assert "another run" in notice
    assert count(here, "note") == 1


@pytest.mark.parametrize(
    "payload",
    [
        {"do": "acknowledge"},
        {"do": "acknowledge", "target": "r9", "status": "accepted", "key": "k"},
        {"do": "acknowledge", "target": "r1", "status": "maybe", "key": "k"},
        {"do": "acknowledge", "target": "latest", "status": "declined", "key": "k"},
        {"do": "outcome", "status": "completed", "summary": ["x"], "key": "k"},
        {"do": "outcome", "status": "completed", "summary": "x", "key": "k", "checks": [1]},
        {"do": "handoff_prepared", "text": 7},
        {"do": "handoff_prepared", "text": "{}", "reasons": "x"},
    ],
)
def test_a_forged_shape_is_refused_and_nothing_else_is_lost(
    here: Setting, run: RunRow, payload: dict[str, Any]
) -> None:
    notices = apply(here, run, payload, {"do": "note", "text": "still here"})
    assert len(notices) == 1
    assert count(here, "note") == 1


@pytest.mark.usefixtures("run")
def test_what_no_import_can_mend_is_refused_before_the_line_is_printed(here: Setting) -> None:
    def examined(**changes: Any) -> list[str]:
        text = json.dumps({**CONTENT, **changes})
        try:
            composing.refuse_hopeless(here.store, here.workstream, here.tree, text)
        except RefusedError as error:
            return [item.code for item in error.findings]
        return []

    assert examined(next_action={"text": "keep going", "evidence": []}) == [
        "next_action_empty_wording"
    ]
    assert examined(objective="") == ["objective_missing"]
    # The record of the check that was just run may come with the end of the run.
    assert examined(state=[{"text": "All tests passed.", "evidence": ["e99"]}]) == []


@pytest.mark.usefixtures("run")
def test_a_reason_is_examined_too_before_the_line_is_printed(here: Setting) -> None:
    def examined(*reasons: Reason) -> list[str]:
        around = unsupported(Occasion(reasons=reasons))
        try:
            composing.refuse_hopeless(
                here.store, here.workstream, here.tree, json.dumps(CONTENT), around=around
            )
        except RefusedError as error:
            return [item.code for item in error.findings]
        return []

    assert examined(Reason.CONTEXT_QUALITY) == ["statement_missing"]
    # What the harness records of its context may come with the end of the run.
    assert examined(Reason.HOST_COMPACTION) == []


def test_an_answer_can_be_examined_without_giving_it(here: Setting, run: RunRow) -> None:
    apply(here, run, prepared())
    name = reading.open_prepared(here.store, here.workstream)[0].name
    received = receiving.receive(here.store, here.workstream, name, here.tree)
    assert received is not None
    answer = Answer(
        receipt_key="k",
        receiver=Author(kind=ActorKind.AGENT),
        session=None,
        status=ReceiptStatus.DECLINED,
    )
    with pytest.raises(RefusedError) as error:
        answering.examine(here.store, here.workstream, received, answer)
    assert [item.code for item in error.value.findings] == ["message_missing"]
    answering.examine(here.store, here.workstream, received, replace(answer, message="no"))
    assert count(here, "handoff_receipt") == 0
