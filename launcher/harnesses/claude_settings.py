"""Whether Claude Code would run our hooks: its settings, read tolerantly and never written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from launcher.harnesses.claude_args import Call

MANAGED: Final = Path("/etc/claude-code")
_SOURCES: Final = ("user", "project", "local")
_MODES: Final = {"--bare": "CLAUDE_CODE_SIMPLE", "--safe-mode": "CLAUDE_CODE_SAFE_MODE"}
"""Options that start without hooks, and the variables that do the same."""
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One settings document."""

    where: str
    settings: Mapping[str, object]
    managed: bool = False


def hooks_off(
    call: Call, env: Mapping[str, str], home: Path, cwd: Path, managed: Path = MANAGED
) -> str | None:
    """Return why claude would run no session hook of ours, None when it would.

    `disableAllHooks` counts in any settings that apply, whatever a stronger one says: a briefing
    that goes the other way arrives, one that goes by a hook that is off does not.
    """
    for option, variable in _MODES.items():
        if call.has(option):
            return f"hooks are switched off by {option}"
        if env.get(variable, "").strip().lower() not in _FALSE:
            return f"hooks are switched off by {variable}"
    for layer in layers(call, home, cwd, managed):
        if layer.settings.get("disableAllHooks") is True:
            return f"hooks are switched off in {layer.where}"
        if layer.managed and layer.settings.get("allowManagedHooksOnly") is True:
            return f"only managed hooks are allowed by {layer.where}"
    return None


def layers(call: Call, home: Path, cwd: Path, managed: Path) -> Iterator[Layer]:
    """Yield the settings that apply to a launch; unreadable ones count as empty."""
    for path in (managed / "managed-settings.json", *sorted(_drop_ins(managed))):
        yield Layer(where=str(path), settings=_file(path), managed=True)
    path = home / "remote-settings.json"
    yield Layer(where=str(path), settings=_file(path), managed=True)
    given = call.last("--managed-settings")
    if given is not None:
        yield Layer(where="--managed-settings", settings=_parsed(given), managed=True)
    sources = _sources(call)
    if "user" in sources:
        yield Layer(where=str(home / "settings.json"), settings=_file(home / "settings.json"))
    for folder in _project_folders(cwd):
        for source, name in (("project", "settings.json"), ("local", "settings.local.json")):
            path = folder / ".claude" / name
            if source in sources and path.parent != home:
                yield Layer(where=str(path), settings=_file(path))
    given = call.last("--settings")
    if given is not None:
        inline = given.lstrip().startswith("{")
        settings = _parsed(given) if inline else _file(cwd / Path(given).expanduser())
        yield Layer(where="--settings" if inline else given, settings=settings)


def _sources(call: Call) -> tuple[str, ...]:
    if call.has("--restricted"):
        return ()
    given = call.last("--setting-sources")
    if given is None:
        return _SOURCES
    return tuple(name.strip() for name in given.split(","))


def _project_folders(cwd: Path) -> list[Path]:
    """Return the directory and its parents up to the repository's top."""
    folders = []
    for folder in (cwd, *cwd.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            return folders
    return [cwd]


def _drop_ins(managed: Path) -> list[Path]:
    return list((managed / "managed-settings.d").glob("*.json"))


def _file(path: Path) -> Mapping[str, object]:
    try:
        return _parsed(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}


def _parsed(text: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
