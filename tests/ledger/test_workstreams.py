from __future__ import annotations

import pytest

from ledger import workstreams
from ledger.errors import UnavailableError, UsageError
from ledger.model import Workstream
from ledger.store import Store
from tests.ledger.making import SetClock, start_run


def test_a_new_workstream_is_empty_and_found_by_each_of_its_names(
    store: Store, workstream: Workstream
) -> None:
    assert (workstream.head_seq, workstream.archived_at, workstream.objective) == (0, None, None)
    assert workstreams.get(store, workstream.id) == workstream
    assert workstreams.by_uid(store, workstream.uid) == workstream
    assert workstreams.by_name(store, workstream.repository, "main") == workstream
    assert workstreams.by_name(store, workstream.repository, "Main") is None
    assert workstreams.by_uid(store, "ws_none") is None
    with pytest.raises(UnavailableError):
        workstreams.get(store, workstream.id + 1)


def test_a_name_is_taken_once_per_repository(store: Store, workstream: Workstream) -> None:
    with pytest.raises(UsageError, match="'main'"):
        workstreams.create(store, workstream.repository, "main")
    other = workstreams.create(store, workstream.repository, "other")
    with pytest.raises(UsageError):
        workstreams.rename(store, other, "main")
    assert workstreams.rename(store, other, "other") == other
    renamed = workstreams.rename(store, workstream, "trunk")
    assert (renamed.id, renamed.uid, renamed.name) == (workstream.id, workstream.uid, "trunk")


def test_archived_ones_are_listed_only_on_demand(store: Store, workstream: Workstream) -> None:
    workstreams.archive(store, workstream)
    assert workstreams.list_all(store) == []
    assert [w.name for w in workstreams.list_all(store, archived=True)] == ["main"]
    workstreams.archive(store, workstream, archived=False)
    assert [w.name for w in workstreams.list_all(store, workstream.repository)] == ["main"]
    assert workstreams.list_all(store, "repo_other") == []


def test_the_last_run_is_listed_first(
    store: Store, workstream: Workstream, clock: SetClock
) -> None:
    clock.now += 10
    workstreams.create(store, workstream.repository, "newer")
    assert [w.name for w in workstreams.list_all(store)] == ["newer", "main"]
    clock.now += 10
    start_run(store, workstream)
    assert [w.name for w in workstreams.list_all(store)] == ["main", "newer"]


def test_an_objective_is_scrubbed_and_can_be_taken_back(
    store: Store, workstream: Workstream
) -> None:
    secret = "ghp_" + "a1B2" * 9
    given = workstreams.set_objective(store, workstream, f" ship with {secret} ", by="ada")
    assert given.objective == "ship with [redacted:github-token]"
    assert (given.objective_by, given.objective_at) == ("ada", store.clock.now_ms())
    blank = workstreams.set_objective(store, workstream.id, "  ", by="ada")
    assert (blank.objective, blank.objective_by, blank.objective_at) == (None, None, None)


def test_a_work_tree_remembers_its_last_choice(store: Store, workstream: Workstream) -> None:
    other = workstreams.create(store, workstream.repository, "other")
    assert workstreams.choice(store, workstream.repository, "/tree") is None
    workstreams.remember_choice(store, workstream.repository, "/tree", workstream)
    workstreams.remember_choice(store, workstream.repository, "/tree", other)
    assert workstreams.choice(store, workstream.repository, "/tree") == other
    assert workstreams.choice(store, workstream.repository, "/elsewhere") is None


def test_runs_in_other_work_trees_are_known(store: Store, workstream: Workstream) -> None:
    assert not workstreams.run_in_other_worktree(store, workstream, "/project")
    start_run(store, workstream, worktree="/project")
    assert not workstreams.run_in_other_worktree(store, workstream, "/project")
    assert workstreams.run_in_other_worktree(store, workstream, "/elsewhere")
