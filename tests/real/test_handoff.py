"""Handoffs between the real programs, answered by the agents with the commands they were given."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.real.handing import (
    ACCEPT,
    END,
    US,
    commit,
    content,
    give_back,
    handed,
    listed,
    prepare,
    receivers,
    shown,
    stands,
)
from tests.real.stage import delta_in, told

if TYPE_CHECKING:
    from tests.real.stage import Answer, Stage

pytestmark = pytest.mark.real

CHECK = "python3 -m unittest -q test_walrus"


def codex(stage: Stage, *steps: str) -> Answer:
    return stage.run("codex", "exec", " ;; ".join(steps))


def claude(stage: Stage, *steps: str) -> Answer:
    return stage.run("claude", "-p", " ;; ".join(steps))


def test_a_person_hands_over_to_claude_and_its_run_to_codex(stage: Stage) -> None:
    first = codex(stage, "say: going", "write: walrus.py => x = 1\\n", "say: half of it is there")
    assert commit(stage) == "r1"
    taken = claude(stage, ACCEPT, "edit: walrus.py => x = 1 => x = 2", END, "say: taken")
    assert taken.delivery["state"] == "acknowledged"
    assert "Handoff [person]" in told(stage.messages.turns[0])
    one = shown(stage, "r1")
    assert stands(one) == ("acknowledged", "accepted", "covered")
    assert receivers(one) == [("accepted", "claude", taken.session)]
    outcome = one["receipts"][0]["outcome"]
    assert (outcome["status"], outcome["summary"]) == ("completed", "all done")

    # Nobody wrote another one: the draft of that run is the next handoff.
    draft = listed(stage)[None]
    back = codex(stage, ACCEPT, "say: back")
    assert (back.session, back.delivery["state"]) == (first.session, "acknowledged")
    asked = stage.responses.turns[-2]
    assert draft in handed(asked)
    assert 'claude accepted it and says it ended completed: "all done"' in handed(asked)
    assert asked.text.rindex("Mend the walrus") < asked.text.rindex("What happened elsewhere")
    assert "taken" in delta_in(asked.text, back.delivery["id"])
    assert "half of it is there" not in delta_in(asked.text, back.delivery["id"])
    two = shown(stage, draft)
    assert stands(two) == ("acknowledged", "accepted", "awaiting_outcome")
    assert receivers(two) == [("accepted", "codex", first.session)]
    # The draft of the run that took it up leads now; the other one is in the list still.
    assert listed(stage)[None] not in (draft, "r1")
    assert stands(listed(stage)[draft]) == stands(two)
    assert stage.workstream("verify", "--json").data["findings"] == []


def test_agents_hand_over_with_a_check_that_they_have_just_run(stage: Stage) -> None:
    case = "import unittest\nclass Walrus(unittest.TestCase):\n    def test_it(self): pass\n"
    stage.write("test_walrus.py", case)
    stage.write("hand_over.py", HAND_OVER)
    stage.commit("A test")
    make = f"run: {US} log -n 0 --json | python3 hand_over.py"
    codex(stage, f"run: {CHECK}", f"{make} one | {US} handoff prepare", "say: handed over")
    (one,) = [n for n, h in listed(stage).items() if n and h["origin"] == "prepared"]
    assert listed(stage)[None] == one
    author = shown(stage, one)["author"]
    assert (author["kind"], author["harness"]) == ("agent", "codex")
    (ref,) = shown(stage, one)["content"]["state"][0]["evidence"]
    assert ref["kind"] == "check"

    taken = claude(
        stage, ACCEPT, f"run: {CHECK}", f"{make} two | {US} handoff prepare", "say: handed back"
    )
    assert "Handoff [agent]" in told(stage.messages.turns[0])
    assert "All tests of walrus one pass" in handed(stage.messages.turns[0])
    assert receivers(shown(stage, one)) == [("accepted", "claude", taken.session)]
    two = listed(stage)[None]
    assert shown(stage, two)["author"]["session"] == taken.session
    assert two != one

    back = codex(stage, ACCEPT, "say: taken back")
    assert "All tests of walrus two pass" in handed(stage.responses.turns[-2])
    assert receivers(shown(stage, two)) == [("accepted", "codex", back.session)]
    assert stands(listed(stage)[one]) == ("acknowledged", "accepted", "awaiting_outcome")


HAND_OVER = f"""
import json, sys
log = json.load(sys.stdin)["data"]["events"]
ran = [e for e in log if e["kind"] == "tool_result" and "Ran 1 test" in e["text"]][-1]
text = "All tests of walrus " + sys.argv[1] + " pass"
state = [{{"text": text, "evidence": ["e%d" % ran["seq"]]}}]
print(json.dumps({{**{content()!r}, "state": state}}))
"""


@pytest.mark.parametrize("status", ["declined", "needs_clarification"])
def test_a_handoff_that_is_given_back_is_replaced_by_its_sender(stage: Stage, status: str) -> None:
    stage.write("one.json", json.dumps(content("Mend the walrus")))
    stage.write("two.json", json.dumps(content("Mend the left tusk")))
    made = f"run: {US} handoff prepare --file one.json"
    keep = r"run-found: commit it with: (.* handoff com[m]it prp_\w+)"
    sender = codex(stage, made, keep, "say: handed over")
    assert shown(stage, "r1")["author"]["session"] == sender.session

    returned = claude(stage, give_back(status, "which tusk?"), "say: not me")
    assert returned.delivery["state"] == "seen"
    assert stands(shown(stage, "r1")) == ("seen", "returned", "not_expected")
    assert shown(stage, "r1")["returned_as"] == status

    again = f"run: {US} handoff prepare --file two.json"
    back = codex(stage, again, keep, "say: replaced")
    assert back.session == sender.session
    text = handed(stage.responses.turns[-3])
    assert f'claude gave the handoff r1 back as {status}: "which tusk?"' in text
    assert "Replace it" in text
    assert shown(stage, "latest")["name"] == "r2"
    assert shown(stage, "r2")["content"]["objective"] == "Mend the left tusk"
    assert shown(stage, "r1")["content"]["objective"] == "Mend the walrus"
    assert stands(shown(stage, "r2")) == (None, "open", "not_expected")

    if status == "needs_clarification":
        claude(stage, ACCEPT, "say: now I see")
        assert receivers(shown(stage, "r2")) == [("accepted", "claude", returned.session)]


def test_a_rollover_begins_afresh_from_the_handoff(stage: Stage) -> None:
    looked = claude(stage, "say: looked at the walrus")
    old = codex(stage, "say: it is half done")
    commit(stage)
    fresh = stage.run("--rollover", "codex", "exec", "say: afresh")
    asked = stage.responses.turns[-1]
    assert fresh.session != old.session
    assert fresh.delivery["state"] == "seen"
    assert "Mend the walrus" in handed(asked)
    assert asked.text.index("Mend the walrus") < asked.text.index("What happened elsewhere")
    news = delta_in(asked.text, fresh.delivery["id"])
    assert "it is half done" in news
    assert "looked at the walrus" in news
    assert current(stage) == {fresh.session, looked.session}

    other = stage.run("--rollover", "claude", "-p", f"{ACCEPT} ;; say: afresh too")
    assert other.session != looked.session
    assert other.delivery["state"] == "acknowledged"
    assert current(stage) == {fresh.session, other.session}

    # The fresh ones go on; the old one is resumed by its name, and told what it missed.
    assert codex(stage, "say: and on").session == fresh.session
    again = stage.run("codex", "exec", "resume", old.session, "say: the old one again")
    assert again.session == old.session
    assert "afresh too" in delta_in(stage.responses.turns[-1].text, again.delivery["id"])


def current(stage: Stage) -> set[str]:
    """Return the native sessions that a run would resume."""
    return {s["native_id"] for s in stage.status()["sessions"] if s["current"]}


def test_receivers_to_which_nothing_is_said_leave_everything_as_it_was(stage: Stage) -> None:
    codex(stage, "say: one")
    claude(stage, "say: two")
    commit(stage)

    def everything() -> object:
        found = listed(stage)
        for item in found.values():
            if isinstance(item, dict):  # that it was tried is kept, and counts as nothing
                del item["delivery"], item["delivery_reason"]
        sessions = stage.status()["sessions"]
        for row in sessions:
            del row["context"]  # its age goes on
        return found, [e["seq"] for e in stage.log()], sessions

    before = everything()
    for words in (("codex", "exec"), ("claude", "-p")):
        empty = stage.run(*words, code=1)
        assert "refused" not in empty.err
        assert everything() == before
        assert stands(shown(stage, "r1"))[0] in (None, "failed")
    taken = claude(stage, ACCEPT, "say: taken")
    assert taken.delivery["state"] == "acknowledged"
    assert receivers(shown(stage, "r1")) == [("accepted", "claude", taken.session)]


def test_a_workstream_starts_from_an_exact_handoff_of_another(stage: Stage) -> None:
    codex(stage, "say: secret of main")
    commit(stage)
    commit(stage, "Feed the walrus")
    before = listed(stage)
    words = f"{ACCEPT} ;; say: taken"
    taken = stage.run("--new", "tusk", "--from", "main@1", "claude", "-p", words)
    assert taken.report["workstream"] == "tusk"
    assert taken.delivery["state"] == "acknowledged"
    assert "Mend the walrus" in handed(stage.messages.turns[0])
    assert "secret of main" not in told(stage.messages.turns[0])
    there = listed(stage, "--workstream", "tusk")
    (brought,) = [h for h in there.values() if isinstance(h, dict) and h["origin"] == "transfer"]
    assert stands(brought) == ("acknowledged", "accepted", "awaiting_outcome")
    assert listed(stage, "--workstream", "main") == before


def test_which_handoff_leads(stage: Stage) -> None:
    codex(stage, "say: one")
    commit(stage)
    # Nobody saw it: work without a briefing does not take its lead.
    stage.run("--no-briefing", "codex", "exec", "say: by myself")
    assert listed(stage)[None] == "r1"
    # Seen, and work went on in that run: its draft leads and cites it.
    claude(stage, "say: I saw it")
    assert "Mend the walrus" in handed(stage.messages.turns[-1])
    draft = listed(stage)[None]
    assert listed(stage)[draft]["origin"] == "draft"
    text = json.dumps(shown(stage, draft)["content"])
    assert "This work followed the handoff r1" in text
    assert re.search(r'"kind": "handoff", "id": "prp_', text)
    codex(stage, "say: fine")
    assert draft in handed(stage.responses.turns[-1])

    # The newest wins, committed or not.
    newest = prepare(stage, "Feed the walrus")
    assert listed(stage)[None] == newest

    # One draft for each directory; a run replaces that of its own.
    second = stage.root / "second"
    stage.git("worktree", "add", "-q", "-b", "side", str(second))
    where = ("--workstream", "main")
    stage.run(*where, "claude", "-p", "say: aside", cwd=second)
    drafts = [h for h in listed(stage).values() if isinstance(h, dict) and h["origin"] == "draft"]
    assert len(drafts) == 2
    assert "Feed the walrus" in handed(stage.messages.turns[-1])
    assert listed(stage)[None] == drafts[0]["name"]
