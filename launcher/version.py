"""The version of this program; pyproject.toml carries the same (a test compares them)."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
