"""Finding the native program behind a package's shim, and asking it for its version and options."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

TIME_LIMIT: Final = 5.0
"""Seconds that all questions to one program may take together."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.-]+)?")
_SMALL: Final = 1 << 16
"""Bytes; a shim is smaller, a native program is not."""


class Questions:
    """Asks one program for `--help` and the like, within one time limit.

    The program gets an empty home of its own, so that asking it changes nothing of the person's.
    """

    def __init__(self, path: Path, env: Mapping[str, str], home_variable: str) -> None:
        self._path = path
        self._env = dict(env)
        self._variable = home_variable
        self._deadline = time.monotonic() + TIME_LIMIT
        self.all_answered = True
        """False once the time was over before an answer was there."""

    def ask(self, *args: str) -> str | None:
        """Return what the program prints on stdout, None when it fails or takes too long."""
        import subprocess  # a launch whose answers are cached does without these two
        import tempfile

        left = self._deadline - time.monotonic()
        if left <= 0:
            self.all_answered = False
            return None
        with tempfile.TemporaryDirectory(prefix="workstream-") as home:
            try:
                done = subprocess.run(
                    [str(self._path), *args],
                    env={**self._env, self._variable: home},
                    cwd=home,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=left,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                self.all_answered = False
                return None
            except OSError:
                return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def version_in(text: str | None) -> str | None:
    """Return the version number in what `--version` printed."""
    found = _VERSION.search(text or "")
    return found.group() if found else None


def codex_native(path: Path) -> Path:
    """Return the native codex behind npm's script, or the resolved path when it is native.

    Layouts seen: the platform package beside or inside the package, `vendor/<triple>/bin/codex`
    (0.171.0) or `vendor/<triple>/codex/codex` (0.130.0), and bundled in the package (0.98.0).
    """
    real = path.resolve()
    if not _is_script(real):
        return real
    package = real.parent.parent
    for owner in _owners(package, f"@openai/codex-{_platform()}"):
        for triple in _triples():
            for inside in ("bin/codex", "codex/codex"):
                native = owner / "vendor" / triple / inside
                if os.access(native, os.X_OK):
                    return native
    return real


def codex_shim_env(native: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return what npm's script would have added to the environment of this native codex.

    The marks tell codex how it is updated; the folder holds programs it expects on PATH.
    """
    vendor = next((p for p in native.parents if p.name == "vendor"), None)
    if vendor is None:
        return {}
    owner = vendor.parent
    package = next(
        (p for p in (owner, owner.parent / "codex", *owner.parents) if _is_codex_package(p)), None
    )
    if package is None:
        return {}
    added = {f"CODEX_MANAGED_BY_{_installer(package)}": "1"}
    added["CODEX_MANAGED_PACKAGE_ROOT"] = str(package)
    tools = native.parent.parent / "path"
    if native.parent.name == "codex" and tools.is_dir():
        added["PATH"] = os.pathsep.join(filter(None, (str(tools), env.get("PATH"))))
    return added


def claude_native(path: Path) -> Path:
    """Return the native claude behind npm's wrapper, or the resolved path."""
    real = path.resolve()
    package = next((p for p in real.parents if p.name == "claude-code"), None)
    if package is None or not _is_script(real):
        return real
    for suffix in (_platform(), f"{_platform()}-musl"):
        for owner in _owners(package, f"@anthropic-ai/claude-code-{suffix}"):
            if os.access(owner / "claude", os.X_OK):
                return owner / "claude"
    return real


def _owners(package: Path, name: str) -> Iterator[Path]:
    """Yield where node would look for a package, the asking package's own folder last."""
    for folder in (package, *package.parents):
        yield folder / "node_modules" / name
    yield package


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!" or path.stat().st_size < _SMALL
    except OSError:
        return False


def _is_codex_package(path: Path) -> bool:
    return (path / "bin" / "codex.js").is_file()


def _installer(package: Path) -> str:
    if ".bun" in package.parts:
        return "BUN"
    modules = package.parent.parent
    pnpm = ".pnpm" in package.parts or (modules / ".modules.yaml").is_file()
    return "PNPM" if pnpm else "NPM"


def _platform() -> str:
    system = {"darwin": "darwin"}.get(sys.platform, "linux")
    return f"{system}-{'arm64' if _arm() else 'x64'}"


def _triples() -> tuple[str, ...]:
    machine = "aarch64" if _arm() else "x86_64"
    if sys.platform == "darwin":
        return (f"{machine}-apple-darwin",)
    return (f"{machine}-unknown-linux-musl", f"{machine}-unknown-linux-gnu")


def _arm() -> bool:
    return platform.machine().lower() in ("arm64", "aarch64")
