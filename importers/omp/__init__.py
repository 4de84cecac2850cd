"""Reader of the OMP session store (observed with OMP 18.2.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Batch, Importer, Limits, NodeIndex, SessionFacts, Source
from importers.omp import store


class OmpImporter:
    """The OMP reader: `importers.base.Importer`."""

    name: str = store.HARNESS
    versions: tuple[str, ...] = ("format 3",)

    def home(self, env: Mapping[str, str]) -> Path:
        """Return the store home for an environment."""
        return store.home(env)

    def locate(self, home: Path, native_id: str) -> Source:
        """Find a session by id in any folder of the store."""
        return store.listing(home).locate(native_id)

    def discover(self, home: Path) -> Iterator[Source]:
        """Yield every session, newest first, then odd entries."""
        return store.listing(home).discover()

    def describe(self, source: Source) -> SessionFacts:
        """Read head and tail of a session, both bounded."""
        from importers.entries import describe  # msgspec: not before a start

        return describe(source)

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """Yield what is new since `state`."""
        from importers.lines import read
        from importers.omp.reader import OmpReader

        return read(OmpReader, source, state, nodes, limits, closed=closed)


IMPORTER: Final[Importer] = OmpImporter()
