"""Where OMP keeps sessions: one file each, named by time and session id.

`<agent folder>/sessions/<directory>/<time>_<id>.jsonl`, beside it a folder of the same stem with
what its tools left. The agent folder is `$PI_CODING_AGENT_DIR`, or `agent` in `~/.omp`
(`$PI_CONFIG_DIR` names another folder in the person's home), below `profiles/<name>` for a profile
(observed with OMP 18.2.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from importers.listing import Listing

HARNESS: Final = "omp"
AGENT_DIR: Final = "PI_CODING_AGENT_DIR"
CONFIG_DIR: Final = "PI_CONFIG_DIR"
PROFILES: Final = ("OMP_PROFILE", "PI_PROFILE")
DEFAULT_PROFILE: Final = "default"
_STAMPED: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)\.jsonl")


def home(env: Mapping[str, str]) -> Path:
    """Return the agent folder. A profile goes before a folder; a blank variable counts as unset.

    An empty `$OMP_PROFILE` chooses the default profile, whatever `$PI_PROFILE` says.
    """
    user = env.get("HOME", "").strip()
    base = Path(user) if user else Path.home()
    root = base / (env.get(CONFIG_DIR, "").strip() or ".omp")
    profile = next((env[name].strip() for name in PROFILES if name in env), "")
    if profile and profile != DEFAULT_PROFILE:
        return root / "profiles" / profile / "agent"
    named = env.get(AGENT_DIR, "").strip()
    if not named:
        return root / "agent"
    return base / named[2:] if named.startswith("~/") else Path(named)


def listing(root: Path) -> Listing:
    """Return the session files of a store."""
    return Listing(HARNESS, root, root / "sessions", _named, depth=1)


def _named(name: str) -> str | None:
    found = _STAMPED.fullmatch(name)
    return None if found is None else found[1]
