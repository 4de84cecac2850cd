#!/usr/bin/env python3
"""Install the pinned real harness programs from npm into a local folder, for tests and the demo.

Each program gets its own folder `<prefix>/<name>-<version>`, which is complete as soon as it
exists: it is built in a staging folder beside it and renamed. A second call is a no-op; what a
killed one left is removed. Nothing outside the prefix is written: npm's cache and logs live in
the staging folder, and no install script of a package is run.

The pins below are the only place where the versions stand.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PINS: Final = {"codex": "0.171.0", "claude": "2.1.332"}
PACKAGES: Final = {"codex": "@openai/codex", "claude": "@anthropic-ai/claude-code"}
_SYSTEM: Final = {"darwin": "apple-darwin"}.get(sys.platform, "linux")
_MACHINE: Final = {"arm64": "aarch64", "amd64": "x86_64"}.get(
    platform.machine(), platform.machine()
)
NATIVE: Final = {
    "codex": (
        f"node_modules/@openai/codex*/vendor/{_MACHINE}-*{_SYSTEM}*/bin/codex",
        f"node_modules/@openai/codex*/vendor/{_MACHINE}-*{_SYSTEM}*/codex/codex",
    ),
    "claude": ("node_modules/@anthropic-ai/claude-code-*/claude",),
}
"""Where a package keeps the program itself. Codex before 0.171 had the second folder; 0.98 brought
the programs of all systems in one package."""

DEFAULT_PREFIX: Final = Path(__file__).resolve().parent.parent / ".harnesses"
EXIT_UNAVAILABLE: Final = 69
_MARKER: Final = "installed.json"


class InstallError(Exception):
    """The installation is not possible; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One program to have: `codex` in version `0.171.0`."""

    name: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Wanted:
        """Read `codex` (the pinned version) or `codex@0.130.0`."""
        name, _, version = text.partition("@")
        if name not in PINS:
            message = f"unknown harness {name!r}; known: {', '.join(PINS)}"
            raise argparse.ArgumentTypeError(message)
        return cls(name=name, version=version or PINS[name])

    @property
    def package(self) -> str:
        """The package and version as npm wants it."""
        return f"{PACKAGES[self.name]}@{self.version}"

    def folder(self, prefix: Path) -> Path:
        """Return the folder below `prefix` that holds it once it is installed."""
        return prefix / f"{self.name}-{self.version}"


def native_program(wanted: Wanted, prefix: Path) -> Path | None:
    """Return the native executable of a complete installation, else None."""
    folder = wanted.folder(prefix)
    try:
        marker = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        native = folder / marker["native"]
        whole = native.stat().st_size == marker["size"] and os.access(native, os.X_OK)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return native if whole else None


def npm_wrapper(wanted: Wanted, prefix: Path) -> Path | None:
    """Return the npm shim that starts the native program, for a package that has one.

    Claude Code's install script puts the native program itself in that place, so it has none.
    """
    shim = wanted.folder(prefix) / "node_modules" / ".bin" / wanted.name
    return shim if wanted.name == "codex" else None


def install(wanted: Wanted, prefix: Path) -> Path:
    """Install one program unless it is there already, and return its native executable."""
    native = native_program(wanted, prefix)
    if native is not None:
        return native
    npm = shutil.which("npm")
    if npm is None:
        message = (
            f"npm is not on PATH, so {wanted.package} cannot be installed; "
            "install Node.js with npm and call this again"
        )
        raise InstallError(message)
    with _only_installer(prefix):
        native = native_program(wanted, prefix)
        if native is None:
            _say(f"installing {wanted.package} into {wanted.folder(prefix)}")
            native = _install_staged(wanted, prefix, npm)
    return native


@contextmanager
def _only_installer(prefix: Path) -> Iterator[None]:
    """Hold the prefix alone, and clear away what a killed installer left there."""
    prefix.mkdir(parents=True, exist_ok=True)
    ignore = prefix / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    with (prefix / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in prefix.glob(".staging-*"):
            _say(f"removing what an interrupted installation left: {left.name}")
            shutil.rmtree(left)
        yield


def _install_staged(wanted: Wanted, prefix: Path, npm: str) -> Path:
    staging = Path(tempfile.mkdtemp(prefix=f".staging-{wanted.name}-", dir=prefix))
    try:
        built = staging / "built"
        built.mkdir()
        _run_npm(npm, wanted, built, staging)
        _write_marker(wanted, built)
        target = wanted.folder(prefix)
        if target.exists():
            _say(f"replacing the damaged installation {target.name}")
            shutil.rmtree(target)
        built.rename(target)
    finally:
        shutil.rmtree(staging)
    native = native_program(wanted, prefix)
    if native is None:
        message = f"{wanted.folder(prefix)} changed while it was being installed; call this again"
        raise InstallError(message)
    return native


def _run_npm(npm: str, wanted: Wanted, built: Path, staging: Path) -> None:
    command = [
        npm,
        "install",
        "--no-save",
        "--no-package-lock",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--loglevel=error",
        "--prefix",
        str(built),
        wanted.package,
    ]
    environment = dict(os.environ)
    environment["npm_config_cache"] = str(staging / "cache")
    if not environment.get("HOME"):
        environment["HOME"] = str(staging)
    done = subprocess.run(
        command,
        env=environment,
        cwd=staging,
        stdin=subprocess.DEVNULL,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        message = f"npm could not install {wanted.package} (exit {done.returncode}):\n{done.stdout}"
        raise InstallError(message)


def _write_marker(wanted: Wanted, built: Path) -> None:
    found = [path for pattern in NATIVE[wanted.name] for path in sorted(built.glob(pattern))]
    if not found:
        message = (
            f"{wanted.package} brought no native program for this system "
            f"({sys.platform}); looked for {', '.join(NATIVE[wanted.name])}"
        )
        raise InstallError(message)
    native = found[0]
    native.chmod(native.stat().st_mode | 0o111)
    marker = {
        "name": wanted.name,
        "version": wanted.version,
        "native": str(native.relative_to(built)),
        "size": native.stat().st_size,
    }
    (built / _MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Install what is asked for; 0, or 69 when it cannot be had."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--prefix", type=Path, default=DEFAULT_PREFIX)
    parser.add_argument(
        "--only",
        type=Wanted.parse,
        action="append",
        metavar="NAME[@VERSION]",
        help="install only this one; may be given again; another version than the pinned one "
        "is possible",
    )
    parser.add_argument(
        "--optional",
        action="store_true",
        help="say what is missing and go on; WORKSTREAM_REQUIRE_HARNESSES=1 overrules it",
    )
    parser.add_argument("--print-json", action="store_true", help="paths on standard output")
    options = parser.parse_args(argv)
    prefix = options.prefix.resolve()
    programs = {}
    for wanted in options.only or [Wanted.parse(name) for name in PINS]:
        try:
            native = install(wanted, prefix)
        except InstallError as error:
            if options.optional and os.environ.get("WORKSTREAM_REQUIRE_HARNESSES") != "1":
                _say(f"going on without the real {wanted.name}: {error}")
                continue
            _say(f"error: {error}")
            return EXIT_UNAVAILABLE
        _say(f"{wanted.name} {wanted.version}: {native}")
        wrapper = npm_wrapper(wanted, prefix)
        programs[wanted.name] = {
            "version": wanted.version,
            "native": str(native),
            "wrapper": str(wrapper) if wrapper else None,
        }
    if options.print_json:
        print(json.dumps(programs, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
