"""pi under `workstream run`: create, resume, fork, the terminal, and what reaches the model."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.real.stage import (
    changed,
    deliveries_in,
    delta_in,
    listing,
    read_report,
    reporting,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.real.family_stage import Family

pytestmark = pytest.mark.real


def test_pi_creates_resumes_and_is_told_what_happened_elsewhere(
    family: Callable[..., Family],
) -> None:
    bench = family("pi", "claude")
    bench.run("claude", "-p", "say: the parser is half done")
    first = bench.run("pi", "-p", "say: grüße ;; run: exit 3 ;; write: made.txt => one\\n")
    assert first.out == "done\n"
    assert first.delivery["state"] == "seen"
    at_once = bench.apis["pi"].turns[0]
    assert deliveries_in(at_once.text) == [first.delivery["id"]]
    assert "the parser is half done" in delta_in(at_once.text, first.delivery["id"])
    assert at_once.user_text.startswith("say: grüße")  # our text stands before the person's

    bench.run("claude", "-p", "say: now it is whole")
    second = bench.run("pi", "-p", "say: good")
    assert second.session == first.session
    assert len(bench.homes["pi"].session_files()) == 1
    news = delta_in(bench.apis["pi"].turns[-1].text, second.delivery["id"])
    assert "now it is whole" in news
    assert "half done" not in news  # told once
    assert (second.delivery["state"], second.delivery["omitted"]) == ("seen", 0)
    assert bench.run("pi", "-p", "say: third").delivery["state"] == "none"

    assert bench.texts("assistant_message", "pi") == ["grüße", "done", "good", "third"]
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"], e["exit_code"]) for e in results] == [
        ("bash", "error", 3),
        ("write", "ok", None),
    ]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in bench.log())

    told = bench.run("claude", "-p", "say: and back")
    assert "made.txt" in bench.apis["claude"].turns[-1].text
    assert told.delivery["state"] == "seen"


def test_a_fork_is_told_only_what_is_new_to_its_parent(family: Callable[..., Family]) -> None:
    bench = family("pi", "claude")
    bench.run("claude", "-p", "say: old news")
    parent = bench.run("pi", "-p", "say: fine")
    bench.run("claude", "-p", "say: late news")
    fork = bench.run("pi", "-p", "--fork", parent.session, "say: forked")
    assert fork.session != parent.session
    assert fork.delivery["state"] == "seen"
    news = delta_in(bench.apis["pi"].turns[-1].text, fork.delivery["id"])
    assert "late news" in news
    assert "old news" not in news
    rows = {row["native_id"]: row for row in bench.status()["sessions"]}
    assert rows[fork.session]["seen_through"] > rows[parent.session]["seen_through"] > 0


@pytest.mark.terminal
def test_each_session_of_a_terminal_is_followed(family: Callable[..., Family]) -> None:
    bench = family("pi", "claude")
    bench.run("claude", "-p", "say: the news")
    path = bench.next_report()
    with bench.terminal("run", "--yolo", *reporting(path), "pi") as terminal:
        terminal.wait_text("scripted")  # the model's name, once all is loaded
        terminal.submit("say: one")
        bench.apis["pi"].wait_turns(1)
        terminal.wait_quiet(1)
        terminal.submit("/new")
        terminal.wait_text("New session")
        terminal.wait_quiet(1)
        terminal.submit("say: two")
        bench.apis["pi"].wait_turns(2)
        terminal.wait_quiet(1)
        terminal.press("ctrl-d")
        assert terminal.wait_exit() == 0
    report = read_report(path)
    assert len(report["sessions"]) == 2
    assert report["delivery"]["state"] == "seen"
    first, second = bench.apis["pi"].turns
    assert "the news" in first.text
    assert "the news" not in delta_in(second.text, deliveries_in(second.text)[0])
    rows = [row for row in bench.status()["sessions"] if row["harness"] == "pi"]
    assert [r["native_id"] for r in rows if r["current"]] == report["sessions"][-1:]
    assert bench.texts("assistant_message", "pi") == ["one", "two"]


def test_a_session_of_a_folder_below_goes_on_there(family: Callable[..., Family]) -> None:
    bench = family("pi")
    (bench.repository / "below").mkdir()
    first = bench.run("pi", "-p", "say: one", cwd=bench.repository / "below")
    second = bench.run("pi", "-p", "run: pwd ;; say: two")
    assert second.session == first.session
    assert f"pi works in {bench.repository / 'below'}" in second.err
    (result,) = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert result["text"].strip() == str(bench.repository / "below")


def test_a_killed_pi_loses_nothing_that_it_wrote(family: Callable[..., Family]) -> None:
    bench = family("pi")
    bench.run("pi", "-p", "say: before")
    child = bench.start("pi", "-p", "say: going ;; run: sleep 30")
    until(lambda: b"sleep 30" in bench.homes["pi"].session_files()[0].read_bytes(), "the call")
    os.kill(bench.status()["lease"]["child_pid"], signal.SIGKILL)
    child.wait(60)
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"]) for e in results] == [("bash", "interrupted")]
    again = bench.run("pi", "-p", "say: after")
    assert bench.texts("assistant_message") == ["before", "going", "after"]
    assert again.report["outcome"] == "ended"


def test_a_session_that_leaves_no_trace_is_said(family: Callable[..., Family]) -> None:
    bench = family("pi")
    run = bench.run("pi", "-p", "--no-session", "say: secret")
    assert run.report["sessions"] == []
    assert "no trace" in run.err
    assert bench.log() == [] or all(e["kind"] == "checkpoint" for e in bench.log())


def test_an_unknown_session_is_pis_own_error(family: Callable[..., Family]) -> None:
    bench = family("pi")
    unknown = "0b5e1cf2-0000-4000-8000-00000000abcd"
    run = bench.run("pi", "-p", "--session", unknown, "say: no", code=1)
    assert run.report["sessions"] == []


def test_nothing_of_the_persons_changes_but_the_session(family: Callable[..., Family]) -> None:
    bench = family("pi")
    first = bench.run("pi", "-p", "say: one")
    folders = (bench.root / ".pi", bench.repository)
    before = listing(*folders)
    bench.run("pi", "-p", "say: two")
    (session,) = bench.homes["pi"].session_files()
    # pi itself makes and removes a lock beside its settings.
    touched = changed(before, listing(*folders)) - {str(bench.homes["pi"].store)}
    assert touched == {str(session)}
    again = bench.run("pi", "-p", "say: three")
    assert again.session == first.session
    events = len(bench.log())
    assert bench.workstream("recover", "--json").data
    assert len(bench.log()) == events
