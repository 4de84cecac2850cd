"""Order of records, the live branch, and the marks when it moves."""

from __future__ import annotations

from pathlib import Path

from importers.base import Event, Limits, Loss, Mark, Sighting
from tests.importers.claude.transcript import Got, MemoryNodes, Transcript, read

DELIVERY = "dlv_abcdefghij_0001"


def _grow(t: Transcript, home: Path, got: Got | None = None) -> Got:
    got = got or Got()
    got.read(t.write(home))
    return got


def test_an_answer_flushed_before_its_prompt_comes_after_it(tmp_path: Path) -> None:
    t = Transcript()
    t.user("question")
    t.assistant("answer")
    t.lines.reverse()
    got = read(t.write(tmp_path))
    assert [event.text for event in got.of(Event)] == ["question", "answer"]
    assert got.of(Loss) == []


def test_a_prompt_that_comes_a_batch_after_its_answer_is_ordered_before_it(tmp_path: Path) -> None:
    t = Transcript()
    t.user("question")
    t.attachment("skill_listing")
    t.assistant("answer")
    t.user("next")
    lines = t.lines
    t.lines = [lines[2]]
    got = _grow(t, tmp_path)
    t.lines = [lines[2], lines[0], lines[1], lines[3]]
    _grow(t, tmp_path, got)
    got.read(t.write(tmp_path), closed=True)
    assert got.texts() == ["question", "answer", "next"]
    assert set(got.active().values()) == {True}
    assert got.of(Loss) == []


def test_parallel_results_stay_live_whichever_the_next_answer_hangs_on(tmp_path: Path) -> None:
    t = Transcript()
    t.user("do both")
    first = t.call("c1", "Bash", {"command": "a"}, id="m1")
    second = t.call("c2", "Bash", {"command": "b"}, id="m1")
    t.result("c2", "two", {"stdout": "two"}, parent=second)
    result = t.result("c1", "one", {"stdout": "one"}, parent=first)
    t.assistant("done", parent=result)
    got = read(t.write(tmp_path))
    assert set(got.active().values()) == {True}
    texts = [event.text for event in got.of(Event)]
    assert texts.index("done") == len(texts) - 1


def test_a_rewind_inside_one_batch_is_superseded_from_birth(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.user("two")
    t.assistant("ok two")
    t.user("other two", parent=stay)
    t.assistant("ok other")
    got = read(t.write(tmp_path))
    assert got.of(Mark) == []
    assert [event.text for event in got.of(Event) if not event.active] == ["two", "ok two"]
    assert [event.text for event in got.of(Event)] == [
        "one", "ok one", "two", "ok two", "other two", "ok other"
    ]  # fmt: skip


def test_a_rewind_between_reads_marks_exactly_what_it_left(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.user("two")
    t.call("c1", "Bash", {"command": "a"}, id="m1")
    t.result("c1", "out", {"stdout": "out"})
    t.assistant("ok two")
    got = _grow(t, tmp_path)
    t.user("other two", parent=stay)
    new = got.read(t.write(tmp_path))
    assert [item for item in new if isinstance(item, Mark)] == [Mark(first=2, last=5, active=False)]
    assert got.active() == {
        "one": True,
        "ok one": True,
        "two": False,
        "a": False,
        "out": False,
        "ok two": False,
        "other two": True,
    }


def test_a_switch_back_revives_the_old_branch(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.user("two")
    left = t.assistant("ok two")
    got = _grow(t, tmp_path)
    t.user("other", parent=stay)
    other = t.assistant("ok other")
    t.leaf(other)
    got.read(t.write(tmp_path))
    assert got.active()["two"] is False
    t.leaf(left)
    new = got.read(t.write(tmp_path))
    assert [item for item in new if isinstance(item, Mark)] == [
        Mark(first=4, last=5, active=False),
        Mark(first=2, last=3, active=True),
    ]
    t.user("on from two", parent=left)
    got.read(t.write(tmp_path))
    assert {text for text, live in got.active().items() if not live} == {"other", "ok other"}


def test_the_newest_descendant_of_the_last_leaf_wins_over_newer_records(tmp_path: Path) -> None:
    """Two processes on one id: the branch that does not descend from the leaf is out of view."""
    t = Transcript()
    t.user("shared")
    common = t.assistant("ok shared")
    t.user("first process")
    leaf = t.assistant("first answer")
    t.leaf(leaf)
    t.user("second process", parent=common)
    t.assistant("second answer")
    t.user("first goes on", parent=leaf)
    got = read(t.write(tmp_path))
    assert {text for text, live in got.active().items() if not live} == {
        "second process",
        "second answer",
    }
    grown = Got()
    for end in range(1, len(t.lines) + 1):
        part = Transcript()
        part.lines = t.lines[:end]
        grown.read(part.write(tmp_path / "grown"))
    assert grown.active() == got.active()


def test_two_processes_that_end_one_after_the_other_swap_the_live_branch(tmp_path: Path) -> None:
    t = Transcript()
    t.user("shared")
    common = t.assistant("ok shared")
    first = t.user("first", parent=common)
    second = t.user("second", parent=common)
    first = t.assistant("first answer", parent=first)
    second = t.assistant("second answer", parent=second)
    t.leaf(first)
    got = _grow(t, tmp_path)
    assert {text for text, live in got.active().items() if not live} == {"second", "second answer"}
    t.leaf(second)
    got.read(t.write(tmp_path))
    assert {text for text, live in got.active().items() if not live} == {"first", "first answer"}
    assert len(got.of(Mark)) == 4  # interleaved records: no range covers the other branch


def test_compaction_is_crossed_by_the_logical_parent(tmp_path: Path) -> None:
    t = Transcript()
    t.user("before")
    last = t.assistant("ok before")
    t.record(
        "system",
        subtype="compact_boundary",
        content="Conversation compacted",
        parent=None,
        logicalParentUuid=last,
    )
    t.user("after")
    got = read(t.write(tmp_path), closed=True)
    assert set(got.active().values()) == {True}
    assert got.of(Loss) == []


def test_a_boundary_whose_logical_parent_is_in_another_file_loses_nothing(tmp_path: Path) -> None:
    t = Transcript()
    t.record(
        "system",
        subtype="compact_boundary",
        content="Conversation compacted",
        parent=None,
        logicalParentUuid="elsewhere",
    )
    t.user("after")
    got = read(t.write(tmp_path), closed=True)
    assert got.texts() == ["after"]
    assert got.of(Loss) == []


def test_a_sighting_moves_with_its_branch(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.attachment("hook_additional_context", content=[f"briefing {DELIVERY} text"])
    t.user("two")
    got = _grow(t, tmp_path)
    assert [(s.delivery, s.active) for s in got.of(Sighting)] == [(DELIVERY, True)]
    t.user("rewound before it", parent=stay)
    got.read(t.write(tmp_path))
    assert got.active()[DELIVERY] is False


def test_a_stored_tree_that_was_lost_leads_to_a_rescan(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    got = _grow(t, tmp_path)
    got.nodes = MemoryNodes()
    t.assistant("ok one")
    new = got.read(t.write(tmp_path))
    assert [item.text for item in new if isinstance(item, Event)] == ["one", "ok one"]


def test_the_tree_costs_the_same_for_each_new_record(tmp_path: Path) -> None:
    t = Transcript()
    costs = []
    got = Got()
    path = t.write(tmp_path)
    for size in (200, 400, 800, 1600):
        while t.count < size:
            t.user(f"q{t.count}")
            t.assistant(f"a{t.count}")
        if size == 400:
            t.leaf(str(t.last))
        path = t.write(tmp_path)
        got.read(path)
        t.user("one more")
        path = t.write(tmp_path)
        before = got.nodes.calls
        got.read(path)
        costs.append(got.nodes.calls - before)
    assert max(costs) <= min(costs) + 4


def test_small_batches_give_the_same_as_one(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    for number in range(20):
        t.user(f"two {number}")
        t.call(f"c{number}", "Bash", {"command": "x"}, id=f"m{number}")
        t.result(f"c{number}", f"out {number}", {"stdout": "x"})
    t.user("rewound", parent=stay)
    path = t.write(tmp_path)
    whole, small = read(path), read(path, limits=Limits(batch_items=3))
    assert len(small.batches) > 10
    assert small.active() == whole.active()
    assert small.texts() == whole.texts()
    for batch in whole.batches + small.batches:
        places = [(e.depth, e.record, e.block) for e in batch.items if isinstance(e, Event)]
        assert places == sorted(places)


def test_an_open_call_on_a_rewound_branch_ends_there(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.user("two")
    t.call("c1", "Bash", {"command": "sleep"})
    got = _grow(t, tmp_path)
    t.user("rewound", parent=stay)
    new = Got(got.nodes, got.state)
    new.read(t.write(tmp_path), closed=True)
    assert [(e.call_id, e.status, e.active) for e in new.of(Event) if e.call_id] == [
        ("c1", "interrupted", False)
    ]


def test_a_late_chain_keeps_its_own_order(tmp_path: Path) -> None:
    t = Transcript()
    t.user("question")
    t.assistant("first part")
    t.assistant("second part")
    question, first, second = t.lines
    t.lines = [second]
    got = _grow(t, tmp_path)
    t.lines = [second, first, question]
    _grow(t, tmp_path, got)
    assert got.texts() == ["question", "first part", "second part"]


def test_a_result_off_the_path_follows_its_call_when_that_is_rewound(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.user("two")
    first = t.call("c1", "Bash", {"command": "a"}, id="m1")
    second = t.call("c2", "Bash", {"command": "b"}, id="m1")
    t.result("c2", "result two", {"stdout": "x"}, parent=second)
    result = t.result("c1", "result one", {"stdout": "x"}, parent=first)
    t.assistant("ok two", parent=result)
    got = _grow(t, tmp_path)
    t.user("rewound", parent=stay)
    got.read(t.write(tmp_path))
    assert {text for text, live in got.active().items() if live} == {"one", "ok one", "rewound"}


def test_a_result_of_a_live_call_survives_the_branch_that_hung_on_it(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    first = t.call("c1", "Bash", {"command": "a"}, id="m1")
    result = t.result("c1", "result one", {"stdout": "x"}, parent=first)
    t.assistant("by result one", parent=result)
    got = _grow(t, tmp_path)
    second = t.call("c2", "Bash", {"command": "b"}, id="m1", parent=first)
    t.result("c2", "result two", {"stdout": "x"}, parent=second)
    t.assistant("by result two")
    got.read(t.write(tmp_path))
    assert {text for text, live in got.active().items() if not live} == {"by result one"}
