"""Fixtures of every test that drives a run with stand-ins; also used by tests/faults."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher import executables
from launcher.harnesses import registry
from ledger.store import open_store
from tests.run.desk import STANDINS, Desk, copy_state, make_repository


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit, and a state in which both stand-ins are known."""
    root = tmp_path_factory.mktemp("template")
    make_repository(root / "repo")
    open_store(root / "state").close()
    env = {"PATH": os.environ["PATH"], "HOME": str(root)}
    for name in ("claude", "codex"):
        program = STANDINS / name
        executables.inspect(registry.get(name), program, env, root / "state" / "programs.json")
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
