from __future__ import annotations

import json
import sqlite3

import pytest

from importers.base import (
    AgentCheck,
    FileFact,
    Item,
    Kind,
    LeftOut,
    Limit,
    Loss,
    Mark,
    Plan,
    Receipt,
    Sighting,
    Turn,
    Usage,
)
from ledger import content, ids, receipts, sessions
from ledger.incoming import Additions, CursorStep
from ledger.ingest import CursorMovedError, Ingest, cursor, sign
from ledger.model import Origin, SessionRow, Workstream
from ledger.store import Store
from tests.ledger.making import CONTEXT, START, apply, event, link


def texts(store: Store, workstream: Workstream) -> list[str]:
    rows = store.all(
        "SELECT codec, data FROM body JOIN event USING (eid) WHERE workstream = ? ORDER BY seq",
        workstream.id,
    )
    return [content.decode_body(row["codec"], row["data"]) for row in rows]


def annotated(store: Store) -> list[str]:
    rows = store.all("SELECT status FROM event WHERE kind = 'annotation' ORDER BY seq")
    return [row["status"] for row in rows]


def marks(store: Store) -> list[tuple[int, str]]:
    rows = store.all(
        "SELECT record, state FROM branch_mark"
        " JOIN membership USING (session, eid) ORDER BY branch_mark.id"
    )
    return [(row["record"], row["state"]) for row in rows]


def active(store: Store, session: int) -> dict[int, int]:
    rows = store.all("SELECT record, active FROM membership WHERE session = ?", session)
    return {row["record"]: row["active"] for row in rows}


def test_events_get_gapless_numbers_and_a_chain_that_follows(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0, "one"), event(1, "two", kind=Kind.ASSISTANT_MESSAGE)])
    apply(store, session, [event(2, "three", tool="sh", tool_input={"b": 1, "a": [2]})])
    chain, seqs = content.CHAIN_START, []
    for row in store.all("SELECT * FROM event JOIN body USING (eid) ORDER BY seq"):
        text = content.decode_body(row["codec"], row["data"])
        raw = content.canonical(text, row["tool"], row["tool_input"], row["exit_code"])
        assert row["content_digest"] == content.digest(row["salt"], raw)
        chain = content.link(chain, row["seq"], row["event_id"], row["content_digest"])
        assert row["chain"] == chain
        seqs.append(row["seq"])
    assert seqs == [1, 2, 3]
    head = store.one("SELECT head_seq, chain FROM workstream")
    assert head is not None
    assert tuple(head) == (3, chain)


def test_the_same_records_again_change_nothing(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    first = apply(store, session, [event(0), event(1)])
    before = store.all("SELECT * FROM membership UNION ALL SELECT id,0,0,0,0,0 FROM branch_mark")
    again = apply(store, session, [event(0), event(1, active=False)])
    assert first.imported == {"user_message": 2}
    assert (again.imported, again.known) == ({}, 2)
    after = store.all("SELECT * FROM membership UNION ALL SELECT id,0,0,0,0,0 FROM branch_mark")
    assert [tuple(row) for row in after] == [tuple(row) for row in before]


def test_of_two_records_with_one_identity_in_a_batch_the_first_stays(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    same = [event(0, "first", name="one"), event(3, "first", name="one")]
    applied = apply(store, session, [*same, event(4, "second", name="one")])
    assert applied.imported == {"user_message": 1, "annotation": 1}
    assert [what.reason for what in applied.annotations] == ["source_changed"]
    assert texts(store, workstream)[0] == "first"
    assert active(store, session.id) == {0: 1, 4: 1}


def test_a_fork_shares_the_events_of_its_parent(store: Store, workstream: Workstream) -> None:
    parent, fork = link(store, workstream, "parent"), link(store, workstream, "fork")
    apply(store, parent, [event(0), event(1)])
    applied = apply(store, fork, [event(7, name="record-0"), event(8, name="record-1"), event(9)])
    assert applied.imported == {"user_message": 1}
    assert active(store, fork.id) == {7: 1, 8: 1, 9: 1}
    assert store.one("SELECT count(*) FROM event")[0] == 3  # type: ignore[index]


def test_the_id_of_an_event_is_that_of_its_native_identity(
    store: Store, workstream: Workstream
) -> None:
    apply(store, link(store, workstream, entry="codex-work"), [event(4)])
    row = store.one("SELECT event_id, harness FROM event")
    assert row is not None
    assert row["event_id"] == ids.event_id("codex", "user_message", ("record-4",))
    assert row["harness"] == "codex-work"


def test_a_secret_is_replaced_before_anything_is_stored(
    store: Store, workstream: Workstream
) -> None:
    secret = "ghp_" + "a1B2" * 9
    applied = apply(
        store,
        link(store, workstream),
        [event(0, f"use {secret}", tool="sh", tool_input={"command": f"echo {secret}"})],
    )
    row = store.one("SELECT data, tool_input, meta FROM body JOIN event USING (eid)")
    assert row is not None
    assert row["data"] == b"use [redacted:github-token]"
    assert json.loads(row["tool_input"]) == {"command": "echo [redacted:github-token]"}
    assert json.loads(row["meta"]) == {"v": 1, "redacted": {"github-token": 2}}
    assert applied.redactions == {"github-token": 2}
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert secret.encode() not in store.path.read_bytes()


def test_a_long_text_is_compressed_and_a_longer_one_becomes_a_stub(
    store: Store, workstream: Workstream
) -> None:
    long, longer = "word " * 10_000, "x" * (content.LARGEST + 1)
    applied = apply(store, link(store, workstream), [event(0, long), event(1, longer)])
    rows = store.all("SELECT codec, bytes, length(data) AS kept FROM body ORDER BY eid")
    assert (rows[0]["codec"], rows[0]["bytes"]) == (content.ZLIB, len(long))
    assert rows[0]["kept"] < 1000
    assert rows[1]["bytes"] == len(longer)
    stored = texts(store, workstream)
    assert stored[0] == long
    assert len(stored[1]) < 5000
    assert [what.reason for what in applied.annotations] == ["too_large"]
    assert annotated(store) == ["too_large"]


def test_half_characters_are_mended_and_nul_is_kept(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    items = [
        event(0, "cut \ud83d… a\x00b", call_id="c\ud800", tool_input={"k": "\udc00"}),
        event(1, "\ud83d\ude00"),
    ]
    apply(store, session, items)
    assert apply(store, session, items).annotations == ()
    assert texts(store, workstream) == ["cut \ufffd… a\x00b", "\U0001f600"]


def test_a_changed_source_is_annotated_once_and_the_first_stays(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0, "as it was")])
    changed = apply(store, session, [event(0, "as it is")])
    again = apply(store, session, [event(0, "as it is now")])
    assert [what.reason for what in changed.annotations] == ["source_changed"]
    assert again.annotations == ()
    assert texts(store, workstream)[0] == "as it was"
    assert annotated(store) == ["source_changed"]


def test_a_loss_becomes_one_annotation_per_position(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    loss = Loss(position="a.jsonl@40", reason="torn_line", detail="cut", length=40, record=1)
    applied = apply(store, session, [event(0), loss, event(2)])
    again = apply(store, session, [loss])
    assert applied.imported == {"user_message": 2, "annotation": 1}
    assert (len(applied.annotations), len(again.annotations)) == (1, 0)
    row = store.one("SELECT seq, status, meta FROM event WHERE kind = 'annotation'")
    assert row is not None
    assert (row["seq"], row["status"]) == (2, "torn_line")
    assert json.loads(row["meta"]) == {
        "v": 1,
        "position": "a.jsonl@40",
        "session": "native-1",
        "length": 40,
    }


def test_marks_log_only_what_really_changes(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0), event(1), event(2)])
    apply(store, session, [Mark(first=1, last=2, active=False)])
    apply(store, session, [Mark(first=0, last=0, active=True), Mark(first=2, last=9, active=False)])
    assert marks(store) == [(1, "superseded"), (2, "superseded")]
    apply(store, session, [Mark(first=2, last=2, active=True)])
    assert marks(store)[2:] == [(2, "active")]
    assert active(store, session.id) == {0: 1, 1: 0, 2: 1}


def test_marks_of_one_batch_that_cancel_out_leave_no_trace(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    back_and_forth = [Mark(first=0, last=1, active=False), Mark(first=0, last=1, active=True)]
    apply(store, session, [event(0), event(1), *back_and_forth])
    assert marks(store) == []
    assert active(store, session.id) == {0: 1, 1: 1}


def test_an_event_that_arrives_superseded_has_a_mark(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0), event(1, active=False)])
    assert marks(store) == [(1, "superseded")]
    row = store.one("SELECT at_seq FROM branch_mark")
    assert row is not None
    assert row["at_seq"] == 2


def test_a_mark_of_one_session_leaves_the_fork_alone(store: Store, workstream: Workstream) -> None:
    parent, fork = link(store, workstream, "parent"), link(store, workstream, "fork")
    apply(store, parent, [event(0)])
    apply(store, fork, [event(0)])
    apply(store, parent, [Mark(first=0, last=0, active=False)])
    assert (active(store, parent.id), active(store, fork.id)) == ({0: 0}, {0: 1})


def test_a_second_reading_from_the_start_places_records_anew(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    delivery = Sighting(delivery="dlv_a", depth=0, record=0)
    apply(store, session, [event(0, name="gone"), event(1, name="kept"), delivery])
    apply(store, session, [LeftOut(kind="reasoning", number=3), Usage(at=1, compactions=2)])
    applied = apply(
        store,
        session,
        [
            event(0, name="kept"),
            event(1, name="new"),
            LeftOut(kind="reasoning", number=3),
            Usage(at=1, compactions=2),
            Mark(first=0, last=0, active=False),
        ],
        restart=True,
    )
    assert applied.imported == {"user_message": 1}
    assert active(store, session.id) == {-1: 1, 0: 0, 1: 1}
    assert store.one("SELECT count FROM left_out")[0] == 3  # type: ignore[index]
    assert store.one("SELECT compactions FROM session_usage")[0] == 2  # type: ignore[index]
    assert store.one("SELECT active FROM sighting")[0] == 0  # type: ignore[index]


def test_a_cursor_that_moved_refuses_the_batch(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0)])
    ingest = Ingest(store, session, run=None, origin=Origin.OUTSIDE, context=CONTEXT)
    for expected in (None, 7):
        step = CursorStep(expected=expected, state="late", signature="")
        with pytest.raises(CursorMovedError):
            ingest.apply(Additions(records=[event(1)]), step)
    assert texts(store, workstream) == ["hello"]
    now = cursor(store, session.id)
    assert now is not None
    assert (now.version, now.state) == (1, "state")


def test_a_failure_in_the_middle_leaves_no_part_of_the_batch(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    store.db.execute(
        "CREATE TEMP TRIGGER fail BEFORE INSERT ON turn BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    turn = Turn(turn="t1", state="complete", record=1)
    with pytest.raises(sqlite3.IntegrityError):
        apply(store, session, [event(0), turn])
    assert cursor(store, session.id) is None
    assert texts(store, workstream) == []
    store.db.execute("DROP TRIGGER fail")
    assert apply(store, session, [event(0), turn]).imported == {"user_message": 1}


def test_a_forgotten_event_stays_forgotten(store: Store, workstream: Workstream) -> None:
    forgotten = ids.event_id("codex", "user_message", ("record-1",))
    store.db.execute("INSERT INTO tombstone VALUES ('event', ?, 'ada', 1, NULL)", (forgotten,))
    applied = apply(store, link(store, workstream), [event(0), event(1), event(2)])
    assert (applied.imported, applied.forgotten) == ({"user_message": 2}, 1)
    assert store.one("SELECT 1 FROM event WHERE event_id = ?", forgotten) is None


@pytest.mark.parametrize("scope", ["session", "workstream"])
def test_nothing_of_a_forgotten_session_or_workstream_comes_in(
    store: Store, workstream: Workstream, scope: str
) -> None:
    session = link(store, workstream)
    key = "codex:native-1" if scope == "session" else workstream.uid
    store.db.execute("INSERT INTO tombstone VALUES (?, ?, 'ada', 1, NULL)", (scope, key))
    loss = Loss(position="a@1", reason="torn_line", detail="")
    applied = apply(store, session, [event(0), loss])
    assert (applied.imported, applied.forgotten) == ({}, 2)
    assert applied.annotations == ()


def test_what_a_session_shows_beside_its_words_is_kept(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    secret = "sk-ant-api03-" + "Ab1" * 31
    items: list[Item] = [
        Turn(turn="t1", state="open", record=0, started_at=5),
        Turn(turn="t1", state="failed", record=3, error=f"bad key {secret}", ended_at=9),
        Plan(items=(("old", "pending"),), at=1),
        Plan(items=(("look", "completed"), (f"use {secret}", "pending")), at=2),
        Usage(at=1, model="m", output_tokens=4, compactions=1),
        Usage(at=2, context_tokens=10, compactions=1),
        Limit(at=3, message="usage limit", resets_at=99),
        FileFact(path="a.py", action="edit", at=4),
        AgentCheck(agent="sub", call_id="c", command="make", exit_code=None, at=5),
        AgentCheck(agent="sub", call_id="c", command="make", exit_code=2, at=6),
        LeftOut(kind="reasoning"),
        LeftOut(kind="reasoning", number=2),
    ]
    apply(store, session, items)
    turn = store.one("SELECT state, error, started_at, ended_at FROM turn")
    assert turn is not None
    assert (turn["state"], turn["started_at"], turn["ended_at"]) == ("failed", 5, 9)
    assert secret not in turn["error"]
    plan = [row["text"] for row in store.all("SELECT text FROM plan_item ORDER BY position")]
    assert plan[0] == "look"
    assert secret not in plan[1]
    usage = store.one("SELECT model, context_tokens, output_tokens, compactions FROM session_usage")
    assert usage is not None
    assert tuple(usage) == ("m", 10, 4, 2)
    check = store.one("SELECT exit_code FROM agent_check")
    assert check is not None
    assert check["exit_code"] == 2
    apply(store, session, [items[6], items[7]])
    counts = store.one(
        "SELECT (SELECT count(*) FROM provider_limit), (SELECT count(*) FROM file_fact),"
        " (SELECT count FROM left_out)"
    )
    assert counts is not None
    assert tuple(counts) == (1, 1, 3)


def test_of_two_sightings_the_active_one_counts_and_a_mark_withdraws_it(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    seen = "SELECT record, active FROM sighting"
    apply(store, session, [Sighting(delivery="dlv_a", depth=1, record=1, active=False)])
    apply(store, session, [Sighting(delivery="dlv_a", depth=4, record=4)])
    assert tuple(store.one(seen) or ()) == (4, 1)
    apply(store, session, [Mark(first=3, last=5, active=False)])
    assert tuple(store.one(seen) or ()) == (4, 0)


def test_a_receipt_line_is_kept_once(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    line = Receipt(line="workstream-receipt/1 n x", call_id="c1", record=1)
    other = Receipt(line="workstream-receipt/1 n a", call_id="c1", record=1)
    apply(store, session, [line, other])
    apply(store, session, [line])
    assert [row.line for row in receipts.pending(store, workstream)] == [line.line, other.line]
    receipts.applied(store, receipts.digest(line.line))
    receipts.applied(store, receipts.digest(other.line), refused="no")
    assert receipts.pending(store, workstream) == []


def test_origin_run_and_context_are_recorded(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0, cwd="/other"), event(1)], run="run-1")
    rows = store.all(
        "SELECT origin, run, owner, host, cwd, head, store, occurred_at FROM event"
        " JOIN context ON context.id = context ORDER BY seq"
    )
    assert tuple(rows[0]) == (
        *("run", "run-1", "ada", "host-1", "/other", "abc123"),
        *(session.store, START),
    )
    assert rows[1]["cwd"] == "/somewhere"
    assert store.one("SELECT count(*) FROM context")[0] == 2  # type: ignore[index]


def test_a_signature_is_noted_only_at_the_cursor_it_was_made_for(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    applied = apply(store, session, [event(0)])
    assert sign(store, session.id, applied.version, "closed|sig")
    assert not sign(store, session.id, applied.version + 1, "closed|other")
    assert sessions.signature(store, session) == "sig"
    apply(store, session, [event(1)])
    assert sessions.signature(store, session) is None
    assert store.one("PRAGMA synchronous")[0] == 2  # type: ignore[index]


def test_what_was_stored_is_found_by_search(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, "the quick fox"), event(1, "a slow dog")])
    rows = store.all("SELECT rowid FROM search WHERE search MATCH 'text: quick'")
    assert [row["rowid"] for row in rows] == [1]


def figures(store: Store, session: SessionRow) -> tuple[object, ...]:
    row = store.one(
        "SELECT model, context_tokens, limit_tokens, compactions, exceeded_at FROM session_usage"
        " WHERE session = ?",
        session.id,
    )
    return () if row is None else tuple(row)


def test_a_compaction_without_a_figure_makes_the_size_unknown(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    apply(store, session, [Usage(at=1, model="m", context_tokens=90, limit_tokens=100)])
    apply(store, session, [Usage(at=2, compactions=1)])
    assert figures(store, session) == ("m", None, 100, 1, None)


def test_the_window_of_one_model_is_not_taken_for_that_of_another(
    store: Store, workstream: Workstream
) -> None:
    session = link(store, workstream)
    apply(store, session, [Usage(at=1, model="m", context_tokens=90, limit_tokens=100)])
    apply(store, session, [Usage(at=2, model="n", context_tokens=95)])
    assert figures(store, session) == ("n", 95, None, 0, None)


def test_a_refusal_holds_until_a_request_was_answered(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [Usage(at=5, exceeded=True)])
    apply(store, session, [Usage(at=6, output_tokens=1)])
    assert figures(store, session)[4] == 5
    apply(store, session, [Usage(at=7, context_tokens=10, exceeded=False)])
    assert figures(store, session)[4] is None


def test_counters_of_a_fork_begin_with_the_fork(store: Store, workstream: Workstream) -> None:
    """A fork by copy carries the parent's records: its context is as large, its counter is not."""
    copied: list[Item] = [
        event(1, at=10),
        event(2, kind=Kind.COMPACTION, at=20),
        Usage(at=20, model="m", context_tokens=90, compactions=1),
        Usage(at=20, model="m", context_tokens=95),
    ]
    parent = link(store, workstream, "parent")
    apply(store, parent, copied)
    fork = link(store, workstream, "fork")
    apply(store, fork, copied)
    assert figures(store, fork) == ("m", 95, None, 0, None)
    apply(
        store, fork, [event(3, name="own", at=30), Usage(at=30, context_tokens=97, compactions=1)]
    )
    assert figures(store, fork) == ("m", 97, None, 1, None)
    assert figures(store, parent) == ("m", 95, None, 1, None)
