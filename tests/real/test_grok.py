"""Grok Build under `workstream run`: create, resume, the terminal, and what reaches the model."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from launcher.harnesses.grok import ADAPTER, _holding
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
GROK = ("grok", "--always-approve")


def test_grok_creates_resumes_and_is_told_what_happened_elsewhere(
    family: Callable[..., Family],
) -> None:
    bench = family("grok", "claude")
    bench.run("claude", "-p", "say: the parser is half done")
    first = bench.run(*GROK, "-p", "say: grüße ;; run: exit 3 ;; write: made.txt => one\\n")
    assert first.delivery["state"] == "seen"
    at_once = bench.apis["grok"].turns[0]
    assert deliveries_in(at_once.text) == [first.delivery["id"]]
    assert "the parser is half done" in delta_in(at_once.text, first.delivery["id"])
    (session,) = bench.homes["grok"].session_files()
    assert session.parent.name == first.session

    bench.run("claude", "-p", "say: now it is whole")
    assert "made.txt" in bench.apis["claude"].turns[-1].text
    folders = (bench.root / ".grok/config.toml", bench.repository)
    before = listing(*folders)
    second = bench.run(*GROK, "-p", "say: good")
    assert second.session == first.session
    news = delta_in(bench.apis["grok"].turns[-1].text, second.delivery["id"])
    assert "now it is whole" in news
    assert "half done" not in news  # told once
    assert (second.delivery["state"], second.delivery["omitted"]) == ("seen", 0)
    assert changed(before, listing(*folders)) == set()
    assert bench.run(*GROK, "-p", "say: third").delivery["state"] == "none"

    assert bench.texts("user_message", "grok")[1:] == ["say: good", "say: third"]
    assert bench.texts("assistant_message", "grok") == ["grüße", "done", "good", "third"]
    results = [event for event in bench.log() if event["kind"] == "tool_result"]
    assert [(e["tool"], e["status"], e["exit_code"]) for e in results] == [
        ("run_terminal_command", "error", 3),
        ("write", "ok", None),
    ]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in bench.log())
    events = len(bench.log())
    assert bench.workstream("recover", "--json").data
    assert len(bench.log()) == events


@pytest.mark.terminal
def test_a_terminal_is_told_at_its_start_and_not_on_resume(family: Callable[..., Family]) -> None:
    bench = family("grok", "claude")
    bench.run("claude", "-p", "say: the news")
    for number, text in enumerate(("say: one", "say: two"), 1):
        path = bench.next_report()
        with bench.terminal("run", "--yolo", *reporting(path), "grok") as terminal:
            terminal.wait_text("scripted", 60)
            terminal.wait_quiet(2)
            terminal.submit(text)
            bench.apis["grok"].wait_turns(number, 60)
            terminal.wait_quiet(2)
            terminal.press("ctrl-c")
            terminal.press("ctrl-c")
            assert terminal.wait_exit(60) == 0
        report = read_report(path)
        assert len(report["sessions"]) == 1
        if number == 1:
            assert report["delivery"]["state"] == "unverified"
            assert "the news" in bench.apis["grok"].turns[0].text
    assert bench.texts("assistant_message", "grok") == ["one", "two"]
    (row,) = [row for row in bench.status()["sessions"] if row["harness"] == "grok"]
    assert row["current"]


def test_a_killed_grok_loses_nothing_that_it_wrote(family: Callable[..., Family]) -> None:
    bench = family("grok")
    session = bench.run(*GROK, "-p", "say: before").session
    child = bench.start(*GROK, "-p", "say: going ;; run: timeout 30 tail -f /dev/null")
    files = bench.homes["grok"].session_files
    until(lambda: b'"tool_call"' in files()[0].read_bytes(), "the call")
    pid = bench.status()["lease"]["child_pid"]
    store = bench.homes["grok"].store
    assert list(_holding(files()[0])) == [pid]
    assert ADAPTER.preflight(store, session, None, bench.repository).pid == pid
    os.kill(pid, signal.SIGKILL)
    child.wait(60)
    assert list(_holding(files()[0])) == []
    results = [event for event in bench.log() if event["kind"] == "tool_result"]
    assert [(e["tool"], e["status"]) for e in results] == [("run_terminal_command", "interrupted")]
    again = bench.run(*GROK, "-p", "say: after")
    assert bench.texts("assistant_message") == ["before", "going", "after"]
    assert again.report["outcome"] == "ended"


def test_an_unknown_session_is_groks_own_error(family: Callable[..., Family]) -> None:
    bench = family("grok")
    unknown = "0b5e1cf2-0000-4000-8000-00000000abcd"
    run = bench.run(*GROK, "--resume", unknown, "-p", "say: no", code=1)
    assert run.report["sessions"] == []
