"""Launch adapters by name. Built-in ones are imported on demand, nothing is scanned for them."""

from __future__ import annotations

import importlib
from typing import cast

from importers import registry as importers
from launcher.harnesses import parents
from launcher.harnesses.base import Adapter


def names() -> tuple[str, ...]:
    """Return the names of the built-in harnesses, without aliases."""
    return tuple(importers.HARNESSES)


def aliases(name: str) -> tuple[str, ...]:
    """Return the other names of a built-in harness."""
    return importers.HARNESSES.get(name, ())


def get(name: str) -> Adapter:
    """Return the adapter of a harness, by name or alias.

    Raises UnavailableError, which lists what exists, when there is none, or when a third party's
    cannot be loaded.
    """
    name = importers.canonical(name)
    if name in importers.HARNESSES:
        module = importlib.import_module(f"launcher.harnesses.{importers.module_of(name)}")
        return cast(Adapter, module.ADAPTER)
    return cast(Adapter, importers.installed(name, "ADAPTER"))


def parent_variables() -> tuple[str, ...]:
    """Return the variables that no child of ours may inherit, without importing an adapter."""
    return parents.ALL


def third_party_names() -> tuple[str, ...]:
    """Return the names of installed third-party harnesses; scans the installed packages."""
    return importers.installed_names()
