"""Where pi keeps sessions: one file each, named by time and session id.

`<agent folder>/sessions/--<directory>--/<time>_<id>.jsonl`, or `<session folder>/<time>_<id>.jsonl`
where a session folder of its own is configured (observed with pi 1.6.0).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Source, StoreState
from importers.listing import Listing

HARNESS: Final = "pi"
SESSIONS: Final = "sessions"
AGENT_DIR: Final = "PI_CODING_AGENT_DIR"
SESSION_DIR: Final = "PI_CODING_AGENT_SESSION_DIR"
_STAMPED: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(.+)\.jsonl")


def home(env: Mapping[str, str]) -> Path:
    """Return the session folder that a variable or pi's settings name, else the agent folder.

    `$PI_CODING_AGENT_SESSION_DIR`, else `sessionDir` of the settings in the agent folder, else that
    folder: `$PI_CODING_AGENT_DIR` or `~/.pi/agent`. A blank variable counts as unset.
    """
    named = env.get(SESSION_DIR, "").strip()
    if named:
        return _expanded(named, env)
    configured = env.get(AGENT_DIR, "").strip()
    agent = _expanded(configured, env) if configured else _user(env) / ".pi" / "agent"
    chosen = _setting(agent)
    return agent if chosen is None else _expanded(chosen, env)


def _setting(agent: Path) -> str | None:
    try:
        settings = json.loads((agent / "settings.json").read_bytes())
    except (OSError, ValueError):
        return None
    value = settings.get("sessionDir") if isinstance(settings, dict) else None
    return value if isinstance(value, str) and value.strip() else None


def _expanded(text: str, env: Mapping[str, str]) -> Path:
    if text == "~" or text.startswith("~/"):
        return _user(env) / text[2:]
    return Path(text)


def _user(env: Mapping[str, str]) -> Path:
    user = env.get("HOME", "")
    return Path(user) if user.strip() else Path.home()


def locate(root: Path, native_id: str) -> Source:
    """Find a session by id; of several files of one id the one that was written last."""
    missing = None
    for listing in _listings(root):
        source = listing.locate(native_id)
        if source.state is not StoreState.MISSING:
            return source
        missing = source
    assert missing is not None  # noqa: S101  (there are always two listings)
    return missing


def discover(root: Path) -> Iterator[Source]:
    """Yield every session, newest first in each kind of folder, then what is odd."""
    for listing in _listings(root):
        yield from listing.discover()


def _listings(root: Path) -> tuple[Listing, Listing]:
    return (
        Listing(HARNESS, root, root / SESSIONS, _named, depth=1),
        Listing(HARNESS, root, root, _named, depth=0),
    )


def _named(name: str) -> str | None:
    found = _STAMPED.fullmatch(name)
    return None if found is None else found[1]
