"""The configuration that a codex launch will have, read tolerantly and never written.

Layers, weakest first: system, user file, profile, project, session flags. Only what the adapter
needs is looked up. A file that cannot be read or parsed counts as absent and is named in
`problems`: codex itself will say more about it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from launcher.harnesses.argv import Item, Kind
from launcher.harnesses.codex_args import Call

SYSTEM: Final = Path("/etc/codex")
_HOOK_FEATURES: Final = ("hooks", "codex_hooks")
"""The feature's name, and the one it had before."""

Table = dict[str, object]


class Override(NamedTuple):
    """One `-c path=value` of an argument list."""

    item: Item
    path: tuple[str, ...]
    value: object
    parsed: bool
    """False: the value is no TOML, codex takes it as text."""


class Layer(NamedTuple):
    """One source of settings."""

    where: str
    table: Table


class Config(NamedTuple):
    """All layers of a launch."""

    layers: tuple[Layer, ...]
    requirements: Layer | None
    """What an administrator imposes."""
    problems: tuple[str, ...]

    def get(self, *path: str) -> tuple[object, str] | None:
        """Return the strongest value of a setting and where it stands."""
        for layer in reversed(self.layers):
            value = look_up(layer.table, path)
            if value is not None:
                return value, layer.where
        return None

    def hooks_off(self) -> str | None:
        """Return why codex would run no session hook of ours, None when it would."""
        imposed = self.requirements
        if imposed is not None:
            if look_up(imposed.table, ("allow_managed_hooks_only",)) is True:
                return f"only managed hooks are allowed by {imposed.where}"
            if any(look_up(imposed.table, ("features", n)) is False for n in _HOOK_FEATURES):
                return f"hooks are switched off by {imposed.where}"
        for layer in reversed(self.layers):
            states = [look_up(layer.table, ("features", name)) for name in _HOOK_FEATURES]
            if any(state is True for state in states):
                return None
            if any(state is False for state in states):
                return f"hooks are switched off by {layer.where}"
        return None

    def provider(self) -> str:
        """Return the model provider, codex's default when none is configured."""
        found = self.get("model_provider")
        return found[0] if found is not None and isinstance(found[0], str) else "openai"


def look_up(table: object, path: tuple[str, ...]) -> object:
    """Return the value at a path of nested tables, None when there is none."""
    for key in path:
        if not isinstance(table, dict):
            return None
        table = table.get(key)
    return table


def overrides(call: Call) -> list[Override]:
    """Return the `-c` options of an argument list in the order in which codex applies them."""
    found = []
    for item in call.items:
        if item.kind is Kind.OPTION and item.name == "--config" and item.value is not None:
            path, _, raw = item.value.partition("=")
            value, parsed = _toml_value(raw.strip())
            found.append(
                Override(item=item, path=tuple(path.strip().split(".")), value=value, parsed=parsed)
            )
    return found


def apply(table: Table, path: tuple[str, ...], value: object) -> None:
    """Set a value at a path as codex does: what is in the way and no table is replaced."""
    for key in path[:-1]:
        inner = table.get(key)
        if not isinstance(inner, dict):
            inner = {}
            table[key] = inner
        table = inner
    table[path[-1]] = value


def read(home: Path, cwd: Path, call: Call, system: Path = SYSTEM) -> Config:
    """Read the configuration of a launch with these arguments in this directory."""
    problems: list[str] = []
    layers = [_file(system / "config.toml", problems)]
    if not call.has("--ignore-user-config"):
        user = _file(home / "config.toml", problems)
        layers += [user, *_profile(home, user, call, problems)]
    layers += [_file(path, problems) for path in _project_files(cwd, home)]
    layers.append(_flags(call))
    layers.append(_file(system / "managed_config.toml", problems))
    return Config(
        layers=tuple(layer for layer in layers if layer is not None),
        requirements=_file(system / "requirements.toml", problems),
        problems=tuple(problems),
    )


def _profile(
    home: Path, user: Layer | None, call: Call, problems: list[str]
) -> Iterator[Layer | None]:
    """Yield the chosen profile: a section of the user's file before 0.171.0, now one of its own."""
    name = call.last("--profile")
    table = {} if user is None else user.table
    section = name or look_up(table, ("profile",))
    inner = look_up(table, ("profiles", section)) if isinstance(section, str) else None
    if isinstance(inner, dict):
        yield Layer(where=f"profile {section} in {home / 'config.toml'}", table=inner)
    if name is not None and "/" not in name:
        yield _file(home / f"{name}.config.toml", problems)


def _project_files(cwd: Path, home: Path) -> list[Path]:
    """Return the project's own files, outermost first, up to the repository's top."""
    folders = []
    for folder in (cwd, *cwd.parents):
        folders.append(folder)
        if (folder / ".git").exists():
            break
    else:
        folders = [cwd]
    files = [folder / ".codex" / "config.toml" for folder in reversed(folders)]
    return [path for path in files if path.parent != home]


def _flags(call: Call) -> Layer:
    """Return the session flags; `--enable` and `--disable` come after the root's own `-c`."""
    table: Table = {}
    given = overrides(call)
    for override in given:
        if override.item.level == 0:
            apply(table, override.path, override.value)
    for item in call.items:
        if item.kind is Kind.OPTION and item.name in ("--enable", "--disable") and item.value:
            apply(table, ("features", item.value), item.name == "--enable")
    for override in given:
        if override.item.level > 0:
            apply(table, override.path, override.value)
    return Layer(where="the command line", table=table)


def _file(path: Path, problems: list[str]) -> Layer | None:
    try:
        with path.open("rb") as file:
            return Layer(where=str(path), table=tomllib.load(file))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        problems.append(f"{path} cannot be read: {error}")
        return None


def _toml_value(raw: str) -> tuple[object, bool]:
    try:
        return tomllib.loads(f"value = {raw}")["value"], True
    except ValueError:
        return raw.strip("\"'"), False
