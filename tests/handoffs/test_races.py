"""Commits at the same moment, by real processes: of those on one base exactly one wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from handoffs.store import reading
from leases import lease as leases
from leases.holder import Place
from ledger.store import open_store
from tests.handoffs.racing import race
from tests.handoffs.setting import Setting
from tests.run.desk import TIME_LIMIT, until

WRITERS = 20


def preparations(here: Setting, number: int, words: str = "first") -> list[str]:
    """Prepared ids of different words on the same head."""
    made = [here.prepare(here.content(words=f"`w{n}.py` in {words}")) for n in range(number)]
    return [item.prepared.prepared_id for item in made]


def at_once(here: Setting, jobs: list[str], *, patience: float = 0) -> list[str]:
    return race(here.store.home, here.workstream.id, jobs, patience=patience)


def history(here: Setting) -> list[int | None]:
    """Revisions, oldest first; a head that is another one would show."""
    found = [item.revision for item in reversed(reading.revisions(here.store, here.workstream))]
    head = reading.head_numbers(here.store, here.workstream)
    assert (None if head is None else head[0]) == (found[-1] if found else None)
    return found


def test_of_twenty_writers_one_wins_each_of_three_races(here: Setting) -> None:
    for number in range(1, 4):
        names = preparations(here, WRITERS, f"race {number}")
        assert at_once(here, names) == ["committed"] + ["head_conflict"] * (WRITERS - 1)
        assert history(here) == list(range(1, number + 1))


def test_of_two_writers_one_wins(here: Setting) -> None:
    for number in range(1, 4):
        answers = at_once(here, preparations(here, 2, f"race {number}"))
        assert answers == ["committed", "head_conflict"]
        assert len(history(here)) == number


def test_twenty_equal_commits_make_one_revision(here: Setting) -> None:
    (name,) = preparations(here, 1)
    assert at_once(here, [name] * WRITERS) == ["already_committed"] * (WRITERS - 1) + ["committed"]
    assert history(here) == [1]


def test_equal_words_from_everybody_and_others_between_make_at_most_one_each(here: Setting) -> None:
    one, two = preparations(here, 2)
    answers = at_once(here, [one, two] * 6)
    assert answers == ["already_committed"] * 5 + ["committed"] + ["head_conflict"] * 6
    assert history(here) == [1]


@pytest.mark.parametrize("race_number", range(3))
def test_a_take_over_in_the_middle_lets_nobody_in_with_the_old_token(
    here: Setting, race_number: int
) -> None:
    lease = leases.acquire(here.store, here.workstream.id, here.holder)
    names = preparations(here, WRITERS - 1)
    jobs = [f"{name}@{lease.token}" for name in names]
    jobs.insert(race_number * 9, "+")
    answers = at_once(here, jobs)
    before = answers.count("committed")
    assert answers.count("taken_over") == 1
    assert before in (0, 1)
    assert set(answers) <= {"committed", "head_conflict", "lease_lost", "taken_over"}
    assert history(here) == [1] * before
    with open_store(here.store.home, "rw") as store:
        view = leases.inspect(store, here.workstream.id)
    assert view is not None
    assert view.token != lease.token
    late = at_once(here, [f"{names[0]}@{lease.token}"])
    assert late == ["lease_lost"]
    assert history(here) == [1] * before


def test_while_a_run_holds_the_lease_nobody_wins_and_nothing_is_written(here: Setting) -> None:
    names = preparations(here, WRITERS)
    with open_store(here.store.home, "rw") as store:  # on the writers' clock
        lease = leases.acquire(store, here.workstream.id, here.holder)
        assert at_once(here, names) == ["busy"] * WRITERS
        assert history(here) == []
        assert leases.release(store, here.workstream.id, lease.token)
    assert at_once(here, names) == ["committed"] + ["head_conflict"] * (WRITERS - 1)


@pytest.mark.parametrize("end", ["expires", "is given back"])
def test_when_the_lease_ends_that_all_wait_for_one_wins(here: Setting, end: str) -> None:
    names = preparations(here, WRITERS)
    far = Place(host_id="another-host", boot_id="another-boot", pid_ns=1)
    with open_store(here.store.home, "rw") as store, ThreadPoolExecutor(1) as pool:
        # a holder on another machine: only the time tells that it is gone
        lease = leases.acquire(store, here.workstream.id, here.holder._replace(place=far))
        answers = pool.submit(at_once, here, names, patience=TIME_LIMIT)
        until(lambda: len(list(here.store.home.glob("waiting-*"))) == WRITERS, "the writers")
        assert history(here) == []
        if end == "expires":
            with store.transaction() as db:
                db.execute("UPDATE lease SET expires_at = renewed_at")
        else:
            leases.release(store, here.workstream.id, lease.token)
        assert answers.result() == ["committed"] + ["head_conflict"] * (WRITERS - 1)
    assert history(here) == [1]
