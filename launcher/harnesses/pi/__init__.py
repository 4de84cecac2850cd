"""Launch adapter for pi.

Observed with pi 1.6.0; what it has in common with its kin is in `launcher.harnesses.extended`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from importers.pi.store import AGENT_DIR, SESSION_DIR
from launcher.harnesses.base import About, Adapter, Dialect, Form, Invocation, Program
from launcher.harnesses.extended import ExtendedFrame
from launcher.harnesses.pi.args import OPTIONS


class Pi(ExtendedFrame):
    """Launch side of pi."""

    name = "pi"
    title = "pi"
    program_names: tuple[str, ...] = ("pi",)
    home_variables: tuple[str, ...] = (SESSION_DIR, AGENT_DIR)
    verified: tuple[str, ...] = ("1.6.0",)
    install_hint = "npm install -g @earendil-works/pi-coding-agent"
    dialect = Dialect(delivers="Prompt", sources={"new": "clear"}, answer="@briefing")
    options = OPTIONS
    package = "@earendil-works/pi-coding-agent"

    def home_environment(self, home: Path) -> Mapping[str, str]:
        """Return the variables for a store in `home`: an agent folder with all that is pi's."""
        return {AGENT_DIR: str(home)}

    def resume_args(self, session: str) -> list[str]:
        """Return the arguments that resume a session, and fail when there is none."""
        return ["--session", session]

    def store_environment(self, args: Sequence[str]) -> Mapping[str, str]:
        """Return what `--session-dir` says as a variable."""
        chosen = self.options.take_apart(args).last("--session-dir")
        return {} if chosen is None else {SESSION_DIR: chosen}

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand pi's arguments."""
        invocation = super().classify(args)
        mode = self.options.take_apart(args).last("--mode")
        if invocation.form is Form.INTERACTIVE and mode in ("json", "rpc"):
            return invocation._replace(form=Form.ONE_SHOT)
        return invocation

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        del program
        return {
            "session id": "chosen by us before the start",
            "resume": "by the session's file, in the directory of the session",
            "context on create": "extension in the run's folder, with the first prompt",
            "context on resume": "the same extension",
            "proof of delivery": "found again in the session as the extension's message",
            "one-shot": "-p, --mode json, --mode rpc",
            "interactive": "yes",
            "several sessions in one run": "followed",
        }

    def about(self) -> About:
        """Return what is settled about pi."""
        from launcher.harnesses.pi.about import ABOUT  # only the documentation asks

        return ABOUT


ADAPTER: Final[Adapter] = Pi()
