"""What a handoff carries must not get less; and the benchmark measures what it says."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.handoff.facts import CHANGING, Replaced, Told, Truth, score
from bench.handoff.measure import Delivered, Figures, deliver, figures
from bench.handoff.rivals import RIVALS, first_and_last, last_turn, raw_tail
from bench.handoff.talk import Role, Shown
from bench.handoff.tasks import QUICK, TASKS

BUDGET = 4096
pytestmark = pytest.mark.xdist_group("handoff-benchmark")


@pytest.fixture(scope="module")
def delivered() -> Sequence[Delivered]:
    return list(deliver(QUICK, (BUDGET,)))


def row(delivered: Sequence[Delivered], way: str) -> Figures:
    (found,) = [figure for figure in figures(delivered) if figure.way == way]
    return found


# --- floors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("way", "mean", "worst"), [("handoff", 0.97, 0.9), ("handoff + delta", 0.99, 0.95)]
)
def test_what_a_handoff_carries_does_not_get_less(
    delivered: Sequence[Delivered], way: str, mean: float, worst: float
) -> None:
    found = row(delivered, way)
    lost = {d.task: d.score.missing for d in delivered if d.way == way and d.score.missing}
    assert found.mean >= mean, lost
    assert found.worst >= worst, lost
    assert found.misled == 0


def test_a_handoff_carries_more_than_any_simple_way(delivered: Sequence[Delivered]) -> None:
    best = max(row(delivered, way).mean for way in RIVALS)
    assert row(delivered, "handoff").mean >= best + 0.2
    assert row(delivered, "handoff + delta").mean >= best + 0.2


# --- the benchmark itself -------------------------------------------------------------------------


def test_everything_shown_carries_every_fact_and_nothing_carries_none(
    delivered: Sequence[Delivered],
) -> None:
    for item in delivered:
        if item.way == "everything shown":
            assert item.score.missing == (), item.task
            assert not item.score.misled, item.task
        if item.way == "nothing":
            assert item.score.carried == 0, item.task


def test_the_same_task_gives_the_same_figures(delivered: Sequence[Delivered]) -> None:
    again = list(deliver(QUICK[:1], (BUDGET,)))
    before = [item for item in delivered if item.task == QUICK[0].name]
    assert [item[:5] for item in again] == [item[:5] for item in before]


def test_there_are_enough_tasks_with_names_of_their_own() -> None:
    assert len({task.name for task in TASKS}) == len(TASKS) >= 24
    assert len(QUICK) == 7


def test_words_far_from_each_other_state_nothing() -> None:
    near, far = f"pytest {'x' * 300} failed", f"pytest {'x' * 500} failed"
    assert Told(near).states("pytest & failed|exit 1")
    assert not Told(far).states("pytest & failed|exit 1")


def test_an_order_is_kept_and_one_of_two_ways_is_enough() -> None:
    told = Told("Check `go test`: ok\nthen Edit src/a.go")
    assert told.states("go test & ok > edit & src/a.go")
    assert not told.states("edit & src/a.go > go test & ok")
    assert told.states("nothing of it or go test")


def test_fence_case_and_white_space_do_not_count() -> None:
    assert Told("| The port\n|     is 9090").states("the port is 9090")


@pytest.mark.parametrize(
    ("text", "misled"),
    [
        ("it listens on 9090", False),
        ("it listens on 8080", True),
        ("listen on 8080; no, use 9090", False),
        ("no, use 9090, 8080 is taken", False),
        ("9090 " + "x" * 300 + " it listens on 8080", True),
    ],
)
def test_an_old_value_misleads_unless_the_new_one_corrects_it(text: str, misled: bool) -> None:
    assert Replaced(old="8080", new="9090").misleads(Told(text)) is misled


def test_a_score_is_the_mean_of_the_classes() -> None:
    truth = Truth(objective=("fix the parser",), files=("a.py", "b.py"))
    found = score(truth, "fix the parser; edited a.py")
    assert found.shares == {"objective": 1.0, "files": 0.5}
    assert found.carried == 0.75
    assert found.missing == (f"b.py & {CHANGING}",)


# --- the simple ways ------------------------------------------------------------------------------

SHOWN = [
    Shown(Role.USER, "first"),
    Shown(Role.ASSISTANT, "second"),
    Shown(Role.CALL, "make"),
    Shown(Role.RESULT, "o" * 5000),
    *(Shown(Role.ASSISTANT, f"said {number}") for number in range(6)),
    Shown(Role.USER, "last request"),
    Shown(Role.RESULT, "e" * 500),
]


@pytest.mark.parametrize("way", RIVALS.values())
@pytest.mark.parametrize("budget", [64, 200, 2000, 100_000])
def test_no_simple_way_takes_more_than_its_budget(way: object, budget: int) -> None:
    assert callable(way)
    assert len(way(SHOWN, budget).encode()) <= budget


def test_the_simple_ways_are_what_their_names_say() -> None:
    assert raw_tail(SHOWN, 100) == "e" * 100
    assert last_turn(SHOWN, 2000).startswith("User: last request")
    kept = first_and_last(SHOWN, 2000)
    assert kept.split("\n\n") == [
        *("User: first", "Assistant: second", "Assistant: said 3", "Assistant: said 4"),
        *("Assistant: said 5", "User: last request"),
    ]
