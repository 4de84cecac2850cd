"""Receivers of a handoff that are killed before they saw it, and before they answered it."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lab.programs import harness_program
from tests.real.handing import ACCEPT, commit, handed, receivers, shown, stands
from tests.real.stage import until

if TYPE_CHECKING:
    import subprocess

    from tests.real.stage import Stage

pytestmark = pytest.mark.real

ASK = {"codex": ("codex", "exec"), "claude": ("claude", "-p")}


def slow_start(stage: Stage, harness: str) -> dict[str, str]:
    """Return a PATH on which the program does not get to begin, and leaves its pid in a file."""
    folder = stage.root / "slow"
    folder.mkdir()
    program = folder / harness
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *--version*|*--help*) ;;\n'
        f"*) echo $$ > {folder}/pid.new; mv {folder}/pid.new {folder}/pid; exec sleep 30 ;; esac\n"
        f'exec {harness_program(harness)} "$@"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{stage.env['PATH']}"}


def pid_in(path: Path) -> int:
    until(path.exists, f"{path.name} was written", 40)
    return int(path.read_text(encoding="ascii"))


def killed(process: subprocess.Popen[str], harness: int, victim: str) -> None:
    """Kill the launcher too, or only the harness, and wait for the end of the launcher."""
    if victim == "launcher":
        process.kill()
    os.kill(harness, signal.SIGKILL)
    process.communicate(timeout=40)


@pytest.mark.parametrize(("victim", "harness"), [("harness", "claude"), ("launcher", "codex")])
def test_a_killed_receiver_is_told_again_or_asked_again(
    stage: Stage, victim: str, harness: str
) -> None:
    turns = stage.messages if harness == "claude" else stage.responses
    sender = stage.run(*ASK["codex" if harness == "claude" else "claude"], "say: begun")
    commit(stage)

    # Killed before it saw the text: nothing was told, so it is told again.
    process = stage.start(*ASK[harness], "say: never", env=slow_start(stage, harness))
    killed(process, pid_in(stage.root / "slow" / "pid"), victim)
    if victim == "harness":  # else the next run finishes what was cut off
        assert stands(shown(stage, "r1")) == ("failed", "open", "not_expected")
    assert turns.turns == []

    # Killed after it saw it, before it answered.
    marker = stage.root / "begun"
    process = stage.start(
        *ASK[harness],
        f"run: echo $PPID > {marker}.new; mv {marker}.new {marker}; sleep 20 ;; {ACCEPT}",
    )
    pid_in(marker)
    assert "Mend the walrus" in handed(turns.turns[0])
    killed(process, stage.status()["lease"]["child_pid"], victim)
    if victim == "harness":
        assert stands(shown(stage, "r1")) == ("seen", "open", "not_expected")
    assert stage.session(sender.session)["current"]

    # It is not told again; it is asked for its answer.
    taken = stage.run(*ASK[harness], f"{ACCEPT} ;; say: taken")
    asked = handed(turns.turns[-2])
    assert "no answer yet" in asked
    assert "handoff full" not in asked
    assert taken.delivery["state"] == "acknowledged"
    one = shown(stage, "r1")
    assert stands(one) == ("acknowledged", "accepted", "awaiting_outcome")
    assert receivers(one) == [("accepted", harness, taken.session)]
    assert stage.workstream("recover", "--json").data["runs"] == []
