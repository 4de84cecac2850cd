"""Qwen Code under `workstream run`: create, resume, the terminal, and what reaches the model."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from launcher.harnesses.base import Preflight, Readiness
from launcher.harnesses.qwen import ADAPTER
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

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
QWEN = ("qwen", "--auth-type", "openai", "-y")
OWN = ("memories", "usage_record", "extension", ".openai-logs", "output-language", "debug", "tmp")
"""What Qwen Code itself writes into its folder beside sessions."""


def test_qwen_creates_resumes_and_is_told_what_happened_elsewhere(
    family: Callable[..., Family],
) -> None:
    bench = family("qwen", "claude")
    bench.run("claude", "-p", "say: the parser is half done")
    first = bench.run(*QWEN, "say: grüße ;; run: exit 3 ;; write: made.txt => one\\n")
    assert first.out == "done\n"
    assert first.delivery["state"] == "seen"
    at_once = bench.apis["qwen"].turns[0]
    assert deliveries_in(at_once.text) == [first.delivery["id"]]
    assert "the parser is half done" in delta_in(at_once.text, first.delivery["id"])
    assert "Handoff, drafted from the record" in at_once.text
    (session,) = bench.homes["qwen"].session_files()
    assert session.stem == first.session

    bench.run("claude", "-p", "say: now it is whole")
    assert "made.txt" in bench.apis["claude"].turns[-1].text
    folders = (bench.root / ".qwen", bench.repository)
    before = listing(*folders)
    second = bench.run(*QWEN, "say: good")
    assert second.session == first.session
    news = delta_in(bench.apis["qwen"].turns[-1].text, second.delivery["id"])
    assert "now it is whole" in news
    assert "half done" not in news  # told once
    assert (second.delivery["state"], second.delivery["omitted"]) == ("seen", 0)
    rest = {path for path in changed(before, listing(*folders)) if not _own(path)}
    assert rest == {str(session)}

    assert bench.texts("assistant_message", "qwen") == ["grüße", "done", "good"]
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"], e["exit_code"]) for e in results] == [
        ("run_shell_command", "error", 3),
        ("write_file", "ok", None),
    ]
    assert not any("WORKSTREAM BRIEFING" in event["text"] for event in bench.log())
    events = len(bench.log())
    assert bench.workstream("recover", "--json").data
    assert len(bench.log()) == events


def _own(path: str) -> bool:
    """Return whether Qwen Code keeps a path for itself: memory, usage, locks, its folders."""
    _, found, inside = path.partition("/.qwen")
    inside = inside.lstrip("/")
    if inside.startswith("projects/"):
        return not path.endswith(".jsonl")
    return bool(found) and (not inside or inside.startswith(OWN))


@pytest.mark.terminal
def test_a_session_of_a_terminal_is_followed(family: Callable[..., Family]) -> None:
    bench = family("qwen", "claude")
    bench.run("claude", "-p", "say: the news")
    path = bench.next_report()
    with bench.terminal("run", "--yolo", *reporting(path), *QWEN[:-1]) as terminal:
        terminal.wait_text("Type your message", 60)
        terminal.wait_quiet(1)
        terminal.submit("say: one")
        bench.apis["qwen"].wait_turns(1)
        terminal.wait_quiet(2)
        terminal.press("ctrl-c")
        terminal.wait_text("again to exit")
        terminal.press("ctrl-c")
        assert terminal.wait_exit() == 0
    report = read_report(path)
    (session,) = bench.homes["qwen"].session_files()
    assert report["sessions"] == [session.stem]
    assert report["delivery"]["state"] == "seen"
    assert "the news" in bench.apis["qwen"].turns[0].text
    assert bench.texts("assistant_message", "qwen") == ["one"]


def test_a_killed_qwen_loses_nothing_that_it_wrote(family: Callable[..., Family]) -> None:
    bench = family("qwen")
    child = bench.start(*QWEN, "say: going ;; run: timeout 30 tail -f /dev/null")
    until(lambda: _calling(bench), "the call", 50)
    os.kill(bench.status()["lease"]["child_pid"], signal.SIGKILL)
    child.wait(60)
    (session,) = bench.homes["qwen"].session_files()

    def look() -> Preflight:
        return ADAPTER.preflight(bench.homes["qwen"].store, session.stem, None, bench.repository)

    # What was killed is qwen's starter: the program itself goes on.
    busy = look()
    assert busy.readiness is Readiness.BUSY
    assert busy.pid is not None
    os.kill(busy.pid, signal.SIGKILL)
    until(lambda: look().readiness is Readiness.READY, "the end of it")
    bench.workstream("recover", "--json")
    results = [e for e in bench.log() if e["kind"] == "tool_result"]
    assert [(e["tool"], e["status"]) for e in results] == [("run_shell_command", "interrupted")]
    assert bench.texts("assistant_message") == ["going"]


def _calling(bench: Family) -> bool:
    return any(b"functionCall" in p.read_bytes() for p in bench.homes["qwen"].session_files())


def test_an_unknown_session_is_qwens_own_error(family: Callable[..., Family]) -> None:
    bench = family("qwen")
    unknown = "0b5e1cf2-0000-4000-8000-00000000abcd"
    run = bench.run(*QWEN, "--resume", unknown, "say: no", code=1)
    assert run.report["sessions"] == []
