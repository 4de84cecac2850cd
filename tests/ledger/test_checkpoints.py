from __future__ import annotations

import pytest

from ledger import checkpoints, content, workstreams
from ledger.gitstate import GitState
from ledger.model import Workstream
from ledger.store import Store
from tests.ledger.making import link, start_run

STATE = GitState(
    head="a" * 40,
    tree="b" * 40,
    branch="main",
    paths={"b.py": (".M", "d1"), "a.py": ("??", None)},
    dirty_digest="digest-1",
)


def event_texts(store: Store) -> list[str]:
    rows = store.all(
        "SELECT codec, data FROM body JOIN event USING (eid) WHERE kind = 'checkpoint' ORDER BY seq"
    )
    return [content.decode_body(row["codec"], row["data"]) for row in rows]


def test_a_checkpoint_is_a_row_and_an_event(store: Store, workstream: Workstream) -> None:
    run = start_run(store, workstream)
    session = link(store, workstream)
    made = checkpoints.record(store, workstream, STATE, run=run.id, session=session)
    assert (made.worktree, made.run, made.session) == ("/project", run.id, session.id)
    assert (made.head, made.tree, made.branch) == (STATE.head, STATE.tree, STATE.branch)
    assert dict(made.paths) == STATE.paths
    assert made.seq == workstreams.get(store, workstream.id).head_seq == 1
    assert event_texts(store) == [f"main at {'a' * 12}, 2 paths uncommitted\n?? a.py\n.M b.py"]
    row = store.one("SELECT harness, session, run, origin, status FROM event")
    assert row is not None
    assert tuple(row) == (None, None, run.id, "run", "ok")
    assert checkpoints.last_for_session(store, session) == made
    assert checkpoints.last_for_workstream(store, workstream) == made


def test_an_unchanged_state_is_written_again_only_for_a_run(
    store: Store, workstream: Workstream
) -> None:
    first = checkpoints.record(store, workstream, STATE, worktree="/project")
    assert checkpoints.record(store, workstream, STATE, worktree="/project") == first
    elsewhere = checkpoints.record(store, workstream, STATE, worktree="/elsewhere")
    assert elsewhere.id != first.id
    run = start_run(store, workstream)
    assert checkpoints.record(store, workstream, STATE, run=run).id > elsewhere.id


@pytest.mark.parametrize("column", ["head", "branch", "dirty_digest"])
def test_a_changed_state_is_written(store: Store, workstream: Workstream, column: str) -> None:
    first = checkpoints.record(store, workstream, STATE, worktree="/project")
    changed = STATE._replace(**{column: "c" * 40})  # type: ignore[arg-type]
    second = checkpoints.record(store, workstream, changed, worktree="/project")
    assert second.id != first.id
    assert checkpoints.last_for_workstream(store, workstream, worktree="/project") == second


def test_a_partial_state_says_why_and_equals_nothing(store: Store, workstream: Workstream) -> None:
    partial = STATE._replace(partial="time limit", dirty_digest=None)
    first = checkpoints.record(
        store, workstream, partial, worktree="/project", partial="at recovery"
    )
    assert first.partial == "at recovery; time limit"
    assert "(partial: at recovery; time limit)" in event_texts(store)[0]
    assert checkpoints.record(store, workstream, partial, worktree="/project").id != first.id


def test_many_paths_are_counted_not_listed(store: Store, workstream: Workstream) -> None:
    paths = {f"{n:03}.py": (".M", None) for n in range(50)}
    checkpoints.record(store, workstream, STATE._replace(paths=paths), worktree="/project")
    lines = event_texts(store)[0].splitlines()
    assert len(lines) == 22
    assert lines[-1] == "… and 30 more"


def test_a_checkpoint_needs_a_place(store: Store, workstream: Workstream) -> None:
    with pytest.raises(ValueError, match="work tree"):
        checkpoints.record(store, workstream, STATE)
