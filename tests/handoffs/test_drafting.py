from __future__ import annotations

from typing import Any

import pytest

from handoffs import drafting
from handoffs.canonical import content_bytes
from handoffs.models import (
    DRAFT_BYTES,
    Content,
    Outcome,
    OutcomeStatus,
    ReceiptStatus,
    errors,
)
from handoffs.store import answering, leading, reading, receiving
from handoffs.store.answering import Answer
from handoffs.validation import validate
from importers.base import Plan, Turn
from leases import lease as leases
from ledger import checkpoints, git, runs, workstreams
from ledger.gitstate import GitState
from ledger.model import RunRow
from tests.handoffs.setting import ALL_CONFIRMED, PERSON, Setting
from tests.ledger.making import START, SetClock, start_run


class Running:
    """A run in which things happen to one session."""

    def __init__(self, here: Setting, harness: str = "codex") -> None:
        self.here = here
        self.harness = harness
        here.session(harness)
        self.run: RunRow = start_run(
            here.store, here.workstream, entry=harness, worktree=str(here.tree), cwd=str(here.tree)
        )
        runs.touch_session(here.store, self.run, here.session(harness), "startup")

    def says(self, text: str, **how: Any) -> str:
        return self.here.says(text, harness=self.harness, run=self.run.id, **how)

    def runs(self, command: str, exit_code: int = 0, output: str = "", **how: Any) -> str:
        return self.here.runs(
            command, exit_code, output, harness=self.harness, run=self.run.id, **how
        )

    def turn(self, state: str, error: str | None = None) -> None:
        number = self.here.record()
        turn = Turn(
            turn="t1", state=state, error=error, started_at=START, ended_at=START, record=number
        )
        self.here.add(turn, harness=self.harness)

    def plan(self, *items: tuple[str, str]) -> None:
        self.here.add(Plan(items=items, at=START), harness=self.harness)

    def end(self, state: GitState | None = None, **columns: Any) -> Content | None:
        store, workstream = self.here.store, self.here.workstream
        runs.advance(store, self.run, self.run.step, **columns)
        run = runs.get(store, self.run.id)
        state = state or git.state(self.here.tree, timeout_ms=20_000)
        active = runs.sessions_with_events(store, run)
        with store.transaction():
            checkpoints.record(store, workstream, state, run=run)
            name = drafting.draft(store, workstream, run, state, active)
        leases.release(store, workstream.id, run.token)
        clock = store.clock
        assert isinstance(clock, SetClock)
        clock.now += 1000
        return None if name is None else reading.exact(store, workstream, name).content


def ended(running: Running, **columns: Any) -> Content:
    content = running.end(**columns)
    assert content is not None
    return content


def text(content: Content) -> str:
    return "\n".join(item.text for _, item in content.statements)


def test_an_empty_run_leaves_the_draft_as_it_was(here: Setting) -> None:
    first = Running(here)
    first.says("please fix `a.py`")
    ended(first)
    before = reading.drafts(here.store, here.workstream)
    assert Running(here, "claude").end() is None
    assert reading.drafts(here.store, here.workstream) == before


def test_the_objective_is_inferred_and_says_so(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.says("and then b.py")
    content = ended(running)
    assert content.objective == "please fix `a.py` (inferred from the request e1 of 2023-11-14)"


def test_a_bare_slash_command_is_no_objective(here: Setting) -> None:
    running = Running(here)
    running.says("/model")
    running.says("please fix `a.py`")
    assert ended(running).objective.startswith("please fix")


def test_the_objective_of_the_person_is_not_touched(here: Setting) -> None:
    workstreams.set_objective(here.store, here.workstream, "ship  it\ntoday", by="ada")
    running = Running(here)
    running.says("please fix `a.py`")
    assert ended(running).objective == "ship  it\ntoday"


def test_what_was_asked_done_and_checked_is_cited(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 50)
    here.edits("a.py", at=START + 90)
    (here.tree / "a.py").write_text("print(2)\n", encoding="utf-8")
    running.says("fixed it", agent=True)
    running.turn("complete")
    content = ended(running)
    said = text(content)
    assert 'The person asked: e1 "please fix `a.py`"'.replace("`", "'") in said
    check = "Check `pytest -q` at 2023-11-14 22:13 UTC: passed (exit 0)"
    assert f"{check}; files were changed after it." in said
    assert "Changed files: `a.py` (edited by codex)" in said
    assert 'codex said last (e4): "fixed it"' in said
    assert all(item.evidence for item in content.state)


def test_a_failing_check_is_the_next_action(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.runs("pytest -q", 1, "1 failed, 2 passed in 0.1s")
    running.says("it still fails", agent=True)
    running.turn("complete")
    content = ended(running)
    assert content.next_action is not None
    assert content.next_action.text == "Find out why `pytest -q` fails, and mend it."
    assert content.next_action.evidence[0].kind == "check"


def test_the_first_open_plan_item_is_the_next_action(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.plan(("read a.py", "completed"), ("write the test", "pending"))
    running.says("half way", agent=True)
    running.turn("complete")
    content = ended(running)
    assert content.next_action is not None
    assert content.next_action.text == 'Take up the first open plan item: "write the test"'
    assert "(1 of 2 done)" in text(content)


def test_an_interrupted_request_is_the_next_action(here: Setting) -> None:
    running = Running(here)
    running.says("continue")
    running.turn("interrupted")
    content = ended(running)
    assert content.next_action is not None
    assert content.next_action.text == 'Answer the request e1: "continue"'
    assert "was interrupted" in content.state[0].text


def test_a_question_to_the_person_blocks(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.says("Shall I delete b.py too?", agent=True)
    running.turn("complete")
    content = ended(running)
    assert (content.disposition, content.blocker, content.next_action) == ("blocked", 0, None)


def test_nothing_open_is_complete_with_a_caveat(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.says("fixed", agent=True)
    running.turn("complete")
    content = ended(running)
    assert content.disposition == "complete"
    assert any("was not judged" in item.text for item in content.omissions)


def test_a_killed_run_says_so(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.turn("open")
    content = ended(running, signal=9, exit_code=137)
    assert content.state[0].text.startswith(
        "The last turn of codex was cut off; the program was ended by signal 9"
    )


def test_a_claim_of_an_agent_is_a_quotation(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.says('All tests passed. "See above" `', agent=True)
    running.turn("complete")
    content = ended(running)
    assert errors(validate(content, here.facts(content))) == ()
    assert "\"All tests passed. 'See above' '\"" in text(content)


def test_the_same_ledger_gives_the_same_words(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    assert content_bytes(ended(running)) == content_bytes(ended(running))


def test_a_draft_stays_small_and_valid_whatever_was_said(here: Setting) -> None:
    running = Running(here)
    for number in range(12):
        running.says(f"request {number} " + "€ç\u202e\x00 words and `code` " * 200)
        running.runs(f"pytest tests/t{number}.py " + "-k x " * 50, number % 2, "1 failed")
        here.edits(f"dir/{'x' * 90}{number}.py")
        running.says("All tests passed! " * 300, agent=True)
    running.plan(*((f"item {number} " + "y" * 200, "pending") for number in range(20)))
    running.turn("failed", "overloaded " * 100)
    content = ended(running)
    assert len(content_bytes(content)) <= DRAFT_BYTES + 1024
    assert errors(validate(content, here.facts(content))) == ()
    assert any("left out for size" in item.text for item in content.omissions)


def test_a_secret_in_the_history_is_not_in_the_draft(here: Setting) -> None:
    running = Running(here)
    running.says("use ghp_" + "a1B2" * 9 + " for `a.py`")
    assert "ghp_" not in content_bytes(ended(running)).decode()


# --- which one leads ------------------------------------------------------------------------------


def test_a_persons_handoff_leads_until_it_was_seen_and_work_went_on(here: Setting) -> None:
    first = Running(here)
    first.says("please fix `a.py`")
    ended(first)
    made = here.committed(here.content())
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    clock.now += 1000
    lead = leading.leading(here.store, here.workstream)
    assert lead is not None
    assert lead.name == "r1"
    second = Running(here, "claude")
    second.says("go on with `a.py`")
    ended(second)  # nobody saw it
    lead = leading.leading(here.store, here.workstream)
    assert lead is not None
    assert lead.name == "r1"
    see(here, second.run, made.revision.content_digest, "claude")
    clock.now += 1000
    third = Running(here, "claude")
    third.says("and `b.py`")
    content = ended(third)
    lead = leading.leading(here.store, here.workstream)
    assert lead is not None
    assert (lead.origin, lead.content) == ("draft", content)
    assert "This work followed the handoff r1 by ada" in text(content)


def answer(here: Setting, name: str, status: str, message: str | None = None) -> None:
    """Let a person answer a handoff, key `k`."""
    received = receiving.receive(here.store, here.workstream, name, here.tree)
    assert received is not None
    given = Answer(
        receipt_key="k",
        receiver=PERSON,
        session=None,
        status=ReceiptStatus(status),
        checks=ALL_CONFIRMED if status == "accepted" else None,
        message=message,
    )
    answering.acknowledge(here.store, here.workstream, received, given, holder=here.holder)


def test_what_became_of_the_handoff_before_is_told(here: Setting) -> None:
    here.committed(here.content())
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    clock.now += 1000
    answer(here, "r1", "declined", "`a.py` is not mine")
    first = Running(here)
    first.says("please fix `a.py`")
    assert "ada gave it back as declined: \"'a.py' is not mine\"" in text(ended(first))


def test_the_outcome_of_the_handoff_before_is_told(here: Setting) -> None:
    here.committed(here.content())
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    clock.now += 1000
    answer(here, "r1", "accepted")
    outcome = Outcome(
        outcome_key="o",
        receipt_key="k",
        status=OutcomeStatus.PARTIAL,
        summary="half of it",
        checks=(),
        remaining=("the rest",),
    )
    answering.record_outcome(here.store, here.workstream, outcome, PERSON, holder=here.holder)
    first = Running(here)
    first.says("please fix `a.py`")
    said = text(ended(first))
    assert 'ada accepted it and says it ended partial: "half of it", remaining: "the rest"' in said


@pytest.mark.parametrize("status", ["accepted", "declined", None])
def test_only_an_answered_draft_is_kept_when_the_next_replaces_it(
    here: Setting, status: str | None
) -> None:
    here.committed(here.content())  # the draft gets a base
    first = Running(here)
    first.says("please fix `a.py`")
    ended(first)
    (old,) = reading.drafts(here.store, here.workstream)
    if status is not None:
        answer(here, old.name, status, "no")
    second = Running(here, "claude")
    second.says("and `b.py`")
    ended(second)
    kept = reading.open_prepared(here.store, here.workstream)
    if status is None:
        assert kept == []
        return
    (found,) = kept
    assert (found.name, found.content, found.author) == (old.name, old.content, old.author)
    value = reading.prepared_value(here.store, old.name)
    assert value is not None
    assert value.base is not None
    assert value.base.revision == 1
    lead = leading.by_somebody(here.store, here.workstream)
    assert lead is not None
    assert lead.name == "r1"  # an answered draft is nobody's handoff


def see(here: Setting, run: RunRow, digest: str, harness: str) -> None:
    """Let a session find a briefing that carried a handoff."""
    from importers.base import Sighting
    from ledger import deliveries
    from ledger.ids import delivery_id

    row = deliveries.add_briefing(
        here.store,
        run,
        purpose="session",
        session=here.session(harness),
        text="x",
        after_seq=0,
        through_seq=0,
        included=(),
        omitted=(),
        marks_through=0,
        notes_through=0,
        handoff=digest,
    )
    name = delivery_id(run.nonce, 1)
    deliveries.record_printed(
        here.store, name, run, row, channel="hook", source="resume", session=None, at=1
    )
    here.add(Sighting(delivery=name, depth=900, record=900), harness=harness)


def test_a_draft_about_a_sessions_own_work_is_not_due_to_it(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    ended(running)
    lead = leading.leading(here.store, here.workstream)
    assert lead is not None
    assert not leading.due_to(here.store, lead, here.session("codex"))
    assert leading.due_to(here.store, lead, here.session("claude"))
    assert leading.due_to(here.store, lead, None)
    see(here, running.run, lead.content_digest, "claude")
    assert not leading.due_to(here.store, lead, here.session("claude"))
