"""Copilot CLI under `workstream run`: create, resume, the terminal, and what reaches the model."""

from __future__ import annotations

import os
import signal
from pathlib import Path
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
COPILOT = ("copilot", "--allow-all-tools", "-s", "-p")
OWN = ("logs", "session-store.db", "settings.json.lock", "plugin-data")
"""What Copilot CLI itself writes into its folder beside sessions."""


def test_copilot_creates_resumes_and_is_told_what_happened_elsewhere(
    family: Callable[..., Family],
) -> None:
    bench = family("copilot", "claude")
    bench.run("claude", "-p", "say: the parser is half done")
    first = bench.run(*COPILOT, "say: grüße ;; run: exit 3 ;; write: made.txt => one\\n")
    assert first.out.split() == ["grüße", "done"]
    assert first.delivery["state"] == "seen"
    at_once = bench.apis["copilot"].turns[0]
    assert deliveries_in(at_once.text) == [first.delivery["id"]]
    assert "the parser is half done" in delta_in(at_once.text, first.delivery["id"])
    (session,) = bench.homes["copilot"].session_files()
    assert session.parent.name == first.session

    bench.run("claude", "-p", "say: now it is whole")
    assert "made.txt" in bench.apis["claude"].turns[-1].text
    folders = (bench.root / ".copilot", bench.repository)
    before = listing(*folders)
    second = bench.run(*COPILOT, "say: good")
    assert second.session == first.session
    news = delta_in(bench.apis["copilot"].turns[-1].text, second.delivery["id"])
    assert "now it is whole" in news
    assert "half done" not in news  # told once
    assert (second.delivery["state"], second.delivery["omitted"]) == ("seen", 0)
    rest = {path for path in changed(before, listing(*folders)) if not _own(bench, path)}
    assert rest <= {str(path) for path in (session, session.parent, *_beside(session))}
    assert not list((bench.root / ".copilot" / "plugin-data" / "_direct").iterdir())

    assert bench.texts("assistant_message", "copilot") == ["grüße", "done", "good"]
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"], e["exit_code"]) for e in results] == [
        ("bash", "error", 3),
        ("create", "ok", None),
    ]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in bench.log())
    events = len(bench.log())
    assert bench.workstream("recover", "--json").data
    assert len(bench.log()) == events


def _own(bench: Family, path: str) -> bool:
    """Return whether Copilot CLI keeps a path for itself: its log, index and locks."""
    inside = Path(path)
    folder = bench.root / ".copilot"
    if not inside.is_relative_to(folder):
        return False
    parts = inside.relative_to(folder).parts
    return not parts or parts[0].startswith(OWN)


def _beside(session: Path) -> list[Path]:
    """Return what Copilot CLI keeps in a session's folder."""
    return [path for path in session.parent.rglob("*") if path != session]


@pytest.mark.terminal
def test_each_session_of_a_terminal_is_followed(family: Callable[..., Family]) -> None:
    bench = family("copilot", "claude")
    bench.run("claude", "-p", "say: the news")
    path = bench.next_report()
    with bench.terminal("run", "--yolo", *reporting(path), "copilot") as terminal:
        terminal.wait_text("scripted", 60)  # the model's name, once all is loaded
        terminal.wait_quiet(1)
        terminal.submit("say: one")
        bench.apis["copilot"].wait_turns(1)
        terminal.wait_quiet(2)
        terminal.submit("/clear")
        terminal.wait_quiet(2)
        terminal.submit("say: two")
        bench.apis["copilot"].wait_turns(2)
        terminal.wait_quiet(2)
        terminal.submit("/exit")
        assert terminal.wait_exit() == 0
    report = read_report(path)
    assert len(report["sessions"]) == 2
    assert report["delivery"]["state"] == "seen"
    first, second = bench.apis["copilot"].turns
    assert "the news" in first.text
    assert deliveries_in(second.text)
    assert bench.texts("assistant_message", "copilot") == ["one", "two"]


def test_a_killed_copilot_loses_nothing_that_it_wrote(family: Callable[..., Family]) -> None:
    bench = family("copilot")
    child = bench.start(*COPILOT, "say: going ;; run: timeout 30 tail -f /dev/null")
    until(lambda: _calling(bench), "the call", 50)
    os.kill(bench.status()["lease"]["child_pid"], signal.SIGKILL)
    child.wait(60)
    bench.workstream("recover", "--json")
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"]) for e in results] == [("bash", "interrupted")]
    assert bench.texts("assistant_message") == ["going"]


def _calling(bench: Family) -> bool:
    files = bench.homes["copilot"].session_files()
    return any(b'"type":"tool.execution_start"' in path.read_bytes() for path in files)


def test_an_unknown_session_is_copilots_own_error(family: Callable[..., Family]) -> None:
    bench = family("copilot")
    unknown = "0b5e1cf2-0000-4000-8000-00000000abcd"
    run = bench.run("copilot", f"--resume={unknown}", *COPILOT[1:], "say: no", code=1)
    assert run.report["sessions"] == []
