from __future__ import annotations

import subprocess
import uuid
from typing import TYPE_CHECKING

import pytest

from tests.fakes.messages_api import MessagesApi
from tests.lab.homes import Home, claude_home
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
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, api: MessagesApi) -> Home:
    return claude_home(tmp_path, api.port)


def claude_print(home: Home, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [harness_program("claude"), "-p", "--dangerously-skip-permissions", *arguments],
        env=home.env,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


def test_print_works_with_tools_and_resume_reaches_the_same_session(
    home: Home, api: MessagesApi
) -> None:
    session = str(uuid.uuid4())
    assert claude_print(home, "--session-id", session, WORK) == (0, "all done\n")
    assert (home.work / "a.txt").read_text() == "one\nthree\n"
    assert "42" in api.turns[-1].text
    assert claude_print(home, "--resume", session, "say-found: all (do.e)") == (0, "done\n")
    assert [path.stem for path in home.session_files()] == [session]


def test_a_usage_limit_ends_the_turn_as_an_error(home: Home) -> None:
    code, shown = claude_print(home, "fail: usage-limit 7200")
    assert code == 1
    assert "limit" in shown.lower()


@pytest.mark.terminal
def test_the_terminal_interface_takes_a_prompt_and_ends_cleanly(
    home: Home, api: MessagesApi
) -> None:
    with Terminal([harness_program("claude")], env=home.env, cwd=home.work) as terminal:
        terminal.wait_quiet()
        terminal.submit("say: hello there ;; hold: here ;; say: the turn is over")
        api.wait_held("here")
        api.release("here")
        terminal.wait_text("the turn is over")
        terminal.wait_quiet()
        terminal.submit("/exit")
        assert terminal.wait_exit() == 0
    assert [request.user_text[:16] for request in api.turns] == ["say: hello there"]
