"""What Codex's own folder looks like after our commands, and after a run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lab.programs import harness_program
from tests.real.stage import changed, listing

if TYPE_CHECKING:
    from tests.real.stage import Stage

pytestmark = pytest.mark.real

READING = (
    ("list",),
    ("status",),
    ("status", "--short"),
    ("log", "-n", "0"),
    ("show", "e1"),
    ("search", "one"),
    ("briefing", "codex"),
    ("note", "a word"),
    ("objective", "an aim"),
    ("import", "codex"),
    ("import", "codex", "--all"),
    ("recover",),
    ("verify",),
    ("doctor",),
    ("harnesses",),
    ("config",),
    ("run", "--dry-run", "codex"),
)


def test_our_own_commands_leave_no_trace_in_codexs_folder_or_the_repository(stage: Stage) -> None:
    stage.run("codex", "exec", "say: one")
    stage.write("untracked.txt", "x\n")
    folders = (stage.codex.store, stage.repository)
    before = listing(*folders)
    assert any(path.endswith("state_5.sqlite") for path in before)
    for command in READING:
        stage.workstream(*command, code=None)
        assert changed(before, listing(*folders)) == set(), command


def test_a_run_changes_only_what_codex_changes_by_itself(stage: Stage) -> None:
    bare = [str(harness_program("codex")), "exec", "--dangerously-bypass-approvals-and-sandbox"]

    def alone(*args: str) -> None:
        subprocess.run(
            [*bare, *args],
            env=stage.env,
            cwd=stage.repository,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=30,
        )

    def names(paths: set[str]) -> set[str]:
        """Return changed files with what differs from session to session taken out."""
        store = stage.codex.store
        inside = {Path(path).relative_to(store).parts for path in paths if path != str(store)}
        per_session = ("sessions", "thread-writer-locks")
        return {p[0] if p[0] in per_session else "/".join(p) for p in inside}

    alone("say: warm")  # what Codex makes once, it has made
    start = listing(stage.codex.store)
    alone("say: bare")
    middle = listing(stage.codex.store)
    stage.run("codex", "exec", "say: ours")
    end = listing(stage.codex.store)
    config = str(stage.codex.store / "config.toml")
    assert config not in changed(start, end)
    ours, theirs = names(changed(middle, end)), names(changed(start, middle))
    assert {n for n in ours - theirs if not n.startswith(("shell_snapshots", "tmp"))} == set()
    assert not [path for path in end if path.endswith(("-shm", "-wal"))]
