"""What Claude Code 2.1.332 writes that 2.1.197 did not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from importers.base import Event, Kind, LeftOut, Limit, StoreState, Turn
from importers.claude import IMPORTER
from tests.importers.claude.transcript import Got, Transcript, read

RECORDED = Path(__file__).parents[2] / "fixtures" / "recorded" / "claude"
NIL = "00000000-0000-0000-0000-000000000000"
SESSIONS = [
    (home.parent.name, source.native_id)
    for home in sorted(RECORDED.glob("*/claude"))
    for source in IMPORTER.discover(home)
]


@pytest.mark.parametrize(("folder", "session"), SESSIONS)
def test_nothing_in_a_recorded_store_is_unknown(folder: str, session: str) -> None:
    source = IMPORTER.locate(RECORDED / folder / "claude", session)
    assert source.state is StoreState.PRESENT
    assert source.path is not None
    got = read(source.path, closed=True)
    assert [kind for kind in got.left_out() if kind.startswith("unknown")] == []


@pytest.mark.parametrize(
    "kind",
    ["api-request", "api-request-shape", "api-request-blob", "atis-latch", "cost-state"],
)
def test_copies_of_requests_and_other_new_side_records_say_nothing(
    tmp_path: Path, kind: str
) -> None:
    t = Transcript()
    t.user("one")
    t.side(kind, message={"role": "user", "content": [{"type": "text", "text": "one"}]})
    t.assistant("ok")
    got = read(t.write(tmp_path))
    assert [event.text for event in got.of(Event)] == ["one", "ok"]
    assert [(i.kind, i.number) for i in got.of(LeftOut)] == [("bookkeeping", 1)]


def _rewound() -> Transcript:
    """Return two branches below one answer; the older one is the leaf that was named last."""
    t = Transcript()
    t.user("one")
    stay = t.assistant("ok one")
    t.user("two")
    left = t.assistant("ok two")
    t.leaf(left)
    t.user("other two", parent=stay)
    t.assistant("ok other")
    return t


def test_a_leaf_without_a_name_withdraws_the_one_before(tmp_path: Path) -> None:
    t = _rewound()
    got = Got()
    got.read(t.write(tmp_path))
    assert got.active()["ok other"] is False
    t.side("last-prompt", leafUuid=NIL, explicit=True)
    got.read(t.write(tmp_path))
    assert got.active() == {
        "one": True,
        "ok one": True,
        "two": False,
        "ok two": False,
        "other two": True,
        "ok other": True,
    }


def test_a_leaf_without_a_name_counts_the_same_in_one_read(tmp_path: Path) -> None:
    t = _rewound()
    t.side("last-prompt", leafUuid=NIL, explicit=True)
    active = read(t.write(tmp_path)).active()
    assert [text for text, live in active.items() if not live] == ["two", "ok two"]


def test_a_leaf_that_is_not_in_the_file_changes_nothing(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.assistant("ok one")
    t.leaf("not-here")
    assert all(read(t.write(tmp_path)).active().values())


def test_a_limit_takes_its_reset_time_from_the_figures(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.assistant(
        "You've hit your 5-hour limit · resets 5:07pm",
        model="<synthetic>",
        isApiErrorMessage=True,
        error="rate_limit",
        apiErrorStatus=429,
        apiError="usage_limit_reached",
        quotaLimits={"status": "rejected", "resetsAt": 1_796_060_000, "rateLimitType": "five_hour"},
    )
    (limit,) = read(t.write(tmp_path)).of(Limit)
    assert limit.resets_at == 1_796_060_000_000


@pytest.mark.parametrize("resets", [None, "soon", -5, 1e300, True])
def test_figures_that_make_no_sense_give_no_reset_time(tmp_path: Path, resets: Any) -> None:
    t = Transcript()
    t.user("one")
    t.assistant(
        "limit",
        model="<synthetic>",
        isApiErrorMessage=True,
        error="rate_limit",
        quotaLimits={"resetsAt": resets},
    )
    (limit,) = read(t.write(tmp_path)).of(Limit)
    assert limit.resets_at is None


def test_an_interruption_marker_of_the_harness_is_no_message(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.assistant("partial", stop=None, isAbortedMidStream=True)
    t.injected("[Request interrupted by user]", rowSource="harness", promptId=t.turn)
    got = read(t.write(tmp_path))
    assert [event.text for event in got.of(Event)] == ["one", "partial"]
    assert [turn.state for turn in got.of(Turn)][-1] == "interrupted"


def test_other_words_of_the_harness_in_the_persons_place_are_injected(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.injected("Go on where you stopped.", rowSource="harness")
    got = read(t.write(tmp_path))
    assert [event.text for event in got.of(Event)] == ["one"]
    assert got.left_out() == {"injected": 1}


CUT = "[Tool call interrupted: the program ended before it came back]"


def test_a_result_that_a_resume_makes_up_is_an_interruption(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.call("c1", "Bash", {"command": "sleep 9"})
    t.result("c1", CUT, CUT, error=True, toolDenialKind="interrupted")
    (result,) = (e for e in read(t.write(tmp_path)).of(Event) if e.kind is Kind.TOOL_RESULT)
    assert (result.status, result.exit_code, result.meta) == ("interrupted", None, {})


def test_a_made_up_result_of_a_call_that_was_closed_already_comes_once(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.call("c1", "Bash", {"command": "sleep 9"})
    got = Got()
    got.read(t.write(tmp_path), closed=True)
    t.result("c1", CUT, CUT, error=True, toolDenialKind="interrupted")
    got.read(t.write(tmp_path), closed=True)
    results = [e for e in got.of(Event) if e.kind is Kind.TOOL_RESULT]
    assert [(e.call_id, e.status) for e in results] == [("c1", "interrupted")]


@pytest.mark.parametrize(
    ("tool", "given", "text"),
    [
        ("Bash", {"command": "make test", "description": "Tests"}, "make test"),
        ("Read", {"file_path": "/w/a.py", "limit": 5}, "/w/a.py"),
        ("Write", {"file_path": "/w/a.py", "content": "long"}, "/w/a.py"),
        ("NotebookEdit", {"notebook_path": "/w/a.ipynb", "new_source": "x"}, "/w/a.ipynb"),
        ("Grep", {"pattern": "def main", "path": "/w"}, "def main"),
        ("Glob", {"pattern": "**/*.py"}, "**/*.py"),
        ("Agent", {"description": "Look around", "prompt": "Look"}, "Look around"),
        ("WebFetch", {"url": "http://127.0.0.1/"}, '{"url":"http://127.0.0.1/"}'),
        ("ExitPlanMode", {}, ""),
    ],
)
def test_a_call_reads_as_what_it_is_about(
    tmp_path: Path, tool: str, given: dict[str, Any], text: str
) -> None:
    t = Transcript()
    t.user("one")
    t.call("c1", tool, given)
    (call,) = (e for e in read(t.write(tmp_path)).of(Event) if e.kind is Kind.TOOL_CALL)
    assert (call.text, call.tool_input) == (text, given)


def test_the_json_of_a_long_input_is_cut(tmp_path: Path) -> None:
    t = Transcript()
    t.user("one")
    t.call("c1", "mcp__x__y", {"text": "word " * 1000})
    (call,) = (e for e in read(t.write(tmp_path)).of(Event) if e.kind is Kind.TOOL_CALL)
    assert len(call.text) == 401
    assert call.text.endswith("…")
