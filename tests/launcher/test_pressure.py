from __future__ import annotations

import pytest

from importers.base import Turn, Usage
from launcher import pressure
from ledger import runs, sessions
from ledger.model import Step, Workstream
from ledger.store import Store
from tests.ledger.conftest import clock, keys, store, workstream  # noqa: F401
from tests.ledger.making import START, apply, event, link, start_run


@pytest.mark.parametrize(
    ("tokens", "compactions", "turn", "seconds", "worn"),
    [
        (90_000, 0, "failed", 2, True),
        (10_000, 2, "open", 2, True),
        (10_000, 0, "failed", 2, False),
        (90_000, 0, "complete", 2, False),
        (90_000, 0, "failed", 600, False),
    ],
)
def test_a_full_session_that_ended_at_once_is_not_proposed_again(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    tokens: int,
    compactions: int,
    turn: str,
    seconds: int,
    worn: bool,
) -> None:
    session = link(store, workstream)
    usage = Usage(at=START, context_tokens=tokens, limit_tokens=100_000, compactions=compactions)
    apply(store, session, [event(1), usage, Turn(turn="t", state=turn, record=2)])
    run = start_run(store, workstream, mode="resume", native_id=session.native_id)
    ended = START + 1000 * seconds
    runs.advance(store, run, Step.ENDED, spawned_at=START, ended_at=ended)
    said = pressure.worn_out(store, sessions.get(store, session.id))
    assert (said is not None) == worn
    if said is not None:
        assert said.endswith("workstream run --rollover codex")


def test_nothing_is_estimated_without_a_signal(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(1, "x" * 100_000), Usage(at=START, context_tokens=900_000)])
    assert pressure.advice(store, workstream) == []
    assert pressure.worn_out(store, session) is None
