"""The frame of harnesses that load our extension and keep sessions as a tree of entries.

Context goes in by an extension in the run's folder: the harness asks it when a session starts and
before each prompt, and it asks our hook. What it adds is kept in the session as a message of its
own, so that its delivery can be proven. Such harnesses go on in the directory of the session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from importers.base import Source
from launcher.harnesses.base import Channel, LaunchRequest, Preflight, Readiness
from launcher.harnesses.extension import EXTENSION, extension
from launcher.harnesses.frame import Additions, Frame, Plan

CAPACITY: Final = 60_000
"""Bytes. Whole up to there; the harnesses themselves have no limit."""


class ExtendedPlan(Plan):
    """A launch with our extension."""

    def usual(self) -> Channel:
        """Return the extension: it is loaded also when all others are switched off."""
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
            return self.frame.resume_args(str(path.absolute())), self.request.resume
        return super().selector()

    def notices(self, channel: Channel) -> list[str]:
        """Tell where the harness works, when that is not the person's directory."""
        notices = super().notices(channel)
        there, here = self.request.resume_cwd, self.request.cwd
        if self.request.resume is not None and there is not None and not _same(Path(there), here):
            title = self.frame.title
            notices.append(f"{title} works in {there}, the directory of this session")
        return notices


class ExtendedFrame(Frame):
    """An adapter for such a harness, but for its facts."""

    context_capacity = CAPACITY

    def planned(self, request: LaunchRequest) -> ExtendedPlan:
        """Return the launch under construction."""
        return ExtendedPlan(self, request)

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        """Refuse a session of another work tree: the harness would go on there."""
        where = self.importer.describe(source).cwd
        if where is None or _same(Path(where), cwd):
            return None
        if not Path(where).is_dir():
            return Preflight(Readiness.REFUSED, f"its directory {where} is gone")
        if _tree(Path(where)) != _tree(cwd):
            return Preflight(
                Readiness.REFUSED, f"{self.title} would go on in its directory {where}"
            )
        return None


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


def _tree(directory: Path) -> Path:
    """Return the top of a work tree, the directory itself outside of one."""
    real = directory.resolve()
    return next((top for top in (real, *real.parents) if (top / ".git").exists()), real)
