from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.fakes.responses_api import ResponsesApi
from tests.lab.homes import CODEX_CODE_MODE_MODEL, Home, codex_home
from tests.lab.programs import harness_program
from tests.lab.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

WORK = (
    "say: going ;; run: echo $((40+2)); exit 3 ;; write: a.txt => one\\ntwo\\n"
    " ;; edit: a.txt => two => three ;; say: all done"
)


@pytest.fixture
def api() -> Iterator[ResponsesApi]:
    with ResponsesApi() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, api: ResponsesApi) -> Home:
    return codex_home(tmp_path, api.port)


def codex_exec(home: Home, *arguments: str) -> tuple[int, list[dict[str, object]]]:
    done = subprocess.run(
        [harness_program("codex"), "exec", "-s", "danger-full-access", *arguments],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_exec_works_with_tools_and_resume_reaches_the_same_thread(
    home: Home, api: ResponsesApi
) -> None:
    code, events = codex_exec(home, "--json", "--skip-git-repo-check", WORK)
    assert code == 0
    assert (home.work / "a.txt").read_text() == "one\nthree\n"
    assert "42\n" in api.turns[-1].text

    thread = str(events[0]["thread_id"])
    code, again = codex_exec(
        home, "resume", "--skip-git-repo-check", thread, "--json", "say-found: all (do.e)"
    )
    assert code == 0
    assert again[0]["thread_id"] == thread
    assert [event for event in again if "done" in str(event.get("item"))]
    assert len(home.session_files()) == 1


def test_the_code_mode_model_works_with_the_same_script(tmp_path: Path, api: ResponsesApi) -> None:
    home = codex_home(tmp_path, api.port, model=CODEX_CODE_MODE_MODEL)
    code, _ = codex_exec(home, "--json", "--skip-git-repo-check", WORK)
    assert code == 0
    assert (home.work / "a.txt").read_text() == "one\nthree\n"
    assert '"output":"42\\n"' in api.turns[-1].text


def test_a_usage_limit_ends_the_turn_with_its_reset_time(home: Home) -> None:
    code, events = codex_exec(home, "--json", "--skip-git-repo-check", "fail: usage-limit 7200")
    assert code == 1
    assert "usage limit" in str(events[-1]).lower()


@pytest.mark.terminal
def test_the_terminal_interface_takes_a_prompt_and_ends_cleanly(
    home: Home, api: ResponsesApi
) -> None:
    with Terminal(
        [harness_program("codex"), "--no-daemon"], env=home.env, cwd=home.work
    ) as terminal:
        terminal.wait_quiet()
        terminal.submit("say: hello there ;; hold: here ;; say: the turn is over")
        api.wait_held("here")
        api.release("here")
        terminal.wait_text("the turn is over")
        terminal.wait_quiet()
        terminal.submit("/exit")
        assert terminal.wait_exit() == 0
    assert [request.user_text[:16] for request in api.turns] == ["say: hello there"]
