"""The pinned real harness programs: one row a program, the only place where the versions stand.

A row says where a program comes from, which file of it runs, and on what. Which versions were
driven against the scripted models, and how, is in tests/lab.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_SYSTEM: Final = {"darwin": "apple-darwin"}.get(sys.platform, "linux")
_MACHINE: Final = {"arm64": "aarch64", "amd64": "x86_64"}.get(
    platform.machine(), platform.machine()
)
_NPM_SYSTEM: Final = "darwin" if sys.platform == "darwin" else "linux"
_NPM_MACHINE: Final = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x64")
_NPM: Final = f"{_NPM_SYSTEM}-{_NPM_MACHINE}"
"""How most npm packages name this system."""


class Registry(StrEnum):
    """Where a package comes from."""

    NPM = "npm"
    PYPI = "pypi"


class RunsOn(StrEnum):
    """What starts the file of a program."""

    ITSELF = "itself"
    NODE = "node"
    BUN = "bun"
    PYTHON = "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program to have."""

    name: str
    """The command that a person types."""
    version: str
    package: str
    native: tuple[str, ...]
    """Patterns of the file that runs, below the program's folder; the first match counts."""
    registry: Registry = Registry.NPM
    beside: tuple[str, ...] = ()
    """Further packages; `{version}` is the version of the program."""
    runs_on: RunsOn = RunsOn.ITSELF
    node: int = 0
    """The oldest major version of Node.js that it starts with, when it runs on it."""
    optional_packages: bool = True
    """Whether the package's optional dependencies are installed: most bring the native program so,
    a few only big models that no test needs."""
    shim: bool = False
    """Whether npm's own command in front of the native program is a thing of its own."""
    executable: tuple[str, ...] = ()
    """Patterns of helper programs that the package brings without the permission to run."""
    packed: str | None = None
    """Pattern of a brotli file that the package's install script, which we do not run, unpacks to
    the same name without `.br`."""
    default: bool = True
    """Whether `make test` installs it; the others are installed by name or with `--all`."""


NODE_NEEDED: Final = "node"

_ROWS: Final = (
    Program(
        name="codex",
        version="0.171.0",
        package="@openai/codex",
        # Before 0.171 it was the second folder; 0.98 brought all systems in one package.
        native=(
            f"node_modules/@openai/codex*/vendor/{_MACHINE}-*{_SYSTEM}*/bin/codex",
            f"node_modules/@openai/codex*/vendor/{_MACHINE}-*{_SYSTEM}*/codex/codex",
        ),
        shim=True,
    ),
    Program(
        name="claude",
        version="2.1.332",
        package="@anthropic-ai/claude-code",
        # Its install script would put the native program in the place of npm's command.
        native=("node_modules/@anthropic-ai/claude-code-*/claude",),
    ),
    Program(
        name="pi",
        version="1.6.0",
        package="@earendil-works/pi-coding-agent",
        native=("node_modules/.bin/pi",),
        runs_on=RunsOn.NODE,
        node=24,
        shim=True,
    ),
    Program(
        name="copilot",
        version="1.0.102",
        package="@github/copilot",
        native=(f"node_modules/@github/copilot-{_NPM}/copilot",),
        shim=True,
    ),
    Program(
        name="qwen",
        version="0.24.4",
        package="@qwen-code/qwen-code",
        native=("node_modules/.bin/qwen",),
        executable=("node_modules/@qwen-code/qwen-code/vendor/ripgrep/*/rg",),
        runs_on=RunsOn.NODE,
        node=22,
        shim=True,
    ),
    Program(
        name="opencode",
        version="1.18.33",
        package="opencode-ai",
        # Without the twin for old processors, 177 MB.
        beside=(f"opencode-{_NPM}@{{version}}",),
        optional_packages=False,
        native=(f"node_modules/opencode-{_NPM}/bin/opencode",),
    ),
    Program(
        name="kimi",
        version="2.1.0",
        package="@moonshot-ai/kimi-code",
        native=("node_modules/.bin/kimi",),
        runs_on=RunsOn.NODE,
        node=24,
        shim=True,
    ),
    Program(
        name="grok",
        version="1.0.41",
        package="@xai-official/grok",
        native=(f"node_modules/@xai-official/grok-{_NPM}/bin/grok",),
        packed=f"node_modules/@xai-official/grok-{_NPM}/bin/grok.br",
    ),
    Program(
        name="gemini",
        version="0.61.0",
        package="@google/gemini-cli",
        native=("node_modules/.bin/gemini",),
        runs_on=RunsOn.NODE,
        node=20,
        shim=True,
    ),
    Program(
        name="dsh",
        version="0.2.1rc2",
        package="deepseek-harness-runtime-bin",
        registry=Registry.PYPI,
        native=("venv/bin/dsh",),
        runs_on=RunsOn.PYTHON,
    ),
    Program(
        name="omp",
        version="18.2.3",
        package="@oh-my-pi/pi-coding-agent",
        beside=(f"@oh-my-pi/pi-natives-{_NPM}@{{version}}", f"@oven/bun-{_NPM}@1.4.5"),
        native=("node_modules/.bin/omp",),
        runs_on=RunsOn.BUN,
        optional_packages=False,
        default=False,
    ),
    Program(
        name="command-code",
        version="1.64.0",
        package="command-code",
        # Later ones lack an export that 1.64.0 imports.
        beside=("@opentelemetry/semantic-conventions@1.40.0",),
        native=("node_modules/.bin/command-code",),
        runs_on=RunsOn.NODE,
        node=22,
        default=False,
    ),
    Program(
        name="aider",
        version="0.86.2",
        package="aider-chat",
        registry=Registry.PYPI,
        native=("venv/bin/aider",),
        runs_on=RunsOn.PYTHON,
        default=False,
    ),
    Program(
        name=NODE_NEEDED,
        version="24.22.1",
        package=f"node-{_NPM}",
        native=("node_modules/node-*/bin/node",),
        default=False,
    ),
)

PROGRAMS: Final = {row.name: row for row in _ROWS}
"""All rows by name, in the order in which they are installed."""
