"""Reader of the Codex session store."""

from __future__ import annotations
