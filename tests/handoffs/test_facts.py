"""What the ledger and git say about checks and evidence, in a real work tree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handoffs import repository
from handoffs.ledger_facts import LedgerFacts, snapshot_ref
from handoffs.models import (
    CheckStatus,
    EvidenceState,
    Finding,
    OmissionKind,
    Ref,
    RefKind,
    Statement,
)
from handoffs.resolver import Resolver
from handoffs.store import checks
from handoffs.validation import required_omissions, validate, with_declared_only
from importers.base import AgentCheck, Sighting
from ledger import checkpoints, deliveries, git, ids, workstreams
from tests.handoffs.setting import Setting, run_git
from tests.ledger.making import START, SetClock, apply, event, link, start_run


def at(here: Setting, offset: int) -> None:
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    clock.now = START + offset


def observe(here: Setting, offset: int) -> None:
    """Record the state of the tree at a time."""
    at(here, offset)
    state = git.state(here.tree, timeout_ms=20_000)
    checkpoints.record(here.store, here.workstream, state, worktree=str(here.tree))


def write(here: Setting, name: str, text: str) -> None:
    (here.tree / name).write_text(text, encoding="utf-8")


def claim(here: Setting, *evidence: str) -> list[tuple[str, str]]:
    refs = tuple(here.ref(word) for word in evidence)
    state = (Statement(text="All tests passed.", evidence=refs),)
    content = with_declared_only(here.content(state=state))
    found: tuple[Finding, ...] = validate(content, here.facts(content))
    return [(item.code, str(item.severity)) for item in found if item.code.startswith("check_")]


# --- the tree of an imported check ----------------------------------------------------------------


def test_a_tree_seen_before_an_imported_check_and_unchanged_since_is_the_same(
    here: Setting,
) -> None:
    observe(here, 0)
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    assert claim(here, ran) == []


def test_a_tree_that_changed_after_it_was_seen_behind_the_check_makes_it_stale(
    here: Setting,
) -> None:
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    observe(here, 200)
    write(here, "a.py", "print('by hand')\n")
    assert claim(here, ran) == [("check_claim_stale", "E")]


def test_a_commit_of_what_was_tested_is_no_change(here: Setting) -> None:
    write(here, "a.py", "print(2)\n")
    observe(here, 0)
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    run_git(here.tree, "commit", "-q", "-am", "second")
    assert claim(here, ran) == []


def test_a_change_at_an_unknown_time_leaves_an_imported_check_doubtful(here: Setting) -> None:
    observe(here, 0)
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    write(here, "a.py", "print(2)\n")
    assert claim(here, ran) == [("check_claim_stale", "W")]


def test_nobody_having_looked_leaves_an_imported_check_doubtful(here: Setting) -> None:
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    assert claim(here, ran) == [("check_claim_stale", "W")]


def test_a_known_edit_after_an_imported_check_counts_whatever_the_trees_say(here: Setting) -> None:
    observe(here, 0)
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    here.edits("a.py", at=START + 200)
    assert claim(here, ran) == [("check_claim_stale", "E")]
    again = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 300)
    assert claim(here, again) == []


def test_another_work_tree_says_nothing_about_this_one(here: Setting) -> None:
    at(here, 0)
    state = git.state(here.tree, timeout_ms=20_000)
    checkpoints.record(here.store, here.workstream, state, worktree="/elsewhere")
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    assert claim(here, ran) == [("check_claim_stale", "W")]


def test_a_partial_observation_says_nothing(here: Setting) -> None:
    at(here, 0)
    state = git.state(here.tree, timeout_ms=20_000)
    checkpoints.record(
        here.store, here.workstream, state, worktree=str(here.tree), partial="seen too late"
    )
    ran = here.runs("pytest -q", 0, "3 passed in 0.1s", at=START + 100)
    assert claim(here, ran) == [("check_claim_stale", "W")]


# --- the tree of a recorded check -----------------------------------------------------------------


def recorded(here: Setting, status: CheckStatus = CheckStatus.PASSED, exit_code: int = 0) -> str:
    ran = checks.Ran(
        command="pytest",
        cwd=str(here.tree),
        exit_code=exit_code,
        status=status,
        failures=None,
        started_at=START,
        ended_at=START + 1,
        output_digest="sha256:" + "0" * 64,
        output_bytes=0,
        output="",
    )
    state = git.state(here.tree, timeout_ms=20_000)
    return checks.record(
        here.store, here.workstream, ran, state, worktree=str(here.tree), run=None, owner="ada"
    ).id


def test_a_new_file_that_git_does_not_know_is_no_change_of_tracked_content(here: Setting) -> None:
    name = recorded(here)
    write(here, "scratch.txt", "x")
    assert claim(here, name) == []
    write(here, "a.py", "print(2)\n")
    assert claim(here, name) == [("check_claim_stale", "E")]


def test_a_change_taken_back_is_no_change(here: Setting) -> None:
    name = recorded(here)
    write(here, "a.py", "print(2)\n")
    run_git(here.tree, "checkout", "-q", "a.py")
    assert claim(here, name) == []


def test_a_deleted_file_and_an_amended_commit_are_told_apart(here: Setting) -> None:
    name = recorded(here)
    run_git(here.tree, "commit", "-q", "--amend", "-m", "other words")
    assert claim(here, name) == []
    (here.tree / "a.py").unlink()
    assert claim(here, name) == [("check_claim_stale", "E")]


def test_a_change_that_is_committed_is_a_change(here: Setting) -> None:
    name = recorded(here)
    write(here, "a.py", "print(2)\n")
    run_git(here.tree, "commit", "-q", "-am", "second")
    assert claim(here, name) == [("check_claim_stale", "E")]


def test_a_failed_and_a_killed_check_support_nothing(here: Setting) -> None:
    failed = recorded(here, CheckStatus.FAILED, 1)
    assert claim(here, failed) == [("check_claim_contradicted", "E")]
    killed = here.runs("pytest -q", 137, "", at=START + 50)
    assert claim(here, killed) == [("check_claim_contradicted", "E")]
    hidden = here.runs("pytest -q | tail -1", 0, "…", at=START + 60)
    assert claim(here, hidden) == [("check_claim_wrong_evidence", "E")]


# --- names ----------------------------------------------------------------------------------------


def elsewhere(here: Setting) -> Setting:
    other = workstreams.create(here.store, here.workstream.repository, "other")
    return Setting(store=here.store, workstream=other, tree=here.tree)


def resolved(here: Setting, word: str) -> Ref | None:
    return Resolver(here.store, here.workstream, here.tree)(word)


def test_a_name_of_another_workstream_is_found_and_refused(here: Setting) -> None:
    asked = here.says("please fix a.py")
    number = recorded(here)
    prepared = here.prepare(here.content()).prepared.prepared_id
    other = elsewhere(here)
    event_id = here.ref(asked).id
    assert other.workstream.id != here.workstream.id
    assert resolved(other, asked) is None
    for name, kind in ((event_id, "ledger"), (number, "check"), (prepared, "handoff")):
        ref = resolved(other, name)
        assert ref is not None
        assert str(ref.kind) == kind
        assert other.facts().evidence(ref) is EvidenceState.WRONG_SCOPE


def test_a_subagents_check_of_another_workstream_is_told_from_a_missing_one(here: Setting) -> None:
    check = AgentCheck(agent="a1", call_id="c1", command="pytest -q", exit_code=0, at=START)
    here.add(check)
    ref = Ref(kind=RefKind.CHECK, id="agent/native-codex/a1/c1", digest="sha256:" + "0" * 64)
    other = elsewhere(here)
    assert here.facts().evidence(ref) is EvidenceState.CHANGED
    assert other.facts().evidence(ref) is EvidenceState.WRONG_SCOPE
    gone = replace(ref, id="agent/native-codex/a1/c2")
    assert other.facts().evidence(gone) is EvidenceState.MISSING


def test_a_beginning_that_several_events_share_names_none_of_them(
    here: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = iter("0123456789")
    monkeypatch.setattr(ids, "event_id", lambda *_: f"ev1-abcd{next(made) * 28}")
    session = link(here.store, here.workstream, "native-2")
    apply(here.store, session, [event(1, "one"), event(2, "two")])
    assert resolved(here, "ev1-abcd") is None
    one = resolved(here, "ev1-abcd0000")
    assert one is not None
    assert one.id.startswith("ev1-abcd0000")


def test_a_commit_that_looks_like_an_event_is_a_commit(
    here: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = "e123456" + "0" * 33
    monkeypatch.setattr(repository, "commit", lambda *_: whole)
    ref = resolved(here, "e123456")
    assert ref is not None
    assert (str(ref.kind), ref.id) == ("git", whole)
    asked = here.says("please fix a.py")
    assert here.ref(asked).kind is RefKind.LEDGER


@pytest.mark.parametrize("word", ["e999", "", "  ", "chk_nothing", "note:x", "file:gone", "zz"])
def test_words_that_name_nothing_name_nothing(here: Setting, word: str) -> None:
    assert resolved(here, word) is None


def test_a_file_whose_name_no_reference_can_carry_is_not_cited(here: Setting) -> None:
    write(here, "a b.py", "x")
    assert resolved(here, "file:a b.py") is None
    assert resolved(here, "file:/etc/hosts") is None


def test_one_state_on_two_branches_is_still_the_state_that_was_cited(here: Setting) -> None:
    observe(here, 0)
    run_git(here.tree, "checkout", "-q", "-b", "topic")
    observe(here, 100)
    now = repository.snapshot(git.state(here.tree, timeout_ms=20_000))
    for branch in ("main", "topic"):
        ref = snapshot_ref(now._replace(branch=branch))
        assert ref is not None
        assert here.facts().evidence(ref) is EvidenceState.AVAILABLE
    moved = snapshot_ref(now._replace(branch="gone"))
    assert moved is not None
    assert here.facts().evidence(moved) is EvidenceState.CHANGED


def test_a_record_that_changed_in_its_store_is_no_line_that_was_skipped(here: Setting) -> None:
    session = here.session()
    here.add(event(1, "one"))
    apply(here.store, session, [event(1, "another")], restart=True)
    now = workstreams.get(here.store, here.workstream.id)
    seen = here.store.one(
        "SELECT count(*) AS n FROM event WHERE workstream = ? AND kind = 'annotation'", now.id
    )
    assert seen is not None
    assert seen["n"] == 1
    assert here.facts().skipped_lines == 0


# --- what the author was not told -----------------------------------------------------------------


def test_what_a_briefing_left_out_has_to_be_said_by_the_session_that_saw_it(here: Setting) -> None:
    for number in range(4):
        here.says(f"request {number} about `a.py`")
    reader = here.session("claude")
    run = start_run(
        here.store, here.workstream, entry="claude", worktree=str(here.tree), cwd=str(here.tree)
    )
    row = deliveries.add_briefing(
        here.store,
        run,
        purpose="session",
        session=reader,
        text="x",
        after_seq=0,
        through_seq=4,
        included=((3, 4),),
        omitted=((1, 2),),
        marks_through=0,
        notes_through=0,
        handoff=None,
    )
    name = ids.delivery_id(run.nonce, 1)
    deliveries.record_printed(
        here.store, name, run, row, channel="hook", source="resume", session=None, at=1
    )
    content = here.content()
    known = LedgerFacts(here.store, here.workstream, here.tree, author=reader.id)
    assert [item.text for item in required_omissions(content, known)] == []  # it saw nothing yet
    here.add(Sighting(delivery=name, depth=900, record=900), harness="claude")
    known = LedgerFacts(here.store, here.workstream, here.tree, author=reader.id)
    (needed,) = required_omissions(content, known)
    assert needed.kind is OmissionKind.EXCLUDED_MATERIAL
    assert needed.text.endswith(": 2")
    asker = LedgerFacts(here.store, here.workstream, here.tree, author=here.session().id)
    assert asker.cut == here.facts().cut == 0
