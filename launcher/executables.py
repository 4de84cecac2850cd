"""Finding a harness's program: given path, configured path, or PATH without our own shims.

A shim is a small script of the person's, named like a harness, that calls `workstream run`: it is
skipped, so that a run started through it does not start itself again.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from launcher.config import HarnessEntry
from launcher.harnesses.base import Adapter, Program
from ledger.errors import NotExecutableError, NotFoundError

MAX_SHIM: Final = 64 * 1024
_OURS: Final = (b"workstream", b"ws")


def find(adapter: Adapter, entry: HarnessEntry, env: Mapping[str, str], given: str | None) -> Path:
    """Return the program to start. Raises NotFoundError (127) or NotExecutableError (126)."""
    named = given or entry.executable
    if named is not None:
        return _checked(Path(named).expanduser(), env)
    for name in adapter.program_names:
        for candidate in _on_path(name, env):
            if not is_shim(candidate):
                return candidate
    names = " or ".join(adapter.program_names)
    raise NotFoundError(
        f"{adapter.title} is not installed: no {names} on PATH",
        next_step=f"Install it ({adapter.install_hint}), or name it with --executable PATH.",
    )


def is_shim(path: Path) -> bool:
    """Return whether a program on PATH is our own command, or a script that calls it to run."""
    try:
        real = path.resolve()
        if real.name in ("workstream", "ws"):
            return True
        if path.stat().st_size > MAX_SHIM:
            return False
        with path.open("rb") as file:
            raw = file.read(MAX_SHIM)
    except OSError:
        return False
    if b"\0" in raw:
        return False
    return any(_calls_us(line.split(b"#", 1)[0].split()) for line in raw.splitlines()[1:])


def _calls_us(words: list[bytes]) -> bool:
    for position, word in enumerate(words[:-1]):
        program = word.strip(b"\"'").rsplit(b"/", 1)[-1]
        if program in _OURS and words[position + 1].strip(b"\"'") in (b"run", b"resume"):
            return True
    return False


def _on_path(name: str, env: Mapping[str, str]) -> list[Path]:
    found = []
    for directory in env.get("PATH", os.defpath).split(os.pathsep):
        candidate = Path(directory or ".") / name
        try:
            mode = candidate.stat().st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and os.access(candidate, os.X_OK):
            found.append(candidate.absolute())
    return found


def _checked(path: Path, env: Mapping[str, str]) -> Path:
    if len(path.parts) == 1:
        on_path = _on_path(path.name, env)
        if on_path:
            return on_path[0]
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise NotFoundError(
            f"there is no program at {path}", detail=error.strerror, next_step="Check the path."
        ) from error
    if not stat.S_ISREG(mode) or not os.access(path, os.X_OK):
        raise NotExecutableError(
            f"{path} is not executable", next_step=f"Make it so (chmod +x {path}), or name another."
        )
    return path.absolute()


def inspect(adapter: Adapter, path: Path, env: Mapping[str, str], cache: Path) -> Program:
    """Return what the adapter knows of a program, from the cache when the file is unchanged.

    The cache is a convenience: when it cannot be read or written, the program is asked.
    """
    info = path.resolve().stat()
    key = f"{adapter.name}:{path.resolve()}:{info.st_size}:{info.st_mtime_ns}:{info.st_ino}"
    known = _cached(cache)
    entry = known.get(key)
    if isinstance(entry, dict):
        return Program(
            path=Path(entry["path"]),
            version=entry["version"],
            features=frozenset(entry["features"]),
            problems=tuple(entry["problems"]),
        )
    program = adapter.inspect(path, env)
    if program.version is not None and program.complete:
        known = {k: v for k, v in known.items() if k.split(":")[1] != str(path.resolve())}
        known[key] = {
            "path": str(program.path),
            "version": program.version,
            "features": sorted(program.features),
            "problems": list(program.problems),
        }
        _remember(cache, known)
    return program


def _cached(cache: Path) -> dict[str, object]:
    try:
        document = json.loads(cache.read_text(encoding="utf-8"))
        programs = document["programs"] if document["version"] == 1 else {}
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return programs if isinstance(programs, dict) else {}


def _remember(cache: Path, programs: Mapping[str, object]) -> None:
    scratch = cache.with_name(f"{cache.name}.{os.getpid()}")
    try:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump({"version": 1, "programs": programs}, file)
        scratch.replace(cache)
    except OSError:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
