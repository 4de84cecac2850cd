"""Launch adapter for pi.

Context goes in by an extension in the run's folder: pi asks it when a session starts and before
each prompt, and it asks our hook. What it adds is kept in the session as a message of its own, so
that its delivery can be proven. Observed with pi 1.6.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from importers.base import Source
from importers.pi.store import AGENT_DIR, SESSION_DIR
from launcher.harnesses.base import (
    About,
    Adapter,
    Channel,
    Dialect,
    Form,
    Invocation,
    LaunchRequest,
    Preflight,
    Program,
    Readiness,
)
from launcher.harnesses.extension import EXTENSION, extension
from launcher.harnesses.frame import Additions, Frame, Plan
from launcher.harnesses.pi.args import OPTIONS

CAPACITY: Final = 60_000
"""Bytes. Whole up to there; pi itself has no limit."""


class PiPlan(Plan):
    """A launch of pi."""

    def usual(self) -> Channel:
        """Return the extension: pi loads it also when all others are switched off."""
        return Channel(name="hook", capacity=CAPACITY, proof=True)

    def installed(self) -> Additions:
        """Return the extension."""
        return Additions(
            args=("--extension", str(self.in_run(EXTENSION))),
            files={EXTENSION: extension(self.request.hook_command)},
        )

    def selector(self) -> tuple[list[str], str | None]:
        """Resume by the file: an id counts only in the directory of its session."""
        path = self.request.resume_path
        if self.request.resume is not None and path is not None:
            return ["--session", str(path.absolute())], self.request.resume
        return super().selector()

    def notices(self, channel: Channel) -> list[str]:
        """Tell where pi works, when that is not the person's directory."""
        notices = super().notices(channel)
        there, here = self.request.resume_cwd, self.request.cwd
        if self.request.resume is not None and there is not None and not _same(Path(there), here):
            notices.append(f"pi works in {there}, the directory of this session")
        return notices


class Pi(Frame):
    """Launch side of pi."""

    name = "pi"
    title = "pi"
    program_names: tuple[str, ...] = ("pi",)
    home_variables: tuple[str, ...] = (SESSION_DIR, AGENT_DIR)
    verified: tuple[str, ...] = ("1.6.0",)
    install_hint = "npm install -g @earendil-works/pi-coding-agent"
    context_capacity = CAPACITY
    dialect = Dialect(delivers="Prompt", sources={"new": "clear"}, answer="@briefing")
    options = OPTIONS
    package = "@earendil-works/pi-coding-agent"

    def planned(self, request: LaunchRequest) -> PiPlan:
        """Return the launch under construction."""
        return PiPlan(self, request)

    def home_environment(self, home: Path) -> Mapping[str, str]:
        """Return the variables for a store in `home`: an agent folder with all that is pi's."""
        return {AGENT_DIR: str(home)}

    def resume_args(self, native_id: str) -> list[str]:
        """Return the arguments that resume a session, and fail when there is none."""
        return ["--session", native_id]

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

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        """Refuse a session of another work tree: pi would go on there."""
        where = self.importer.describe(source).cwd
        if where is None or _same(Path(where), cwd):
            return None
        if not Path(where).is_dir():
            return Preflight(Readiness.REFUSED, f"its directory {where} is gone")
        if _tree(Path(where)) != _tree(cwd):
            return Preflight(Readiness.REFUSED, f"pi would go on in its directory {where}")
        return None

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


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _tree(directory: Path) -> Path:
    """Return the top of a work tree, the directory itself outside of one."""
    real = directory.resolve()
    return next((top for top in (real, *real.parents) if (top / ".git").exists()), real)


ADAPTER: Final[Adapter] = Pi()
