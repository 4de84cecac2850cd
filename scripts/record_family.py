#!/usr/bin/env python3
"""Record small native stores of the eleven other harnesses, as the conformance suite reads them.

`python scripts/record_family.py pi` writes `tests/fixtures/pi/<case>/home/…`: what was below the
store's home after a scenario of real one-shot turns. The home's path has as many characters as
`/home/user`, which replaces it, so that byte offsets hold; in text files long texts of the vendor
become filler of the same length. A harness that needs more (a terminal, hooks) adds a function to
`SPECIAL` in a module of its own folder: `tests/fixtures/<name>/record.py`, with a `RECORDINGS`, and
with `KEEP`, names of files, where a session's folder has more in it than is read.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from importers import registry
from tests.lab.family import FAMILY, FamilyHome, api_for, family_home, one_shot

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from tests.fakes.server import ScriptedServer

KEPT_HOME: Final = "/home/user"
FIXTURES: Final = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
_LONG: Final = 200
"""Texts of a vendor are longer than this; ours are shorter, or have one of the next words."""
_OURS: Final = (b"say: ", b"BEGIN WORKSTREAM", b"kept: ")
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"')
_TEXT: Final = (".jsonl", ".json", ".yaml", ".yml", ".md", ".txt", ".toml", ".log")

BRIEFING: Final = (
    "BEGIN WORKSTREAM BRIEFING dlv_abcdefghij_0001\n"
    "| Untrusted history of workstream main: what was done elsewhere.\n"
    "END WORKSTREAM BRIEFING dlv_abcdefghij_0001"
)
"""What a recording with a delivery carries, over whatever channel the adapter has."""

Recording = "Callable[[FamilyHome, ScriptedServer], None]"


def plain(home: FamilyHome, api: ScriptedServer) -> None:
    """Two turns of one session: words that are no ASCII, reasoning, tools that fail and succeed."""
    del api
    first = one_shot(
        home,
        "think: privately ;; say: Grüße, 你好 👋 ;; run: echo $((40+2)); exit 3 ;;"
        " write: a.txt => one\\n ;; read: a.txt ;; say: first part done",
    )
    one_shot(home, "run: echo second ;; say: second part done", resume=first.session)


def failed(home: FamilyHome, api: ScriptedServer) -> None:
    """Have a turn refused by the provider, in a session that had an answer before."""
    del api
    first = one_shot(home, "say: an answer")
    one_shot(home, "fail: unauthorized", resume=first.session)


RECORDINGS: Final[dict[str, Any]] = {"plain": plain, "failed": failed}


def recordings_of(name: str) -> dict[str, Any]:
    """Return what is recorded of a harness: the common cases, then its own."""
    return {**RECORDINGS, **getattr(_own(name), "RECORDINGS", {})}


def _own(name: str) -> ModuleType | None:
    path = FIXTURES / name / "record.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location(f"record_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(name: str, case: str, recording: Callable[[FamilyHome, ScriptedServer], None]) -> None:
    """Make one recording and put the store's home into `tests/fixtures/<name>/<case>/home`."""
    root = _short_root()
    try:
        with api_for(name)() as api:
            home = family_home(name, root, api.port)
            recording(home, api)
        store = registry.get(name).home(home.env)
        target = FIXTURES / name / case / "home"
        shutil.rmtree(target, ignore_errors=True)
        for path in kept_files(name, store, home):
            inside = moved(str(path.relative_to(store)).encode(), root).decode()
            kept = target / inside
            kept.parent.mkdir(parents=True, exist_ok=True)
            raw = path.read_bytes()
            kept.write_bytes(scrubbed(raw, root) if path.suffix in _TEXT else raw)
    finally:
        shutil.rmtree(root)


def kept_files(name: str, store: Path, home: FamilyHome) -> list[Path]:
    """Return the files of the sessions, and what lies beside them for one session each."""
    del home
    importer = registry.get(name)
    keep: frozenset[str] | None = getattr(_own(name), "KEEP", None)
    folders = {s.path.parent for s in importer.discover(store) if s.path is not None}
    return sorted(
        p
        for folder in folders
        for p in folder.rglob("*")
        if p.is_file() and (keep is None or p.name in keep)
    )


def scrubbed(raw: bytes, root: Path) -> bytes:
    """Replace the home, and long texts of the vendor by filler of the same length."""

    def filler(found: re.Match[bytes]) -> bytes:
        text = found[0]
        keep = len(text) < _LONG or any(mark in text for mark in _OURS)
        return text if keep else b'"' + b"x" * (len(text) - 2) + b'"'

    return _STRING.sub(filler, moved(raw, root))


def moved(raw: bytes, root: Path) -> bytes:
    """Replace the home's path, and what folder names make of it."""
    here, there = str(root).encode(), KEPT_HOME.encode()
    for before, after in ((b"/", b"/"), (b"/", b"-"), (b"/", b"%2F")):
        raw = raw.replace(here.replace(before, after), there.replace(before, after))
    return raw.replace(here[1:].replace(b"/", b"-"), there[1:].replace(b"/", b"-"))


def _short_root() -> Path:
    parent = Path("/tmp")  # only here is a path as short as /home/user possible
    root = parent / secrets.token_hex(8)[: len(KEPT_HOME) - len(str(parent)) - 1]
    root.mkdir(mode=0o700)
    return root


def main() -> int:
    """Make the recordings of the harnesses that are named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", choices=FAMILY)
    parser.add_argument("cases", nargs="*", help="default: all")
    options = parser.parse_args()
    known = recordings_of(options.name)
    for case in options.cases or known:
        started = time.monotonic()
        record(options.name, case, known[case])
        print(f"{options.name}/{case}: {time.monotonic() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
