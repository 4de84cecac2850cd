"""The harnesses that are built in, and their importers, loaded when they are asked for.

A harness is known by its name here and nowhere else outside its own modules: `importers.<module>`
with an `IMPORTER` and `launcher.harnesses.<module>` with an `ADAPTER`, the module named like the
harness. Built-in names never trigger a scan of installed packages; an unknown one is looked for in
the entry-point group `workstream.harnesses`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final, cast

from ledger.errors import UnavailableError

if TYPE_CHECKING:
    from importers.base import Importer

GROUP: Final = "workstream.harnesses"
"""Entry-point group of third parties. An entry is named like the harness; it is an object, mostly a
module, with an `ADAPTER` and an `IMPORTER`."""
HARNESSES: Final[dict[str, tuple[str, ...]]] = {
    "codex": (),
    "claude": ("claude-code",),
    "pi": (),
    "omp": ("oh-my-pi",),
    "qwen": ("qwen-code",),
    "copilot": ("github-copilot", "copilot-cli"),
    "grok": ("grok-build",),
}
"""Name -> the other names that people type, in the order in which harnesses are offered."""
_BY_ALIAS: Final = {alias: name for name, more in HARNESSES.items() for alias in more}


def names() -> list[str]:
    """Return the built-in harness names, in the order in which they are offered."""
    return list(HARNESSES)


def canonical(name: str) -> str:
    """Return the name behind an alias; any other name is returned as it is."""
    return _BY_ALIAS.get(name, name)


def module_of(name: str) -> str:
    """Return the name of a built-in harness's modules."""
    return name.replace("-", "_")


def get(name: str) -> Importer:
    """Return the importer of a harness. Raises UnavailableError naming those that exist."""
    if name in HARNESSES:
        return cast("Importer", importlib.import_module(f"importers.{module_of(name)}").IMPORTER)
    return cast("Importer", installed(name, "IMPORTER"))


def installed(name: str, attribute: str) -> Any:  # noqa: ANN401  (an adapter or an importer)
    """Return one half of a third party's harness.

    Raises UnavailableError when there is none of that name, or when it cannot be loaded.
    """
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP)
    for point in found:
        if point.name == name:
            try:
                return getattr(point.load(), attribute)
            except Exception as error:
                raise UnavailableError(
                    f"the harness {name} cannot be loaded from {point.value}",
                    detail=f"{type(error).__name__}: {error}",
                ) from error
    known = [*HARNESSES, *sorted({point.name for point in found} - set(HARNESSES))]
    raise UnavailableError(
        f"there is no harness named {name}", next_step=f"Known: {', '.join(known)}"
    )


def installed_names() -> tuple[str, ...]:
    """Return the names of installed third-party harnesses; scans the installed packages."""
    from importlib.metadata import entry_points

    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))
