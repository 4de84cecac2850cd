"""Handoffs: curated statements of where the work stands."""

from __future__ import annotations
