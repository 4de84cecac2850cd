"""Launch adapters by name. Built-in ones are imported on demand, nothing is scanned for them."""

from __future__ import annotations

import importlib
from typing import Final, cast

from launcher.harnesses import parents
from launcher.harnesses.base import Adapter
from ledger.errors import UnavailableError

GROUP: Final = "workstream.harnesses"
"""Entry-point group of third parties; looked at for names that are not built in. An entry is a
module with an `ADAPTER` (this side) and an `IMPORTER`."""
_BUILT_IN: Final = {"codex": "launcher.harnesses.codex", "claude": "launcher.harnesses.claude"}
"""Name -> module whose attribute `ADAPTER` is the adapter."""
_ALIASES: Final = {"claude-code": "claude"}


def names() -> tuple[str, ...]:
    """Return the names of the built-in harnesses, without aliases."""
    return tuple(_BUILT_IN)


def get(name: str) -> Adapter:
    """Return the adapter of a harness, by name or alias.

    Raises UnavailableError, which lists what exists, when there is none, or when a third party's
    cannot be loaded.
    """
    module = _BUILT_IN.get(_ALIASES.get(name, name))
    if module is None:
        return _third_party(name)
    return cast(Adapter, importlib.import_module(module).ADAPTER)


def parent_variables() -> tuple[str, ...]:
    """Return the variables that no child of ours may inherit, without importing an adapter."""
    return parents.ALL


def third_party_names() -> tuple[str, ...]:
    """Return the names of installed third-party harnesses; scans the installed packages."""
    from importlib.metadata import entry_points

    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def _third_party(name: str) -> Adapter:
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name=name)
    for entry in found:
        try:
            return cast(Adapter, entry.load().ADAPTER)
        except Exception as error:
            raise UnavailableError(
                f"the harness {name} cannot be loaded from {entry.value}",
                detail=f"{type(error).__name__}: {error}",
            ) from error
    known = ", ".join([*names(), *third_party_names()])
    raise UnavailableError(f"there is no harness named {name}", next_step=f"Known: {known}")
