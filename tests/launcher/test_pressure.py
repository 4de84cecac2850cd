from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from handoffs.policy import Thresholds
from importers import registry
from importers.base import Kind, Turn, Usage
from importers.service import import_session
from launcher import pressure
from ledger import facts, runs, sessions
from ledger.model import SessionRow, Step, Workstream
from ledger.store import Store
from tests.ledger.conftest import clock, keys, store, workstream  # noqa: F401
from tests.ledger.making import CONTEXT, START, apply, event, link, start_run

DEFAULT = Thresholds()
FIXTURES = Path(__file__).parent.parent / "fixtures"


def used(
    tokens: int | None = 90_000,
    limit: int | None = 100_000,
    compactions: int = 0,
    *,
    exceeded: bool | None = None,
) -> Usage:
    return Usage(
        at=START,
        context_tokens=tokens,
        limit_tokens=limit,
        compactions=compactions,
        exceeded=exceeded,
    )


def resumed(store: Store, session: SessionRow, *, seconds: int = 2, mode: str = "resume") -> str:  # noqa: F811
    """A run of the session that started at START and ended so many seconds later."""
    values = {"mode": mode, "native_id": session.native_id}
    run = start_run(store, sessions_workstream(store, session), **values)
    runs.advance(
        store, run, Step.ENDED, spawned_at=START, ended_at=START + 1000 * seconds, exit_code=1
    )
    return run.id


def sessions_workstream(store: Store, session: SessionRow) -> Workstream:  # noqa: F811
    from ledger import workstreams

    return workstreams.get(store, session.workstream)


@pytest.mark.parametrize(
    ("usage", "turn", "seconds", "why"),
    [
        (used(), "failed", 2, "its context is 90 % full"),
        (used(10_000, 100_000, 2), "open", 2, "its context was compacted 2 times"),
        (used(8_000, exceeded=True), "failed", 2, "its harness said that the context is full"),
        (used(10_000), "failed", 2, None),
        (used(None, None), "failed", 2, None),
        (used(), "complete", 2, None),
        (used(), "failed", 600, None),
    ],
)
def test_a_full_session_that_ended_at_once_is_better_not_resumed_again(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    usage: Usage,
    turn: str,
    seconds: int,
    why: str | None,
) -> None:
    session = link(store, workstream)
    ended = Turn(turn="t", state=turn, record=2, ended_at=START + 500)
    apply(store, session, [event(1), usage, ended])
    resumed(store, session, seconds=seconds)
    said = pressure.worn_out(store, sessions.get(store, session.id), DEFAULT)
    expected = f"the last run of this session ended at once without an answer, and {why}"
    assert said == (None if why is None else expected)


def test_an_answer_before_that_run_does_not_count(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    session = link(store, workstream)
    before = Turn(turn="t", state="complete", record=2, ended_at=START - 500)
    apply(store, session, [event(1), used(), before])
    resumed(store, session)
    assert pressure.worn_out(store, session, DEFAULT) is not None


def test_runs_of_other_harnesses_since_do_not_make_it_fit(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(1), used(), Turn(turn="t", state="failed", record=2)])
    resumed(store, session)
    other = link(store, workstream, "native-2", harness="claude", entry="claude")
    start_run(store, workstream, mode="resume", native_id=other.native_id, entry="claude")
    assert pressure.worn_out(store, session, DEFAULT) is not None


def test_an_answer_outside_the_wrapper_since_makes_it_fit(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(1), used(), Turn(turn="t", state="failed", record=2)])
    resumed(store, session)
    later = Turn(turn="u", state="complete", record=4, ended_at=START + 90_000)
    apply(store, session, [event(3), later])
    assert pressure.worn_out(store, session, DEFAULT) is None


def test_without_turns_in_the_store_words_are_an_answer(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(1), used()])
    run = resumed(store, session)
    assert pressure.worn_out(store, session, DEFAULT) is not None
    apply(store, session, [event(2, "yes", kind=Kind.ASSISTANT_MESSAGE)], run=run)
    assert pressure.worn_out(store, session, DEFAULT) is None


def test_a_session_that_was_never_resumed_is_resumed_once(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(1), used(), Turn(turn="t", state="failed", record=2)])
    resumed(store, session, mode="create")
    assert pressure.worn_out(store, session, DEFAULT) is None


def current(store: Store, workstream: Workstream, session: SessionRow) -> None:  # noqa: F811
    run = start_run(store, workstream)
    sessions.set_current(
        store, 1, workstream, session, entry=session.entry, one_shot=False, run=run.id
    )


@pytest.mark.parametrize(
    ("usage", "limits", "line"),
    [
        (used(), DEFAULT, "codex: its context is 90 % full; "),
        (used(), Thresholds(percent=95), None),
        (used(300_000, None), DEFAULT, None),
        (used(300_000, None), Thresholds(tokens=300_000), "codex: its context holds 300,000 tok"),
        (used(9, 100, 1), Thresholds(compactions=1), "codex: its context was compacted once; "),
        (used(9, 100, 3), DEFAULT, "codex: its context was compacted 3 times; "),
        (used(None, None), DEFAULT, None),
    ],
)
def test_advice_is_given_from_the_configured_thresholds_on(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    usage: Usage,
    limits: Thresholds,
    line: str | None,
) -> None:
    session = link(store, workstream)
    apply(store, session, [event(1, "x" * 100_000), usage])
    assert pressure.advice(store, workstream, limits) == []  # nobody would resume it
    current(store, workstream, session)
    said = pressure.advice(store, workstream, limits)
    if line is None:
        assert said == []
    else:
        assert len(said) == 1
        assert said[0].startswith(line)
        assert said[0].endswith("start afresh: workstream run --rollover codex")


def test_after_a_rollover_the_counters_begin_at_zero(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
) -> None:
    full, new = link(store, workstream), link(store, workstream, "native-2")
    apply(store, full, [event(1), used(compactions=5, exceeded=True)])
    apply(store, new, [event(1, name="other")])
    current(store, workstream, full)
    assert pressure.advice(store, workstream, DEFAULT) != []
    current(store, workstream, new)
    assert pressure.advice(store, workstream, DEFAULT) == []
    assert facts.pressure(store, [new.id]) == {}


# --- recorded stores --------------------------------------------------------------------------


def imported(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    harness: str,
    home: Path,
) -> dict[str, dict[str, object] | None]:
    """Import a recorded store; return the documents of its sessions."""
    importer = registry.get(harness)
    found = {}
    for source in importer.discover(home):
        row = link(
            store,
            workstream,
            source.native_id,
            harness=harness,
            entry=harness,
            home=str(home),
        )
        import_session(store, importer, source, row, closed=True, context=CONTEXT)
        figures = facts.pressure(store, [row.id]).get(row.id)
        now = START if figures is None else figures.at + 61_000
        found[source.native_id] = pressure.document(figures, now)
    return found


def test_what_codex_recorded_is_shown_with_its_age(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    tmp_path: Path,
) -> None:
    home = shutil.copytree(FIXTURES / "codex" / "compaction" / "codex-home", tmp_path / "home")
    (shown,) = imported(store, workstream, "codex", home).values()
    assert shown is not None
    assert (shown["tokens"], shown["limit"], shown["percent"]) == (3_290, 258_400, 1)
    assert (shown["compactions"], shown["model"]) == (1, "gpt-5.5")
    assert (shown["source"], shown["age_seconds"]) == ("session_store", 61)
    words = "context 1 % of 258,400 tokens, 1 compaction (its store, 1 min ago)"
    assert pressure.line(shown) == words


def test_what_claude_code_recorded_is_shown_without_a_window(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    tmp_path: Path,
) -> None:
    home = shutil.copytree(FIXTURES / "claude" / "compaction" / "dot-claude", tmp_path / "home")
    (shown,) = imported(store, workstream, "claude", home).values()
    assert shown is not None
    assert (shown["tokens"], shown["limit"], shown["percent"]) == (21_528, None, None)
    words = "context 21,528 tokens, window not known, 1 compaction (its store, 1 min ago)"
    assert pressure.line(shown) == words


@pytest.mark.parametrize(
    ("harness", "folder"), [("codex", "forked/codex-home"), ("claude", "forked/dot-claude")]
)
def test_no_fork_counts_what_its_parent_counted(
    store: Store,  # noqa: F811
    workstream: Workstream,  # noqa: F811
    tmp_path: Path,
    harness: str,
    folder: str,
) -> None:
    """Each session shows the size of its own last request, as its file has it."""
    home = shutil.copytree(FIXTURES / harness / folder, tmp_path / "home")
    shown = imported(store, workstream, harness, home)
    tokens = {name: context and context["tokens"] for name, context in shown.items()}
    expected = {
        "codex": {"01a22cab-8db9": 3_112, "01a22cab-8f26": 3_138, "01a22cab-91d7": 3_217},
        "claude": {"8e872080": 22_405, "00000008": 19_153, "00000009": 22_244, "00000007": 19_092},
    }[harness]
    assert {
        name[: len(short)]: tokens[name]
        for short in expected
        for name in tokens
        if name.startswith(short)
    } == expected


def test_a_session_without_figures_is_not_known() -> None:
    assert pressure.document(None, START) is None
    assert pressure.line(None) == "context not known"
