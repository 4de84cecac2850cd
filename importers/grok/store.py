"""Where Grok Build keeps sessions: a folder each, below one for the directory it was made in.

`<home>/sessions/<url-encoded directory>/<id>/updates.jsonl` is what was said and done;
`summary.json` beside it is rewritten with every turn. Observed with Grok Build 1.0.41.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from importers.listing import Listing

HARNESS: Final = "grok"
HOME: Final = "GROK_HOME"
UPDATES: Final = "updates.jsonl"
_SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUMMARY_LIMIT: Final = 1 << 20


def home(env: Mapping[str, str]) -> Path:
    """Return `$GROK_HOME`, else `~/.grok`. A blank variable counts as unset."""
    named = env.get(HOME, "")
    if named.strip():
        return Path(named)
    user = env.get("HOME", "")
    return (Path(user) if user.strip() else Path.home()) / ".grok"


def listing(root: Path) -> Listing:
    """Return the sessions of a store."""
    return Listing(HARNESS, root, root / "sessions", _named, depth=1, inner=UPDATES)


def directory_of(path: Path) -> str | None:
    """Return the directory that a session was made in, from its folder's name."""
    found = unquote(path.parent.parent.name)
    return found if found.startswith("/") else None


def summary(path: Path) -> dict[str, Any]:
    """Return what the harness notes beside a session; empty where that cannot be read."""
    try:
        with path.with_name("summary.json").open("rb") as file:
            value = json.loads(file.read(_SUMMARY_LIMIT))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _named(name: str) -> str | None:
    return name if _SESSION.fullmatch(name) else None
