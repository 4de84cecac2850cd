"""Past sessions of a native store, read into the ledger as searchable archive.

First `select` finds out what there is to import and where it belongs, without writing; `backfill`
then links and imports it. A session that belongs to another workstream is never moved: it is
skipped and listed. What cannot be read is listed with the reason.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from importers import service
from importers.base import Importer, SessionFacts, Source, StoreState, StoreUnreadable
from importers.ignored import NOTHING, Ignored
from ledger import repositories, sessions, workstreams
from ledger.incoming import Context
from ledger.model import Origin, RepositoryKeys, RepositoryKind, SessionRow, Workstream
from ledger.store import Store

Resolve = Callable[[Path], RepositoryKeys]
"""Says which repository an existing directory belongs to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A session that is not imported, and why."""

    native_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A session that will be imported."""

    source: Source
    size: int
    """Bytes of its files; 0 when they are unchanged since the last import."""
    into: Workstream | None
    keys: RepositoryKeys | None
    """Repository to file it under when `into` is None."""
    facts: SessionFacts | None
    linked: SessionRow | None
    unchanged: bool


@dataclass(slots=True, kw_only=True)
class Selection:
    """What a backfill will do."""

    harness: str
    home: Path
    chosen: list[Chosen] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes that will be read at most, for a progress bar."""
        return sum(item.size for item in self.chosen)


@dataclass(slots=True, kw_only=True)
class Backfill:
    """What a backfill did."""

    summaries: list[service.ImportSummary] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    imported: dict[str, int] = field(default_factory=dict)
    annotations: int = 0
    unchanged: int = 0
    """Sessions in which nothing was new."""
    bytes: int = 0
    seconds: float = 0.0

    @property
    def events(self) -> int:
        """Number of new events."""
        return sum(self.imported.values())

    @property
    def bytes_per_second(self) -> float:
        """Source bytes read per second, 0 when nothing was read."""
        return self.bytes / self.seconds if self.bytes and self.seconds else 0.0


def select(
    store: Store,
    importer: Importer,
    home: Path,
    *,
    here: RepositoryKeys | None,
    into: Workstream | None,
    resolve: Resolve,
    only: Collection[str] = (),
) -> Selection:
    """Return the sessions to import; writes nothing.

    `here`: those that were recorded in this repository; None: all, each to be filed under its own.
    `only`: exactly these native ids, wherever they were recorded. `into` takes whatever is
    selected; without it `here` must be None. Raises StoreUnreadable when the store cannot be
    listed at all.
    """
    if into is None and (here is not None or only):
        raise ValueError("chosen sessions need a workstream to go into")
    found = Selection(harness=importer.name, home=home)
    native = sessions.find_native_store(store, importer.name, home)
    linked = {} if native is None else sessions.of_native_store(store, native)
    places = _Places(resolve)
    sources: Iterable[Source]
    if only:
        sources = (importer.locate(home, native_id) for native_id in only)
    else:
        sources = importer.discover(home)
    for source in sources:
        item = _choose(store, importer, source, linked.get(source.native_id), into, here, places)
        if isinstance(item, Skipped):
            found.skipped.append(item)
        elif item is not None and (only or here is None or _belongs(item, here, places)):
            found.chosen.append(item)
    return found


def backfill(
    store: Store,
    importer: Importer,
    selection: Selection,
    *,
    deliver: bool = False,
    entry: str | None = None,
    context: Context | None = None,
    progress: service.Progress | None = None,
    ignored: Callable[[], Ignored] = lambda: NOTHING,
) -> Backfill:
    """Import what was selected, oldest first; returns what happened.

    The sessions become archive, in no briefing, unless `deliver`. `entry` is the harness entry
    they are linked under, the harness's own name unless given.
    """
    done = Backfill(skipped=list(selection.skipped))
    start = time.monotonic()
    for item in reversed(selection.chosen):
        if item.unchanged and not (deliver and item.linked and not item.linked.deliver):
            done.unchanged += 1
            continue
        summary = _import(
            store,
            importer,
            item,
            selection.home,
            deliver,
            entry,
            context,
            progress,
            ignored(),
        )
        done.summaries.append(summary)
        done.unchanged += summary.unchanged
        done.bytes += summary.bytes
        done.annotations += len(summary.annotations)
        for kind, count in summary.imported.items():
            done.imported[kind] = done.imported.get(kind, 0) + count
    done.seconds = time.monotonic() - start
    return done


def _import(
    store: Store,
    importer: Importer,
    item: Chosen,
    home: Path,
    deliver: bool,
    entry: str | None,
    context: Context | None,
    progress: service.Progress | None,
    ignored: Ignored,
) -> service.ImportSummary:
    with store.transaction():
        target = item.into or _own_workstream(store, item)
        row = sessions.link_session(
            store,
            target,
            harness=importer.name,
            entry=entry or importer.name,
            home=home,
            native_id=item.source.native_id,
            one_shot=bool(item.facts and item.facts.one_shot),
            origin=Origin.ARCHIVE,
            deliver=deliver,
        )
    return service.import_session(
        store,
        importer,
        item.source,
        row,
        origin=Origin.ARCHIVE if row.origin is Origin.ARCHIVE else Origin.OUTSIDE,
        closed=True,
        context=context,
        progress=progress,
        ignored=ignored,
    )


def _own_workstream(store: Store, item: Chosen) -> Workstream:
    """Return the workstream named after the session's repository, made when it is missing."""
    if item.linked is not None:
        return workstreams.get(store, item.linked.workstream)
    if item.keys is None:
        raise ValueError("a session without a place was chosen")
    repository = repositories.create(store, item.keys)
    found = workstreams.by_name(store, repository.id, repository.name)
    return found or workstreams.create(store, repository.id, repository.name)


def _choose(
    store: Store,
    importer: Importer,
    source: Source,
    known: tuple[SessionRow, str] | None,
    into: Workstream | None,
    here: RepositoryKeys | None,
    places: _Places,
) -> Chosen | Skipped | None:
    """Return what is to be done with one session; None: it is not one of those that are meant."""
    native_id = source.native_id
    if source.state in (StoreState.UNREADABLE, StoreState.MISSING):
        return Skipped(native_id=native_id, reason=_why(source))
    if sessions.is_forgotten(store, importer.name, native_id):
        return Skipped(native_id=native_id, reason="it was forgotten on request")
    if known is not None:
        row, signature = known
        if into is not None and row.workstream != into.id:
            if here is not None and not _was_here(row, here, places):
                return None
            other = workstreams.get(store, row.workstream)
            return Skipped(native_id=native_id, reason=f"it belongs to workstream {other.name}")
        unchanged = sessions.is_unchanged(signature, source.signature, closed=True)
        return Chosen(
            source=source,
            size=0 if unchanged else _size(source),
            into=into,
            keys=None,
            facts=None,
            linked=row,
            unchanged=unchanged,
        )
    try:
        facts = importer.describe(source)
    except StoreUnreadable as error:
        return Skipped(native_id=native_id, reason=f"it cannot be read: {error}")
    if facts.subagent_of is not None:
        return None
    directory = facts.first_cwd or facts.cwd
    if directory is None and into is None:
        return Skipped(native_id=native_id, reason="it does not say where it was recorded")
    return Chosen(
        source=source,
        size=_size(source),
        into=into,
        keys=None if directory is None else places.keys(directory),
        facts=facts,
        linked=None,
        unchanged=False,
    )


def _belongs(item: Chosen, here: RepositoryKeys, places: _Places) -> bool:
    if item.linked is not None:
        return True
    facts = item.facts
    if facts is None:
        return False
    directories = {path for path in (facts.first_cwd, facts.cwd) if path}
    return any(places.is_in(path, here) for path in directories)


def _was_here(row: SessionRow, here: RepositoryKeys, places: _Places) -> bool:
    return row.cwd is not None and places.is_in(row.cwd, here)


class _Places:
    """Repositories of recorded directories; each directory is looked at once."""

    def __init__(self, resolve: Resolve) -> None:
        self._resolve = resolve
        self._known: dict[str, RepositoryKeys] = {}

    def keys(self, directory: str) -> RepositoryKeys:
        """Return the repository of a directory; of one that is gone, the plain directory."""
        real = os.path.realpath(directory)
        if real not in self._known:
            self._known[real] = self._resolve(Path(real)) if Path(real).is_dir() else _gone(real)
        return self._known[real]

    def is_in(self, directory: str, here: RepositoryKeys) -> bool:
        """Say whether a directory belongs to the repository, or did while it existed."""
        keys = self.keys(directory)
        if here.common_dir is not None and keys.common_dir == here.common_dir:
            return True
        if here.directory is not None and keys.directory == here.directory:
            return True
        real = os.path.realpath(directory)
        inside = real == here.worktree or real.startswith(here.worktree.rstrip("/") + "/")
        return inside and (here.kind is RepositoryKind.DIRECTORY or not Path(real).is_dir())


def _gone(real: str) -> RepositoryKeys:
    return RepositoryKeys(
        kind=RepositoryKind.DIRECTORY,
        name=Path(real).name or "root",
        worktree=real,
        directory=real,
    )


def _why(source: Source) -> str:
    what = "it cannot be read" if source.state is StoreState.UNREADABLE else "it is not there"
    return f"{what}: {source.detail}" if source.detail else what


def _size(source: Source) -> int:
    total = 0
    for path in source.paths:
        try:
            total += path.stat().st_size
        except OSError:  # it will be reported by the import itself
            continue
    return total
