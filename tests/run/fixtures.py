"""Fixtures of every test that drives a run with stand-ins; also used by tests/faults."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.desk import Desk, copy_state, make_repository


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit, and a state in which both stand-ins are known."""
    root = tmp_path_factory.mktemp("template")
    make_repository(root / "repo")
    desk = Desk(root / "desk", root / "state")
    shutil.copytree(root / "repo", desk.repo, symlinks=True)
    # A dry run asks the programs; recover makes the ledger.
    desk.ok("recover")
    for harness, form in (("claude", "-p"), ("codex", "exec")):
        desk.ok("run", "--new", harness, harness, form, "x", do="nothing")
    programs = (root / "state" / "programs.json").read_bytes()
    shutil.rmtree(root / "state")
    desk.ok("recover")
    (root / "state" / "programs.json").write_bytes(programs)
    desk.close()
    return root


@pytest.fixture
def desk(tmp_path: Path, template: Path) -> Iterator[Desk]:
    """A desk of its own: empty ledger, empty stores, a repository with one commit."""
    state = tmp_path / "state"
    copy_state(template / "state", state)
    made = Desk(tmp_path / "desk", state)
    shutil.copytree(template / "repo", made.repo, symlinks=True)
    yield made
    made.close()
