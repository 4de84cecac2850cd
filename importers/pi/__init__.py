"""Reader of the pi session store (observed with pi 1.6.0)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Batch, Importer, Limits, NodeIndex, SessionFacts, Source
from importers.pi import store


class PiImporter:
    """The pi reader: `importers.base.Importer`."""

    name: str = store.HARNESS
    versions: tuple[str, ...] = ("format 2", "format 3")

    def home(self, env: Mapping[str, str]) -> Path:
        """Return the store home for an environment."""
        return store.home(env)

    def locate(self, home: Path, native_id: str) -> Source:
        """Find a session by id in any folder of the store."""
        return store.locate(home, native_id)

    def discover(self, home: Path) -> Iterator[Source]:
        """Yield every session, newest first, then odd entries."""
        return store.discover(home)

    def describe(self, source: Source) -> SessionFacts:
        """Read head and tail of a session, both bounded."""
        from importers.entries import describe  # msgspec: not before a start

        return describe(source)

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """Yield what is new since `state`."""
        from importers.lines import read
        from importers.pi.reader import PiReader

        return read(PiReader, source, state, nodes, limits, closed=closed)


IMPORTER: Final[Importer] = PiImporter()
