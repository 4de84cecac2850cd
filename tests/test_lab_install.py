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
mkdir -p "$2/node_modules/.bin" && echo script > "$2/node_modules/.bin/pi"
for system in linux-x64 linux-arm64 darwin-x64 darwin-arm64; do
    node="$2/node_modules/node-$system/bin"
    mkdir -p "$node"
    printf '#!/bin/sh\necho ours "$@"\n' > "$node/node"
done
"""
NODE = """#!/bin/sh
test "$1" = --version && echo v{version} || echo theirs "$@"
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

    def node(self, version: str) -> None:
        """Put a Node.js of a version on PATH."""
        (self.tools / "node").write_text(NODE.format(version=version))
        (self.tools / "node").chmod(0o755)

    def __call__(
        self, *arguments: str, only: str = "codex", **env: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, INSTALLER, "--prefix", self.prefix, "--only", only, *arguments],
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


@pytest.mark.parametrize(("version", "runs"), [("24.1.0", "theirs"), ("20.9.0", "ours")])
def test_a_script_runs_with_a_node_that_is_new_enough(
    installer: Installer, version: str, runs: str
) -> None:
    installer.node(version)
    done = installer("--print-json", only="pi")
    assert done.returncode == 0, done.stderr
    starter = json.loads(done.stdout)["pi"]["native"]
    said = subprocess.run([starter, "a b", "c"], capture_output=True, text=True, check=True)
    script = installer.prefix / "pi-1.6.0" / "node_modules" / ".bin" / "pi"
    assert said.stdout == f"{runs} {script} a b c\n"


def test_a_script_whose_interpreter_is_gone_is_installed_again(installer: Installer) -> None:
    installer.node("24.1.0")
    starter = Path(json.loads(installer("--print-json", only="pi").stdout)["pi"]["native"])
    (installer.tools / "node").unlink()
    installer.node("20.9.0")
    (installer.tools / "node").rename(installer.tools / "old-node")
    assert installer("--print-json", only="pi").returncode == 0
    assert (
        subprocess.run([starter], capture_output=True, text=True, check=True).stdout[:4] == "ours"
    )


def test_programs_are_installed_side_by_side(installer: Installer) -> None:
    installer.node("24.1.0")
    done = installer("--only", "pi", "--jobs", "2", "--print-json")
    assert sorted(json.loads(done.stdout)) == ["codex", "pi"]


def test_one_that_cannot_be_had_does_not_keep_the_others_away(installer: Installer) -> None:
    done = installer("--only", "claude", "--optional", "--print-json")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == ["codex"]
    assert "going on without the real claude" in done.stderr
    assert installer("--only", "claude").returncode == 69
