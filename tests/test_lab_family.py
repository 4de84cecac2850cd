"""The lab of the eleven: each real program creates and goes on, with tools, on a scripted model."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from tests.lab.family import (
    FAMILY,
    FamilyHome,
    api_for,
    choosable,
    family_home,
    in_terminal,
    leave,
    one_shot,
    type_prompt,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.server import ScriptedServer

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

WITH_TOOLS = tuple(name for name in FAMILY if name != "aider")
WORK = (
    "say: going ;; run: expr 40 + 2 && false ;; write: a.txt => one\\ntwo\\n ;; read: a.txt"
    " ;; edit: a.txt => two => three ;; say: plover is done"
)


@pytest.fixture
def api(name: str) -> Iterator[ScriptedServer]:
    with api_for(name)() as server:
        yield server


@pytest.fixture
def home(name: str, tmp_path: Path, api: ScriptedServer) -> FamilyHome:
    return family_home(name, tmp_path, api.port)


@pytest.mark.parametrize("name", WITH_TOOLS)
def test_a_turn_with_tools_and_one_that_resumes_it(home: FamilyHome, api: ScriptedServer) -> None:
    chosen = str(uuid.uuid4())
    first = one_shot(home, WORK, session=chosen)
    assert first.code == 0, first.err
    # Gemini's file names have only the first eight characters.
    assert choosable(home.name) == any(chosen[:8] in str(path) for path in first.files)
    assert "plover is done" in first.out
    assert (home.work / "a.txt").read_text() == "one\nthree\n"
    results = api.turns[-1].text
    assert "42" in results

    second = one_shot(home, "say-found: (plo.er) is", resume=first.session)
    assert second.code == 0, second.err
    assert "plover" in second.out
    assert "plover is done" in api.turns[-1].text
    assert set(first.files) & set(second.files), "the second turn is stored with the first"


@pytest.mark.parametrize("name", ["aider"])
def test_aider_changes_files_and_restores_its_history(
    home: FamilyHome, api: ScriptedServer
) -> None:
    first = one_shot(home, "say: going ;; write: a.txt => one\\ntwo\\n ;; say: plover is done")
    assert first.code == 0, first.err
    assert (home.work / "a.txt").read_text() == "one\ntwo\n"
    second = one_shot(home, "say-found: (plo.er) is", resume=first.session)
    assert second.code == 0, second.err
    assert "plover is done" in api.turns[-1].text


@pytest.mark.parametrize("name", ["pi", "grok"])
def test_a_refusing_model_ends_the_turn(home: FamilyHome, api: ScriptedServer) -> None:
    shot = one_shot(home, "fail: unauthorized")
    assert shot.code == 1
    assert "Incorrect API key" in shot.err
    assert len(api.turns) == 1


@pytest.mark.terminal
@pytest.mark.parametrize("name", [name for name in FAMILY if name != "dsh"])
def test_the_terminal_interface_takes_a_prompt_and_ends_cleanly(
    home: FamilyHome, api: ScriptedServer
) -> None:
    with in_terminal(home) as terminal:
        type_prompt(terminal, home, "say: hello there ;; hold: here ;; say: plover is over")
        api.wait_held("here", timeout=60)
        api.release("here")
        terminal.wait_text("plover is over", 60)
        assert leave(terminal, home) == 0
    assert home.session_files()


@pytest.mark.parametrize("name", ["dsh"])
def test_a_program_without_a_terminal_interface_says_so(home: FamilyHome) -> None:
    with pytest.raises(ValueError, match="no terminal interface"):
        in_terminal(home)
