"""Launch adapter for OMP (oh-my-pi): observed with 18.2.3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from importers.omp.store import AGENT_DIR, CONFIG_DIR, PROFILES
from launcher.harnesses.base import (
    About,
    Adapter,
    Dialect,
    Form,
    Invocation,
    LaunchRequest,
    Program,
)
from launcher.harnesses.extended import ExtendedFrame, ExtendedPlan
from launcher.harnesses.omp.args import OPTIONS

YOLO: Final = "--auto-approve"


class OmpPlan(ExtendedPlan):
    """A launch of OMP."""

    def yolo(self) -> list[str]:
        """Return the argument for a launch without approvals, none where the person chose."""
        chosen = self.call.has(YOLO, "--approval-mode")
        return [YOLO] if self.request.yolo and not chosen else []


class Omp(ExtendedFrame):
    """Launch side of OMP."""

    name = "omp"
    title = "OMP"
    program_names: tuple[str, ...] = ("omp",)
    home_variables: tuple[str, ...] = (*PROFILES, AGENT_DIR, CONFIG_DIR)
    verified: tuple[str, ...] = ("18.2.3",)
    install_hint = "bun install -g @oh-my-pi/pi-coding-agent"
    dialect = Dialect(delivers="Prompt", sources={"new": "clear"}, answer="@briefing")
    options = OPTIONS

    def planned(self, request: LaunchRequest) -> OmpPlan:
        """Return the launch under construction."""
        return OmpPlan(self, request)

    def home_environment(self, home: Path) -> Mapping[str, str]:
        """Return the variables for a store in `home`: no profile, and that agent folder."""
        return {PROFILES[0]: "", AGENT_DIR: str(home)}

    def store_environment(self, args: Sequence[str]) -> Mapping[str, str]:
        """Return what `--profile` says as a variable."""
        chosen = self.options.take_apart(args).last("--profile")
        return {} if chosen is None else {PROFILES[0]: chosen}

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand OMP's arguments."""
        invocation = super().classify(args)
        mode = self.options.take_apart(args).last("--mode")
        if invocation.form is Form.INTERACTIVE and mode in ("json", "rpc"):
            return invocation._replace(form=Form.ONE_SHOT)
        return invocation

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        del program
        return {
            "session id": "chosen by OMP, told by the extension",
            "resume": "by the session's file, in the directory of the session",
            "context on create": "extension in the run's folder, with the first prompt",
            "context on resume": "the same extension",
            "proof of delivery": "found again in the session as the extension's message",
            "one-shot": "-p, --mode json, --mode rpc",
            "interactive": "yes",
            "several sessions in one run": "followed",
        }

    def about(self) -> About:
        """Return what is settled about OMP."""
        from launcher.harnesses.omp.about import ABOUT  # only the documentation asks

        return ABOUT


ADAPTER: Final[Adapter] = Omp()
