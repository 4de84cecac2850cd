"""Codex's program: what lies behind npm's script, and what that script would have set."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from launcher.harnesses.programs import is_arm, is_script, npm_platform, owners


def native(path: Path) -> Path:
    """Return the native codex behind npm's script, or the resolved path when it is native.

    Layouts seen: the platform package beside or inside the package, `vendor/<triple>/bin/codex`
    (0.171.0) or `vendor/<triple>/codex/codex` (0.130.0), and bundled in the package (0.98.0).
    """
    real = path.resolve()
    if not is_script(real):
        return real
    package = real.parent.parent
    for owner in owners(package, f"@openai/codex-{npm_platform()}"):
        for triple in _triples():
            for inside in ("bin/codex", "codex/codex"):
                program = owner / "vendor" / triple / inside
                if os.access(program, os.X_OK):
                    return program
    return real


def shim_env(program: Path, env: Mapping[str, str]) -> dict[str, str]:
    """Return what npm's script would have added to the environment of this native codex.

    The marks tell codex how it is updated; the folder holds programs it expects on PATH.
    """
    vendor = next((p for p in program.parents if p.name == "vendor"), None)
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
    tools = program.parent.parent / "path"
    if program.parent.name == "codex" and tools.is_dir():
        added["PATH"] = os.pathsep.join(filter(None, (str(tools), env.get("PATH"))))
    return added


def _is_codex_package(path: Path) -> bool:
    return (path / "bin" / "codex.js").is_file()


def _installer(package: Path) -> str:
    if ".bun" in package.parts:
        return "BUN"
    modules = package.parent.parent
    pnpm = ".pnpm" in package.parts or (modules / ".modules.yaml").is_file()
    return "PNPM" if pnpm else "NPM"


def _triples() -> tuple[str, ...]:
    machine = "aarch64" if is_arm() else "x86_64"
    if sys.platform == "darwin":
        return (f"{machine}-apple-darwin",)
    return (f"{machine}-unknown-linux-musl", f"{machine}-unknown-linux-gnu")
