"""Launch adapter for GitHub Copilot CLI.

A run gives Copilot CLI a plugin in its own folder, with hooks. The answer of the one for prompts is
sent with the person's words and kept in the session beside them, so that its delivery can be
proven. Observed with Copilot CLI 1.0.102.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from importers.base import Source
from importers.copilot.store import HOME
from launcher.harnesses import processes, programs
from launcher.harnesses.base import (
    About,
    Adapter,
    Channel,
    Dialect,
    LaunchRequest,
    Preflight,
    Program,
    Readiness,
)
from launcher.harnesses.copilot import plugin
from launcher.harnesses.copilot.args import APPROVALS, OPTIONS
from launcher.harnesses.frame import Additions, Frame, Plan

CAPACITY: Final = 60_000
"""Bytes. Whole up to there; Copilot CLI itself has no limit for a hook's answer that was found."""


class CopilotPlan(Plan):
    """A launch of Copilot CLI."""

    def usual(self) -> Channel:
        """Return the hook: a plugin's run even where the person switched hooks off."""
        return Channel(name="hook", capacity=CAPACITY, proof=True)

    def installed(self) -> Additions:
        """Return the plugin with the hooks."""
        folder = self.in_run(plugin.FOLDER)
        return Additions(
            args=("--plugin-dir", str(folder)), files=plugin.files(self.request.hook_command)
        )

    def yolo(self) -> list[str]:
        """Return the argument for a launch without approvals."""
        return ["--yolo"] if self.request.yolo and not self.call.has(*APPROVALS) else []


class Copilot(Frame):
    """Launch side of Copilot CLI."""

    name = "copilot"
    title = "GitHub Copilot CLI"
    program_names: tuple[str, ...] = ("copilot",)
    home_variables: tuple[str, ...] = (HOME,)
    verified: tuple[str, ...] = ("1.0.102",)
    install_hint = "npm install -g @github/copilot"
    context_capacity = CAPACITY
    dialect = Dialect(
        session="sessionId",
        transcript="transcriptPath",
        events=plugin.EVENTS,
        sources={"new": "startup"},
        delivers="Prompt",
        answer='{"additionalContext": "@briefing"}',
    )
    options = OPTIONS
    package = "@github/copilot"

    def planned(self, request: LaunchRequest) -> CopilotPlan:
        """Return the launch under construction."""
        return CopilotPlan(self, request)

    def resume_args(self, native_id: str) -> list[str]:
        """Return the argument that resumes a session, and fails when there is none."""
        return [f"--resume={native_id}"]

    def native(self, path: Path) -> Path:
        """Return the native program behind npm's script, which would keep signals from it."""
        real = path.resolve()
        if not programs.is_script(real):
            return path
        name = f"@github/copilot-{programs.npm_platform()}"
        for owner in programs.owners(real.parent, name):
            program = owner / "copilot"
            if owner.name == Path(name).name and os.access(program, os.X_OK):
                return program
        return path

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        """Say which process has a session open, as it notes that in the session's folder."""
        del cwd
        path = source.path
        assert path is not None  # noqa: S101  (a session that is present has a file)
        for note in sorted(path.parent.glob("inuse.*.lock")):
            number = note.name.split(".")[1]
            if number.isdigit() and _live(int(number)):
                pid = int(number)
                told = f"the session is open in copilot (pid {pid})"
                return Preflight(Readiness.BUSY, told, pid)
        return None

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        del program
        return {
            "session id": "chosen by us before the start",
            "resume": "by id, in the directory of the session",
            "context on create": "userPromptSubmitted hook of a plugin in the run's folder",
            "context on resume": "the same hook",
            "proof of delivery": "found again in the session beside the person's words",
            "one-shot": "-p",
            "interactive": "yes",
            "several sessions in one run": "followed",
        }

    def about(self) -> About:
        """Return what is settled about Copilot CLI."""
        from launcher.harnesses.copilot.about import ABOUT  # only the documentation asks

        return ABOUT


def _live(pid: int) -> bool:
    """Return whether a process of that number is a copilot; a note of a killed one stays."""
    if processes.start_ticks(pid) is None:
        return False
    return any("copilot" in word for word in processes.describe(pid).command)


ADAPTER: Final[Adapter] = Copilot()
