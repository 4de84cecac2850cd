"""Forks, rewinds, rolled-back turns, copied history, migrated files."""

from __future__ import annotations

from pathlib import Path

from importers.base import Event, FileFact, Mark, Sighting
from importers.codex import IMPORTER
from tests.importers.codex.rollouts import (
    CHILD,
    FORK,
    SEGMENT,
    THREAD,
    Ledger,
    Record,
    agent,
    command,
    developer,
    encode,
    event,
    imported,
    item,
    meta,
    old_agent,
    old_user,
    rollout,
    user,
)

DELIVERY = "dlv_abcdefgh23_0001"


def base(segment: str, below: int) -> Record:
    return {
        "thread_id": segment,
        "end_ordinal_exclusive": below,
        "end_byte_offset": 0,
    }


def parent(home: Path) -> None:
    records = [meta(), user("one"), agent("two"), user("three"), agent("four")]
    rollout(home, encode(records, ordinal=0))


def fork(home: Path, *records: Record, below: int = 3, segment: str = THREAD) -> None:
    first = meta(FORK, forked_from_id=THREAD, history_base=base(segment, below))
    content = encode([first, *records], ordinal=below, start=50)
    rollout(home, content, thread=FORK)


def rewind(home: Path, below: int, *records: Record, start: float = 100) -> None:
    first = meta(history_base=base(THREAD, below)) if below else meta()
    content = encode([first, *records], ordinal=below, start=start)
    rollout(home, content, segment=SEGMENT)


def test_fork_takes_over_the_parents_events_with_the_parents_identity(tmp_path: Path) -> None:
    parent(tmp_path)
    fork(tmp_path, user("mine"))
    ledger = imported(tmp_path, FORK)
    assert ledger.conversation() == [("user", "one"), ("assistant", "two"), ("user", "mine")]
    theirs = imported(tmp_path, THREAD).events
    assert [ledger.events[key].text for key in ledger.events if key in theirs] == ["one", "two"]


def test_parent_going_on_gives_the_fork_nothing(tmp_path: Path) -> None:
    parent(tmp_path)
    fork(tmp_path, user("mine"))
    ledger = imported(tmp_path, FORK)
    path = IMPORTER.locate(tmp_path, THREAD).path
    assert path is not None
    with path.open("ab") as file:
        file.write(encode([user("later")], ordinal=5, start=200))
    assert ledger.read(IMPORTER.locate(tmp_path, FORK)) == []


def test_fork_at_the_very_end_of_its_parent_stays_bounded(tmp_path: Path) -> None:
    parent(tmp_path)
    fork(tmp_path, user("mine"), below=5)
    ledger = imported(tmp_path, FORK)
    path = IMPORTER.locate(tmp_path, THREAD).path
    assert path is not None
    with path.open("ab") as file:
        file.write(encode([user("later")], ordinal=5, start=200))
    ledger.read(IMPORTER.locate(tmp_path, FORK))
    assert ("user", "later") not in ledger.conversation()
    assert ledger.read(IMPORTER.locate(tmp_path, FORK)) == []
    assert ledger.nodes.cleared == 0


def test_missing_parent_is_one_loss_and_its_return_is_noticed(tmp_path: Path) -> None:
    fork(tmp_path, user("mine"))
    ledger = imported(tmp_path, FORK)
    assert [(loss.reason, loss.position) for loss in ledger.losses] == [
        ("missing_parent", f"{THREAD}@0")
    ]
    record = ledger.present()[0][3]
    assert ledger.read(IMPORTER.locate(tmp_path, FORK)) == []
    parent(tmp_path)
    ledger.read(IMPORTER.locate(tmp_path, FORK))
    assert ledger.conversation() == [("user", "one"), ("assistant", "two"), ("user", "mine")]
    assert ledger.present()[-1][3] == record
    assert len(ledger.losses) == 1


def test_archived_parent_is_found(tmp_path: Path) -> None:
    records = [meta(), user("one"), agent("two")]
    rollout(tmp_path, encode(records, ordinal=0), archived=True)
    fork(tmp_path, user("mine"))
    assert imported(tmp_path, FORK).conversation()[0] == ("user", "one")


def test_fork_inherits_what_its_parent_was_shown(tmp_path: Path) -> None:
    records = [meta(), developer(DELIVERY), user("one"), developer(DELIVERY.replace("1", "2"))]
    rollout(tmp_path, encode(records, ordinal=0))
    fork(tmp_path, user("mine"))
    assert [each.delivery for each in imported(tmp_path, FORK).sightings] == [DELIVERY]


def test_rewind_seen_later_marks_the_dead_branch(tmp_path: Path) -> None:
    parent(tmp_path)
    ledger = imported(tmp_path)
    rewind(tmp_path, 3, user("three, but better"))
    got = ledger.read(IMPORTER.locate(tmp_path, THREAD))
    assert [each for each in got if isinstance(each, Mark)] != []
    assert ledger.conversation() == [
        ("user", "one"),
        ("assistant", "two"),
        ("user", "three, but better"),
    ]
    assert ledger.conversation(active=False) == [("user", "three"), ("assistant", "four")]
    clean = imported(tmp_path)
    assert clean.membership() == ledger.membership()
    assert ledger.nodes.cleared == 0


def test_second_rewind_goes_further_back(tmp_path: Path) -> None:
    parent(tmp_path)
    rewind(tmp_path, 3, user("better"))
    ledger = imported(tmp_path)
    later = SEGMENT.replace("0001", "0002")
    content = encode([meta(history_base=base(THREAD, 1)), user("best")], ordinal=1, start=300)
    rollout(tmp_path, content, segment=later)
    ledger.read(IMPORTER.locate(tmp_path, THREAD))
    assert ledger.conversation() == [("user", "best")]
    assert len(ledger.conversation(active=False)) == 5
    assert imported(tmp_path).membership() == ledger.membership()


def test_rewind_to_the_first_prompt_supersedes_everything(tmp_path: Path) -> None:
    parent(tmp_path)
    ledger = imported(tmp_path)
    rewind(tmp_path, 0, user("from scratch"))
    ledger.read(IMPORTER.locate(tmp_path, THREAD))
    assert ledger.conversation() == [("user", "from scratch")]
    assert len(ledger.conversation(active=False)) == 4
    assert imported(tmp_path).membership() == ledger.membership()


def test_rewind_withdraws_a_sighting_behind_the_cut(tmp_path: Path) -> None:
    records = [meta(), user("one"), agent("two"), developer(DELIVERY), user("three")]
    rollout(tmp_path, encode(records, ordinal=0))
    ledger = imported(tmp_path)
    (seen,) = ledger.sightings
    rewind(tmp_path, 3, user("again"))
    (mark,) = [
        each for each in ledger.read(IMPORTER.locate(tmp_path, THREAD)) if isinstance(each, Mark)
    ]
    assert mark.first <= seen.record <= mark.last
    assert [each.active for each in imported(tmp_path).of(Sighting)] == [False]


def test_rewind_of_a_fork_into_its_inherited_part(tmp_path: Path) -> None:
    parent(tmp_path)
    fork(tmp_path, user("mine"), below=5)
    ledger = imported(tmp_path, FORK)
    content = encode(
        [meta(FORK, history_base=base(THREAD, 3)), user("other")], ordinal=3, start=300
    )
    rollout(tmp_path, content, thread=FORK, segment=SEGMENT)
    ledger.read(IMPORTER.locate(tmp_path, FORK))
    assert ledger.conversation() == [("user", "one"), ("assistant", "two"), ("user", "other")]
    assert imported(tmp_path, FORK).membership() == ledger.membership()


def test_cut_below_the_forks_own_start_reaches_its_ancestor(tmp_path: Path) -> None:
    parent(tmp_path)
    fork(tmp_path, user("mine"), below=5)
    content = encode([meta(FORK, history_base=base(FORK, 2)), user("other")], ordinal=2, start=300)
    rollout(tmp_path, content, thread=FORK, segment=SEGMENT)
    assert imported(tmp_path, FORK).conversation() == [("user", "one"), ("user", "other")]


def test_fork_of_a_rewound_parent_follows_the_segment_it_names(tmp_path: Path) -> None:
    parent(tmp_path)
    rewind(tmp_path, 3, user("better"))
    fork(tmp_path, user("mine"), below=5, segment=SEGMENT)
    assert imported(tmp_path, FORK).conversation() == [
        ("user", "one"),
        ("assistant", "two"),
        ("user", "better"),
        ("user", "mine"),
    ]


def test_bases_that_go_in_a_circle_end(tmp_path: Path) -> None:
    rollout(tmp_path, encode([meta(history_base=base(FORK, 9)), user("a")], ordinal=0))
    content = encode([meta(FORK, history_base=base(THREAD, 9)), user("b")], ordinal=0, start=60)
    rollout(tmp_path, content, thread=FORK)
    assert ("user", "b") in imported(tmp_path, FORK).conversation()


def rolled_back(turns: int) -> Record:
    return event("thread_rolled_back", num_turns=turns)


def test_rolled_back_turns_are_superseded(tmp_path: Path) -> None:
    records = [
        meta(),
        old_user("one"),
        old_agent("two"),
        old_user("three"),
        old_agent("four"),
        rolled_back(1),
        old_user("five"),
    ]
    rollout(tmp_path, encode(records))
    ledger = imported(tmp_path)
    assert ledger.conversation() == [("user", "one"), ("assistant", "two"), ("user", "five")]
    assert ledger.conversation(active=False) == [("user", "three"), ("assistant", "four")]


def test_roll_back_counts_only_turns_that_are_left_and_takes_the_turns_start(
    tmp_path: Path,
) -> None:
    records = [meta()]
    for number in range(3):
        records += [
            event("task_started", turn_id=f"t{number}"),
            developer(DELIVERY.replace("1", str(number))),
            old_user(f"u{number}"),
            event("task_complete", turn_id=f"t{number}"),
        ]
    records += [rolled_back(1), rolled_back(1), old_user("next")]
    path = rollout(tmp_path, encode(records[:-2]))
    ledger = imported(tmp_path)
    path.write_bytes(encode(records))
    ledger.read(IMPORTER.locate(tmp_path, THREAD))
    assert ledger.conversation() == [("user", "u0"), ("user", "next")]
    marks = [each for each in ledger.items if isinstance(each, Mark)]
    withdrawn = [
        each.delivery
        for each in ledger.sightings
        if any(mark.first <= each.record <= mark.last for mark in marks)
    ]
    assert sorted(withdrawn) == [DELIVERY, DELIVERY.replace("1", "2")]


# --- history copied into the file (older forks) ---------------------------------------------------

TURNS = [
    event("task_started", turn_id="p1"),
    old_user("one"),
    old_agent("two"),
    event("task_complete", turn_id="p1"),
    event("task_started", turn_id="p2"),
    old_user("three"),
    old_agent("four"),
    event("task_complete", turn_id="p2"),
]


def old_parent(home: Path, records: list[Record]) -> None:
    rollout(home, encode([meta(), *records]))


def old_fork(home: Path, copied: list[Record], own: list[Record]) -> Path:
    records = [meta(FORK, forked_from_id=THREAD), meta(), *copied, *own]
    return rollout(home, encode(records, start=500), thread=FORK)


def test_copied_turns_are_the_parents_and_the_new_turn_is_the_forks(tmp_path: Path) -> None:
    old_parent(tmp_path, TURNS)
    own = [event("task_started", turn_id="f1"), old_user("three"), old_agent("mine")]
    old_fork(tmp_path, TURNS[:4], own)
    ledger = imported(tmp_path, FORK)
    assert ledger.conversation() == [
        ("user", "one"),
        ("assistant", "two"),
        ("user", "three"),
        ("assistant", "mine"),
    ]
    threads = [key[2] for key in ledger.membership()]
    assert sorted(threads) == [THREAD, THREAD, FORK, FORK]


def test_copied_messages_without_turn_ids_are_the_equal_prefix(tmp_path: Path) -> None:
    plain = [old_user("one"), old_agent("two"), old_user("three")]
    old_parent(tmp_path, [*plain, old_agent("four")])
    old_fork(tmp_path, plain, [old_user("mine"), old_agent("two")])
    ledger = imported(tmp_path, FORK)
    assert [key[2] for key in ledger.membership()].count(FORK) == 2
    assert [text for _, text in ledger.conversation()] == ["one", "two", "three", "mine", "two"]


def test_fork_that_has_only_copies_yet_is_read_on_when_it_speaks(tmp_path: Path) -> None:
    old_parent(tmp_path, TURNS)
    path = old_fork(tmp_path, TURNS, [])
    ledger = imported(tmp_path, FORK)
    assert {key[2] for key in ledger.membership()} == {THREAD}
    with path.open("ab") as file:
        file.write(encode([event("task_started", turn_id="f1"), old_user("mine")], start=900))
    ledger.read(IMPORTER.locate(tmp_path, FORK))
    assert ledger.conversation()[-1] == ("user", "mine")
    assert len(ledger.conversation()) == 5


def test_copy_without_its_parent_is_imported_as_it_stands(tmp_path: Path) -> None:
    old_fork(tmp_path, TURNS[:4], [old_user("mine")])
    ledger = imported(tmp_path, FORK)
    assert [text for _, text in ledger.conversation()] == ["one", "two", "mine"]
    assert ledger.losses == []
    assert IMPORTER.describe(IMPORTER.locate(tmp_path, FORK)).native_id == FORK


def test_migrated_file_keeps_every_identity(tmp_path: Path) -> None:
    old = [meta(), old_user("one"), old_agent("two"), old_agent("two")]
    path = rollout(tmp_path, encode(old))
    ledger = imported(tmp_path)
    path.unlink()
    new = [meta(history_mode="paginated"), user("one"), agent("two"), agent("two")]
    rollout(tmp_path, encode(new, ordinal=0))
    ledger.read(IMPORTER.locate(tmp_path, THREAD))
    assert ledger.new == 0
    assert len(ledger.conversation()) == 3


def test_equal_messages_at_one_time_are_two_events(tmp_path: Path) -> None:
    same = encode([user("again")], ordinal=1) + encode([user("again")], ordinal=2)
    rollout(tmp_path, encode([meta()], ordinal=0) + same)
    assert imported(tmp_path).conversation() == [("user", "again")] * 2


# --- subagents --------------------------------------------------------------------------------


def child(home: Path, *records: Record, own_from: int = 0) -> Path:
    first = meta(
        CHILD,
        session_id=THREAD,
        thread_source="subagent",
        source={"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}},
        parent_thread_id=THREAD,
        subagent_history_start_ordinal=own_from,
    )
    return rollout(home, encode([first, *records], ordinal=0, start=60), thread=CHILD)


def spawned() -> Record:
    return item("SubAgentActivity", id="call_s", kind="started", agent_thread_id=CHILD)


def test_subagents_file_changes_are_the_parents_facts_once(tmp_path: Path) -> None:
    change = item(
        "FileChange", id="c2", status="completed", changes={"/p/a.py": {"type": "update"}}
    )
    path = child(tmp_path, command("c1", "make test", "", 2), change, user("typed into it"))
    rollout(tmp_path, encode([meta(), user("go"), spawned()], ordinal=0))
    ledger = imported(tmp_path)
    assert [(fact.path, fact.action, fact.agent) for fact in ledger.of(FileFact)] == [
        ("/p/a.py", "edit", CHILD)
    ]
    assert ledger.conversation() == [("user", "go")]
    with path.open("ab") as file:
        file.write(encode([command("c3", "make", "", 0)], ordinal=4, start=90))
    got = ledger.read(IMPORTER.locate(tmp_path, THREAD))
    assert [getattr(each, "command", None) for each in got] == ["make"]


def test_subagents_copied_prefix_is_not_its_work(tmp_path: Path) -> None:
    child(tmp_path, command("c1", "parents own", "", 0), command("c2", "childs", "", 0), own_from=2)
    rollout(tmp_path, encode([meta(), spawned()], ordinal=0))
    ledger = imported(tmp_path)
    assert [getattr(each, "command", None) for each in ledger.items if hasattr(each, "agent")] == [
        "childs"
    ]


def test_subagent_that_a_person_typed_into_is_read_as_itself(tmp_path: Path) -> None:
    child(tmp_path, user("typed into it"))
    source = IMPORTER.locate(tmp_path, CHILD)
    assert IMPORTER.describe(source).subagent_of == THREAD
    assert imported(tmp_path, CHILD).conversation() == [("user", "typed into it")]


def test_subagents_copied_prefix_is_left_out_when_it_is_read_as_itself(tmp_path: Path) -> None:
    child(tmp_path, command("c1", "parents own"), user("typed"), own_from=2)
    ledger = imported(tmp_path, CHILD)
    assert [text for _, text, _, _ in ledger.present()] == ["typed"]


def test_events_come_in_conversation_order(tmp_path: Path) -> None:
    parent(tmp_path)
    fork(tmp_path, user("mine"))
    ledger = Ledger()
    got = ledger.read(IMPORTER.locate(tmp_path, FORK))
    keys = [(each.depth, each.record, each.block) for each in got if isinstance(each, Event)]
    assert keys == sorted(keys)
