from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

INSTALLER = Path(__file__).parents[1] / "scripts" / "install_harnesses.py"

NPM = """#!/bin/sh
echo "$@" >> "$NPM_CALLS"
test -n "$NPM_FAILS" && { echo "npm says no"; exit 1; }
while [ "$1" != --prefix ]; do shift; done
bin="$2/node_modules/@openai/codex-this/vendor/$(uname -m)-unknown-linux-musl/bin"
other="$2/node_modules/@openai/codex-this/vendor/a-machine-unknown-linux-musl/bin"
mkdir -p "$other" && echo wrong > "$other/codex"
mkdir -p "$bin" "$HOME" && echo program > "$bin/codex"
"""


class Installer:
    """The installer with an npm of ours on PATH."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "prefix"
        self.calls = folder / "calls"
        self.tools = folder / "bin"
        self.tools.mkdir()
        (self.tools / "npm").write_text(NPM)
        (self.tools / "npm").chmod(0o755)

    def __call__(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, INSTALLER, "--prefix", self.prefix, "--only", "codex", *arguments],
            env={"PATH": f"{self.tools}:{os.defpath}", "NPM_CALLS": str(self.calls), **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def npm_calls(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def installer(tmp_path: Path) -> Installer:
    return Installer(tmp_path)


def test_a_second_installation_does_nothing(installer: Installer) -> None:
    first = installer("--print-json")
    assert first.returncode == 0, first.stderr
    native = Path(json.loads(first.stdout)["codex"]["native"])
    assert os.access(native, os.X_OK)
    assert installer("--print-json").stdout == first.stdout
    assert installer.npm_calls() == 1


def test_only_the_program_stays_in_the_prefix(installer: Installer) -> None:
    installer()
    assert sorted(path.name for path in installer.prefix.iterdir()) == [
        ".gitignore",
        ".lock-codex",
        "codex-0.171.0",
    ]


def test_what_a_killed_installation_left_is_repaired(installer: Installer) -> None:
    native = Path(json.loads(installer("--print-json").stdout)["codex"]["native"])
    native.write_text("cut")
    (installer.prefix / ".staging-codex-x" / "built").mkdir(parents=True)
    assert installer().returncode == 0
    assert native.read_text() == "program\n"
    assert not list(installer.prefix.glob(".staging-*"))


def test_a_failing_npm_leaves_nothing_and_is_reported(installer: Installer) -> None:
    failed = installer(NPM_FAILS="1")
    assert failed.returncode == 69
    assert "npm says no" in failed.stderr
    assert sorted(path.name for path in installer.prefix.iterdir()) == [".gitignore", ".lock-codex"]


def test_a_missing_npm_is_reported(installer: Installer, tmp_path: Path) -> None:
    failed = installer(PATH=str(tmp_path / "nothing"))
    assert failed.returncode == 69
    assert "npm is not on PATH" in failed.stderr
