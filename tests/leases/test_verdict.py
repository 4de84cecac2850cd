from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leases.holder import Holder, LeaseView, Place
from leases.verdict import Facts, Why, judge
from ledger.host import Life

HERE = Place(host_id="host", boot_id="boot-2", pid_ns=10)
TTL = 90_000
NOW, BOOT = 1_700_000_000_000, 5_000_000

HOLDER = Holder(
    run="run_1",
    purpose="run",
    place=HERE,
    pid=100,
    pid_start=7,
    user="ann",
    terminal=None,
    harness="codex",
)


def view(*, age: int = 0, place: Place = HERE, child: bool = True) -> LeaseView:
    """A lease renewed `age` ms ago."""
    return LeaseView(
        workstream=1,
        token=5,
        holder=HOLDER._replace(place=place),
        child_pid=200 if child else None,
        child_start=8 if child else None,
        acquired_at=NOW - age,
        renewed_at=NOW - age,
        renewed_boot=BOOT - age,
        expires_at=NOW - age + TTL,
    )


def facts(holder: Life = Life.RUNNING, child: Life | None = None, *, place: Place = HERE) -> Facts:
    return Facts(place=place, now_ms=NOW, boot_ms=BOOT, holder=holder, child=child)


R, S, D, U = Life.RUNNING, Life.STOPPED, Life.DEAD, Life.UNKNOWN


@pytest.mark.parametrize(
    ("holder", "child", "lapsed", "takeable", "why", "child_may_live"),
    [
        # holder and child dead: at once
        (D, D, False, True, Why.HOLDER_DEAD, False),
        (D, None, False, True, Why.HOLDER_DEAD, False),
        (D, D, True, True, Why.HOLDER_DEAD, False),
        (D, None, True, True, Why.HOLDER_DEAD, False),
        # child running: held whatever the expiry and whatever became of the launcher
        (R, R, False, False, Why.CHILD_RUNNING, True),
        (R, R, True, False, Why.CHILD_RUNNING, True),
        (D, R, False, False, Why.CHILD_RUNNING, True),
        (D, R, True, False, Why.CHILD_RUNNING, True),
        (S, R, True, False, Why.CHILD_RUNNING, True),
        (U, R, True, False, Why.CHILD_RUNNING, True),
        # suspended: only when lapsed, and its session is not resumed
        (S, S, False, False, Why.HOLDER_ALIVE, True),
        (S, S, True, True, Why.STOPPED, True),
        (S, D, False, False, Why.HOLDER_ALIVE, False),
        (S, D, True, True, Why.STOPPED, False),
        (S, None, True, True, Why.STOPPED, False),
        (D, S, False, False, Why.NOT_LAPSED, True),
        (D, S, True, True, Why.STOPPED, True),
        # launcher running without a running child: importing, or about to spawn
        (R, None, False, False, Why.HOLDER_ALIVE, False),
        (R, D, False, False, Why.HOLDER_ALIVE, False),
        (R, D, True, True, Why.LAPSED, False),
        (R, None, True, True, Why.LAPSED, False),
        (R, S, False, False, Why.HOLDER_ALIVE, True),
        (R, S, True, True, Why.LAPSED, True),
        # not visible to this user
        (U, U, False, False, Why.HOLDER_ALIVE, True),
        (U, U, True, True, Why.LAPSED, True),
        (D, U, False, False, Why.NOT_LAPSED, True),
        (D, U, True, True, Why.LAPSED, True),
        (U, None, False, False, Why.HOLDER_ALIVE, False),
    ],
)
def test_truth_table_in_the_same_place(
    holder: Life,
    child: Life | None,
    lapsed: bool,
    takeable: bool,
    why: Why,
    child_may_live: bool,
) -> None:
    found = judge(view(age=TTL if lapsed else TTL - 1), facts(holder, child))
    assert (found.takeable, found.why, found.child_may_live) == (takeable, why, child_may_live)
    assert found.remaining_ms == (0 if lapsed else 1)


def test_a_free_or_unknown_lease_is_taken() -> None:
    assert judge(None, facts()).why is Why.FREE
    assert judge(view()._replace(holder=None), facts()).takeable


def test_after_a_restart_of_the_machine_the_holder_is_dead_at_once() -> None:
    before = HERE._replace(boot_id="boot-1", pid_ns=99)
    found = judge(view(place=before), facts(U, None))
    assert (found.takeable, found.why, found.child_may_live) == (True, Why.EARLIER_BOOT, False)


@pytest.mark.parametrize(
    "place",
    [
        HERE._replace(pid_ns=11),
        HERE._replace(host_id="other"),
        HERE._replace(host_id="other", boot_id="boot-9"),
        HERE._replace(boot_id=""),
    ],
)
def test_elsewhere_only_the_expiry_counts(place: Place) -> None:
    held = judge(view(age=TTL - 1, place=place), facts(D, D))
    assert (held.takeable, held.why, held.child_may_live) == (False, Why.ELSEWHERE, True)
    lapsed = judge(view(age=TTL, place=place), facts(R, R))
    assert (lapsed.takeable, lapsed.why, lapsed.child_may_live) == (True, Why.LAPSED, True)


def test_a_clock_set_back_does_not_keep_a_lease_for_ever_on_the_same_boot() -> None:
    later = facts(S, S)._replace(now_ms=NOW - 10 * 365 * 86_400_000)
    assert judge(view(age=TTL), later).takeable
    other_namespace = view(age=TTL, place=HERE._replace(pid_ns=11))
    assert judge(other_namespace, later).takeable


def test_a_clock_set_forward_does_not_end_a_lease_on_the_same_boot() -> None:
    later = facts(R, None)._replace(now_ms=NOW + 10 * 365 * 86_400_000)
    assert not judge(view(age=1), later).takeable


lives = st.sampled_from(Life)
places = st.builds(
    Place,
    host_id=st.sampled_from(["host", "other"]),
    boot_id=st.sampled_from(["boot-1", "boot-2", ""]),
    pid_ns=st.sampled_from([10, 11]),
)
all_facts = st.builds(
    Facts,
    place=places,
    now_ms=st.integers(NOW - 10**9, NOW + 10**9),
    boot_ms=st.integers(0, 10**9),
    holder=lives,
    child=st.none() | lives,
)


@given(place=places, age=st.integers(0, 3 * TTL), seen=all_facts)
def test_what_holds_for_every_row(place: Place, age: int, seen: Facts) -> None:
    lease = view(age=age, place=place)
    found = judge(lease, seen)
    same_place = place == seen.place and bool(place.boot_id)
    assert found.remaining_ms >= 0
    if same_place and seen.child is Life.RUNNING:
        assert not found.takeable
    if same_place and seen.holder is Life.DEAD and seen.child in (None, Life.DEAD):
        assert found.takeable
    if same_place and seen.child in (Life.STOPPED, Life.UNKNOWN, Life.RUNNING):
        assert found.child_may_live
    if found.takeable and found.why not in (Why.HOLDER_DEAD, Why.EARLIER_BOOT):
        assert found.remaining_ms == 0
    if not found.takeable and found.why is not Why.CHILD_RUNNING:
        assert found.remaining_ms > 0
    if place.host_id != seen.place.host_id:
        assert found.takeable == (seen.now_ms >= lease.expires_at)


@given(age=st.integers(0, 2 * TTL), more=st.integers(0, TTL), seen=all_facts)
def test_waiting_longer_never_takes_the_right_away(age: int, more: int, seen: Facts) -> None:
    lease = view(age=age)
    later = seen._replace(now_ms=seen.now_ms + more, boot_ms=seen.boot_ms + more)
    if judge(lease, seen).takeable:
        assert judge(lease, later).takeable
