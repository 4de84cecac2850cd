#!/usr/bin/env python3
"""Write the tables of `docs/harnesses.md` from what the adapters say of themselves.

Only what stands between the two marks is written; the words around it are a person's. Called with
`--check` it writes nothing and ends with 1 when the file is not current.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from launcher.harnesses import registry
from launcher.harnesses.base import CAPABILITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from launcher.harnesses.base import Adapter

TARGET: Final = Path(__file__).resolve().parents[1] / "docs" / "harnesses.md"
BEGIN: Final = "<!-- written by scripts/write_harness_docs.py: begin -->"
END: Final = "<!-- written by scripts/write_harness_docs.py: end -->"
POINTS: Final = {
    "create": "Starting a session",
    "resume": "Going on with one",
    "session_id": "Session id, and how a run knows its sessions",
    "store": "Where sessions are kept",
    "format": "Format and versions",
    "identity": "Identity and order of records, forks",
    "rewrites": "What is rewritten, doubled, packed or deleted",
    "visible": "What counts as said and done",
    "hidden": "What is dropped",
    "compaction": "Compaction",
    "tools": "Tools and outcomes",
    "turns": "Ends of turns, usage, limits",
    "context_create": "Context for a new session",
    "context_resume": "Context for a session that goes on",
    "proof": "Proof of delivery",
    "first_run": "Screens left to the person",
    "one_shot": "Without a terminal",
    "yolo": "`--yolo`",
    "utilities": "Calls that pass straight through",
    "exit_codes": "Exit codes",
    "dangers": "Dangers, and what is done about them",
}
"""Field of an adapter's `about` -> heading."""


def main() -> int:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if not current")
    options = parser.parse_args()
    before = TARGET.read_text(encoding="utf-8")
    after = current(before)
    if options.check:
        return 0 if before == after else 1
    TARGET.write_text(after, encoding="utf-8")
    return 0


def current(text: str) -> str:
    """Return the file's text with the tables as they should be."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        message = f"{TARGET} lacks the marks between which its tables are written"
        raise SystemExit(message)
    return f"{head}{begin}\n\n{chr(10).join(tables())}\n{end}{tail}"


def tables() -> Iterator[str]:
    """Yield the lines of the tables."""
    adapters = [registry.get(name) for name in registry.names()]
    yield "## Which there are"
    yield ""
    yield "| name | also | harness | driven by the tests | how to get it |"
    yield "| --- | --- | --- | --- | --- |"
    for each in adapters:
        versions = ", ".join(each.verified)
        also = ", ".join(f"`{alias}`" for alias in each.aliases)
        yield f"| `{each.name}` | {also} | {each.title} | {versions} | {cell(each.install_hint)} |"
    yield ""
    yield "## What works"
    for capability in CAPABILITIES:
        yield from table(adapters, capability, works_of(capability), level="###")
    yield ""
    yield "## What is settled"
    for field, heading in POINTS.items():
        yield from table(adapters, heading, settled_of(field), level="###")


def works_of(capability: str) -> Callable[[Adapter], str]:
    """Return what reads a capability of an adapter."""
    return lambda adapter: adapter.capabilities(None)[capability]


def settled_of(field: str) -> Callable[[Adapter], str]:
    """Return what reads a point of an adapter's `about`."""
    return lambda adapter: str(getattr(adapter.about(), field))


def table(
    adapters: list[Adapter], heading: str, said: Callable[[Adapter], str], *, level: str
) -> Iterator[str]:
    """Yield one table: a row for each harness."""
    yield ""
    yield f"{level} {heading[0].upper()}{heading[1:]}"
    yield ""
    yield "| harness | |"
    yield "| --- | --- |"
    for adapter in adapters:
        yield f"| {adapter.title} | {cell(said(adapter))} |"


def cell(text: str) -> str:
    """Return a text as it can stand in a table: nothing in it is markup."""
    safe = text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")
    return safe.replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    sys.exit(main())
