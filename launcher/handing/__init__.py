"""The verbs of `workstream handoff`, one module for each group of them."""

from __future__ import annotations
