"""Launch adapters by name. Built-in ones are imported on demand, nothing is scanned for them."""

from __future__ import annotations

import importlib
from typing import Final, cast

from launcher.harnesses.base import Adapter
from ledger.errors import UnavailableError

GROUP: Final = "workstream.harnesses"
"""Entry-point group of third parties' adapters; looked at for names that are not built in."""
_BUILT_IN: Final = {"codex": ("codex", "Codex"), "claude": ("claude", "Claude")}
_ALIASES: Final = {"claude-code": "claude"}


def names() -> tuple[str, ...]:
    """Return the names of the built-in harnesses, without aliases."""
    return tuple(sorted(_BUILT_IN))


def get(name: str) -> Adapter:
    """Return the adapter of a harness, by name or alias.

    Raises UnavailableError, which lists what exists, when there is none, or when a third party's
    cannot be loaded.
    """
    built_in = _BUILT_IN.get(_ALIASES.get(name, name))
    if built_in is None:
        return _third_party(name)
    module, title = built_in
    loaded = importlib.import_module(f"launcher.harnesses.{module}")
    return cast(Adapter, getattr(loaded, title)())


def third_party_names() -> tuple[str, ...]:
    """Return the names of installed third-party harnesses; scans the installed packages."""
    from importlib.metadata import entry_points

    return tuple(sorted({entry.name for entry in entry_points(group=f"{GROUP}.launch")}))


def _third_party(name: str) -> Adapter:
    from importlib.metadata import entry_points

    found = entry_points(group=f"{GROUP}.launch", name=name)
    for entry in found:
        try:
            return cast(Adapter, entry.load()())
        except Exception as error:
            raise UnavailableError(
                f"the harness {name} cannot be loaded from {entry.value}",
                detail=f"{type(error).__name__}: {error}",
            ) from error
    known = ", ".join([*names(), *third_party_names()])
    raise UnavailableError(f"there is no harness named {name}", next_step=f"Known: {known}")
