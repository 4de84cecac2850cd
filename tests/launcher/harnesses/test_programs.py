from __future__ import annotations

import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launcher import executables
from launcher.harnesses import claude_program, codex_program, programs, registry
from launcher.harnesses.base import Adapter
from launcher.harnesses.codex import Codex
from ledger.errors import UnavailableError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="layouts of Linux x86-64"
)
TRIPLE = "x86_64-unknown-linux-musl"


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def shim(modules: Path) -> Path:
    script = executable(modules / "@openai" / "codex" / "bin" / "codex.js", "#!/usr/bin/env node\n")
    link = modules / ".bin" / "codex"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(script)
    return link


@pytest.mark.parametrize(
    "layout",
    [
        f"@openai/codex-linux-x64/vendor/{TRIPLE}/bin/codex",
        f"@openai/codex-linux-x64/vendor/{TRIPLE}/codex/codex",
        f"@openai/codex/node_modules/@openai/codex-linux-x64/vendor/{TRIPLE}/bin/codex",
        f"@openai/codex/vendor/{TRIPLE}/codex/codex",
    ],
)
def test_codex_is_found_behind_npms_script(tmp_path: Path, layout: str) -> None:
    modules = tmp_path / "node_modules"
    link = shim(modules)
    native = executable(modules / layout)
    assert codex_program.native(link) == native
    assert codex_program.shim_env(native, {"PATH": "/bin"})["CODEX_MANAGED_BY_NPM"] == "1"


def test_a_script_without_its_native_program_stays(tmp_path: Path) -> None:
    link = shim(tmp_path / "node_modules")
    assert codex_program.native(link) == link.resolve()


def test_a_native_program_stays(tmp_path: Path) -> None:
    native = executable(tmp_path / "codex", "\x7fELF" + "x" * (1 << 17))
    assert codex_program.native(native) == native
    assert claude_program.native(native) == native
    assert codex_program.shim_env(native, {}) == {}


def test_tools_of_the_older_layout_are_on_path(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    shim(modules)
    native = executable(modules / "@openai" / "codex" / "vendor" / TRIPLE / "codex" / "codex")
    tools = native.parent.parent / "path"
    tools.mkdir()
    assert codex_program.shim_env(native, {"PATH": "/bin"})["PATH"] == f"{tools}:/bin"


@pytest.mark.parametrize("package", ["claude-code-linux-x64", "claude-code-linux-x64-musl"])
def test_claude_is_found_behind_npms_wrapper(tmp_path: Path, package: str) -> None:
    scope = tmp_path / "node_modules" / "@anthropic-ai"
    wrapper = executable(scope / "claude-code" / "bin" / "claude.exe", "echo not installed\n")
    assert claude_program.native(wrapper) == wrapper
    native = executable(scope / package / "claude")
    assert claude_program.native(wrapper) == native


def test_a_program_is_asked_in_a_home_of_its_own(tmp_path: Path) -> None:
    program = executable(
        tmp_path / "codex",
        "#!/bin/sh\necho seen > $CODEX_HOME/x\n"
        'case "$1" in --version) echo codex-cli 1.2.3;; --help) echo " --no-daemon ";;'
        ' features) echo "hooks   stable   true";; esac\n',
    )
    found = Codex().inspect(program, {"CODEX_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert found.version == "1.2.3"
    assert found.features == {"no_daemon", "hooks", "context_limit"}
    assert found.problems == ()
    assert not (tmp_path / "x").exists()


def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "TIME_LIMIT", 0.2)
    program = executable(tmp_path / "codex", "#!/bin/sh\nexec sleep 30\n")
    before = time.monotonic()
    found = Codex().inspect(program, {"PATH": "/usr/bin:/bin"})
    assert time.monotonic() - before < 5
    assert found.version is None
    assert found.problems


def test_what_a_slow_program_left_unanswered_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "codex"
    script = '#!/bin/sh\n[ "$1" = --version ] && exec echo codex-cli 0.171.0\n{}\n'
    executable(path, script.format("[ -e " + str(tmp_path / "fast") + " ] || exec sleep 30"))
    cache, env = tmp_path / "programs.json", {"PATH": "/usr/bin:/bin"}
    monkeypatch.setattr(programs, "TIME_LIMIT", 1.0)
    slow = executables.inspect(Codex(), path, env, cache)
    assert (slow.version, slow.complete) == ("0.171.0", False)
    assert "did not answer in time" in slow.problems[0]
    assert not cache.exists()
    (tmp_path / "fast").touch()
    assert executables.inspect(Codex(), path, env, cache).complete
    assert cache.exists()


@pytest.mark.parametrize("name", ["codex", "claude", "claude-code"])
def test_adapters_are_found_by_name_and_alias(name: str) -> None:
    adapter: Adapter = registry.get(name)
    assert name in (adapter.name, *adapter.aliases)


def test_an_unknown_harness_lists_what_exists() -> None:
    with pytest.raises(UnavailableError, match="Known: codex, claude"):
        registry.get("nope")


def test_a_built_in_name_scans_nothing_and_loads_only_its_own_adapter() -> None:
    code = (
        "import sys; from launcher.harnesses import registry; registry.get('codex');"
        "print('importlib.metadata' in sys.modules, 'launcher.harnesses.claude' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
