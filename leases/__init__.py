"""Leases: the exclusive, renewable right to run a workstream."""

from __future__ import annotations
