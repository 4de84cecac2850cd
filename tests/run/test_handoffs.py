"""Handoffs through real runs with stand-ins: drafted, delivered, acknowledged from inside."""

from __future__ import annotations

import json
import shlex

from tests.run.desk import COMMAND, Desk

US = shlex.join(COMMAND)
CONTENT = {
    "schema": "handoff.v1",
    "objective": "Mend the walrus",
    "state": [{"text": "`walrus.py` is half done", "evidence": []}],
    "disposition": "continuable",
    "next_action": {"text": "Finish `walrus.py`", "evidence": []},
    "blocker": None,
    "omissions": [],
}


def commit(desk: Desk) -> None:
    made = desk.ok("handoff", "prepare", "--json", stdin=json.dumps(CONTENT))
    desk.ok("handoff", "commit", made.data["prepared_id"])


def draft(desk: Desk) -> dict[str, object]:
    (row,) = desk.rows("SELECT content FROM handoff_draft")
    return dict(json.loads(row["content"]))


def test_the_next_harness_is_given_the_draft_of_the_run_before(desk: Desk) -> None:
    desk.codex("say: the walrus is fixed")
    assert str(draft(desk)["objective"]).startswith("say: the walrus is fixed (inferred")
    second = desk.claude("say-found: (drafted from the record)")
    assert second.out == "drafted from the record\n"
    assert second.delivery == "seen"


def test_a_session_is_not_given_the_draft_of_its_own_work(desk: Desk) -> None:
    desk.codex("say: one")
    again = desk.codex("say: two")
    assert again.delivery == "none"


def test_a_run_without_a_prompt_leaves_the_draft_as_it_was(desk: Desk) -> None:
    desk.codex("say: one")
    before = draft(desk)
    desk.call("run", "claude", "-p", "x", do="nothing")
    assert draft(desk) == before


def test_an_agent_acknowledges_from_inside_its_run(desk: Desk) -> None:
    desk.codex("say: one")
    commit(desk)
    words = "accepted --confirmed live_state,capability,authorization"
    taken = desk.claude(f"run: {US} handoff acknowledge r1 {words} ;; say: taken")
    assert taken.delivery == "acknowledged"
    shown = desk.ok("handoff", "show", "--json", "r1").data
    assert (shown["delivery"], shown["transfer"]) == ("acknowledged", "accepted")
    (row,) = desk.rows("SELECT receiver, session, run FROM handoff_receipt")
    assert json.loads(row["receiver"])["kind"] == "agent"
    assert row["session"] is not None


def test_a_declined_handoff_goes_back(desk: Desk) -> None:
    desk.codex("say: one")
    commit(desk)
    back = desk.claude(f"run: {US} handoff acknowledge r1 declined -m no ;; say: no")
    assert "claude gave handoff r1 back as declined: no" in back.err
    shown = desk.ok("handoff", "show", "--json", "r1").data
    assert (shown["delivery"], shown["transfer"], shown["returned_as"]) == (
        "seen",
        "returned",
        "declined",
    )


def test_an_agent_prepares_with_a_check_it_just_ran(desk: Desk) -> None:
    state = [{"text": "`x` is described in `a.txt`", "evidence": ["file:a.txt"]}]
    (desk.repo / "handoff.json").write_text(json.dumps({**CONTENT, "state": state}))
    done = desk.codex(
        f"write: a.txt => x\n ;; run: {US} handoff prepare --file handoff.json ;; say: prepared it"
    )
    assert done.code == 0
    listed = desk.ok("handoff", "list", "--json").data
    assert listed["handoffs"][0]["author"]["kind"] == "agent"
    assert listed["leading"] == listed["handoffs"][0]["name"]
    told = desk.claude("say-found: (Mend the walrus)")
    assert told.out == "Mend the walrus\n"


def test_a_commit_during_a_run_waits_for_its_end_when_asked(desk: Desk) -> None:
    desk.codex("say: one")
    made = desk.ok("handoff", "prepare", "--json", stdin=json.dumps(CONTENT)).data["prepared_id"]
    running = desk.start("run", "codex", "exec", "hold: middle ;; say: two")
    desk.held("middle")
    refused = desk.call("handoff", "commit", "--json", made)
    assert refused.code == 75
    queued = desk.ok("handoff", "commit", "--after-run", "--json", made)
    assert queued.data["state"] == "queued"
    desk.release("middle")
    assert running.end().code == 0
    assert desk.ok("handoff", "show", "--json", "r1").data["prepared_id"] == made
