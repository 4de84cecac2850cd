"""What a draft quotes of the conversation, and what it makes of plans, files and cut-off calls."""

from __future__ import annotations

import pytest

from handoffs.canonical import content_bytes
from handoffs.models import DRAFT_BYTES, Content, errors
from handoffs.validation import validate
from importers.base import Kind, Plan
from ledger.model import Origin
from tests.handoffs.setting import Setting
from tests.handoffs.test_drafting import Running, ended, text
from tests.ledger.making import START, SetClock, event, link


def statement(content: Content, begin: str) -> str:
    """Return the one statement that begins so."""
    (found,) = [item.text for item in content.state if item.text.startswith(begin)]
    return found


def test_what_was_said_before_the_newest_requests_is_told_in_order(here: Setting) -> None:
    first = Running(here)
    first.says("listen on port 8080")
    first.says("no, use port 9090")
    ended(first)
    second = Running(here, "claude")
    for number in range(3):
        second.says(f"describe part {number}")
    content = ended(second)
    assert statement(content, "Before that the person said, newer words count:").endswith(
        'e2 "no, use port 9090"'
    )
    assert content.objective.startswith("listen on port 8080 (inferred")


def test_a_rule_keeps_its_place_among_many_later_wishes(here: Setting) -> None:
    running = Running(here)
    running.says("rebuild the shop")
    running.says("one rule: never touch legacy.py")
    for number in range(20):
        running.says(f"wish number {number} for a page")
    said = statement(ended(running), "Before that")
    assert "never touch legacy.py" in said
    assert "wish number 16" in said
    assert "wish number 9 " not in said
    assert said.count('"') == 2 * 8


def test_a_bare_yes_is_told_with_what_it_answers(here: Setting) -> None:
    running = Running(here)
    running.says("describe the schema in `a.py`")
    running.says("One resource is described. Shall I go on with orders?", agent=True)
    running.says("yes please")
    running.turn("interrupted")
    content = ended(running)
    assert content.next_action is not None
    assert content.next_action.text == (
        'Answer the request e3: "yes please",'
        ' said to e2: "One resource is described. Shall I go on with orders?"'
    )


def test_bare_assent_takes_no_place_among_the_requests(here: Setting) -> None:
    running = Running(here)
    running.says("describe the schema in `a.py`")
    for reply in ("yes", "ok", "go on", "thanks!"):
        running.says(reply)
    running.says("now the errors")
    asked = statement(ended(running), "The person asked:")
    assert "describe the schema" in asked
    assert "now the errors" in asked
    assert "thanks" not in asked


def test_a_long_message_keeps_its_beginning_and_its_end(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    running.says("The cause is tick(). " + "filler " * 200 + "Next: the leap handling.", agent=True)
    running.turn("complete")
    said = statement(ended(running), "codex said last")
    assert "The cause is tick()." in said
    assert "Next: the leap handling." in said


def test_a_pasted_log_is_collapsed(here: Setting) -> None:
    running = Running(here)
    log = "\n".join(f"10:17:{n:02d} worker handled {n}" for n in range(40))
    running.says(f"the pool runs dry:\n\n{log}\n\nwhich job is it?")
    objective = ended(running).objective
    assert "[pasted: 41 lines] which job is it?" in objective
    assert "10:17:30" not in objective


def test_findings_on_the_way_are_told_where_there_is_no_last_word(here: Setting) -> None:
    running = Running(here)
    running.says("timers drift")
    running.says("Found it: tick_advance rounds towards zero on every wrap.", agent=True)
    running.says("Looking at the callers next.", agent=True)
    running.says("Checking how errors travel.", agent=True)
    running.turn("interrupted")
    said = statement(ended(running), "On the way codex said:")
    assert said == (
        'On the way codex said: e2 "Found it: tick_advance rounds towards zero on every wrap."'
    )


def test_an_answered_turn_tells_nothing_on_the_way(here: Setting) -> None:
    running = Running(here)
    running.says("timers drift")
    running.says("Found it: tick_advance rounds towards zero.", agent=True)
    running.says("It is mended.", agent=True)
    running.turn("complete")
    assert "On the way" not in text(ended(running))


def test_a_call_that_was_cut_off_is_named(here: Setting) -> None:
    running = Running(here)
    running.says("split the table")
    number = here.record()
    call = event(
        number,
        "make migrate",
        kind=Kind.TOOL_CALL,
        call_id="c1",
        tool="exec_command",
        tool_input={"command": "make migrate"},
        turn="t1",
    )
    result = event(
        here.record(), "", kind=Kind.TOOL_RESULT, call_id="c1", status="interrupted", turn="t1"
    )
    here.add(call, result, harness="codex", run=running.run.id)
    running.turn("open")
    assert ended(running).state[0].text == (
        "The last turn of codex was cut off while `make migrate` ran,"
        " what came of that is not known."
    )


def test_the_plan_of_another_session_is_not_forgotten(here: Setting) -> None:
    first = Running(here)
    first.says("teams: roles, leaving")
    first.plan(("tables", "completed"), ("role checks", "pending"), ("leaving", "pending"))
    ended(first)
    second = Running(here, "claude")
    second.says("the link expires after 7 days, that first")
    second.says("It does now.", agent=True)
    second.turn("complete")
    content = ended(second)
    assert statement(content, "Open in the plan of codex of 2023-11-14, not touched since (1 of 3")
    assert content.next_action is not None
    assert content.next_action.text == (
        'Take up the plan of codex of 2023-11-14 where it still stands: "role checks"'
    )


def test_what_was_asked_comes_before_the_plan_of_an_earlier_run(here: Setting) -> None:
    first = Running(here)
    first.says("teams: roles, leaving")
    first.plan(("role checks", "pending"))
    ended(first)
    second = Running(here, "claude")
    second.says("the invitation link expires after 7 days")
    second.turn("interrupted")
    content = ended(second)
    assert content.next_action is not None
    assert content.next_action.text.startswith("Answer the request e3:")


def test_a_newer_plan_that_is_done_hides_an_older_one(here: Setting) -> None:
    first = Running(here)
    first.says("teams: roles, leaving")
    first.plan(("role checks", "pending"))
    ended(first)
    second = Running(here, "claude")
    second.says("finish the roles")
    here.add(Plan(items=(("role checks", "completed"),), at=START + 5_000), harness="claude")
    second.says("done", agent=True)
    second.turn("complete")
    content = ended(second)
    assert "Open in the plan" not in text(content)
    assert content.disposition == "complete"


def test_what_was_said_before_a_clear_is_not_repeated(here: Setting) -> None:
    running = Running(here)
    running.says("tidy the geo helpers")
    fresh = link(
        here.store,
        here.workstream,
        "native-fresh",
        born="clear",
        born_through=1,
        origin=Origin.RUN,
    )
    here.sessions["codex"] = fresh
    running.says("show clusters on the map")
    content = ended(running)
    assert content.objective.startswith("show clusters")
    assert "geo helpers" not in text(content)


def test_uncommitted_files_that_are_listed_as_changed_are_counted(here: Setting) -> None:
    running = Running(here)
    running.says("please fix `a.py`")
    here.edits("a.py")
    (here.tree / "a.py").write_text("print(2)\n", encoding="utf-8")
    (here.tree / "b.py").write_text("print(3)\n", encoding="utf-8")
    said = statement(ended(running), "Uncommitted on main at")
    assert said.endswith(": 1 of the changed files, ?? `b.py`")


def test_many_changed_files_are_told_by_directory(here: Setting) -> None:
    running = Running(here)
    running.says("move the services")
    for part in ("billing", "users"):
        for number in range(10):
            here.edits(f"services/{part}/{number}.go", at=START + 10 * here.record())
    said = statement(ended(running), "Changed files:")
    assert said.count("`services/users/") == 10
    assert said.endswith(" and 8 more in `services/billing` (8)")


@pytest.mark.parametrize("words", ["x" * 4000, "漢" * 2000, "`a_b` " * 600])
def test_a_draft_with_much_talk_keeps_its_size_and_is_valid(here: Setting, words: str) -> None:
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    running = Running(here)
    for number in range(15):
        running.says(f"never {number} {words}")
        running.says(f"found {number}_it {words}", agent=True)
    for number in range(40):
        here.edits(f"{'d' * 120}/{number}{'f' * 100}.py")
    running.turn("interrupted")
    content = ended(running)
    assert len(content_bytes(content)) <= DRAFT_BYTES + 1024
    assert errors(validate(content, here.facts(content))) == ()
