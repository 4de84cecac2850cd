"""Importers by harness name, loaded when they are asked for.

Built-in names never trigger a scan of installed packages; an unknown one is looked for in the
entry-point group `workstream.harnesses`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final, cast

from ledger.errors import UnavailableError

if TYPE_CHECKING:
    from importers.base import Importer

GROUP: Final = "workstream.harnesses"
_BUILT_IN: Final = {"codex": "importers.codex", "claude": "importers.claude"}
"""Name -> module whose attribute `IMPORTER` is the importer."""


def names() -> list[str]:
    """Return the built-in harness names, in the order in which they are offered."""
    return list(_BUILT_IN)


def get(name: str) -> Importer:
    """Return the importer of a harness. Raises UnavailableError naming those that exist."""
    module = _BUILT_IN.get(name)
    if module is not None:
        return cast("Importer", importlib.import_module(module).IMPORTER)
    return _installed(name)


def _installed(name: str) -> Importer:
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP)
    for point in found:
        if point.name == name:
            return cast("Importer", point.load().IMPORTER)
    known = sorted({*_BUILT_IN, *(point.name for point in found)})
    raise UnavailableError(
        f"there is no importer for {name!r}", next_step=f"Known harnesses: {', '.join(known)}"
    )
