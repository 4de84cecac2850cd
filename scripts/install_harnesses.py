#!/usr/bin/env python3
"""Install the pinned real harness programs into a local folder, for tests and the demo.

Each program gets its own folder `<prefix>/<name>-<version>`, which is complete as soon as it
exists: it is built in a staging folder beside it and renamed. A second call is a no-op; what a
killed one left is removed. Nothing outside the prefix is written: caches and logs live in the
staging folder, and no install script of a package is run. Several calls at once are fine.

A program that is a script gets a small starter, `bin/<name>`, which runs it with the interpreter
it needs whatever PATH says: our own Node.js where the one on PATH is too old, bun, or the
virtual environment of a Python program.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.harness_table import NODE_NEEDED, PROGRAMS, Program, Registry, RunsOn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEFAULT_PREFIX: Final = Path(__file__).resolve().parent.parent / ".harnesses"
EXIT_UNAVAILABLE: Final = 69
_MARKER: Final = "installed.json"
_BUN: Final = "node_modules/@oven/bun-*/bin/bun"
_UNPACK: Final = (
    "const fs = require('fs'), zlib = require('zlib');"
    "fs.writeFileSync(process.argv[2], zlib.brotliDecompressSync(fs.readFileSync(process.argv[1])))"
)


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
        if name not in PROGRAMS:
            message = f"unknown harness {name!r}; known: {', '.join(PROGRAMS)}"
            raise argparse.ArgumentTypeError(message)
        return cls(name=name, version=version or PROGRAMS[name].version)

    @property
    def program(self) -> Program:
        """The row of the table."""
        return PROGRAMS[self.name]

    @property
    def package(self) -> str:
        """The package and version as the registry's client wants it."""
        equals = "==" if self.program.registry is Registry.PYPI else "@"
        return f"{self.program.package}{equals}{self.version}"

    @property
    def packages(self) -> list[str]:
        """The package and what has to be installed beside it."""
        return [self.package, *(more.format(version=self.version) for more in self.program.beside)]

    def folder(self, prefix: Path) -> Path:
        """Return the folder below `prefix` that holds it once it is installed."""
        return prefix / f"{self.name}-{self.version}"


def native_program(wanted: Wanted, prefix: Path) -> Path | None:
    """Return what starts a complete installation without npm's shim, else None.

    The native executable, or the starter of a script.
    """
    folder = wanted.folder(prefix)
    try:
        marker: dict[str, Any] = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
        native: Path = folder / marker["native"]
        starts: Path = folder / marker.get("starter", marker["native"])
        runs = prefix / marker["interpreter"] if "interpreter" in marker else starts
        whole = native.stat().st_size == marker["size"] and all(
            os.access(path, os.X_OK) for path in (starts, runs)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return starts if whole else None


def npm_wrapper(wanted: Wanted, prefix: Path) -> Path | None:
    """Return npm's own command in front of the program, for a package that has one.

    One of a script starts it with the `node` on PATH, which may be too old: `interpreter_folder`.
    """
    shim = wanted.folder(prefix) / "node_modules" / ".bin" / wanted.name
    return shim if wanted.program.shim else None


def interpreter_folder(wanted: Wanted, prefix: Path) -> Path | None:
    """Return the folder of the interpreter that an installed script runs with, else None."""
    try:
        raw = (wanted.folder(prefix) / _MARKER).read_text(encoding="utf-8")
        interpreter = prefix / str(json.loads(raw)["interpreter"])
    except (OSError, ValueError, KeyError):
        return None
    return interpreter.parent


def install(wanted: Wanted, prefix: Path) -> Path:
    """Install one program unless it is there already, and return what starts it."""
    native = native_program(wanted, prefix)
    if native is not None:
        return native
    interpreter = _node(wanted.program.node, prefix) if wanted.program.node else None
    with _only_installer(wanted, prefix):
        native = native_program(wanted, prefix)
        if native is None:
            _say(f"installing {' '.join(wanted.packages)} into {wanted.folder(prefix)}")
            began = time.monotonic()
            native = _install_staged(wanted, prefix, interpreter)
            size = _megabytes(wanted.folder(prefix))
            _say(f"installed {wanted.name}: {size} MB in {time.monotonic() - began:.0f} s")
    return native


@contextmanager
def _only_installer(wanted: Wanted, prefix: Path) -> Iterator[None]:
    """Be the only one to install this program, and clear away what a killed one left of it."""
    prefix.mkdir(parents=True, exist_ok=True)
    ignore = prefix / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    with (prefix / f".lock-{wanted.name}").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in prefix.glob(f".staging-{wanted.name}-*"):
            _say(f"removing what an interrupted installation left: {left.name}")
            shutil.rmtree(left)
        yield


def _install_staged(wanted: Wanted, prefix: Path, interpreter: Path | None) -> Path:
    staging = Path(tempfile.mkdtemp(prefix=f".staging-{wanted.name}-", dir=prefix))
    try:
        built = staging / "built"
        built.mkdir()
        if wanted.program.registry is Registry.PYPI:
            _run_pip(wanted, built, staging)
        else:
            _run_npm(wanted, built, staging)
        _unpack(wanted, built)
        _write_marker(wanted, built, prefix, interpreter)
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


# -- the two registries ----------------------------------------------------------------------


def _run_npm(wanted: Wanted, built: Path, staging: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        message = (
            f"npm is not on PATH, so {wanted.package} cannot be installed; "
            "install Node.js with npm and call this again"
        )
        raise InstallError(message)
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
        *([] if wanted.program.optional_packages else ["--omit=optional"]),
        "--prefix",
        str(built),
        *wanted.packages,
    ]
    _run(wanted, command, staging, npm_config_cache=str(staging / "cache"))


def _run_pip(wanted: Wanted, built: Path, staging: Path) -> None:
    venv = built / "venv"
    _run(wanted, [sys.executable, "-m", "venv", str(venv)], staging)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    command = [*pip, "install", "--quiet", "--no-input", "--only-binary=:all:", *wanted.packages]
    _run(wanted, command, staging, PIP_CACHE_DIR=str(staging / "cache"))


def _run(wanted: Wanted, command: list[str], staging: Path, **more: str) -> None:
    environment = {**os.environ, **more}
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
        message = (
            f"{Path(command[0]).name} could not install {wanted.package} "
            f"(exit {done.returncode}):\n{done.stdout}"
        )
        raise InstallError(message)


# -- making it runnable ----------------------------------------------------------------------


def _unpack(wanted: Wanted, built: Path) -> None:
    """Do what the package's own install script would: unpack the native program."""
    if wanted.program.packed is None:
        return
    packed = _first(wanted, built, (wanted.program.packed,))
    node = shutil.which("node")
    if node is None:
        message = f"node is not on PATH, so {wanted.package} cannot be unpacked"
        raise InstallError(message)
    _run(wanted, [node, "-e", _UNPACK, str(packed), str(packed.with_suffix(""))], built)
    packed.unlink()


def _node(major: int, prefix: Path) -> Path:
    """Return a Node.js of at least this major version: the one on PATH, else one of ours."""
    found = shutil.which("node")
    if found is not None:
        said = subprocess.run(
            [found, "--version"], capture_output=True, text=True, check=False
        ).stdout
        number = said.removeprefix("v").partition(".")[0]
        if number.isdigit() and int(number) >= major:
            return Path(found).resolve()
    return install(Wanted.parse(NODE_NEEDED), prefix)


def _write_marker(wanted: Wanted, built: Path, prefix: Path, interpreter: Path | None) -> None:
    native = _first(wanted, built, wanted.program.native)
    helpers = [path for pattern in wanted.program.executable for path in built.glob(pattern)]
    for path in (native, *helpers):
        path.chmod(path.stat().st_mode | 0o111)
    marker: dict[str, Any] = {
        "name": wanted.name,
        "version": wanted.version,
        "native": str(native.relative_to(built)),
        "size": native.stat().st_size,
    }
    if wanted.program.runs_on is not RunsOn.ITSELF:
        runner = interpreter or _own_interpreter(wanted, built)
        for folder, place in ((built, wanted.folder(prefix)), (prefix, prefix)):
            if runner.is_relative_to(folder):
                runner = (place / runner.relative_to(folder)).relative_to(prefix)
                break
        marker |= {"starter": f"bin/{wanted.name}", "interpreter": str(runner)}
        _write_starter(built / "bin" / wanted.name, runner, marker["native"])
    (built / _MARKER).write_text(json.dumps(marker) + "\n", encoding="utf-8")


def _own_interpreter(wanted: Wanted, built: Path) -> Path:
    if wanted.program.runs_on is RunsOn.PYTHON:
        return built / "venv" / "bin" / "python"
    return _first(wanted, built, (_BUN,))


def _write_starter(starter: Path, interpreter: Path, script: str) -> None:
    """Write the shell script that replaces itself by the interpreter with the program."""
    runner = shlex.quote(str(interpreter))
    if not interpreter.is_absolute():
        runner = f'"$here"/../{runner}'
    starter.parent.mkdir(exist_ok=True)
    starter.write_text(
        "#!/bin/sh\n"
        'here=$(dirname "$(dirname "$(readlink -f "$0")")")\n'
        f'exec {runner} "$here"/{shlex.quote(script)} "$@"\n',
        encoding="utf-8",
    )
    starter.chmod(0o755)


def _first(wanted: Wanted, built: Path, patterns: Sequence[str]) -> Path:
    found = [path for pattern in patterns for path in sorted(built.glob(pattern))]
    if not found:
        message = (
            f"{wanted.package} brought no native program for this system "
            f"({sys.platform}); looked for {', '.join(patterns)}"
        )
        raise InstallError(message)
    return found[0]


def _megabytes(folder: Path) -> int:
    """Return the size of all files in a folder, rounded up."""
    sizes = (path.lstat().st_size for path in folder.rglob("*"))
    return -(-sum(sizes) // 1_000_000)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- the command -----------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> int:
    """Install what is asked for; 0, or 69 when it cannot be had."""
    options = _parser().parse_args(argv)
    prefix = options.prefix.resolve()
    everything = [Wanted.parse(row.name) for row in PROGRAMS.values() if options.all or row.default]
    wanted = options.only or everything
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        outcomes = list(pool.map(lambda one: _outcome(one, prefix), wanted))
    optional = options.optional and os.environ.get("WORKSTREAM_REQUIRE_HARNESSES") != "1"
    programs = {}
    failed = False
    for one, outcome in zip(wanted, outcomes, strict=True):
        if isinstance(outcome, InstallError):
            failed = True
            said = f"going on without the real {one.name}" if optional else "error"
            _say(f"{said}: {outcome}")
            continue
        _say(f"{one.name} {one.version}: {outcome}")
        wrapper = npm_wrapper(one, prefix)
        programs[one.name] = {
            "version": one.version,
            "native": str(outcome),
            "wrapper": str(wrapper) if wrapper else None,
        }
    if failed and not optional:
        return EXIT_UNAVAILABLE
    if options.print_json:
        print(json.dumps(programs, indent=2))
    return 0


def _outcome(wanted: Wanted, prefix: Path) -> Path | InstallError:
    try:
        return install(wanted, prefix)
    except InstallError as error:
        return error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--prefix",
        type=Path,
        default=Path(os.environ.get("WORKSTREAM_TEST_HARNESSES") or DEFAULT_PREFIX),
        help="default: WORKSTREAM_TEST_HARNESSES, else .harnesses of this checkout",
    )
    parser.add_argument(
        "--only",
        type=Wanted.parse,
        action="append",
        metavar="NAME[@VERSION]",
        help="install only this one; may be given again; another version than the pinned one "
        "is possible",
    )
    parser.add_argument(
        "--all", action="store_true", help="also those that the default test run does without"
    )
    parser.add_argument(
        "--optional",
        action="store_true",
        help="say what is missing and go on; WORKSTREAM_REQUIRE_HARNESSES=1 overrules it",
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at the same time")
    parser.add_argument("--print-json", action="store_true", help="paths on standard output")
    return parser


if __name__ == "__main__":
    sys.exit(main())
