"""Where Qwen Code keeps sessions: one file each, named by session id, below its directory's folder.

`<home>/projects/<directory>/chats/<id>.jsonl`; an archived one in `chats/archive/` (observed with
Qwen Code 0.24.4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Source, StoreState
from importers.listing import Listing

HARNESS: Final = "qwen"
RUNTIME_DIR: Final = "QWEN_RUNTIME_DIR"
HOME: Final = "QWEN_HOME"
_SESSION: Final = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl", re.I)
_PLAIN: Final = re.compile(r"[^a-zA-Z0-9]")


def home(env: Mapping[str, str]) -> Path:
    """Return the folder that a variable or the person's settings name for what runs leave.

    `$QWEN_RUNTIME_DIR`, else `advanced.runtimeOutputDir` of the person's settings where it is an
    absolute path, else `$QWEN_HOME`, else `~/.qwen`. A blank variable counts as unset.
    """
    named = env.get(RUNTIME_DIR, "").strip()
    if named:
        return _expanded(named, env)
    configured = env.get(HOME, "").strip()
    config = _expanded(configured, env) if configured else _user(env) / ".qwen"
    chosen = _setting(config)
    return config if chosen is None else _expanded(chosen, env)


def folder_of(directory: Path) -> str:
    """Return the name of the folder for sessions of a directory; not injective."""
    return _PLAIN.sub("-", str(directory))


def _setting(config: Path) -> str | None:
    try:
        settings = json.loads((config / "settings.json").read_bytes())
        value = settings["advanced"]["runtimeOutputDir"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    known = isinstance(value, str) and value.startswith(("/", "~/"))
    return value if known else None


def _expanded(text: str, env: Mapping[str, str]) -> Path:
    if text == "~" or text.startswith("~/"):
        return _user(env) / text[2:]
    return Path(text)


def _user(env: Mapping[str, str]) -> Path:
    user = env.get("HOME", "")
    return Path(user) if user.strip() else Path.home()


def locate(root: Path, native_id: str) -> Source:
    """Find a session by id, in whatever case it is written; an archived one says how to go on."""
    active, archived = _listings(root)
    name = native_id.lower()
    source = active.locate(name)
    if source.state is not StoreState.MISSING:
        return source
    kept = archived.locate(name)
    if kept.state is not StoreState.PRESENT:
        return kept if kept.state is StoreState.UNREADABLE else source
    return kept._replace(state=StoreState.ARCHIVED, detail=f"{kept.path} is archived: unarchive it")


def discover(root: Path) -> Iterator[Source]:
    """Yield every session, newest first, then archived ones, each with what is odd."""
    active, archived = _listings(root)
    yield from active.discover()
    for source in archived.discover():
        kept = source.state is StoreState.PRESENT
        yield source._replace(state=StoreState.ARCHIVED) if kept else source


def _listings(root: Path) -> tuple[Listing, Listing]:
    projects = root / "projects"
    return (
        Listing(HARNESS, root, projects, _named, depth=2),
        Listing(HARNESS, root, projects, _named, depth=3),
    )


def _named(name: str) -> str | None:
    found = _SESSION.fullmatch(name)
    return None if found is None else found[1].lower()
