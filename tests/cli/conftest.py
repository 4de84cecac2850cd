"""Desks for the command-line tests: an empty one, and one with recorded sessions imported."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.desk import FIXTURES, Desk, make


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with a repository and nothing else."""
    return make(tmp_path / "desk")


@pytest.fixture(scope="session")
def furnished_once(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose workstream `past` holds recorded sessions of both harnesses; change nothing."""
    desk = make(tmp_path_factory.mktemp("furnished") / "desk")
    for harness, store in (("codex", "tools/codex-home"), ("claude", "tools/dot-claude")):
        copy = desk.home / harness
        shutil.copytree(FIXTURES / harness / store, copy)
        desk.ok("import", harness, "--home", str(copy), "--into", "past", "--all")
    desk.ok("note", "--workstream", "past", "mind the gap")
    return desk


@pytest.fixture
def furnished(furnished_once: Desk, tmp_path: Path) -> Desk:
    """That desk with a state of its own, to be changed at will; home and repository are shared."""
    shutil.copytree(furnished_once.state, tmp_path / "state")
    return Desk(root=furnished_once.root, state=tmp_path / "state")
