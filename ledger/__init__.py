"""The append-only record of visible events, and everything that is stored beside it."""

from __future__ import annotations
