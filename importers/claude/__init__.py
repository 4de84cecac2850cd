"""Reader of the Claude Code session store."""

from __future__ import annotations
