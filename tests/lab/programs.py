"""Find the pinned real harness programs, or skip the test with the reason.

`WORKSTREAM_TEST_HARNESSES` names the prefix they were installed into; without it `.harnesses` of
this checkout is used. With `WORKSTREAM_REQUIRE_HARNESSES=1` a missing program fails the test.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scripts.install_harnesses import (
    DEFAULT_PREFIX,
    Wanted,
    interpreter_folder,
    native_program,
    npm_wrapper,
)


def harnesses_prefix() -> Path:
    """Return the folder that the programs are looked for in."""
    return Path(os.environ.get("WORKSTREAM_TEST_HARNESSES") or DEFAULT_PREFIX)


def harness_program(name: str) -> Path:
    """Return what to execute for `codex`, `pi`, or a version: `codex@0.130.0`.

    The native executable, or for a script a starter that runs it with the right interpreter.
    """
    wanted = Wanted.parse(name)
    native = native_program(wanted, harnesses_prefix())
    if native is None:
        reason = (
            f"{wanted.package} is not installed in {harnesses_prefix()}; "
            f"run scripts/install_harnesses.py --only {name}"
        )
        _missing(reason, wanted)
        raise AssertionError(reason)
    return native


def installed(*names: str) -> list[str]:
    """Return the pinned programs of a list, and those of other versions that are installed here.

    For parameters of a test: older versions are run where somebody installed them
    (`scripts/install_harnesses.py --only codex@0.130.0`); CI has the pinned ones.
    """
    prefix = harnesses_prefix()
    return [
        name
        for name in names
        if "@" not in name or native_program(Wanted.parse(name), prefix) is not None
    ]


def harness_wrapper(name: str) -> Path:
    """Return the npm shim in front of a program that `harness_program` finds."""
    harness_program(name)
    wrapper = npm_wrapper(Wanted.parse(name), harnesses_prefix())
    if wrapper is None:
        message = f"the package of {name} has no shim"
        raise ValueError(message)
    return wrapper


def harness_path(name: str) -> str:
    """Return a PATH for a program: this one's, behind the Node.js that the program needs, if any.

    For what the program itself starts, and for its npm command (`harness_wrapper`).
    """
    here = os.environ.get("PATH", os.defpath)
    folder = interpreter_folder(Wanted.parse(name), harnesses_prefix())
    return here if folder is None else f"{folder}{os.pathsep}{here}"


def _missing(reason: str, wanted: Wanted) -> None:
    # CI installs the default ones; the others are run where somebody installed them.
    required = wanted.program.default
    if required and os.environ.get("WORKSTREAM_REQUIRE_HARNESSES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
