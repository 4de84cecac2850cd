"""Stores that the real program writes now, read as they are."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from importers.base import FileFact, Limit, Turn
from importers.codex import IMPORTER
from tests.fakes.responses_api import ResponsesApi
from tests.importers.codex.rollouts import Ledger
from tests.lab.homes import CODEX_CODE_MODE_MODEL, Home, codex_home
from tests.lab.programs import harness_program, installed

pytestmark = pytest.mark.real

WORK = "say: going ;; run: echo $((40+2)); exit 3 ;; write: a.txt => one\\n ;; say: all done"


@pytest.fixture
def api() -> Iterator[ResponsesApi]:
    with ResponsesApi() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, api: ResponsesApi) -> Home:
    return codex_home(tmp_path, api.port)


def command_line(*arguments: str, version: str = "codex") -> list[str | Path]:
    return [
        harness_program(version),
        "exec",
        "-s",
        "danger-full-access",
        "--skip-git-repo-check",
        *arguments,
    ]


def run(home: Home, *arguments: str, version: str = "codex") -> None:
    subprocess.run(
        command_line(*arguments, version=version),
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )


def read(home: Home, *, closed: bool = True) -> tuple[Ledger, str]:
    """Read the newest thread of the home."""
    store = IMPORTER.home(home.env)
    source = next(IMPORTER.discover(store))
    ledger = Ledger()
    ledger.read(source, closed=closed)
    return ledger, source.native_id


@pytest.mark.parametrize("model", [None, CODEX_CODE_MODE_MODEL])
def test_a_turn_with_tools_and_its_resume(
    tmp_path: Path, api: ResponsesApi, model: str | None
) -> None:
    home = codex_home(tmp_path, api.port, model=model) if model else codex_home(tmp_path, api.port)
    run(home, WORK)
    _, thread = read(home)
    run(home, "resume", thread, "say: back again")
    ledger, again = read(home)
    assert again == thread
    assert ledger.conversation() == [
        ("user", WORK),
        ("assistant", "going"),
        ("assistant", "all done"),
        ("user", "say: back again"),
        ("assistant", "back again"),
    ]
    results = [
        (event.tool, event.text, event.exit_code, event.status)
        for event in ledger.events.values()
        if event.kind.value == "tool_result"
    ]
    assert results[0] == ("exec_command", "42\n", 3, "error")
    assert (results[1][0], results[1][3]) == ("apply_patch", "ok")
    assert [(Path(fact.path).name, fact.action) for fact in ledger.of(FileFact)] == [
        ("a.txt", "create")
    ]
    assert ledger.losses == []


def test_a_fork_holds_its_parents_turn_once(home: Home) -> None:
    run(home, "say: first answer")
    _, parent = read(home)
    run(home, "fork", parent, "say: second answer")
    ledger, fork = read(home)
    assert fork != parent
    assert [text for _, text in ledger.conversation()] == [
        "say: first answer",
        "first answer",
        "say: second answer",
        "second answer",
    ]


def test_a_usage_limit_is_known_with_its_reset_time(home: Home) -> None:
    before = time.time()
    run(home, "fail: usage-limit 7200")
    ledger, _ = read(home)
    (limit,) = ledger.of(Limit)
    assert limit.resets_at is not None
    assert abs(limit.resets_at / 1000 - before - 7200) < 120
    assert ledger.of(Turn)[-1].state == "failed"


def test_a_killed_command_is_interrupted(home: Home) -> None:
    child = subprocess.Popen(
        command_line("run: echo started > mark; sleep 50"),
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 30
        while not (home.work / "mark").exists():
            assert time.monotonic() < deadline, "the command never started"
            time.sleep(0.02)
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    ledger, _ = read(home)
    assert [(event.kind.value, event.status) for event in ledger.events.values() if event.tool] == [
        ("tool_call", None),
        ("tool_result", "interrupted"),
    ]
    assert ledger.of(Turn)[-1].state == "open"


OLDER = installed("codex@0.98.0", "codex@0.150.0")
if OLDER:  # an empty list of parameters would count as a skipped test

    @pytest.mark.slow
    @pytest.mark.parametrize("version", OLDER)
    def test_older_programs_stores_are_read(home: Home, version: str) -> None:
        run(home, WORK, version=version)
        ledger, _ = read(home)
        assert ledger.conversation()[:2] == [("user", WORK), ("assistant", "going")]
        assert len(ledger.conversation()) == 3
        results = [
            (event.exit_code, event.status)
            for event in ledger.events.values()
            if event.kind.value == "tool_result"
        ]
        assert results[0] == (3, "error")
        assert [(Path(fact.path).name, fact.action) for fact in ledger.of(FileFact)] == [
            ("a.txt", "create")
        ]
