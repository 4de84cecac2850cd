"""`workstream handoff`, called as a person and as an agent call it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.desk import Desk

CONTENT: dict[str, Any] = {
    "schema": "handoff.v1",
    "objective": "Fix parser",
    "state": [{"text": "`a.py` rejects bad input", "evidence": []}],
    "disposition": "continuable",
    "next_action": {"text": "Add a test for `a.py`", "evidence": []},
    "blocker": None,
    "omissions": [],
}


@pytest.fixture
def busy(desk: Desk) -> Desk:
    """A desk on whose workstream one run of the stand-in happened."""
    desk.ok("run", "codex", "exec", "please fix a.py")
    return desk


def call(desk: Desk, *args: str, stdin: object = "", code: int = 0) -> Any:
    text = stdin if isinstance(stdin, str) else json.dumps(stdin)
    answer = desk.run("handoff", args[0], "--json", *args[1:], stdin=text)
    assert answer.code == code, answer.err + answer.out
    return answer.envelope


def prepare(desk: Desk, *args: str, **changes: Any) -> str:
    document = call(desk, "prepare", *args, stdin={**CONTENT, **changes})
    return str(document["data"]["prepared_id"])


def codes(document: Any) -> Sequence[str]:
    return [entry["code"] for entry in document["errors"]]


def test_prepare_commit_receive_acknowledge_outcome(busy: Desk) -> None:
    name = prepare(busy, state=[{"text": "The request is recorded in `e1`", "evidence": ["e1"]}])
    done = call(busy, "commit", name)["data"]
    assert (done["state"], done["revision"], done["is_head"]) == ("committed", 1, True)
    assert call(busy, "commit", name)["data"]["state"] == "already_committed"
    received = call(busy, "receive")["data"]
    assert (received["trust"], received["name"]) == ("untrusted_history", "r1")
    assert received["evidence"][0]["state"] == "available"
    assert received["live_observed"]["relation"] == "same"
    confirmed = ("--confirmed", "live_state,capability,authorization")
    receipt = call(busy, "acknowledge", "r1", "accepted", *confirmed)["data"]
    outcome = call(busy, "outcome", "partial", "-m", "half", "--receipt", receipt["receipt_key"])[
        "data"
    ]
    assert outcome["status"] == "partial"
    shown = call(busy, "show", "r1")["data"]
    assert (shown["transfer"], shown["coverage"]) == ("accepted", "covered")
    (told,) = shown["receipts"]
    assert (told["status"], told["receiver"]["kind"]) == ("accepted", "human")
    assert told["outcome"]["summary"] == "half"
    assert "ended partial: half" in busy.ok("handoff", "show", "r1").out


def test_all_findings_come_at_once_with_exit_65(busy: Desk) -> None:
    document = call(
        busy,
        "prepare",
        stdin={
            **CONTENT,
            "state": [{"text": "All tests passed.", "evidence": []}],
            "next_action": {"text": "keep going", "evidence": []},
        },
        code=65,
    )
    assert document["data"] is None
    assert set(codes(document)) == {"check_claim_uncited", "next_action_empty_wording"}
    for entry in document["errors"]:
        assert entry["field"]
        assert entry["detail"]
        assert entry["fix"]


def test_an_unknown_reason_is_a_finding(busy: Desk) -> None:
    document = call(busy, "prepare", "--reason", "boredom", stdin=CONTENT, code=65)
    assert codes(document) == ["reason_unknown"]


def test_evidence_that_does_not_exist_is_named(busy: Desk) -> None:
    state = [{"text": "`a.py` is new", "evidence": ["e999"]}]
    document = call(busy, "prepare", stdin={**CONTENT, "state": state}, code=65)
    assert codes(document) == ["evidence_missing"]


def test_a_head_that_moved_is_exit_75_with_its_facts(busy: Desk) -> None:
    one = prepare(busy)
    two = prepare(busy, objective="Another")
    call(busy, "commit", one)
    document = call(busy, "commit", two, code=75)
    assert codes(document) == ["head_conflict"]
    assert document["errors"][0]["facts"]["head"]["revision"] == 1


def test_receiving_before_any_commit_is_no_error(busy: Desk) -> None:
    assert call(busy, "receive")["data"] == {"state": "no_handoff"}


def test_a_check_is_kept_and_supports_a_claim_until_the_tree_changes(busy: Desk) -> None:
    (busy.repo / "pytest").write_text("#!/bin/sh\necho '3 passed in 0.1s'\n", encoding="utf-8")
    (busy.repo / "pytest").chmod(0o755)
    row = call(busy, "check", "--", "./pytest")["data"]
    assert (row["exit_code"], row["status"]) == (0, "passed")
    state = [{"text": "All tests passed.", "evidence": [row["id"]]}]
    prepare(busy, state=state)
    (busy.repo / "readme.txt").write_text("changed\n", encoding="utf-8")
    document = call(busy, "prepare", stdin={**CONTENT, "objective": "x", "state": state}, code=65)
    assert "check_claim_stale" in codes(document)


def test_the_exit_code_of_check_is_the_commands_own(busy: Desk) -> None:
    answer = busy.run("handoff", "check", "--", "sh", "-c", "echo 1 failed; exit 3")
    assert (answer.code, answer.out) == (3, "1 failed\n")


def test_the_draft_of_a_run_can_be_prepared_as_it_is_printed(busy: Desk, tmp_path: Path) -> None:
    for form in ("markdown", "json"):
        text = busy.ok("handoff", "draft", "--format", form).out
        assert "please fix a.py" in text
        path = tmp_path / form
        path.write_text(text, encoding="utf-8")
        answer = busy.run("handoff", "prepare", "--file", str(path))
        assert answer.code == 0, answer.err
        assert answer.out.startswith("prp_")


def test_edit_prepares_what_the_editor_leaves(busy: Desk, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i 's/please fix a.py/please mend a.py/' \"$1\"\n")
    editor.chmod(0o755)
    answer = busy.ok("handoff", "edit", env={"EDITOR": str(editor)})
    shown = call(busy, "show", answer.out.strip())["data"]
    assert "please mend a.py" in shown["content"]["objective"]


def test_edit_looks_at_its_reasons_before_the_editor_opens(busy: Desk, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch {opened}\n")
    editor.chmod(0o755)
    words = ("handoff", "edit", "--json", "--reason", "context_quality")
    refused = busy.run(*words, env={"EDITOR": str(editor)})
    assert (refused.code, codes(refused.envelope)) == (65, ["statement_missing"])
    assert not opened.exists()
    made = busy.ok(*words, "--said-by", "ada: it forgets", env={"EDITOR": str(editor)})
    assert made.data["statement"] == "ada: it forgets"
    assert opened.exists()


def test_list_diff_and_report_agree(busy: Desk) -> None:
    call(busy, "commit", prepare(busy))
    listed = call(busy, "list")["data"]
    assert listed["leading"] == "r1"
    assert [item["origin"] for item in listed["handoffs"]] == ["revision", "draft"]
    changed = call(busy, "diff", listed["handoffs"][1]["name"], "r1")["data"]
    assert not changed["same"]
    assert changed["diff"]
    (entry,) = call(busy, "report")["data"]["workstreams"]
    assert (entry["leading"], entry["never_received"]) == ("r1", ["r1"])
    assert (entry["density"]["handoffs"], entry["density"]["sessions"]) == (1, 1)
    assert (entry["stale"], entry["stale_because"], entry["unsaved_sessions"]) == (False, [], [])
    told = busy.ok("handoff", "report").out
    assert "density: 1 handoff in 1 session and " in told
    assert "never received: r1" in told
    call(busy, "report", "-n", "1", "--all")
    assert call(busy, "report", "--skip", "1")["data"] == {"workstreams": [], "left_out": 0}


def test_an_abandoned_one_does_not_lead(busy: Desk) -> None:
    name = prepare(busy)
    assert call(busy, "list")["data"]["leading"] == name
    call(busy, "abandon", name)
    assert call(busy, "list")["data"]["leading"] != name


def test_the_next_harness_is_given_the_handoff(busy: Desk) -> None:
    call(busy, "commit", prepare(busy))
    text = busy.ok("briefing", "claude").out
    assert "Handoff [person]" in text
    assert "next_action declared: Add a test for `a.py`" in text
    assert "handoff acknowledge r1 accepted" in text
    assert busy.ok("briefing", "codex").out.count("Handoff [person]") == 1


def test_what_was_not_perfect_about_a_handoff_is_shown_to_its_receiver(busy: Desk) -> None:
    name = prepare(busy, next_action={"text": "Write the rest of it", "evidence": []})
    listed = call(busy, "show", name)["data"]["warnings"]
    assert [item["code"] for item in listed] == ["next_action_no_anchor"]
    call(busy, "commit", name)
    received = call(busy, "receive")["data"]
    assert [item["severity"] for item in received["warnings"]] == ["W"]
    for text in (busy.ok("handoff", "receive").out, busy.ok("briefing", "claude").out):
        assert "warning: next_action_no_anchor next_action: " in text


def test_a_rollover_starts_a_new_session_from_the_handoff(busy: Desk) -> None:
    busy.ok("run", "codex", "exec", "again")
    assert "resume" in busy.calls()[-1]["args"]
    busy.ok("run", "--rollover", "codex", "exec", "afresh")
    assert "resume" not in busy.calls()[-1]["args"]


def test_a_new_workstream_starts_from_an_exact_handoff_of_another(busy: Desk) -> None:
    state = [{"text": "The request is recorded in `e1`", "evidence": ["e1"]}]
    call(busy, "commit", prepare(busy, state=state))
    plan = ("run", "--dry-run", "--new", "other", "--from", "main@1", "codex", "exec", "look")
    assert "Fix parser" in busy.ok(*plan).out
    busy.ok("run", "--new", "other", "--from", "main@1", "codex", "exec", "look")
    listed = call(busy, "list", "--workstream", "other")["data"]
    (brought,) = [h for h in listed["handoffs"] if h["origin"] == "transfer"]
    assert (brought["source"], brought["content"]["objective"]) == ("main", "Fix parser")
    received = call(busy, "receive", brought["name"], "--workstream", "other")["data"]
    assert received["evidence"][0]["state"] == "available"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--from", "main"), 64),
        (("--new", "b", "--from", "nowhere"), 69),
        (("--new", "b", "--from", "main@latest"), 64),
        (("--new", "b", "--from", "main@7"), 69),
    ],
)
def test_from_needs_a_new_workstream_and_an_exact_handoff(
    busy: Desk, words: tuple[str, ...], code: int
) -> None:
    assert busy.run("run", *words, "codex", "exec", "look").code == code
    names = [row["name"] for row in busy.ok("list", "--json").data["workstreams"]]
    assert names == ["main"]


def fill(desk: Desk, **figures: int) -> None:
    """Write figures of the only session, as an import would have done a minute ago."""
    values = {"at": int(time.time() * 1000) - 61_000, "compactions": 0, **figures}
    with sqlite3.connect(desk.state / "workstream.db") as db:
        (session,) = db.execute("SELECT id FROM session").fetchone()
        db.execute(
            f"INSERT OR REPLACE INTO session_usage (session, {', '.join(values)})"
            f" VALUES ({session}{',?' * len(values)})",
            list(values.values()),
        )


def configure(desk: Desk, *lines: str) -> None:
    folder = desk.home / "config" / "workstream"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_a_full_session_is_advised_against_only_by_policy(busy: Desk) -> None:
    fill(busy, context_tokens=90_000, limit_tokens=100_000)
    line = "codex: its context is 90 % full; start afresh: workstream run --rollover codex"
    assert busy.ok("status", "--json").data["rollover"] == {
        "policy": "manual",
        "thresholds": {"percent": 85, "tokens": None, "compactions": 2},
        "advice": [],
        "draft": None,
    }
    configure(busy, 'rollover = "advisory"')
    assert busy.ok("status", "--json").data["rollover"]["advice"] == [line]
    said = busy.ok("status").out
    assert line in said
    assert "context 90 % of 100,000 tokens (its store, 1 min ago)" in said
    assert "handoff    draft by codex: not delivered yet, open" in said
    configure(busy, 'rollover = "advisory"', "rollover_percent = 95")
    assert busy.ok("status", "--json").data["rollover"]["advice"] == []


def test_status_tells_what_it_does_not_know(busy: Desk) -> None:
    assert "context not known" in busy.ok("status").out
    (session,) = busy.ok("status", "--json").data["sessions"]
    assert session["context"] is None
    fill(busy, context_tokens=90_000)
    assert "context 90,000 tokens, window not known (its store, 1 min ago)" in busy.ok("status").out
    (session,) = busy.ok("status", "--json").data["sessions"]
    assert (session["context"]["percent"], session["context"]["limit"]) == (None, None)
    assert 60 <= session["context"]["age_seconds"] < 600


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("host_context_budget", "observation_missing"),
        ("host_compaction", "observation_missing"),
        ("context_quality", "statement_missing"),
    ],
)
def test_a_reason_of_the_host_needs_what_it_rests_on(busy: Desk, reason: str, code: str) -> None:
    words = ("prepare", "--reason", "user_requested", "--reason", reason)
    document = call(busy, *words, stdin=CONTENT, code=65)
    (finding,) = document["errors"]
    assert (finding["code"], finding["field"]) == (code, "reasons[1]")
    assert finding["detail"]
    assert finding["fix"]


def test_findings_about_words_and_about_reasons_come_together(busy: Desk) -> None:
    bad = {**CONTENT, "next_action": {"text": "keep going", "evidence": []}}
    words = ("--reason", "boredom", "--reason", "host_compaction", "--observed", "tokens=5")
    document = call(busy, "prepare", *words, stdin=bad, code=65)
    assert set(codes(document)) == {
        *("next_action_empty_wording", "reason_unknown", "field_unknown", "observation_missing"),
    }


def test_the_session_store_supports_a_reason_and_is_shown_as_untrusted(busy: Desk) -> None:
    fill(busy, context_tokens=90_000, limit_tokens=100_000, compactions=1)
    words = ("--reason", "host_context_budget", "--reason", "host_compaction")
    made = call(busy, "prepare", *words, stdin=CONTENT)["data"]
    (seen,) = made["observations"]
    assert seen["source"].startswith("session_store:codex:")
    figures = (seen["context_tokens"], seen["limit_tokens"], seen["compactions"], seen["model"])
    assert figures == (90_000, 100_000, 1, None)
    assert seen["age_seconds"] >= 60
    shown = call(busy, "show", made["prepared_id"])["data"]
    assert shown["observations"] == [seen]
    assert shown["reasons"] == ["host_context_budget", "host_compaction"]
    told = busy.ok("handoff", "show", made["prepared_id"]).out
    assert "prepared for: host_context_budget, host_compaction" in told
    words_ = "observed then, untrusted: context 90 % of 100,000 tokens, 1 compaction"
    assert words_ in told
    call(busy, "commit", made["prepared_id"])
    assert call(busy, "show", "r1")["data"]["observations"] == [seen]


def test_figures_and_a_statement_are_given_by_hand(busy: Desk) -> None:
    given = ("--observed", "context_tokens=5000,limit_tokens=6000,model=m-1,compactions=2")
    said = ("--reason", "context_quality", "--said-by", "ada: it forgets the plan")
    made = call(busy, "prepare", *given, *said, "--reason", "host_compaction", stdin=CONTENT)
    data = made["data"]
    assert data["statement"] == "ada: it forgets the plan"
    (seen,) = data["observations"]
    assert seen == {
        "source": "flag:human",
        "model": "m-1",
        "context_tokens": 5_000,
        "limit_tokens": 6_000,
        "compactions": 2,
        "age_seconds": None,
    }
    told = busy.ok("handoff", "show").out
    assert "said by: ada: it forgets the plan" in told
    assert "context 83 % of 6,000 tokens, 2 compactions, m-1 (given by human)" in told


def test_observations_are_no_part_of_the_words(busy: Desk) -> None:
    one = prepare(busy)
    assert prepare(busy, "--observed", "compactions=2", "--reason", "host_compaction") == one
    shown = call(busy, "show", one)["data"]
    assert shown["reasons"] == ["host_compaction"]
    assert "compactions" not in json.dumps(shown["content"])


def test_doctor_names_a_damaged_handoff_and_a_run_goes_on(busy: Desk) -> None:
    call(busy, "commit", prepare(busy))
    with sqlite3.connect(busy.state / "workstream.db") as db:
        db.execute("UPDATE handoff_revision SET content = '{}'")
    findings = busy.run("doctor", "--json").data["findings"]
    (found,) = [item for item in findings if item["code"] == "handoff_damaged"]
    assert (found["level"], found["about"]) == ("problem", "main")
    assert "r1 of main" in found["sentence"]
    busy.ok("run", "codex", "exec", "go on")
    assert busy.run("handoff", "show", "r1").code == 65
