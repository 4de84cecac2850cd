"""The rollover policy at the end of a run, and its proposal at the start of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handoffs import drafting
from handoffs.models import ActorKind, Author, Reason
from handoffs.store import drafts, leading, reading
from importers.base import Kind, Turn, Usage
from launcher import rollover
from launcher.config import Config, load
from launcher.planning import Target
from leases import lease as leases
from ledger import git, runs, sessions
from ledger.model import RunRow, SessionRow
from tests.handoffs.setting import Setting
from tests.ledger.making import START, SetClock, event, start_run

LEVELS = ("manual", "advisory", "automatic-draft")


def config(level: str) -> Config:
    found = load({"HOME": "/nowhere", "WORKSTREAM_ROLLOVER": level}, None)
    assert found.rollover == level
    return found


class Ended:
    """A run of codex that asked for something, filled the context and ended."""

    def __init__(
        self,
        here: Setting,
        text: str = "please fix `a.py`",
        *,
        turn: str = "complete",
    ) -> None:
        self.here = here
        clock = here.store.clock
        assert isinstance(clock, SetClock)
        clock.now += 1000
        self.run: RunRow = start_run(
            here.store, here.workstream, worktree=str(here.tree), cwd=str(here.tree)
        )
        runs.touch_session(here.store, self.run, self.session, "startup")
        here.says(text, run=self.run.id)
        self.usage(Usage(at=START, context_tokens=90_000, limit_tokens=100_000, model="m"))
        number = here.record()
        here.add(Turn(turn="t1", state=turn, record=number, ended_at=START))
        sessions.set_current(
            here.store,
            self.run.token,
            here.workstream,
            self.session,
            entry="codex",
            one_shot=False,
            run=self.run.id,
        )

    @property
    def session(self) -> SessionRow:
        return self.here.session()

    def usage(self, usage: Usage) -> None:
        self.here.add(usage)

    def settle(self, level: str) -> list[str]:
        """Make the draft and apply the policy, as the finish does."""
        store, workstream = self.here.store, self.here.workstream
        state = git.state(self.here.tree, timeout_ms=20_000)
        active = runs.sessions_with_events(store, self.run)
        with store.transaction():
            drafting.draft(store, workstream, self.run, state, active)
        return rollover.settle(store, self.run, workstream, config(level), [self.session.id])


def prepared(here: Setting) -> list[reading.Found]:
    return reading.open_prepared(here.store, here.workstream)


@pytest.mark.parametrize("level", LEVELS)
def test_each_level_does_what_it_allows_and_no_more(here: Setting, level: str) -> None:
    said = Ended(here).settle(level)
    made = prepared(here)
    assert [len(said), len(made)] == {"manual": [0, 0], "advisory": [1, 0]}.get(level, [1, 1])
    assert reading.head(here.store, here.workstream) is None  # never committed
    fresh = "start afresh: workstream run --rollover codex"
    if level == "advisory":
        assert said == [f"codex: its context is 90 % full; {fresh}"]
    if made:
        name = made[0].prepared_id
        line = (
            "codex: its context is 90 % full; a draft is prepared:"
            f" workstream handoff show {name}, then commit it: workstream handoff commit {name};"
        )
        assert said == [f"{line} {fresh}"]
        assert drafts.kept(here.store, here.workstream) == name


def test_the_record_says_what_was_observed_and_where_it_stood(here: Setting) -> None:
    Ended(here).settle("automatic-draft")
    (made,) = prepared(here)
    assert made.author.kind is ActorKind.LAUNCHER
    row = here.store.one("SELECT reasons, observations, policy FROM handoff_prepared")
    assert row is not None
    observed = {
        "source": "session_store:codex:native-codex",
        "model": "m",
        "context_tokens": 90_000,
        "limit_tokens": 100_000,
        "compactions": 0,
        "age_seconds": 1,
    }
    assert json.loads(row["reasons"]) == ["host_context_budget"]
    assert json.loads(row["observations"]) == [observed]
    assert json.loads(row["policy"]) == {
        "level": "automatic-draft",
        "thresholds": {"percent": 85, "tokens": None, "compactions": 2},
        "observations": [observed],
        "signs": ["percent"],
        "boundary": {"session": "native-codex", "turn": "t1", "state": "complete"},
        "action": "prepare_draft",
    }


def test_compactions_are_a_reason_of_their_own(here: Setting) -> None:
    ended = Ended(here)
    ended.usage(Usage(at=START + 1, context_tokens=5, compactions=2))
    ended.settle("automatic-draft")
    value = reading.prepared_value(here.store, prepared(here)[0].prepared_id)
    assert value is not None
    assert value.reasons == (Reason.HOST_COMPACTION,)


@pytest.mark.parametrize(
    ("turn", "call", "why"),
    [
        ("open", None, "its last turn is not finished"),
        ("failed", "no result", "a tool call of its last turn has no result"),
        ("interrupted", "cut off", "a tool call of its last turn has no result"),
        ("failed", "result", None),
        ("interrupted", None, None),
    ],
)
def test_a_draft_is_prepared_at_a_safe_boundary_only(
    here: Setting,
    turn: str,
    call: str | None,
    why: str | None,
) -> None:
    ended = Ended(here, turn=turn)
    columns: dict[str, Any] = {"call_id": "c", "turn": "t1", "tool": "exec_command"}
    if call is not None:
        here.add(event(here.record(), "make", kind=Kind.TOOL_CALL, **columns), run=ended.run.id)
    if call in ("result", "cut off"):
        status = "ok" if call == "result" else "interrupted"
        result = event(here.record(), "", kind=Kind.TOOL_RESULT, status=status, **columns)
        here.add(result, run=ended.run.id)
    (said,) = ended.settle("automatic-draft")
    assert len(prepared(here)) == (0 if why else 1)
    if why is not None:
        assert f"no draft is prepared, {why}; start afresh" in said


def test_a_store_that_does_not_tell_turns_gives_no_safe_boundary(here: Setting) -> None:
    ended = Ended(here)
    here.store.db.execute("DELETE FROM turn")
    (said,) = ended.settle("automatic-draft")
    assert "no draft is prepared, its store does not tell where a turn ends" in said
    assert prepared(here) == []


def test_the_prepared_draft_is_replaced_by_the_next_and_leads_nothing(here: Setting) -> None:
    first = Ended(here)
    first.settle("automatic-draft")
    (old,) = prepared(here)
    second = Ended(here, "and now `b.py`")
    second.settle("automatic-draft")
    (new,) = prepared(here)
    assert new.prepared_id != old.prepared_id
    assert leading.by_somebody(here.store, here.workstream) is None
    lead = leading.leading(here.store, here.workstream)
    assert lead is not None
    assert lead.origin is reading.Origin.DRAFT


def test_a_person_can_commit_it_and_then_it_leads(here: Setting) -> None:
    ended = Ended(here)
    ended.settle("automatic-draft")
    (made,) = prepared(here)
    leases.release(here.store, here.workstream.id, ended.run.token)
    assert here.commit(made.prepared_id).revision.revision == 1
    assert drafts.kept(here.store, here.workstream) is None
    Ended(here, "and now `b.py`").settle("automatic-draft")
    head = reading.head(here.store, here.workstream)
    assert head is not None
    assert head.prepared_id == made.prepared_id


def test_a_person_who_prepares_the_same_words_makes_them_theirs(here: Setting) -> None:
    Ended(here).settle("automatic-draft")
    (made,) = prepared(here)
    answer = here.prepare(made.content, reasons=(Reason.USER_REQUESTED,))
    assert answer.existed
    value = reading.prepared_value(here.store, made.prepared_id)
    assert value is not None
    assert value.author == Author(kind=ActorKind.HUMAN, owner="ada")
    assert value.reasons == (Reason.HOST_CONTEXT_BUDGET, Reason.USER_REQUESTED)
    found = leading.by_somebody(here.store, here.workstream)
    assert found is not None
    assert found.prepared_id == made.prepared_id


def test_a_handoff_made_in_the_run_needs_no_draft_beside_it(here: Setting) -> None:
    ended = Ended(here)
    mine = here.prepare(here.content()).prepared.prepared_id
    (said,) = ended.settle("automatic-draft")
    assert f"{mine} hands it off already; start afresh" in said
    assert [item.prepared_id for item in prepared(here)] == [mine]


def test_a_session_that_is_not_full_is_left_alone(here: Setting) -> None:
    ended = Ended(here)
    ended.usage(Usage(at=START + 1, context_tokens=10_000))
    assert ended.settle("automatic-draft") == []
    assert prepared(here) == []


def test_forgetting_an_event_takes_the_prepared_draft_along(here: Setting) -> None:
    from ledger import forget

    Ended(here).settle("automatic-draft")
    asked = here.event("e1").event_id
    forget.forget(here.store, events=[asked], who="ada")
    assert prepared(here) == []


# --- at the start -----------------------------------------------------------------------------


WORN = Target(mode="resume", resume="n-1", worn="it is full")


def test_without_anybody_to_ask_a_new_session_is_started_and_told() -> None:
    target = rollover.proposed(WORN, "codex", None)
    assert (target.mode, target.resume) == ("create", None)
    (said,) = target.notices
    assert "it is full" in said
    assert "workstream run --no-rollover codex" in said


@pytest.mark.parametrize(("answer", "mode"), [(True, "create"), (False, "resume")])
def test_a_person_decides(answer: bool, mode: str) -> None:
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return answer

    target = rollover.proposed(WORN, "codex", ask)
    assert target.mode == mode
    assert asked == ["codex: it is full. Start a new session from the handoff (--rollover)?"]


def test_a_session_that_is_fit_is_no_question() -> None:
    fit = WORN._replace(worn=None)
    assert rollover.proposed(fit, "codex", None) is fit
