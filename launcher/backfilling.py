"""Reading past sessions: selection, progress, rate, summary."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from importers import backfill, registry
from importers.base import StoreUnreadable
from launcher import launching
from launcher.harnesses import registry as adapters
from launcher.options import RunOptions
from launcher.output import emit_json, iso, plural, say, size
from launcher.place import Place, here
from launcher.resolve import check_name, choose_or_create, find_repository
from ledger import git, workstreams
from ledger.errors import UnavailableError
from ledger.model import RepositoryKeys, Workstream
from ledger.store import Store, open_store
from ledger.visible import show


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the person asked of `import`."""

    harness: str
    home: Path | None
    only: tuple[str, ...]
    everything: bool
    into: str | None
    deliver: bool
    listing: bool
    as_json: bool


def run(asked: Asked) -> int:
    """Select, import with progress, and print the summary. Returns the exit code."""
    place = here()
    entry = place.config.entry(asked.harness)
    adapter = adapters.get(entry.use)
    importer = registry.get(adapter.name)
    env = launching.child_environment(place, entry, RunOptions(), adapter)
    home = asked.home.absolute() if asked.home is not None else importer.home(env)
    if not home.is_dir():
        raise UnavailableError(
            f"{adapter.title} has no sessions at {home}",
            next_step="Name its store: workstream import --home DIR " + asked.harness,
        )
    with open_store(place.home) as store:
        into = _into(store, place, asked)
        try:
            selection = backfill.select(
                store,
                importer,
                home,
                here=None if asked.everything or asked.only else place.checkout.keys,
                into=into,
                resolve=_resolver(place),
                only=asked.only,
            )
        except StoreUnreadable as error:
            raise UnavailableError(f"{home} cannot be read", detail=str(error)) from error
        if asked.listing:
            return _list(selection, as_json=asked.as_json)
        with _progress(selection.size, quiet=asked.as_json) as advance:
            done = backfill.backfill(
                store,
                importer,
                selection,
                deliver=asked.deliver,
                entry=entry.name if entry.name != entry.use else adapter.name,
                progress=advance,
                ignored=place.ignored,
            )
    return _report(asked, done, into)


def _into(store: Store, place: Place, asked: Asked) -> Workstream | None:
    """Return the workstream that takes the sessions; None: each its own repository's."""
    if asked.into is None and asked.everything and not asked.only:
        return None
    with store.transaction():
        if asked.into is not None:
            name = check_name(asked.into)
            repository = find_repository(store, place)
            known = repository and workstreams.by_name(store, repository.id, name)
            if known:
                return known
            return choose_or_create(store, place, name=None, new=name, ask=None).workstream
        return choose_or_create(store, place, name=None, new=None, ask=None).workstream


def _resolver(place: Place) -> Callable[[Path], RepositoryKeys]:
    return lambda directory: git.describe(directory, place.env).keys


def _list(selection: backfill.Selection, *, as_json: bool) -> int:
    rows = [
        {
            "native_id": item.source.native_id,
            "path": str(item.source.path),
            "bytes": item.size,
            "state": str(item.source.state),
            "title": item.facts.title if item.facts else None,
            "cwd": (item.facts.cwd or item.facts.first_cwd) if item.facts else None,
            "last_at": iso(item.facts.last_at or item.facts.started_at) if item.facts else None,
        }
        for item in selection.chosen
    ]
    skipped = [{"native_id": s.native_id, "reason": s.reason} for s in selection.skipped]
    if as_json:
        emit_json("import", {"sessions": rows, "skipped": skipped})
        return 0
    for item, row in zip(selection.chosen, rows, strict=True):
        title = show((item.facts.title if item.facts else None) or "", newline=False)[:60]
        last = row["last_at"] or "-"
        print(f"{item.source.native_id}  {last:<24}  {size(item.size):>8}  {title}")
    _say_skipped(selection.skipped)
    return 0


def _progress(
    total: int, *, quiet: bool
) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Return a progress bar on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty() or not total:
        return nullcontext(None)
    return _Bar(total)


class _Bar(AbstractContextManager[Callable[[int, int], None]]):
    """A bar on stderr: bytes, rate, events."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        self._bar = Progress(
            TextColumn("importing"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[events]:,} events"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("import", total=total, events=0)
        self._events = 0

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return self._advance

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _advance(self, read: int, events: int) -> None:
        self._events += events
        self._bar.update(self._task, advance=read, events=self._events)


def _report(asked: Asked, done: backfill.Backfill, into: Workstream | None) -> int:
    losses = [dict(a) for s in done.summaries for a in s.annotations]
    if asked.as_json:
        emit_json("import", _document(done, into, losses))
        return 0
    for summary in done.summaries:
        for notice in summary.notices:
            say(f"{summary.native_id}: {notice}")
    for loss in losses[:20]:
        say(f"not imported: {loss.get('reason')} at {loss.get('position')}")
    if len(losses) > 20:
        say(f"and {len(losses) - 20} more losses; see: workstream log --kind annotation")
    _say_skipped(done.skipped)
    read = len(done.summaries)
    where = f" into {into.name}" if into is not None else ""
    say(
        f"{plural(read, 'session')} read{where}, {done.unchanged} unchanged,"
        f" {plural(done.events, 'event')}, {plural(len(losses), 'loss', 'losses')};"
        f" {size(done.bytes)} in {done.seconds:.1f} s ({size(int(done.bytes_per_second))}/s)"
    )
    redacted = sum(count for s in done.summaries for count in s.redactions.values())
    if redacted:
        say(f"{plural(redacted, 'secret')} replaced before storing")
    return 0


def _document(
    done: backfill.Backfill, into: Workstream | None, losses: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "workstream": None if into is None else into.name,
        "sessions": [
            {
                "native_id": s.native_id,
                "imported": s.imported,
                "known": s.known,
                "left_out": s.left_out,
                "annotations": len(s.annotations),
                "redactions": s.redactions,
                "bytes": s.bytes,
                "readable": s.readable,
                "notices": s.notices,
            }
            for s in done.summaries
        ],
        "skipped": [{"native_id": s.native_id, "reason": s.reason} for s in done.skipped],
        "imported": done.imported,
        "events": done.events,
        "unchanged": done.unchanged,
        "annotations": losses,
        "bytes": done.bytes,
        "seconds": round(done.seconds, 3),
        "bytes_per_second": round(done.bytes_per_second),
    }


def _say_skipped(skipped: list[backfill.Skipped]) -> None:
    for item in skipped[:20]:
        say(f"skipped {item.native_id}: {item.reason}")
    if len(skipped) > 20:
        say(f"and {len(skipped) - 20} more skipped")
