"""What the conformance suite does with a store: copy, read, compare.

A reader is given nothing but its contract (`importers/base.py`). The suite knows no harness: cases
are every recorded store of every built-in importer, found by listing `tests/fixtures`. A store is
the folder `home` of its case, as the importer's `home` would return it; older cases are recognised
by what is in them. What a store says is claimed by `expected.json` beside it.
"""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from importers import registry
from importers.base import (
    Event,
    FileFact,
    Importer,
    Item,
    LeftOut,
    Limit,
    Limits,
    Loss,
    Mark,
    Sighting,
    Source,
    StoreState,
    Turn,
)
from importers.forgetful import ForgetfulNodes
from ledger.ids import event_id

FIXTURES = Path(__file__).parent.parent / "fixtures"
MARKERS = ("sessions", "projects")
"""Folders by which the home inside a recorded store is recognised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A recorded store of one harness."""

    harness: str
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.harness}-{self.folder.name}"

    @property
    def expected(self) -> Path:
        """The claim of what is visible in this store; it may not exist."""
        return self.folder / "expected.json"

    @property
    def in_lines(self) -> bool:
        """Whether every session of the store is a file of plain JSON lines."""
        found = registry.get(self.harness).discover(home_in(self.folder))
        paths = [path for source in found for path in source.paths]
        return bool(paths) and all(path.suffix == ".jsonl" for path in paths)


def cases() -> list[Case]:
    """Return every recorded store; a harness without one fails the suite."""
    found = []
    for harness in registry.names():
        folders = [p for p in sorted((FIXTURES / harness).iterdir()) if p.is_dir()]
        assert folders, f"tests/fixtures/{harness} holds no recorded store"
        found += [Case(harness=harness, folder=folder) for folder in folders]
    return found


def copy_home(case: Case, to: Path) -> Path:
    """Copy a recorded store and return the home in it."""
    shutil.copytree(case.folder, to)
    for path in to.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return home_in(to)


def home_in(folder: Path) -> Path:
    """Return the store's home in a case."""
    if (folder / "home").is_dir():
        return folder / "home"
    homes = {path.parent for path in folder.rglob("*") if path.is_dir() and path.name in MARKERS}
    return min(homes, key=lambda home: len(home.parts))


@dataclass(slots=True)
class Reader:
    """One session, read again and again as an import service would."""

    importer: Importer
    home: Path
    native_id: str
    nodes: ForgetfulNodes = field(default_factory=ForgetfulNodes)
    state: str | None = None
    items: list[Item] = field(default_factory=list)

    def source(self) -> Source:
        return self.importer.locate(self.home, self.native_id)

    def read(self, *, closed: bool = True, limits: Limits | None = None) -> list[Item]:
        """Read what is new and return it."""
        new: list[Item] = []
        source = self.source()
        assert source.state in (StoreState.PRESENT, StoreState.ARCHIVED), source
        for batch in self.importer.read(
            source, self.state, self.nodes, limits or Limits(), closed=closed
        ):
            new += batch.items
            self.state = batch.state
        self.items += new
        return new

    def ids(self) -> list[str]:
        return ids_of(self.importer, self.items)

    def superseded(self) -> set[str]:
        """Return the events that are on no active chain, marks applied in order."""
        active: dict[str, bool] = {}
        places: dict[str, int] = {}
        for item in self.items:
            if isinstance(item, Event):
                name = event_id(self.importer.name, item.kind, item.identity)
                active[name], places[name] = item.active, item.record
            elif isinstance(item, Mark):
                for name, record in places.items():
                    if item.first <= record <= item.last:
                        active[name] = item.active
        return {name for name, state in active.items() if not state}


def ids_of(importer: Importer, items: list[Item]) -> list[str]:
    """Return the event ids in order, each once."""
    found = [
        event_id(importer.name, item.kind, item.identity)
        for item in items
        if isinstance(item, Event)
    ]
    return list(dict.fromkeys(found))


def readers(case: Case, home: Path) -> list[Reader]:
    """Return a reader for each main session of a store."""
    importer = registry.get(case.harness)
    return [
        Reader(importer=importer, home=home, native_id=source.native_id)
        for source in importer.discover(home)
        if source.state is StoreState.PRESENT and importer.describe(source).subagent_of is None
    ]


def told(reader: Reader) -> list[dict[str, Any]]:
    """Return what a session says, as `expected.json` has it; members that are not set are left out.

    Events in conversation order, then deliveries that were found, ends of turns, what was left out.
    """
    events = [item for item in reader.items if isinstance(item, Event)]
    superseded = reader.superseded()
    lines: list[dict[str, Any]] = []
    for event in sorted(events, key=lambda each: (each.depth, each.record, each.block)):
        name = event_id(reader.importer.name, event.kind, event.identity)
        lines.append(
            _set(
                kind=str(event.kind),
                role=event.role,
                text=event.text,
                tool=event.tool,
                input=event.tool_input,
                status=event.status,
                exit=event.exit_code,
                superseded=name in superseded or None,
            )
        )
    turns = {item.turn: item for item in reader.items if isinstance(item, Turn)}
    left = Counter[str]()
    for item in reader.items:
        if isinstance(item, Sighting):
            lines.append({"sighting": item.delivery, "active": item.active})
        elif isinstance(item, Loss):
            lines.append({"loss": item.reason, "detail": item.detail})
        elif isinstance(item, Limit):
            lines.append(_set(limit=item.message, resets_at=item.resets_at))
        elif isinstance(item, FileFact):
            lines.append({"file": item.path, "action": item.action})
        elif isinstance(item, LeftOut):
            left[item.kind] += item.number
    lines += [_set(turn=turn.state, error=turn.error) for turn in turns.values()]
    return [*lines, {"left_out": dict(sorted(left.items()))}]


def _set(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def losses(items: list[Item]) -> list[Loss]:
    return [item for item in items if isinstance(item, Loss)]


def footprint(home: Path) -> dict[str, tuple[int, int, str]]:
    """Return every path with size, mtime and content digest."""
    found = {}
    for path in sorted(home.rglob("*")):
        info = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(home))] = (info.st_size, info.st_mtime_ns, digest)
    return found
