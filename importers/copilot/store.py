"""Where Copilot CLI keeps sessions: a folder each, named by session id, with an event file in it.

`<home>/session-state/<id>/events.jsonl`. The database beside the folder is an index of the same and
is not read (observed with Copilot CLI 1.0.102).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from importers.listing import Listing

HARNESS: Final = "copilot"
HOME: Final = "COPILOT_HOME"
_SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)


def home(env: Mapping[str, str]) -> Path:
    """Return `$COPILOT_HOME`, else `~/.copilot`; a blank variable counts as unset."""
    named = env.get(HOME, "")
    if named.strip():
        return Path(named)
    user = env.get("HOME", "")
    return (Path(user) if user.strip() else Path.home()) / ".copilot"


def listing(root: Path) -> Listing:
    """Return the sessions of a store."""
    return Listing(HARNESS, root, root / "session-state", _named, depth=0, inner="events.jsonl")


def _named(name: str) -> str | None:
    return name.lower() if _SESSION.fullmatch(name) else None
