from __future__ import annotations

import subprocess

import pytest

from tests.run.desk import STANDINS, Desk


def begun_outside(desk: Desk, words: str) -> str:
    """A one-shot session of Codex that was started without us; returns its id."""
    subprocess.run(
        [str(STANDINS / "codex"), "exec", words],
        env=desk.env,
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    (file,) = desk.session_files("codex")
    return "-".join(file.stem.split("-")[-5:])


def test_an_adopted_session_takes_the_place_of_the_form_that_adopted_it(desk: Desk) -> None:
    native_id = begun_outside(desk, "say: begun outside")
    desk.ok("run", "--adopt", native_id, "codex", "say: inside", env={"STANDIN_TYPED": '["/exit"]'})
    desk.ok("run", "codex", "say: again", env={"STANDIN_TYPED": '["/exit"]'})
    resumed = desk.calls("codex")[-1]["args"]
    assert "resume" in resumed
    assert native_id in resumed
    desk.codex("say: aside")
    assert native_id not in desk.calls("codex")[-1]["args"]


@pytest.mark.terminal
def test_the_chooser_shows_the_first_words_and_adopts(desk: Desk) -> None:
    native_id = begun_outside(desk, "say: begun outside")
    with desk.terminal("run", "codex") as terminal:
        terminal.wait_text("began outside")
        terminal.wait_text("say: begun outside")
        terminal.send(b"1\r")
        terminal.wait_text("resumes " + native_id)
        terminal.wait_text("codex>")
        terminal.send(b"/exit\r")
        assert terminal.wait_exit() == 0
    assert "say: begun outside" in desk.texts()
