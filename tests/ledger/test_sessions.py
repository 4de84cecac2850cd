from __future__ import annotations

from pathlib import Path

import pytest

from importers.base import SessionFacts
from ledger import sessions, workstreams
from ledger.errors import BusyError, UnavailableError
from ledger.fencing import LeaseLostError
from ledger.ingest import cursor
from ledger.model import Origin, SessionState, Workstream
from ledger.store import Store
from tests.ledger.making import SetClock, apply, event, hold_lease, link


@pytest.fixture
def other(store: Store, workstream: Workstream) -> Workstream:
    return workstreams.create(store, workstream.repository, "other")


def test_linking_again_returns_the_same_session(store: Store, workstream: Workstream) -> None:
    first = link(store, workstream)
    assert link(store, workstream) == first
    assert sessions.by_native(store, "codex", "native-1") == first
    assert sessions.by_native(store, "codex", "native-1", "/elsewhere") is None
    assert sessions.of_workstream(store, workstream) == [first]


def test_a_link_only_ever_gains(store: Store, workstream: Workstream) -> None:
    first = link(store, workstream, origin=Origin.ARCHIVE, deliver=False)
    assert (first.origin, first.deliver, first.born) == (Origin.ARCHIVE, False, None)
    link(store, workstream, origin=Origin.RUN, deliver=True, born="clear", born_through=4)
    now = link(store, workstream, origin=Origin.ARCHIVE, deliver=False, born="startup")
    assert (now.origin, now.deliver, now.born, now.born_through) == (Origin.RUN, True, "clear", 4)


def test_the_same_native_id_in_two_homes_is_two_sessions(
    store: Store, workstream: Workstream, tmp_path: Path
) -> None:
    first = link(store, workstream, home=tmp_path / "one")
    second = link(store, workstream, home=tmp_path / "two")
    assert first.id != second.id
    assert sessions.by_native(store, "codex", "native-1", tmp_path / "two") == second


def test_a_home_is_known_by_its_real_path(
    store: Store, workstream: Workstream, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    session = link(store, workstream, home=tmp_path / "alias")
    assert session.home == str(tmp_path / "real")
    assert link(store, workstream, home=tmp_path / "real") == session
    assert sessions.store_home(store, session.store) == str(tmp_path / "real")


def test_a_session_of_another_workstream_is_refused_by_its_name(
    store: Store, workstream: Workstream, other: Workstream
) -> None:
    link(store, workstream)
    with pytest.raises(BusyError, match="'main'"):
        link(store, other)


def test_an_adopted_session_moves_and_is_imported_again(
    store: Store, workstream: Workstream, other: Workstream
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0), event(1)])
    sessions.set_current(store, hold_lease(store, workstream), workstream, session)
    moved = link(store, other, adopt=True, entry="codex-work")
    assert (moved.id, moved.workstream, moved.entry) == (session.id, other.id, "codex-work")
    assert sessions.current(store, workstream, "codex", "/stores/codex", False) is None
    assert cursor(store, moved.id) is None
    assert apply(store, moved, [event(0), event(1)]).imported == {"user_message": 2}
    assert workstreams.get(store, workstream.id).head_seq == 2
    assert workstreams.get(store, other.id).head_seq == 2


def test_interactive_and_one_shot_do_not_take_each_others_place(
    store: Store, workstream: Workstream
) -> None:
    token = hold_lease(store, workstream)
    chat, shot = link(store, workstream, "chat"), link(store, workstream, "shot", one_shot=True)
    sessions.set_current(store, token, workstream, chat)
    sessions.set_current(store, token, workstream, shot)
    assert sessions.current(store, workstream, "codex", "/stores/codex", False) == chat
    assert sessions.current(store, workstream, "codex", "/stores/codex", True) == shot
    assert sessions.current(store, workstream, "claude", "/stores/codex", False) is None


def test_each_store_home_and_entry_keeps_its_own_current_session(
    store: Store, workstream: Workstream, tmp_path: Path
) -> None:
    token = hold_lease(store, workstream)
    first = link(store, workstream, "a", home=tmp_path / "one")
    second = link(store, workstream, "b", home=tmp_path / "two", entry="codex-work")
    sessions.set_current(store, token, workstream, first, run="run-1")
    sessions.set_current(store, token, workstream, second)
    assert sessions.current(store, workstream, "codex", tmp_path / "one", False) == first
    assert sessions.current(store, workstream, "codex-work", tmp_path / "two", False) == second
    assert {row.run for row in sessions.links(store, workstream)} == {"run-1", None}


def test_the_form_of_the_run_can_decide(store: Store, workstream: Workstream) -> None:
    shot = link(store, workstream, one_shot=True)
    sessions.set_current(store, hold_lease(store, workstream), workstream, shot, one_shot=False)
    assert sessions.current(store, workstream, "codex", "/stores/codex", False) == shot


@pytest.mark.parametrize("loss", ["taken over", "released", "never held"])
def test_a_link_moves_only_under_the_lease(store: Store, workstream: Workstream, loss: str) -> None:
    session = link(store, workstream)
    if loss == "taken over":
        hold_lease(store, workstream, token=2)
    elif loss == "released":
        hold_lease(store, workstream, token=1)
        store.db.execute("UPDATE lease SET run = NULL")
    with pytest.raises(LeaseLostError) as caught:
        sessions.set_current(store, 1, workstream, session)
    assert caught.value.code == "lease_lost"
    assert sessions.links(store, workstream) == []


def test_only_a_linked_session_becomes_current(
    store: Store, workstream: Workstream, other: Workstream
) -> None:
    session = link(store, other)
    with pytest.raises(UnavailableError):
        sessions.set_current(store, hold_lease(store, workstream), workstream, session)


def test_unknown_facts_change_nothing(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    secret = "ghp_" + "a1B2" * 9
    sessions.update_facts(
        store,
        session.id,
        SessionFacts(
            native_id="native-1", cwd="/a", model="m", title=f"t {secret}", started_at=5, last_at=9
        ),
    )
    sessions.update_facts(
        store, session.id, SessionFacts(native_id="native-1", started_at=7, last_at=8, version="2")
    )
    row = sessions.get(store, session.id)
    assert (row.cwd, row.model, row.version) == ("/a", "m", "2")
    assert (row.started_at, row.last_at) == (5, 9)
    assert row.title == "t [redacted:github-token]"


def test_a_state_keeps_the_last_known_place(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    sessions.set_state(store, session, SessionState.ARCHIVED, "unarchive it", path="/x.jsonl")
    sessions.set_state(store, session, "missing")
    row = sessions.get(store, session.id)
    assert (row.state, row.state_detail, row.store_path) == ("missing", None, "/x.jsonl")


def test_sessions_of_a_native_store_come_with_their_signature(
    store: Store, workstream: Workstream, clock: SetClock
) -> None:
    session = link(store, workstream)
    assert sessions.of_native_store(store, session.store) == {"native-1": (session, "")}
    clock.now += 1
    with pytest.raises(UnavailableError):
        sessions.get(store, session.id + 1)
