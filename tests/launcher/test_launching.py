"""How an agent is told to call us."""

from __future__ import annotations

import shlex
import sys

import pytest

from importers.own_output import runs_us
from launcher.launching import our_command


@pytest.mark.parametrize(
    ("called", "said"),
    [
        ("/usr/local/bin/workstream", "workstream"),
        ("/usr/bin/ws", "ws"),
        ("/home/user/.local/bin/workstream", "/home/user/.local/bin/workstream"),
        ("/home/a user/bin/workstream", "'/home/a user/bin/workstream'"),
        ("/src/workstream_entry.py", f"{shlex.quote(sys.executable)} -I /src/workstream_entry.py"),
        ("/opt/own_script.py", "workstream"),
    ],
)
def test_the_command_works_in_a_shell_that_has_another_path(
    monkeypatch: pytest.MonkeyPatch, called: str, said: str
) -> None:
    monkeypatch.setattr(sys, "argv", [called, "run", "codex"])
    assert our_command() == said
    assert runs_us(f"{said} handoff acknowledge r1 accepted")  # else its receipt would be lost
