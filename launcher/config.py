"""Configuration: flag > `WORKSTREAM_*` > user file > repository's `.workstream.toml` > default.

The invariant this module protects: a repository file can never name a program, an environment, an
argument, a store home or a trust option; such keys are ignored there, with a warning. A wrong
value in the user's own file is an error that names file and key; values are never printed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.errors import ConfigError, UsageError

DEFAULT_BUDGET: Final = 9_000
MIN_BUDGET: Final = 800
MAX_BUDGET: Final = 60_000
REPOSITORY_FILE: Final = ".workstream.toml"
MAX_FILE: Final = 256 * 1024

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "workstream": (str,),
    "harness": (str,),
    "budget": (int,),
    "briefing": (bool,),
    "objective": (str,),
    "ignore": (list,),
    "wait": (int,),
    "yolo": (bool,),
    "on_state_error": (str,),
    "rollover": (str,),
    "rollover_percent": (int,),
    "rollover_tokens": (int,),
    "rollover_compactions": (int,),
}
REPOSITORY_KEYS: Final = ("workstream", "harness", "budget", "briefing", "objective", "ignore")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "on_state_error": ("ask", "stop", "unmanaged"),
    "rollover": ("manual", "advisory", "automatic-draft"),
}
_LEAST: Final = {"rollover_percent": 1, "rollover_tokens": 1, "rollover_compactions": 1}
_VARIABLES: Final = {
    "WORKSTREAM": "workstream",
    "WORKSTREAM_HARNESS": "harness",
    "WORKSTREAM_BUDGET": "budget",
    "WORKSTREAM_BRIEFING": "briefing",
    "WORKSTREAM_WAIT": "wait",
    "WORKSTREAM_ON_STATE_ERROR": "on_state_error",
    "WORKSTREAM_ROLLOVER": "rollover",
}
_DEFAULTS: Final[dict[str, Any]] = {
    "workstream": None,
    "harness": None,
    "budget": DEFAULT_BUDGET,
    "briefing": True,
    "objective": None,
    "ignore": [],
    "wait": 0,
    "yolo": False,
    "on_state_error": "ask",
    "rollover": "manual",
    "rollover_percent": 85,
    "rollover_tokens": None,
    "rollover_compactions": 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessEntry:
    """A configured variant of a harness; without configuration, the harness itself."""

    name: str
    use: str
    """Adapter name, or an alias of one."""
    env: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    home: str | None = None
    """Store home, with ~ expanded."""
    executable: str | None = None
    """Path, with ~ expanded; None: found on PATH."""


class Config(NamedTuple):
    """Effective configuration, with the origin of each value."""

    values: Mapping[str, Any]
    origins: Mapping[str, str]
    """Key -> "default", "$VARIABLE", or the file."""
    entries: Mapping[str, HarnessEntry]
    warnings: tuple[str, ...]

    @property
    def workstream(self) -> str | None:
        """Name of the workstream to use, when set."""
        return self._text("workstream")

    @property
    def harness(self) -> str | None:
        """Harness entry a bare `run` starts when nothing ran before."""
        return self._text("harness")

    @property
    def objective(self) -> str | None:
        """Objective for new workstreams."""
        return self._text("objective")

    @property
    def budget(self) -> int:
        """Bytes of a briefing."""
        return int(self.values["budget"])

    @property
    def briefing(self) -> bool:
        """Whether briefings are given at all."""
        return bool(self.values["briefing"])

    @property
    def wait(self) -> int:
        """Seconds to wait for a busy workstream."""
        return int(self.values["wait"])

    @property
    def yolo(self) -> bool:
        """Whether `--yolo` is always meant (user file only)."""
        return bool(self.values["yolo"])

    @property
    def on_state_error(self) -> str:
        """What `run` does when our state cannot be used: ask, stop or unmanaged."""
        return str(self.values["on_state_error"])

    @property
    def rollover(self) -> str:
        """What is done about full sessions: manual, advisory or automatic-draft."""
        return str(self.values["rollover"])

    @property
    def full(self) -> tuple[int, int | None, int]:
        """From where on a session counts as full: percent of its window, tokens, compactions."""
        tokens = self.values["rollover_tokens"]
        return (
            int(self.values["rollover_percent"]),
            None if tokens is None else int(tokens),
            int(self.values["rollover_compactions"]),
        )

    @property
    def ignore(self) -> tuple[str, ...]:
        """Path patterns whose contents no importer keeps."""
        return tuple(self.values["ignore"])

    def entry(self, name: str) -> HarnessEntry:
        """Return a configured entry, or the plain harness of that name."""
        return self.entries.get(name) or HarnessEntry(name=name, use=name)

    def _text(self, key: str) -> str | None:
        value = self.values[key]
        return None if value is None else str(value)


def user_file(env: Mapping[str, str]) -> Path:
    """Return the path of the user's file; it may not exist."""
    base = env.get("XDG_CONFIG_HOME", "").strip()
    root = Path(base) if base else Path(env.get("HOME", "").strip() or "~").expanduser() / ".config"
    return root / "workstream" / "config.toml"


def load(env: Mapping[str, str], worktree: Path | None) -> Config:
    """Read both files and the environment. Raises ConfigError for the user's own mistakes.

    Mistakes in a repository's file are warnings: it may not be the person's.
    """
    values, origins = dict(_DEFAULTS), dict.fromkeys(_DEFAULTS, "default")
    warnings: list[str] = []
    if worktree is not None:
        path = worktree / REPOSITORY_FILE
        for key, value in _repository_values(path, warnings).items():
            values[key], origins[key] = value, REPOSITORY_FILE
    path = user_file(env)
    table = _read(path)
    entries = _entries(table.pop("harness_entries", {}), path)
    for key, value in table.items():
        values[key], origins[key] = _checked(key, value, str(path)), str(path)
    for variable, key in _VARIABLES.items():
        text = env.get(variable, "").strip()
        if text:
            values[key] = _checked(key, _parsed(key, text, variable), f"${variable}")
            origins[key] = f"${variable}"
    return Config(values=values, origins=origins, entries=entries, warnings=tuple(warnings))


def _repository_values(path: Path, warnings: list[str]) -> dict[str, Any]:
    try:
        table = _read(path)
    except ConfigError as error:
        warnings.append(f"{REPOSITORY_FILE} is ignored: {error.detail or error.message}")
        return {}
    kept: dict[str, Any] = {}
    if table.pop("harness_entries", None):
        warnings.append(f"{REPOSITORY_FILE}: [harness.…] tables are ignored in a repository")
    for key, value in table.items():
        if key not in REPOSITORY_KEYS:
            warnings.append(f"{REPOSITORY_FILE}: {key!r} is ignored in a repository")
            continue
        try:
            kept[key] = _checked(key, value, REPOSITORY_FILE)
        except ConfigError as error:
            warnings.append(error.message)
    return kept


def _read(path: Path) -> dict[str, Any]:
    """Return a file's table with `[harness.NAME]` tables under "harness_entries"; {} if absent."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}", detail=error.strerror) from error
    if len(raw) > MAX_FILE:
        raise ConfigError(f"{path} is larger than {MAX_FILE // 1024} KiB")
    try:
        table = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(
            f"cannot read {path}", detail=str(error), next_step="Correct the file, or move it away."
        ) from error
    if isinstance(table.get("harness"), dict):
        named = table.pop("harness")
        default = named.pop("default", None)
        table["harness_entries"] = named
        if default is not None:
            table["harness"] = default
    return table


def _entries(tables: Mapping[str, Any], path: Path) -> dict[str, HarnessEntry]:
    entries: dict[str, HarnessEntry] = {}
    for name, table in tables.items():
        where = f"[harness.{name}] in {path}"
        if not isinstance(table, dict):
            raise ConfigError(f"{where} must be a table")
        unknown = sorted(set(table) - {"use", "env", "args", "home", "executable"})
        if unknown:
            raise ConfigError(f"unknown key {unknown[0]!r} in {where}")
        env = table.get("env", {})
        args = table.get("args", [])
        if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
            raise ConfigError(f"env must be a table of strings in {where}")
        if not isinstance(args, list) or not all(isinstance(a, str) for a in args):
            raise ConfigError(f"args must be a list of strings in {where}")
        entries[name] = HarnessEntry(
            name=name,
            use=_string(table, "use", where) or name,
            env=dict(env),
            args=tuple(args),
            home=_expanded(_string(table, "home", where)),
            executable=_expanded(_string(table, "executable", where)),
        )
    return entries


def _string(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        raise ConfigError(f"{key} must be a text in {where}")
    return value


def _expanded(value: str | None) -> str | None:
    return None if value is None else str(Path(value).expanduser())


def _checked(key: str, value: Any, where: str) -> Any:  # noqa: ANN401
    kinds = _KINDS.get(key)
    if kinds is None:
        import difflib

        near = difflib.get_close_matches(key, _KINDS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(_KINDS)}."
        raise ConfigError(f"unknown key {key!r} in {where}", next_step=hint)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise ConfigError(f"{key} in {where} must be {_word(kinds[0])}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise ConfigError(f"{key} in {where} must be one of: {', '.join(_CHOICES[key])}")
    if key in _LEAST and isinstance(value, int) and value < _LEAST[key]:
        raise ConfigError(f"{key} in {where} must be {_LEAST[key]} or more")
    if key == "budget" and isinstance(value, int):
        return checked_budget(value, where)
    if isinstance(value, list) and not all(isinstance(item, str) for item in value):
        raise ConfigError(f"ignore in {where} must be a list of path patterns")
    return value


def checked_budget(value: int, where: str) -> int:
    """Return a budget inside its bounds.

    Raises an error naming them: UsageError for an option, ConfigError for a file or a variable.
    """
    if not MIN_BUDGET <= value <= MAX_BUDGET:
        kind = UsageError if where.startswith("--") else ConfigError
        raise kind(f"budget in {where} must be from {MIN_BUDGET} to {MAX_BUDGET} bytes")
    return value


def _parsed(key: str, text: str, variable: str) -> Any:  # noqa: ANN401
    kind = _KINDS[key][0]
    if kind is int:
        try:
            return int(text)
        except ValueError as error:
            raise ConfigError(f"${variable} must be a whole number") from error
    if kind is bool:
        words = {"1": True, "true": True, "yes": True, "on": True}
        words |= {"0": False, "false": False, "no": False, "off": False}
        if text.lower() not in words:
            raise ConfigError(f"${variable} must be true or false")
        return words[text.lower()]
    return text


def _word(kind: type) -> str:
    return {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}[kind]


EXAMPLE: Final = """\
# Yours: where `workstream config --path` says. All of it is optional.
# budget = 9000             # bytes of a briefing
# briefing = true           # false: never give one
# wait = 0                  # seconds to wait for a busy workstream
# on_state_error = "ask"    # ask, stop, unmanaged: when the ledger cannot be used
# rollover = "manual"       # advisory: say when a session is full; automatic-draft: prepare a draft
# rollover_percent = 85     # full: this much of the window, where the harness records its size
# rollover_tokens = 150000  # or this many tokens in the context, where the window is not known too
# rollover_compactions = 2  # or compacted this often
# yolo = false              # true: always pass the harness's own flag that skips its approvals

# What a bare `workstream run` starts when nothing ran before.
# [harness]
# default = "HARNESS"

# A second account: its own store home, environment and default arguments.
# [harness.HARNESS-work]
# use = "HARNESS"
# home = "~/.HARNESS-work"
# args = ["--model", "opus"]
# env = { EXAMPLE = "1" }
"""
"""What `workstream config --example` prints, with a name in the place of HARNESS."""
