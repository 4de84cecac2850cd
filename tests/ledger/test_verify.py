from __future__ import annotations

import tracemalloc

import pytest

from importers.base import Kind, Mark
from ledger import workstreams
from ledger.model import Workstream
from ledger.store import Store, open_store
from ledger.verify import Finding, verify
from tests.ledger.making import apply, event, link


def fill(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    call = event(2, "", kind=Kind.TOOL_CALL, tool="shell", tool_input={"command": "ls"})
    apply(store, session, [event(0), event(1, "x" * 30_000), call, event(3, "é")])
    apply(store, session, [Mark(first=1, last=2, active=False)])


def unprotected(store: Store, sql: str, *values: object) -> None:
    """Change what the triggers and keys protect, as damage would."""
    store.db.execute("PRAGMA foreign_keys = OFF")
    for trigger in ("event_is_immutable", "event_stays"):
        store.db.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    store.db.execute(sql, values)


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_a_sound_ledger_has_no_findings(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    assert verify(store) == []
    with open_store(store.home, "ro") as reader:
        assert verify(reader) == []


@pytest.mark.parametrize(
    ("sql", "code", "where"),
    [
        ("UPDATE body SET data = x'6869' WHERE eid = 1", "digest", "main e1"),
        ("UPDATE body SET data = x'6869' WHERE eid = 2", "body_unreadable", "main e2"),
        ("UPDATE body SET tool_input = '{}' WHERE eid = 3", "digest", "main e3"),
        ("DELETE FROM body WHERE eid = 4", "body_missing", "main e4"),
        ("UPDATE event SET event_id = 'ev1-x' WHERE eid = 2", "chain", "main e2"),
        ("UPDATE event SET exit_code = 1 WHERE eid = 2", "digest", "main e2"),
        ("UPDATE event SET chain = x'00' WHERE eid = 2", "chain", "main e2"),
        ("UPDATE workstream SET head_seq = 9", "head", "main"),
        ("UPDATE workstream SET chain = zeroblob(32)", "head", "main"),
        ("UPDATE membership SET active = 1", "branch_state", "session 1, event row 2"),
        ("DELETE FROM search_docsize WHERE id = 1", "search_index", "search"),
        (
            "INSERT INTO membership (session, eid, depth, record, block) VALUES (1, 77, 1, 1, 0)",
            "membership_without_event",
            "session 1, event row 77",
        ),
        (
            "INSERT INTO membership (session, eid, depth, record, block) VALUES (9, 1, 1, 1, 0)",
            "membership_without_session",
            "session 9, event row 1",
        ),
        (
            (
                "INSERT INTO cursor (session, version, state, signature, updated_at)"
                " VALUES (9, 1, '', '', 0)"
            ),
            "cursor_without_session",
            "session 9",
        ),
        (
            (
                "INSERT INTO delivery (id, run, briefing, channel, state, updated_at)"
                " VALUES ('dlv_x', 'run_x', 5, 'hook', 'launched', 0)"
            ),
            "delivery_without_briefing",
            "delivery dlv_x",
        ),
        (
            (
                "INSERT INTO tombstone SELECT 'event', event_id, 'ada', 0, NULL FROM event"
                " WHERE eid = 1"
            ),
            "forget_unfinished",
            "event row 1",
        ),
    ],
)
def test_damage_is_found_where_it_is(
    store: Store, workstream: Workstream, sql: str, code: str, where: str
) -> None:
    fill(store, workstream)
    unprotected(store, sql)
    findings = verify(store)
    assert (code, where) in [(finding.code, finding.where) for finding in findings]
    assert all(finding.detail and finding.fix for finding in findings)


def test_a_missing_event_is_one_gap_and_one_break(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    unprotected(store, "DELETE FROM event WHERE eid = 2")
    findings = [f for f in verify(store) if f.code in ("sequence", "chain", "head")]
    assert codes(findings) == ["sequence", "chain"]
    assert findings[0].detail == "e2 is not there"


def test_a_row_that_was_swapped_breaks_the_chain(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    unprotected(store, "UPDATE event SET content_digest = zeroblob(32) WHERE eid = 3")
    assert codes(verify(store)) == ["chain", "digest"]


def test_only_the_log_that_was_asked_for_is_derived_again(
    store: Store, workstream: Workstream
) -> None:
    fill(store, workstream)
    other = workstreams.create(store, workstream.repository, "other")
    unprotected(store, "UPDATE body SET data = x'6869' WHERE eid = 1")
    assert codes(verify(store, other)) == []
    assert codes(verify(store, workstream)) == ["digest"]


def test_a_damaged_file_is_a_finding(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    root = store.one("SELECT rootpage FROM sqlite_schema WHERE name = 'checkpoint'")
    assert root is not None
    with store.path.open("r+b") as file:
        file.seek((root[0] - 1) * 4096)
        file.write(b"\xa5" * 64)
    with open_store(store.home, "rw") as again:
        findings = verify(again)
    assert set(codes(findings)) == {"database"}
    assert "restore" in findings[0].fix


def test_many_findings_of_a_kind_are_counted(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(n) for n in range(150)])
    unprotected(store, "UPDATE body SET data = x'6869'")
    findings = [finding for finding in verify(store) if finding.code == "digest"]
    assert len(findings) == 101
    assert findings[-1].detail == "50 more of these"


def test_progress_reaches_the_end(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    told: list[tuple[int, int]] = []
    verify(store, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (4, 4)


def test_memory_does_not_grow_with_the_log(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(n, "w" * 10_000) for n in range(600)])
    tracemalloc.start()
    try:
        assert verify(store) == []
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
