"""Read-only readers of native session stores."""

from __future__ import annotations
