"""Reader of the Qwen Code session store (observed with Qwen Code 0.24.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from importers.base import Batch, Importer, Limits, NodeIndex, SessionFacts, Source
from importers.qwen import store


class QwenImporter:
    """The Qwen Code reader: `importers.base.Importer`."""

    name: str = store.HARNESS
    versions: tuple[str, ...] = ("0.24",)

    def home(self, env: Mapping[str, str]) -> Path:
        """Return the store home for an environment."""
        return store.home(env)

    def locate(self, home: Path, native_id: str) -> Source:
        """Find a session by id in any directory's folder."""
        return store.locate(home, native_id)

    def discover(self, home: Path) -> Iterator[Source]:
        """Yield every session, newest first, then archived ones, each with odd entries."""
        return store.discover(home)

    def describe(self, source: Source) -> SessionFacts:
        """Read head and tail of a session, both bounded."""
        from importers.qwen.reader import describe  # msgspec: not before a start

        return describe(source)

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """Yield what is new since `state`."""
        from importers.lines import read
        from importers.qwen.reader import QwenReader

        return read(QwenReader, source, state, nodes, limits, closed=closed)


IMPORTER: Final[Importer] = QwenImporter()
