from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from handoffs.errors import HeadConflictError, RefusedError
from handoffs.models import (
    ActorKind,
    Author,
    CheckStatus,
    EvidenceState,
    GitRelation,
    Outcome,
    OutcomeStatus,
    Receipt,
    ReceiptStatus,
    Statement,
)
from handoffs.store import (
    answering,
    checks,
    committing,
    leading,
    preparing,
    reading,
    receiving,
    states,
)
from handoffs.store.answering import Answer
from handoffs.store.committing import CommitState
from leases import lease as leases
from leases.errors import LeaseHeld
from ledger import forget, git, notes, workstreams
from ledger.errors import BadDataError, UnavailableError
from ledger.fencing import LeaseLostError
from tests.handoffs.setting import ALL_CONFIRMED, PERSON, Setting, run_git
from tests.ledger.making import SetClock, hold_lease

ROOT = Path(__file__).resolve().parents[2]


def tick(here: Setting, ms: int = 1000) -> None:
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    clock.now += ms


def accept(here: Setting, name: str, key: str = "k1", **how: object) -> tuple[Receipt, bool]:
    received = receiving.receive(here.store, here.workstream, name, here.tree)
    assert received is not None
    values = {
        "receipt_key": key,
        "receiver": PERSON,
        "session": None,
        "status": ReceiptStatus.ACCEPTED,
        "checks": ALL_CONFIRMED,
        **how,
    }
    answer = Answer(**values)  # type: ignore[arg-type]
    return answering.acknowledge(here.store, here.workstream, received, answer, holder=here.holder)


def codes(refused: pytest.ExceptionInfo[RefusedError]) -> tuple[str, ...]:
    return refused.value.codes


# --- prepare and commit ---------------------------------------------------------------------------


def test_the_whole_way_from_words_to_an_outcome(here: Setting) -> None:
    asked = here.says("please fix a.py")
    done = here.committed(here.content(asked))
    assert (done.state, done.revision.revision, done.is_head) == (CommitState.COMMITTED, 1, True)
    accept(here, "r1")
    outcome = Outcome(
        outcome_key="o1", receipt_key="k1", status=OutcomeStatus.COMPLETED, summary="done"
    )
    answering.record_outcome(here.store, here.workstream, outcome, PERSON, holder=here.holder)
    standing = states.standing(here.store, here.workstream, done.revision.content_digest)
    assert (standing.transfer, standing.coverage) == ("accepted", "covered")


def test_the_same_words_prepared_again_are_the_same_record(here: Setting) -> None:
    first = here.prepare(here.content())
    tick(here)
    second = here.prepare(here.content(), author=Author(kind=ActorKind.AGENT, harness="codex"))
    assert (first.existed, second.existed) == (False, True)
    assert first.prepared == second.prepared


def test_a_commit_keeps_a_lease_no_longer_than_itself(here: Setting) -> None:
    here.committed(here.content())
    view = leases.inspect(here.store, here.workstream.id)
    assert view is not None
    assert view.holder is None


def test_a_commit_during_a_live_run_is_refused_naming_it(here: Setting) -> None:
    prepared = here.prepare(here.content())
    leases.acquire(here.store, here.workstream.id, here.holder._replace(run="run_live"))
    with pytest.raises(LeaseHeld):
        here.commit(prepared)
    assert reading.head(here.store, here.workstream) is None


def test_a_commit_with_a_token_that_was_taken_over_writes_nothing(here: Setting) -> None:
    prepared = here.prepare(here.content())
    token = hold_lease(here.store, here.workstream, token=7)
    with pytest.raises(LeaseLostError):
        committing.commit(
            here.store,
            here.workstream,
            prepared.prepared,
            here.facts(),
            PERSON,
            token=token - 1,
        )
    assert reading.head(here.store, here.workstream) is None
    committing.commit(
        here.store, here.workstream, prepared.prepared, here.facts(), PERSON, token=token
    )
    assert reading.head_numbers(here.store, here.workstream) is not None


def test_the_second_commit_on_one_base_learns_which_head_stands(here: Setting) -> None:
    one, two = here.prepare(here.content()), here.prepare(here.content(words="`b.py` is new"))
    here.commit(one)
    with pytest.raises(HeadConflictError) as conflict:
        here.commit(two)
    assert conflict.value.facts["expected_base"] is None
    head = conflict.value.facts["head"]
    assert isinstance(head, dict)
    assert (head["revision"], head["objective"]) == (1, "Fix parser")
    rebased = here.prepare(here.content(words="`b.py` is new"))
    assert here.commit(rebased).revision.revision == 2


def test_a_lost_answer_is_given_again_even_when_others_went_on(here: Setting) -> None:
    first = here.prepare(here.content())
    here.commit(first)
    here.committed(here.content(words="`b.py` is new"))
    again = here.commit(first)
    assert (again.state, again.revision.revision) == (CommitState.ALREADY_COMMITTED, 1)
    assert not again.is_head


def test_words_that_the_head_says_make_no_revision(here: Setting) -> None:
    here.committed(here.content())
    tick(here)
    again = here.committed(here.content())
    assert (again.state, again.revision.revision) == (CommitState.UNCHANGED, 1)


def test_a_prepared_record_is_kept_for_two_more_revisions(here: Setting) -> None:
    old = here.prepare(here.content(words="never committed `x`"))
    for number in range(3):
        here.committed(here.content(words=f"`{number}.py` is new"))
    with pytest.raises(UnavailableError):
        reading.exact(here.store, here.workstream, old.prepared.prepared_id)
    assert reading.exact(here.store, here.workstream, "r1").revision == 1


def test_a_changed_record_is_found_out(here: Setting) -> None:
    value = here.prepare(here.content()).prepared
    other = value._replace(scope_id="ws_other")
    with pytest.raises(RefusedError) as refused:
        here.commit(other)
    assert codes(refused) == ("prepared_tampered",)
    here.store.db.execute(
        "UPDATE handoff_prepared SET base_revision = 4, base_digest = ?", (value.content_digest,)
    )
    with pytest.raises(RefusedError) as refused:
        here.commit(value.prepared_id)
    assert codes(refused) == ("prepared_tampered",)


def test_a_record_of_another_workstream_is_not_committed_here(here: Setting) -> None:
    value = here.prepare(here.content()).prepared
    other = workstreams.create(here.store, here.workstream.repository, "other")
    with pytest.raises(RefusedError) as refused:
        committing.commit(
            here.store, other, value.prepared_id, here.facts(), PERSON, holder=here.holder
        )
    assert codes(refused) == ("scope_mismatch",)


def test_an_abandoned_record_leads_nothing_until_prepared_again(here: Setting) -> None:
    name = here.prepare(here.content()).prepared.prepared_id
    preparing.abandon(here.store, here.workstream, name)
    assert leading.leading(here.store, here.workstream) is None
    here.prepare(here.content())
    found = leading.leading(here.store, here.workstream)
    assert found is not None
    assert found.prepared_id == name


def test_a_secret_never_reaches_the_table(here: Setting) -> None:
    secret = "ghp_" + "a1B2" * 9
    answer = here.prepare(here.content(words=f"the token {secret} is in `.env`"))
    assert secret not in json.dumps(
        [dict(r) for r in here.store.all("SELECT * FROM handoff_prepared")]
    )
    assert any(o.kind == "redacted" for o in answer.prepared.content.omissions)


# --- evidence -------------------------------------------------------------------------------------


def test_each_kind_of_evidence_is_found_again(here: Setting) -> None:
    asked = here.says("please fix a.py")
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s")
    note = notes.add(here.store, here.workstream, "mind the gap", author="ada")
    head = run_git(here.tree, "rev-parse", "HEAD")
    here.committed(here.content())
    words = [asked, ran, f"note:{note.id}", head[:12], "file:a.py", "r1"]
    refs = [here.ref(word) for word in words]
    assert [str(ref.kind) for ref in refs] == ["ledger", "check", "note", "git", "file", "handoff"]
    assert {here.facts().evidence(ref) for ref in refs} == {EvidenceState.AVAILABLE}


def test_what_became_of_evidence_is_told_apart(here: Setting) -> None:
    asked = here.says("please fix a.py")
    event, file = here.ref(asked), here.ref("file:a.py")
    (here.tree / "a.py").write_text("print(2)\n", encoding="utf-8")
    other = workstreams.create(here.store, here.workstream.repository, "other")
    elsewhere = Setting(store=here.store, workstream=other, tree=here.tree)
    missing = replace(event, id="ev1-" + "0" * 32)
    facts = here.facts()
    assert facts.evidence(file) is EvidenceState.CHANGED
    assert facts.evidence(missing) is EvidenceState.MISSING
    assert elsewhere.facts().evidence(event) is EvidenceState.WRONG_SCOPE
    assert facts.evidence(replace(file, id="../x")) is EvidenceState.UNAUTHORIZED
    forget.forget(here.store, workstream=None, events=[event.id], who="ada", why="test")
    assert here.facts().evidence(event) is EvidenceState.EXPIRED


def test_a_recorded_check_is_compared_by_content_not_by_head(here: Setting) -> None:
    state = git.state(here.tree, timeout_ms=20_000)
    ran = checks.Ran(
        command="pytest",
        cwd=str(here.tree),
        exit_code=0,
        status=CheckStatus.PASSED,
        failures=0,
        started_at=1,
        ended_at=2,
        output_digest="sha256:" + "0" * 64,
        output_bytes=0,
        output="",
    )
    (here.tree / "a.py").write_text("print(3)\n", encoding="utf-8")
    state = git.state(here.tree, timeout_ms=20_000)
    row = checks.record(
        here.store, here.workstream, ran, state, worktree=str(here.tree), run=None, owner="ada"
    )
    ref = here.ref(row.id)
    run_git(here.tree, "commit", "-q", "-am", "second")
    fact = here.facts().check(ref)
    assert fact is not None
    assert fact.tree == "same"
    (here.tree / "a.py").write_text("print(4)\n", encoding="utf-8")
    fact = here.facts().check(ref)
    assert fact is not None
    assert fact.tree == "changed"


def test_the_newest_check_is_found_among_tool_calls(here: Setting) -> None:
    here.runs("pytest -q", 1, "1 failed, 2 passed in 0.1s")
    here.runs("ls", 0, "a.py")
    last = here.facts().last_check
    assert last is not None
    assert (last.command, last.exit_code, str(last.status)) == ("pytest -q", 1, "failed")


# --- receive and acknowledge ----------------------------------------------------------------------


def test_receiving_before_any_commit_is_no_error(here: Setting) -> None:
    assert receiving.receive(here.store, here.workstream, "latest", here.tree) is None


def test_latest_is_frozen_to_an_exact_revision(here: Setting) -> None:
    here.committed(here.content())
    received = receiving.receive(here.store, here.workstream, "latest", here.tree)
    assert received is not None
    assert (received.found.name, received.superseded) == ("r1", False)
    assert received.live_observed.relation is GitRelation.SAME
    here.committed(here.content(words="`b.py` is new"))
    run_git(here.tree, "commit", "-q", "--allow-empty", "-m", "second")
    old = receiving.receive(here.store, here.workstream, "r1", here.tree)
    assert old is not None
    assert (old.superseded, old.live_observed.relation) == (True, GitRelation.AHEAD)


def test_lost_evidence_degrades_only_its_own_statement(here: Setting) -> None:
    asked = here.says("please fix a.py")
    ref = here.ref(asked)
    here.committed(here.content(asked, next_action=Statement(text="Add `t.py`")))
    forget.forget(here.store, workstream=None, events=[ref.id], who="ada", why="test")
    received = receiving.receive(here.store, here.workstream, "latest", here.tree)
    assert received is not None
    assert received.reestablish == ("state[1]",)
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1")
    assert codes(refused) == ("evidence_expired",)
    accept(here, "r1", status=ReceiptStatus.NEEDS_CLARIFICATION, message="where is it", checks=None)


def test_accepting_needs_all_three_confirmed(here: Setting) -> None:
    here.committed(here.content())
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1", checks=None)
    assert codes(refused) == ("checks_incomplete",) * 3


def test_one_receiver_only_has_it(here: Setting) -> None:
    here.committed(here.content())
    accept(here, "r1")
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1", key="k2")
    assert codes(refused) == ("already_accepted",)


def test_the_same_key_is_the_same_answer_or_a_conflict(here: Setting) -> None:
    here.committed(here.content())
    accept(here, "r1")
    _, existed = accept(here, "r1")
    assert existed
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1", message="another")
    assert codes(refused) == ("key_conflict",)


def test_a_superseded_target_needs_to_be_meant(here: Setting) -> None:
    here.committed(here.content())
    here.committed(here.content(words="`b.py` is new"))
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1")
    assert codes(refused) == ("target_superseded",)
    accept(here, "r1", superseded=True)


def test_a_diverged_tree_needs_words(here: Setting) -> None:
    run_git(here.tree, "commit", "-q", "--allow-empty", "-m", "one")
    here.committed(here.content())
    run_git(here.tree, "reset", "-q", "--hard", "HEAD~1")
    run_git(here.tree, "commit", "-q", "--allow-empty", "-m", "other")
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1")
    assert codes(refused) == ("message_missing",)
    accept(here, "r1", message="rebased on purpose")


def test_only_a_session_of_this_workstream_accepts(here: Setting) -> None:
    here.committed(here.content())
    other = workstreams.create(here.store, here.workstream.repository, "other")
    stranger = Setting(store=here.store, workstream=other, tree=here.tree).session("claude")
    with pytest.raises(RefusedError) as refused:
        accept(here, "r1", session=stranger)
    assert codes(refused) == ("scope_mismatch",)


def test_declined_can_be_accepted_later(here: Setting) -> None:
    here.committed(here.content())
    accept(here, "r1", status=ReceiptStatus.DECLINED, message="not now", checks=None)
    digest = reading.exact(here.store, here.workstream, "r1").content_digest
    assert states.standing(here.store, here.workstream, digest).transfer == "returned"
    accept(here, "r1", key="k2")
    assert states.standing(here.store, here.workstream, digest).transfer == "accepted"


def test_an_outcome_covers_only_an_accepted_receipt(here: Setting) -> None:
    here.committed(here.content())
    accept(here, "r1", status=ReceiptStatus.DECLINED, message="no", checks=None)
    outcome = Outcome(
        outcome_key="o1", receipt_key="k1", status=OutcomeStatus.FAILED, summary="it broke"
    )
    with pytest.raises(RefusedError) as refused:
        answering.record_outcome(here.store, here.workstream, outcome, PERSON, holder=here.holder)
    assert codes(refused) == ("receipt_not_accepted",)


# --- crashes and damage ---------------------------------------------------------------------------

_KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from handoffs.facts import KnownFacts
from handoffs.models import ActorKind, Author
from handoffs.store import committing
from leases.holder import holder_here
from ledger import workstreams
from ledger.store import open_store
with open_store(Path(sys.argv[2]), "rw") as store:
    workstream = workstreams.get(store, int(sys.argv[3]))
    where = sys.argv[5]
    def die(statement):
        if where in statement:
            os.kill(os.getpid(), signal.SIGKILL)
    store.db.set_trace_callback(die)
    holder = holder_here(store, run="hand-x", env={}, purpose="handoff")
    committing.commit(store, workstream, sys.argv[4], KnownFacts(),
        Author(kind=ActorKind.HUMAN), holder=holder)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("where", "state"),
    [
        ("BEGIN IMMEDIATE", CommitState.COMMITTED),
        ("INSERT INTO lease", CommitState.COMMITTED),
        ("INSERT INTO handoff_revision", CommitState.COMMITTED),
        ("INSERT INTO handoff_head", CommitState.COMMITTED),
        ("UPDATE lease SET run = NULL", CommitState.COMMITTED),
        ("COMMIT", CommitState.COMMITTED),
        ("the answer", CommitState.ALREADY_COMMITTED),
    ],
)
def test_a_commit_killed_anywhere_can_be_repeated(
    here: Setting, where: str, state: CommitState
) -> None:
    name = here.prepare(here.content()).prepared.prepared_id
    done = subprocess.run(
        [
            *(sys.executable, "-c", _KILLED, str(ROOT), str(here.store.home)),
            *(str(here.workstream.id), name, where),
        ],
        check=False,
        timeout=60,
    )
    assert done.returncode == -9
    again = here.commit(name)
    assert (again.state, again.revision.revision, again.is_head) == (state, 1, True)


def test_a_damaged_row_costs_itself_and_nothing_else(here: Setting) -> None:
    here.committed(here.content())
    here.committed(here.content(words="`b.py` is new"))
    here.store.db.execute(
        "UPDATE handoff_revision SET content = substr(content, 3) WHERE revision = 2"
    )
    assert leading.leading(here.store, here.workstream) is None
    assert reading.exact(here.store, here.workstream, "r1").revision == 1
    with pytest.raises(BadDataError):
        reading.exact(here.store, here.workstream, "r2")
    third = here.committed(here.content(words="`c.py` is new"))
    assert third.revision.revision == 3
