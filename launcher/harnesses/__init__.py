"""Launch adapters: argv, environment and context channel of each harness."""

from __future__ import annotations
