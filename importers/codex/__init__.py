"""Reader of Codex's native store (`$CODEX_HOME`, default `~/.codex`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from importers.codex.importer import CodexImporter

if TYPE_CHECKING:
    from importers.base import Importer

IMPORTER: Importer = CodexImporter()
"""What the registry hands out."""
