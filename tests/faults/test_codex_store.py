"""Faults that people met with Codex stores, each on the smallest store that shows it.

The names carry the number of the fault in the project's list.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from importers.base import LeftOut, Limits, StoreState
from importers.codex import IMPORTER
from importers.service import ImportSummary, import_session
from ledger import repositories, sessions, workstreams
from ledger.model import Origin, RepositoryKeys, RepositoryKind, SessionRow
from ledger.store import Store, open_store
from tests.importers.codex.rollouts import (
    FORK,
    THREAD,
    Ledger,
    agent,
    answer,
    call,
    command,
    developer,
    encode,
    event,
    imported,
    meta,
    old_agent,
    old_user,
    response,
    rollout,
    user,
)

HEAD = encode([meta()], ordinal=0)
AFTER = encode([agent("after")], ordinal=5, start=50)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def link(store: Store, home: Path, thread: str = THREAD, name: str = "main") -> SessionRow:
    keys = RepositoryKeys(
        kind=RepositoryKind.DIRECTORY, name="project", worktree="/project", directory="/project"
    )
    repository = repositories.find(store, keys) or repositories.create(store, keys, "project")
    workstream = workstreams.by_name(store, repository.id, name) or workstreams.create(
        store, repository.id, name
    )
    return sessions.link_session(
        store,
        workstream,
        harness="codex",
        entry="codex",
        home=home,
        native_id=thread,
        one_shot=False,
        origin=Origin.OUTSIDE,
        deliver=True,
    )


def take(store: Store, home: Path, session: SessionRow, *, closed: bool = False) -> ImportSummary:
    return import_session(
        store, IMPORTER, IMPORTER.locate(home, session.native_id), session, closed=closed
    )


def test_b001_b032_a_broken_line_costs_itself_only_and_is_reported_once(
    store: Store, home: Path
) -> None:
    torn = b'{"type":"event_msg","payload":{"type":"user_\n'
    path = rollout(home, HEAD + encode([user("one")], ordinal=1) + torn + AFTER)
    session = link(store, home)
    first = take(store, home, session)
    assert (first.events, len(first.annotations)) == (2, 1)
    position = len(HEAD) + len(encode([user("one")], ordinal=1))
    assert first.annotations[0]["position"] == f"{path.name}@{position}"
    with path.open("ab") as file:
        file.write(encode([user("more")], ordinal=6, start=60))
    second = take(store, home, session)
    assert (second.events, second.annotations) == (1, [])


def test_b002_b024_half_a_record_waits_for_its_other_half(home: Path) -> None:
    line = encode([agent("three")], ordinal=1)
    path = rollout(home, HEAD + line[:60])
    ledger = imported(home)
    assert (ledger.conversation(), ledger.losses) == ([], [])
    with path.open("ab") as file:
        file.write(line[60:])
    ledger.read(IMPORTER.locate(home, THREAD))
    assert (ledger.conversation(), ledger.new) == ([("assistant", "three")], 1)


def test_b002_fragment_that_was_written_over_is_one_loss(home: Path) -> None:
    line = encode([agent("three")], ordinal=1)
    rollout(home, HEAD + line[:60] + line + AFTER)
    ledger = imported(home)
    assert ledger.conversation() == [("assistant", "after")]
    assert len(ledger.losses) == 1


def test_b003_incomplete_multibyte_sequence_is_no_end(home: Path) -> None:
    cut = encode([user("\u61c2")], ordinal=1)
    cut = cut[: cut.index("\u61c2".encode()) + 2] + b"\n"
    rollout(home, HEAD + cut + AFTER)
    ledger = imported(home)
    assert ledger.conversation() == [("assistant", "after")]
    assert [loss.reason for loss in ledger.losses] == ["torn_line"]


def test_b005_run_of_nul_bytes_is_one_loss(home: Path) -> None:
    rollout(home, HEAD + b"\0" * 300 + b"\n" + AFTER)
    ledger = imported(home)
    assert ledger.conversation() == [("assistant", "after")]
    assert [(loss.reason, loss.length) for loss in ledger.losses] == [("torn_line", 300)]


def test_b007_byte_order_mark_hides_neither_its_session_nor_others(home: Path) -> None:
    rollout(home, b"\xef\xbb\xbf" + HEAD + AFTER)
    for number in range(3):
        thread = f"01a22cab-0000-7000-8000-00000000010{number}"
        rollout(home, encode([meta(thread)], ordinal=0), thread=thread)
    sources = list(IMPORTER.discover(home))
    assert len(sources) == 4
    assert {IMPORTER.describe(each).native_id for each in sources} == {
        each.native_id for each in sources
    }
    ledger = imported(home)
    assert (ledger.conversation(), ledger.losses) == ([("assistant", "after")], [])


def test_b009_o01_half_an_emoji_is_imported_and_encodes(store: Store, home: Path) -> None:
    line = encode([agent("cut XX")], ordinal=1).replace(b"XX", rb"\ud83d\u2026")
    rollout(home, HEAD + line)
    session = link(store, home)
    assert take(store, home, session).events == 1
    (message,) = imported(home).events.values()
    assert message.text == "cut \ufffd\u2026"
    json.dumps(message.text, ensure_ascii=False).encode()


def test_b013_nul_in_a_tool_result_is_kept_in_full(home: Path) -> None:
    rollout(home, HEAD + encode([command("c", "x", "a\0b secretword")], ordinal=1))
    assert [each.text for each in imported(home).events.values()][1] == "a\0b secretword"


def test_b016_memory_stays_bounded_whatever_the_size(home: Path) -> None:
    line = encode([command("call_NNNN", "make", "x" * 20_000)], ordinal=1)
    path = rollout(home, HEAD)
    with path.open("ab") as file:
        for number in range(2000):
            file.write(line.replace(b"NNNN", b"%04d" % number))
        file.write(b'{"type":"' + b"y" * 100_000_000 + b'"}\n' + AFTER)
    program = (
        "import resource,sys\nfrom pathlib import Path\n"
        "from importers.base import Limits\nfrom importers.codex import IMPORTER\n"
        "resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))\n"
        "base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\nevents = losses = 0\n"
        f"source = IMPORTER.locate(Path(sys.argv[1]), {THREAD!r})\n"
        "for batch in IMPORTER.read(source, None, None, Limits(), closed=True):\n"
        "    for item in batch.items:\n"
        "        events += hasattr(item, 'identity'); losses += hasattr(item, 'reason')\n"
        "grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base\n"
        "print(events, losses, grown // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(home)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    events, losses, megabytes = map(int, done.stdout.split())
    assert (events, losses) == (4001, 1)
    assert megabytes < 200


def test_b021_every_event_has_its_own_time(home: Path) -> None:
    records = HEAD + encode([user("old")], ordinal=1).replace(b"2026-11-30", b"2026-10-16")
    rollout(home, records + encode([agent("new")], ordinal=2))
    old, new = imported(home).events.values()
    assert new.at - old.at == 45 * 24 * 3600 * 1000


def test_b026_growth_behind_an_old_mtime_is_imported(store: Store, home: Path) -> None:
    path = rollout(home, HEAD + AFTER)
    session = link(store, home)
    take(store, home, session)
    before = path.stat()
    with path.open("ab") as file:
        file.write(encode([user("late")], ordinal=6, start=90))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert take(store, home, session).events == 1


def test_b031_unknown_records_move_the_cursor_cheaply(home: Path) -> None:
    filler = encode([command(f"c{n}", "x", "y" * 5000) for n in range(200)], ordinal=1)
    path = rollout(home, HEAD + filler)
    ledger = imported(home)
    for _ in range(10):
        with path.open("ab") as file:
            file.write(b'{"type":"zz-progress"}\n')
        source = IMPORTER.locate(home, THREAD)
        batches = list(IMPORTER.read(source, ledger.state, ledger.nodes, Limits(), closed=False))
        ledger.state = batches[-1].state
        assert sum(batch.read_bytes for batch in batches) == 23
        assert [each for batch in batches for each in batch.items] == [
            LeftOut(kind="unknown:zz-progress", number=1)
        ]


@pytest.mark.parametrize("after", range(1, 6))
def test_b033_a_read_killed_after_any_batch_ends_in_the_same_ledger(home: Path, after: int) -> None:
    records = [user("a"), call("c", "lookup"), answer("c", "x"), agent("b"), command("d", "ls")]
    rollout(home, HEAD + encode(records, ordinal=1))
    ledger = Ledger()
    ledger.read(IMPORTER.locate(home, THREAD), limits=Limits(batch_items=1), batches=after)
    ledger.read(IMPORTER.locate(home, THREAD), limits=Limits(batch_items=1))
    assert ledger.membership() == imported(home).membership()


def test_b037_fork_with_copied_history_is_itself_and_counts_nothing_twice(
    store: Store, home: Path
) -> None:
    turns = [old_user("one"), old_agent("two"), old_user("three"), old_agent("four")]
    rollout(home, encode([meta(), *turns]))
    copied = [meta(FORK, forked_from_id=THREAD), meta(), *turns, old_user("new")]
    rollout(home, encode(copied, start=700), thread=FORK)
    assert IMPORTER.describe(IMPORTER.locate(home, FORK)).native_id == FORK
    assert take(store, home, link(store, home)).events == 4
    second = take(store, home, link(store, home, FORK))
    assert (second.events, second.known) == (1, 4)


def test_b047_reimport_and_a_lost_cursor_add_nothing(store: Store, home: Path) -> None:
    rollout(home, HEAD + encode([user("a"), agent("b"), command("c", "ls", "x")], ordinal=1))
    session = link(store, home)
    assert take(store, home, session).events == 4
    for _ in range(4):
        assert take(store, home, session).events == 0
    with store.transaction():
        store.db.execute("DELETE FROM cursor")
    assert take(store, home, session).events == 0


def test_b049_rolled_back_turn_survives_in_the_ledger_only(home: Path) -> None:
    records = [
        meta(),
        old_user("one"),
        old_agent("two"),
        old_user("wrong"),
        event("thread_rolled_back", num_turns=1),
        old_user("right"),
    ]
    rollout(home, encode(records))
    ledger = imported(home)
    assert ledger.conversation(active=False) == [("user", "wrong")]
    assert ledger.conversation()[-1] == ("user", "right")


def test_b051_fork_by_reference_has_its_inherited_part_once(store: Store, home: Path) -> None:
    turns = [message for n in range(5) for message in (user(f"u{n}"), agent(f"a{n}"))]
    rollout(home, encode([meta(), *turns], ordinal=0))
    base = {"thread_id": THREAD, "end_ordinal_exclusive": 6, "end_byte_offset": 1}
    first = meta(FORK, forked_from_id=THREAD, history_base=base)
    rollout(home, encode([first, user("mine")], ordinal=6, start=700), thread=FORK)
    ledger = imported(home, FORK)
    assert [text for _, text in ledger.conversation()] == ["u0", "a0", "u1", "a1", "u2", "mine"]
    assert take(store, home, link(store, home)).events == 10
    assert take(store, home, link(store, home, FORK)).events == 1


def test_b053_item_messages_without_and_with_their_response_copies(home: Path) -> None:
    copy = response("message", role="user", content=[{"type": "input_text", "text": "hi"}])
    rollout(home, HEAD + encode([copy, user("hi"), agent("yes")], ordinal=1))
    assert imported(home).conversation() == [("user", "hi"), ("assistant", "yes")]


def test_b054_compressed_rollout_is_found_and_imported(home: Path) -> None:
    rollout(home, HEAD + AFTER, packed=True)
    assert IMPORTER.locate(home, THREAD).state == StoreState.PRESENT
    assert imported(home).conversation() == [("assistant", "after")]


def test_b056_archived_session_is_imported_and_called_archived(home: Path) -> None:
    path = rollout(home, HEAD + AFTER)
    ledger = imported(home)
    target = home / "archived_sessions"
    target.mkdir()
    path.rename(target / path.name)
    source = IMPORTER.locate(home, THREAD)
    assert source.state == StoreState.ARCHIVED
    assert ledger.read(source) == []


def test_b060_preamble_is_context_and_not_the_first_prompt(home: Path) -> None:
    preamble = response(
        "message",
        role="user",
        content=[{"type": "input_text", "text": "<environment_context>x"}],
        internal_chat_message_metadata_passthrough={
            "content_item_kinds": ["environments.environment_context"]
        },
    )
    rollout(home, HEAD + encode([preamble, user("true prompt")], ordinal=1))
    ledger = imported(home)
    assert ledger.conversation() == [("user", "true prompt")]
    assert LeftOut(kind="injected", number=1) in ledger.items


def test_b065_b066_subagent_and_reviewer_threads_are_told_apart(home: Path) -> None:
    rollout(home, HEAD + AFTER)
    sources: list[object] = [{"subagent": "review"}, {"subagent": {"other": "guardian"}}]
    for number, source in enumerate(sources):
        thread = f"01a22cab-0000-7000-8000-00000000020{number}"
        first = meta(thread, source=source, session_id=THREAD, thread_source=None)
        rollout(home, encode([first, user("typed")], ordinal=0), thread=thread)
        assert IMPORTER.describe(IMPORTER.locate(home, thread)).subagent_of == THREAD
    assert IMPORTER.describe(IMPORTER.locate(home, THREAD)).subagent_of is None


def test_b091_dangling_call_is_an_interrupted_one(store: Store, home: Path) -> None:
    records = [user("go"), call("c", "exec_command", cmd="sleep 99")]
    path = rollout(home, HEAD + encode(records, ordinal=1))
    session = link(store, home)
    assert take(store, home, session).events == 1
    assert take(store, home, session, closed=True).events == 2
    assert take(store, home, session, closed=True).events == 0
    with path.open("ab") as file:
        file.write(encode([user("again")], ordinal=4, start=90))
    assert take(store, home, session, closed=True).events == 1


def test_b096_blank_home_variable_is_unset() -> None:
    assert IMPORTER.home({"HOME": "/home/user", "CODEX_HOME": "  "}) == Path("/home/user/.codex")


def test_b161_delivered_packet_adds_nothing_over_ten_switches(home: Path) -> None:
    records = []
    for number in range(10):
        delivery = f"dlv_abcdefgh23_{number:04d}"
        packet = f"BEGIN WORKSTREAM {delivery}\n| old words\nEND WORKSTREAM {delivery}"
        records += [
            developer(packet),
            user(packet),
            command(f"c{number}", "cat packet", packet),
            agent(f"step {number}"),
        ]
    rollout(home, HEAD + encode(records, ordinal=1))
    ledger = imported(home)
    assert not any("old words" in text for _, text, _, _ in ledger.present())
    assert ledger.conversation() == [("assistant", f"step {n}") for n in range(10)]


def test_b171_locating_among_thousands_of_files_lists_and_opens_one(home: Path) -> None:
    for day in range(1, 29):
        folder = home / f"sessions/2026/10/{day:02d}"
        folder.mkdir(parents=True)
        for number in range(100):
            thread = f"01a22cab-0000-7000-8000-{day:06d}{number:06d}"
            os.mkfifo(folder / f"rollout-2026-10-{day:02d}T10-00-00-{thread}.jsonl")
    rollout(home, HEAD + AFTER)
    assert imported(home).conversation() == [("assistant", "after")]


def test_o03_odd_entries_hide_nothing_and_block_nothing(home: Path) -> None:
    folder = rollout(home, HEAD + AFTER).parent
    (folder / "x.jsonl").symlink_to(folder / "gone")
    (folder / "y.jsonl").mkdir()
    os.mkfifo(folder / "z.jsonl")
    (folder / f"rollout-2026-11-30T10-00-00-{FORK}.jsonl").touch()
    found = {source.native_id: source.state for source in IMPORTER.discover(home)}
    assert found.pop(THREAD) == StoreState.PRESENT
    assert found.pop(FORK) == StoreState.PRESENT
    assert set(found.values()) == {StoreState.UNREADABLE}
    assert imported(home).conversation() == [("assistant", "after")]


def test_o05_ids_do_not_depend_on_white_space_or_key_order(tmp_path: Path) -> None:
    compact = HEAD + encode([user("a"), command("c", "ls", "x"), agent("b")], ordinal=1)
    values = [json.loads(line) for line in compact.splitlines()]
    spaced = "".join(json.dumps(value, indent=None) + "\n" for value in values).encode()
    turned = "".join(
        json.dumps(dict(reversed(value.items())), separators=(" , ", " : ")) + "\n"
        for value in values
    ).encode()
    ledgers = []
    for number, content in enumerate((compact, spaced, turned)):
        rollout(tmp_path / str(number), content)
        ledgers.append(imported(tmp_path / str(number)))
    assert ledgers[0].membership() == ledgers[1].membership() == ledgers[2].membership()
    assert len(ledgers[0].membership()) == 4
