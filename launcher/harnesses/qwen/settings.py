"""Qwen Code's settings: read tolerantly, never written, but for the run's own copy of one layer.

Of its four layers (system defaults, the person's, the folder's, the system's) the first is a file
that a variable names. A run puts a copy of it with our hooks behind its own into its folder: hooks
of all layers run, those of the first one also in a folder that is not trusted. Beside the copy
stands what it was made from, so that a run inside a run does not take our hooks for the system's.
Observed with Qwen Code 0.24.4.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from launcher.harnesses.options import Call

VARIABLE: Final = "QWEN_CODE_SYSTEM_DEFAULTS_PATH"
COPY: Final = "qwen/system-defaults.json"
ORIGIN: Final = "qwen/made-from"
"""Holds the path of the file that `COPY` was made from."""
_SYSTEM: Final = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
_MODES: Final = {"--bare": "QWEN_CODE_SIMPLE", "--safe-mode": "QWEN_CODE_SAFE_MODE"}
"""Options that start without hooks, and the variables that do the same."""
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})
_VERSION: Final = 4
"""Format of the settings; without it Qwen Code would rewrite the file."""
_EVENTS: Final = {"SessionStart": 10, "UserPromptSubmit": 10, "SessionEnd": 3}
"""Seconds that a hook may take."""


class Unreadable(Exception):  # noqa: N818  (states a fact about a file)
    """The system's defaults cannot be copied; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The run's copy of the system's defaults."""

    text: bytes
    origin: Path
    """The file that counts where no run is."""


def defaults(env: Mapping[str, str], command: Sequence[str]) -> Defaults:
    """Return the system's defaults with our hooks behind theirs. Raises Unreadable."""
    origin = _origin(env)
    document = _document(origin)
    hooks = document.get("hooks", {})
    if not isinstance(hooks, dict):
        raise Unreadable(f"{origin}: hooks is no object")
    merged = dict(hooks)
    for event, timeout in _EVENTS.items():
        theirs = merged.get(event, [])
        if not isinstance(theirs, list):
            raise Unreadable(f"{origin}: hooks.{event} is no list")
        ours = {"type": "command", "command": shlex.join(command), "timeout": timeout}
        merged[event] = [*theirs, {"hooks": [ours]}]
    whole = {**({} if document else {"$version": _VERSION}), **document, "hooks": merged}
    return Defaults(text=json.dumps(whole).encode(), origin=origin)


def hooks_off(call: Call, env: Mapping[str, str], cwd: Path) -> str | None:
    """Return why our hooks would not run, None when they would.

    `disableAllHooks` counts in any layer, whatever a stronger one says: a briefing that goes
    another way arrives, one that goes by a hook that is off does not.
    """
    for option, variable in _MODES.items():
        if call.has(option):
            return f"hooks are switched off by {option}"
        if env.get(variable, "").strip().lower() not in _FALSE:
            return f"hooks are switched off by {variable}"
    for path, layer in layers(env, cwd):
        if layer.get("disableAllHooks") is True:
            return f"hooks are switched off in {path}"
    try:
        _document(_origin(env))
    except Unreadable as error:
        return str(error)
    return None


def unrecorded(env: Mapping[str, str], cwd: Path) -> str | None:
    """Return where the settings say that no session is kept; None when one is."""
    found = None
    for path, layer in layers(env, cwd):
        general = layer.get("general")
        if isinstance(general, dict) and isinstance(general.get("chatRecording"), bool):
            found = None if general["chatRecording"] else f"chatRecording is off in {path}"
    return found


def layers(env: Mapping[str, str], cwd: Path) -> Iterator[tuple[Path, Mapping[str, object]]]:
    """Yield the layers, the weakest first; unreadable ones count as empty."""
    named = env.get("QWEN_HOME", "").strip()
    person = Path(named) if named else Path(env.get("HOME", "/")) / ".qwen"
    folder = cwd / ".qwen"
    paths = [_origin(env), person / "settings.json", folder / "settings.json", _system(env)]
    for path in paths:
        try:
            yield path, _document(path)
        except Unreadable:
            continue


def _document(path: Path) -> dict[str, object]:
    """Return a settings file, an absent one as empty. Raises Unreadable."""
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unreadable(f"{path} is no JSON object")
    return value


def _origin(env: Mapping[str, str]) -> Path:
    """Return the file of the system's defaults, behind the copy of an outer run."""
    named = env.get(VARIABLE, "")
    if not named:
        return _system(env).parent / "system-defaults.json"
    path = Path(named)
    if path.parts[-2:] == Path(COPY).parts:
        try:
            return Path((path.parent / Path(ORIGIN).name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return path
    return path


def _system(env: Mapping[str, str]) -> Path:
    named = env.get(_SYSTEM, "")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path("/Library/Application Support/QwenCode/settings.json")
    return Path("/etc/qwen-code/settings.json")
