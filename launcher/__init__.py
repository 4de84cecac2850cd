"""Command line, run state machine, child process, briefing, one launch adapter per harness."""

from __future__ import annotations
