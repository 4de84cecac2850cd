"""Reader of the Grok Build session store (observed with Grok Build 1.0.41)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Batch, Importer, Limits, NodeIndex, SessionFacts, Source
from importers.grok import store


class GrokImporter:
    """The Grok Build reader: `importers.base.Importer`."""

    name: str = store.HARNESS
    versions: tuple[str, ...] = ("1.0",)

    def home(self, env: Mapping[str, str]) -> Path:
        """Return the store home for an environment."""
        return store.home(env)

    def locate(self, home: Path, native_id: str) -> Source:
        """Find a session by id in any directory's folder."""
        return store.listing(home).locate(native_id.lower())

    def discover(self, home: Path) -> Iterator[Source]:
        """Yield every session, newest first, then odd entries."""
        return store.listing(home).discover()

    def describe(self, source: Source) -> SessionFacts:
        """Read head and tail of a session, both bounded, and its summary."""
        from importers.grok.reader import describe  # msgspec: not before a start

        return describe(source)

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """Yield what is new since `state`."""
        from importers.grok.reader import GrokReader
        from importers.lines import read

        return read(GrokReader, source, state, nodes, limits, closed=closed)


IMPORTER: Final[Importer] = GrokImporter()
