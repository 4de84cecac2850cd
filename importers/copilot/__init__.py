"""Reader of the GitHub Copilot CLI session store (observed with Copilot CLI 1.0.102)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Batch, Importer, Limits, NodeIndex, SessionFacts, Source
from importers.copilot import store


class CopilotImporter:
    """The Copilot CLI reader: `importers.base.Importer`."""

    name: str = store.HARNESS
    versions: tuple[str, ...] = ("1.0",)

    def home(self, env: Mapping[str, str]) -> Path:
        """Return the store home for an environment."""
        return store.home(env)

    def locate(self, home: Path, native_id: str) -> Source:
        """Find a session by id."""
        return store.listing(home).locate(native_id.lower())

    def discover(self, home: Path) -> Iterator[Source]:
        """Yield every session, newest first, with what is odd."""
        return store.listing(home).discover()

    def describe(self, source: Source) -> SessionFacts:
        """Read head and tail of a session, both bounded."""
        from importers.copilot.reader import describe  # msgspec: not before a start

        return describe(source)

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """Yield what is new since `state`."""
        from importers.copilot.reader import CopilotReader
        from importers.lines import read

        return read(CopilotReader, source, state, nodes, limits, closed=closed)


IMPORTER: Final[Importer] = CopilotImporter()
