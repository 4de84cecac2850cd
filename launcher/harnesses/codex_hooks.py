"""Codex's per-run hooks: our handlers as session flags, trusted by hash, beside the user's own.

Rule of the hash observed with codex 0.130.0, 0.150.0 and 0.171.0: sha256 of the compact JSON,
keys sorted, of the event's snake-case name and its normalised handlers.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from launcher.harnesses.argv import Item, with_value
from launcher.harnesses.codex_args import Call
from launcher.harnesses.codex_config import Table, apply, overrides

START_TIMEOUT: Final = 10
END_TIMEOUT: Final = 3
"""Seconds; codex allows no more for SessionEnd."""
CONTEXT_TOKENS: Final = 20_000
"""`additionalContextLimit` (`limit`): codex counts four bytes as a token and cuts beyond it."""
_SOURCE: Final = "/<session-flags>/config.toml"
"""How codex names the layer of `-c` in the keys of `hooks.state`."""
_EVENTS: Final = {"SessionStart": "session_start", "SessionEnd": "session_end"}


class Hooking(NamedTuple):
    """How our hooks get into an argument list."""

    args: tuple[str, ...]
    """The user's arguments, with one `-c hooks…` of theirs replaced by the merged one."""
    flags: tuple[str, ...]
    """Arguments to add; empty when merged into the user's own."""
    problem: str | None = None
    """Why our hooks are left out."""


def hook(call: Call, command: str, *, limit: bool) -> Hooking:
    """Add our handlers to the hooks that a command line brings itself: theirs first, ours last."""
    theirs = [given for given in overrides(call) if given.path[0] == "hooks"]
    if not theirs:
        ours = merged({}, command, limit=limit)
        flags: list[str] = []
        for name, value in ours.items():
            flags += ["-c", f"hooks.{name}={toml(value)}"]
        return Hooking(args=call.args, flags=tuple(flags))
    table: Table = {}
    for given in theirs:
        if not given.parsed:
            return _left_out(call, f"the value of -c {'.'.join(given.path)} is not TOML")
        apply(table, given.path, given.value)
    problem = _shape(table.get("hooks"))
    if problem is not None:
        return _left_out(call, problem)
    hooks = table["hooks"]
    assert isinstance(hooks, dict)  # noqa: S101 - `_shape` has seen that it is one
    return _replace(call, theirs[-1].item, merged(hooks, command, limit=limit))


def merged(hooks: Mapping[str, object], command: str, *, limit: bool) -> Table:
    """Return a `hooks` table with our groups appended and their hashes in its `state`."""
    result: Table = dict(hooks)
    state = result.get("state")
    trusted: Table = dict(state) if isinstance(state, dict) else {}
    for event, snake in _EVENTS.items():
        groups = result.get(event)
        before = list(groups) if isinstance(groups, list) else []
        handler = _handler(event, command, limit=limit)
        result[event] = [*before, {"hooks": [handler]}]
        key = f"{_SOURCE}:{snake}:{len(before)}:0"
        trusted[key] = {"trusted_hash": trusted_hash(snake, [handler])}
    result["state"] = trusted
    return result


def trusted_hash(event: str, handlers: Sequence[Mapping[str, object]]) -> str:
    """Return what codex computes for a group of handlers of an event (snake case)."""
    group = {
        "event_name": event,
        "hooks": [{"async": False, "type": "command", **handler} for handler in handlers],
    }
    text = json.dumps(group, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def toml(value: object) -> str:
    """Write a value that was read from TOML as one line of TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{" + ",".join(f"{toml(str(k))}={toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(toml(item) for item in value) + "]"
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value)


def _handler(event: str, command: str, *, limit: bool) -> Table:
    start = event == "SessionStart"
    handler: Table = {
        "type": "command",
        "command": command,
        "timeout": START_TIMEOUT if start else END_TIMEOUT,
    }
    if start and limit:
        handler["additionalContextLimit"] = CONTEXT_TOKENS
    return handler


def _shape(hooks: object) -> str | None:
    """Return what is wrong with a user's hooks, None when ours can be put beside them."""
    if not isinstance(hooks, dict):
        return "-c hooks is not a table"
    for name in _EVENTS:
        if not isinstance(hooks.get(name, []), list):
            return f"-c hooks.{name} is not a list"
    if not isinstance(hooks.get("state", {}), dict):
        return "-c hooks.state is not a table"
    return None


def _left_out(call: Call, why: str) -> Hooking:
    return Hooking(args=call.args, flags=(), problem=why)


def _replace(call: Call, item: Item, hooks: Table) -> Hooking:
    """Put the whole table where the last of the user's `-c hooks…` stood: it then wins."""
    return Hooking(args=tuple(with_value(call.args, item, f"hooks={toml(hooks)}")), flags=())
