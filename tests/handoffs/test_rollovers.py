"""Two hundred rollovers in one workstream: a step costs what it cost, the store grows evenly.

A step is all that one rollover does with handoffs: draft, prepare, commit, brief a fresh session,
be seen, be accepted, be done. What it costs is counted, not timed: calls of functions and
instructions of the database's machine. The workstream has a past that is longer than a briefing
looks back; until then each event more is one more to be told.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handoffs import drafting, validation
from handoffs.facts import Facts, KnownFacts
from handoffs.models import (
    Content,
    EvidenceState,
    Outcome,
    OutcomeStatus,
    ReceiptStatus,
    Statement,
)
from handoffs.repository import snapshot
from handoffs.store import answering, committing, leading, preparing, reading, receiving
from handoffs.store.answering import Answer
from handoffs.store.preparing import Circumstances
from importers.base import Event, Kind, Sighting
from launcher import briefing
from launcher.config import load
from launcher.place import Place
from ledger import deliveries, git, runs, workstreams
from ledger.deltas import BOUND
from ledger.ids import delivery_id
from ledger.model import SessionRow
from tests.handoffs.setting import ALL_CONFIRMED, PERSON, Setting
from tests.ledger.making import SetClock, apply, event, link, start_run

STEPS = 200
EVENTS = 40
"""Of a session that hands off; what a briefing looks back on is of a few dozen sessions."""
MEASURED = (50, 100, STEPS)
INSTRUCTIONS = 50
"""Of the database's machine, counted at once."""


class Rollovers:
    """A workstream whose work goes from one fresh session to the next."""

    def __init__(self, here: Setting, home: Path) -> None:
        self.here = here
        env = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
        self.place = Place(
            env=env,
            cwd=here.tree,
            checkout=git.describe(here.tree, env),
            config=load(env, here.tree),
            home=here.store.home,
            terminal=False,
        )
        self.state = git.state(here.tree, timeout_ms=20_000)
        self.number = 0
        here.store.db.execute("PRAGMA synchronous = OFF")
        past = [event(n, f"part of the past {n}") for n in range(1, BOUND + 200)]
        apply(here.store, here.session(), past)

    def step(self) -> None:
        """Let one session work, hand off, and a fresh one take over."""
        here, store = self.here, self.here.store
        assert isinstance(store.clock, SetClock)
        store.clock.now += 60_000
        self.number += 1
        sender = link(store, here.workstream, f"session-{self.number}")
        run = start_run(store, here.workstream, worktree=str(here.tree), token=self.number)
        runs.touch_session(store, run, sender, "startup")
        said = self._session()
        apply(store, sender, said, run=run.id)
        now = workstreams.get(store, here.workstream.id)
        if self.measured:
            with store.transaction():
                drafting.draft(store, now, run, self.state, {sender.id})
        self._free()
        here.workstream = now
        asked = f"e{now.head_seq - len(said) + 1}"
        cited = Statement(text=f"Part {self.number} is asked for", evidence=(here.ref(asked),))
        self._commit(here.content(state=(cited,)))
        self._take_over(link(store, here.workstream, f"fresh-{self.number}", harness="claude"))

    @property
    def measured(self) -> bool:
        """Whether everything is done as it is done; else without looking far into the ledger."""
        return self.number in MEASURED

    def _commit(self, content: Content) -> None:
        here, store = self.here, self.here.store
        content = validation.with_declared_only(content)
        around = Circumstances(author=PERSON, git=snapshot(self.state))
        facts: Facts = here.facts(content)
        if not self.measured:
            facts = KnownFacts(states=dict.fromkeys(content.refs, EvidenceState.AVAILABLE))
        made = preparing.prepare(store, here.workstream, content, facts, around)
        done = committing.commit(
            store, here.workstream, made.prepared.prepared_id, facts, PERSON, holder=here.holder
        )
        assert done.revision.revision == self.number

    def _session(self) -> list[Event]:
        """Return what happens in a session: a request, commands with their results, an answer."""
        name = f"{self.number}-"
        found = [event(0, f"mend part {self.number} in a.py", name=f"{name}asked")]
        for n in range(1, EVENTS - 1, 2):
            command = "pytest -q" if n == EVENTS - 3 else f"sed -n {n}p a.py"
            call = {"call_id": f"{name}{n}", "tool": "exec_command"}
            found.append(
                event(
                    n,
                    command,
                    kind=Kind.TOOL_CALL,
                    name=f"{name}{n}",
                    tool_input={"command": command},
                    **call,
                )
            )
            out = "3 passed in 0.1s" if command.startswith("pytest") else "print(1)"
            found.append(
                event(n + 1, out, kind=Kind.TOOL_RESULT, name=f"{name}{n + 1}", exit_code=0, **call)
            )
        found.append(event(EVENTS, "done", kind=Kind.ASSISTANT_MESSAGE, name=f"{name}said"))
        return found

    def _take_over(self, receiver: SessionRow) -> None:
        here, store = self.here, self.here.store
        token = 1_000 + self.number
        run = start_run(store, here.workstream, worktree=str(here.tree), token=token)
        runs.touch_session(store, run, receiver, "startup")
        digest, text = self._briefed()
        row = deliveries.add_briefing(
            store,
            run,
            purpose="new",
            session=None,
            text=text,
            after_seq=0,
            through_seq=here.workstream.head_seq,
            included=(),
            omitted=(),
            marks_through=0,
            notes_through=0,
            handoff=digest,
        )
        delivery = delivery_id(run.nonce, 1)
        deliveries.record_printed(
            store, delivery, run, row, channel="hook", source="startup", session=receiver, at=1
        )
        apply(store, receiver, [Sighting(delivery=delivery, depth=1, record=1)], run=run.id)
        deliveries.settle(store, run)
        self._free()
        received = receiving.receive(store, here.workstream, "latest", here.tree, state=self.state)
        assert received is not None
        key = f"k{self.number}"
        answer = Answer(
            receipt_key=key,
            receiver=PERSON,
            session=None,
            status=ReceiptStatus.ACCEPTED,
            checks=ALL_CONFIRMED,
        )
        answering.acknowledge(store, here.workstream, received, answer, holder=here.holder)
        outcome = Outcome(
            outcome_key=f"o{self.number}",
            receipt_key=key,
            status=OutcomeStatus.COMPLETED,
            summary="done",
        )
        answering.record_outcome(store, here.workstream, outcome, PERSON, holder=here.holder)
        assert leading.asked_again(store, leading.waiting(store, here.workstream), receiver) is None

    def _briefed(self) -> tuple[str, str]:
        """Return the handoff that a fresh session is given, and the text.

        Composed whole where it is measured; else only what is handed off is looked up.
        """
        here, store = self.here, self.here.store
        found = leading.leading(store, here.workstream)
        assert found is not None
        if not self.measured:
            return found.content_digest, "x" * 8_000
        scene = briefing.Scene(
            place=self.place, state=self.state, entry="claude", command="workstream"
        )
        composed = briefing.compose(store, here.workstream, None, scene, budget=9_000)
        assert composed is not None
        assert f"handoff full: revision {self.number}" in composed.text
        assert composed.handoff == found.content_digest
        return found.content_digest, composed.text

    def _free(self) -> None:
        self.here.store.db.execute("UPDATE lease SET run = NULL")

    def bytes(self) -> int:
        """Return the size of what is stored."""
        (pages,) = self.here.store.db.execute("PRAGMA page_count").fetchone()
        (size,) = self.here.store.db.execute("PRAGMA page_size").fetchone()
        return int(pages) * int(size)


def cost(here: Setting, step: Callable[[], None]) -> tuple[int, int]:
    """Return the calls of functions and the database instructions of a step."""
    calls = ticks = 0

    def called(_: object, what: str, __: object) -> None:
        nonlocal calls
        calls += what == "call"

    def ticked() -> int:
        nonlocal ticks
        ticks += 1
        return 0

    here.store.db.set_progress_handler(ticked, INSTRUCTIONS)
    sys.setprofile(called)
    try:
        step()
    finally:
        sys.setprofile(None)
        here.store.db.set_progress_handler(None, 0)
    return calls, ticks


@pytest.mark.slow
def test_two_hundred_rollovers_cost_the_same_each_and_grow_evenly(
    here: Setting, tmp_path: Path
) -> None:
    rollovers = Rollovers(here, tmp_path)
    measured: dict[int, tuple[int, int]] = {}
    sizes: dict[int, int] = {}
    for number in range(1, STEPS + 1):
        if number in MEASURED:
            measured[number] = cost(here, rollovers.step)
        else:
            rollovers.step()
        sizes[number] = rollovers.bytes()
    for early, late in zip(measured[50], measured[STEPS], strict=True):
        assert late <= early * 1.15, measured
    grown = [sizes[number + 50] - sizes[number] for number in (50, 100, 150)]
    assert max(grown) <= min(grown) * 1.5, sizes
    assert reading.head_numbers(here.store, here.workstream) == (
        STEPS,
        reading.exact(here.store, here.workstream, f"r{STEPS}").content_digest,
    )
    kept = here.store.one("SELECT count(*) AS n FROM handoff_prepared")
    drafts = here.store.one("SELECT count(*) AS n FROM handoff_draft")
    assert kept is not None
    assert drafts is not None
    assert kept["n"] <= 3
    assert drafts["n"] == 1
    assert [item.revision for item in reading.revisions(here.store, here.workstream)][:2] == [
        STEPS,
        STEPS - 1,
    ]
