"""Finding the native program behind a package's shim, and asking it for its version and options."""

from __future__ import annotations

import json
import platform
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

TIME_LIMIT: Final = 5.0
"""Seconds that all questions to one program may take together."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(?:[-+.][0-9A-Za-z.-]+)?")
_NUMBER: Final = re.compile(r"\d+")
_SMALL: Final = 1 << 16
"""Bytes; a shim is smaller, a native program is not."""


class Questions:
    """Asks one program for `--help` and the like, within one time limit.

    The program gets an empty home of its own, so that asking it changes nothing of the person's.
    """

    def __init__(self, path: Path, env: Mapping[str, str], *home_variables: str) -> None:
        self._path = path
        self._env = dict(env)
        self._variables = home_variables
        self._deadline = time.monotonic() + TIME_LIMIT
        self.all_answered = True
        """False once the time was over before an answer was there."""

    def ask(self, *args: str) -> str | None:
        """Return what the program prints on stdout, None when it fails or takes too long."""
        import subprocess  # a launch whose answers are cached does without these two
        import tempfile

        left = self._deadline - time.monotonic()
        if left <= 0:
            self.all_answered = False
            return None
        with tempfile.TemporaryDirectory(prefix="workstream-") as home:
            try:
                done = subprocess.run(
                    [str(self._path), *args],
                    env={**self._env, **dict.fromkeys(self._variables, home)},
                    cwd=home,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=left,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                self.all_answered = False
                return None
            except OSError:
                return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def version_in(text: str | None) -> str | None:
    """Return the version number in what `--version` printed."""
    found = _VERSION.search(text or "")
    return found.group() if found else None


class Package(NamedTuple):
    """An npm package in which a script was found."""

    folder: Path
    version: str | None
    node: str | None
    """What its `engines` say of node: `>=22.19.0`."""


def package_of(path: Path, name: str) -> Package | None:
    """Return the npm package that a script, or a link to one, belongs to."""
    for folder in path.resolve().parents:
        try:
            document = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("name") == name:
            engines = document.get("engines")
            node = engines.get("node") if isinstance(engines, dict) else None
            return Package(
                folder=folder,
                version=str(document["version"]) if "version" in document else None,
                node=node if isinstance(node, str) else None,
            )
    return None


def node_problems(path: Path, name: str, env: Mapping[str, str]) -> list[str]:
    """Return why a node script of an npm package cannot start here, as far as that can be told.

    A script says with its first line which node it wants: the first on PATH. Packages say how new
    it has to be, and fail in odd ways with an older one.
    """
    import shutil  # only when a program is asked what it is

    package = package_of(path, name)
    if package is None or not is_script(path.resolve()):
        return []
    node = shutil.which("node", path=env.get("PATH"))
    if node is None:
        return [f"{name} needs node{package.node or ''}, and there is none on PATH"]
    least = numbers(package.node)
    found = version_in(Questions(Path(node), env).ask("--version"))
    if not (package.node or "").startswith(">=") or found is None or numbers(found) >= least:
        return []
    return [f"{name} needs node {package.node}, and PATH has {found} ({node})"]


def numbers(version: str | None) -> tuple[int, ...]:
    """Return the first three numbers of a version, for comparison."""
    return tuple(map(int, _NUMBER.findall(version or "")[:3]))


def owners(package: Path, name: str) -> Iterator[Path]:
    """Yield where node would look for a package, the asking package's own folder last."""
    for folder in (package, *package.parents):
        yield folder / "node_modules" / name
    yield package


def is_script(path: Path) -> bool:
    """Whether a program is a script or a small shim, not a native program."""
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!" or path.stat().st_size < _SMALL
    except OSError:
        return False


def npm_platform() -> str:
    """Return how most npm packages name this system: linux-x64."""
    system = {"darwin": "darwin"}.get(sys.platform, "linux")
    return f"{system}-{'arm64' if is_arm() else 'x64'}"


def is_arm() -> bool:
    """Whether this is an ARM processor."""
    return platform.machine().lower() in ("arm64", "aarch64")
