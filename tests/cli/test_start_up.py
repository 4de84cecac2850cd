"""What a launch and a status line must not import: each of these costs more than it may."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.desk import ENTRY, Desk

DENIED = (
    "pydantic",
    "sqlite_utils",
    "rich",
    "psutil",
    "platformdirs",
    "importlib.metadata",
    "asyncio",
    "logging",
    "email",
    "http",
    "xml",
    "unittest",
)
REPORT = """
import json, runpy, sys
sys.path.insert(0, {root!r})
sys.argv = ["workstream", *{args!r}]
from workstream_entry import main
code = main()
sys.stdout.flush()
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def _modules(desk: Desk, *args: str) -> set[str]:
    script = REPORT.format(root=str(ENTRY.parent), args=list(args))
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        env=desk.env,
        cwd=desk.repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    code, names = json.loads(done.stderr.rsplit("\n", 1)[1])
    assert code == 0, done.stderr[:2000]
    return set(names)


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--workstream", "past", "claude", "-p", "hello"),
        ("run", "--workstream", "past", "codex", "exec", "hello"),
        ("run", "--dry-run", "--workstream", "past", "claude"),
        ("status", "--workstream", "past"),
        ("log", "--workstream", "past"),
        ("search", "file", "--workstream", "past"),
    ],
    ids=lambda args: " ".join(args[:2]),
)
def test_no_heavy_module_is_imported(furnished: Desk, args: tuple[str, ...]) -> None:
    if args[0] == "run":  # the first launch asks the program and remembers the answer
        furnished.ok("harnesses")
    assert sorted(set(DENIED) & _modules(furnished, *args)) == []


def test_the_other_harness_is_not_imported(furnished: Desk) -> None:
    modules = _modules(furnished, "run", "--new", "only", "claude", "-p", "hello")
    assert not any(name.startswith("importers.codex") for name in modules)
    assert "launcher.harnesses.codex" not in modules


def test_the_status_line_imports_next_to_nothing(furnished: Desk) -> None:
    modules = _modules(furnished, "status", "--short")
    ours = {name for name in modules if name.split(".")[0] in ("launcher", "ledger", "leases")}
    assert ours <= {"launcher", "launcher.short"}
    assert not {"click", "subprocess", "msgspec", "dataclasses"} & modules
