"""The lab of the eleven: each real program creates and goes on, with tools, on a scripted model."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from tests.lab.family import FAMILY, FamilyHome, api_for, choosable, family_home, one_shot

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
    first = one_shot(home, WORK)
    assert first.code == 0, first.err
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


@pytest.mark.parametrize("name", [name for name in FAMILY if choosable(name)])
def test_a_new_session_takes_the_chosen_id(home: FamilyHome) -> None:
    chosen = str(uuid.uuid4())
    shot = one_shot(home, "say: hello", session=chosen)
    assert shot.code == 0, shot.err
    # Gemini's file names have only the first eight characters.
    assert any(chosen[:8] in str(path) for path in shot.files)


@pytest.mark.parametrize("name", ["pi", "grok"])
def test_a_refusing_model_ends_the_turn(home: FamilyHome, api: ScriptedServer) -> None:
    shot = one_shot(home, "fail: unauthorized")
    assert shot.code == 1
    assert "Incorrect API key" in shot.err
    assert len(api.turns) == 1
