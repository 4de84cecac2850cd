"""The Codex importer: what `importers.base.Importer` asks for, in one object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from importers.base import Batch, Limits, NodeIndex, SessionFacts, Source, StoreUnreadable
from importers.codex import store


class CodexImporter:
    """Reads rollouts. Stores of the named versions were verified; others are read the same way."""

    name: str = "codex"
    versions: tuple[str, ...] = ("0.98.", "0.130.", "0.150.", "0.171.")

    def home(self, env: Mapping[str, str]) -> Path:
        """See `Importer.home`."""
        return store.home(env)

    def locate(self, home: Path, native_id: str) -> Source:
        """See `Importer.locate`."""
        return store.locate(home, native_id)

    def discover(self, home: Path) -> Iterator[Source]:
        """See `Importer.discover`."""
        return store.discover(home)

    def describe(self, source: Source) -> SessionFacts:
        """See `Importer.describe`: one look at the head of the first and the newest file."""
        from importers.codex.meta import require_meta  # msgspec: not before a start

        if source.path is None:
            raise StoreUnreadable(source.detail or f"{source.native_id}: no rollout found")
        newest = require_meta(source.path)
        first = newest if len(source.paths) == 1 else require_meta(source.paths[0])
        return first.facts()

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """See `Importer.read`."""
        from importers.codex import reader

        return reader.read(source, state, nodes, limits, closed=closed)
