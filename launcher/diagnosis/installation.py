"""This installation: are the packages ours, does something shadow them, what the platform lacks."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from launcher.diagnosis.finding import Finding, Level
from launcher.version import VERSION

PACKAGES: Final = ("launcher", "importers", "handoffs", "leases", "ledger", "workstream_entry")
_ROOT: Final = Path(__file__).resolve().parent.parent.parent


def findings(env: Mapping[str, str], cwd: Path) -> Iterator[Finding]:
    """Yield what is to be said of program, search path and platform."""
    python = ".".join(map(str, sys.version_info[:3]))
    yield Finding(
        code="program",
        level=Level.OK,
        sentence=f"workstream {VERSION} in {_ROOT}, Python {python}",
    )
    yield from _shadowed()
    yield from _python_path(env, cwd)
    yield from _platform()


def _shadowed() -> Iterator[Finding]:
    foreign = [(name, where) for name in PACKAGES if (where := _elsewhere(name)) is not None]
    for name, where in foreign:
        yield Finding(
            code="shadowed",
            level=Level.PROBLEM,
            sentence=f"the package {name} is not ours: it comes from {where}",
            fix="Install workstream on its own: uv tool install workstream, or pipx.",
            about=name,
        )
    if not foreign:
        yield Finding(code="packages", level=Level.OK, sentence="all packages are our own")


def _elsewhere(name: str) -> str | None:
    """Return where a package comes from when that is not our own distribution."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None) or importlib.util.find_spec(name)
    origin = None if spec is None else spec.origin
    if origin is None:
        return "nowhere"
    path = Path(origin).resolve()
    root = path.parent if path.name == f"{name}.py" else path.parent.parent
    return None if root == _ROOT else origin


def _python_path(env: Mapping[str, str], cwd: Path) -> Iterator[Finding]:
    for entry in env.get("PYTHONPATH", "").split(os.pathsep):
        folder = cwd / entry if entry else cwd
        if not env.get("PYTHONPATH") or folder.resolve() == _ROOT:
            continue
        same = [name for name in PACKAGES if _holds(folder, name)]
        if same:
            yield Finding(
                code="pythonpath",
                level=Level.NOTE,
                sentence=f"PYTHONPATH names {folder}, which has {', '.join(same)} of its own; our"
                " command goes past it",
                about=str(folder),
            )


def _holds(folder: Path, name: str) -> bool:
    return (folder / name).is_dir() or (folder / f"{name}.py").is_file()


def _platform() -> Iterator[Finding]:
    if not Path("/proc/self/stat").exists():
        yield Finding(
            code="no_proc",
            level=Level.NOTE,
            sentence="this platform has no /proc: who holds a lock of a harness cannot be told,"
            " and processes are found more slowly",
        )
    if not hasattr(time, "CLOCK_BOOTTIME"):
        yield Finding(
            code="no_boot_clock",
            level=Level.NOTE,
            sentence="this platform has no clock that runs through suspend: a lease that was"
            " suspended lapses later",
        )
