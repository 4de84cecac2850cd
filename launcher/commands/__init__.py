"""One module per command; the group in `launcher/cli.py` imports them lazily."""

from __future__ import annotations
