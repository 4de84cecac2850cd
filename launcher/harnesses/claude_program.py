"""Claude Code's program: what lies behind npm's wrapper."""

from __future__ import annotations

import os
from pathlib import Path

from launcher.harnesses.programs import is_script, npm_platform, owners


def native(path: Path) -> Path:
    """Return the native claude behind npm's wrapper, or the resolved path."""
    real = path.resolve()
    package = next((p for p in real.parents if p.name == "claude-code"), None)
    if package is None or not is_script(real):
        return real
    for suffix in (npm_platform(), f"{npm_platform()}-musl"):
        for owner in owners(package, f"@anthropic-ai/claude-code-{suffix}"):
            if os.access(owner / "claude", os.X_OK):
                return owner / "claude"
    return real
