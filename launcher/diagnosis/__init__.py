"""What `doctor` and `harnesses` look at. Everything here only reads."""

from __future__ import annotations
