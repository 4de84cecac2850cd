"""Launch adapter for Qwen Code.

Context goes in by a UserPromptSubmit hook: hooks stand in the run's copy of the system's default
settings, which a variable names. What the hook answers is kept in the session beside the person's
words, so that its delivery can be proven. Where hooks are off, the text is appended to the system
prompt, which nothing records. Observed with Qwen Code 0.24.4.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from importers.base import Source
from importers.qwen.store import HOME, RUNTIME_DIR, folder_of
from launcher.harnesses import processes
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
    Select,
)
from launcher.harnesses.frame import Additions, Frame, Plan
from launcher.harnesses.qwen import settings
from launcher.harnesses.qwen.args import INTERACTIVE, OPTIONS, UNRECORDED

CAPACITY: Final = 60_000
"""Bytes. Whole up to there; Qwen Code itself has no limit for a hook's answer."""
_PROMPT: Final = "--append-system-prompt"


class QwenPlan(Plan):
    """A launch of Qwen Code."""

    def __init__(self, frame: Frame, request: LaunchRequest) -> None:
        super().__init__(frame, request)
        self.hooks_off = settings.hooks_off(self.call, request.env, request.cwd)

    def usual(self) -> Channel:
        """Return the hook, else the system prompt."""
        if self.hooks_off is None:
            return Channel(name="hook", capacity=CAPACITY, proof=True)
        return Channel(name="system_prompt", capacity=CAPACITY, proof=False, why=self.hooks_off)

    def installed(self) -> Additions:
        """Return the hooks, in a copy of the system's default settings."""
        if self.hooks_off is not None:
            return Additions()
        try:
            made = settings.defaults(self.request.env, self.request.hook_command)
        except settings.Unreadable:
            return Additions()  # its hooks have a form that Qwen Code does not take either
        return Additions(
            env={settings.VARIABLE: str(self.in_run(settings.COPY))},
            files={settings.COPY: made.text, settings.ORIGIN: str(made.origin).encode()},
        )

    def carried(self, channel: Channel, text: str) -> Additions:
        """Append the text to the system prompt, behind the person's own addition."""
        del channel
        own = self.call.last(_PROMPT)
        return Additions(
            args=(f"{_PROMPT}={text}" if own is None else f"{_PROMPT}={own}\n\n{text}",)
        )

    def arguments(self, ours: Sequence[str]) -> list[str]:
        """Leave out the person's own addition to the system prompt where ours contains it."""
        args = list(self.call.args)
        if any(arg.startswith(f"{_PROMPT}=") for arg in ours):
            for item in reversed(self.call.options(_PROMPT)):
                del args[item.start : item.stop]
        return [*ours, *args]

    def yolo(self) -> list[str]:
        """Return the argument for a launch without approvals."""
        chosen = self.call.has("--yolo", "--approval-mode")
        return ["--yolo"] if self.request.yolo and not chosen else []

    def notices(self, channel: Channel) -> list[str]:
        """Tell where the settings keep a session from being written."""
        why = settings.unrecorded(self.request.env, self.request.cwd)
        told = why is not None and not self.call.has("--chat-recording", UNRECORDED)
        return [*super().notices(channel), *([f"qwen keeps no session: {why}"] if told else [])]


class Qwen(Frame):
    """Launch side of Qwen Code."""

    name = "qwen"
    title = "Qwen Code"
    program_names: tuple[str, ...] = ("qwen",)
    home_variables: tuple[str, ...] = (RUNTIME_DIR, HOME)
    verified: tuple[str, ...] = ("0.24.4",)
    install_hint = "npm install -g @qwen-code/qwen-code"
    context_capacity = CAPACITY
    dialect = Dialect(events={"UserPromptSubmit": "Prompt"}, delivers="Prompt")
    options = OPTIONS
    package = "@qwen-code/qwen-code"

    def planned(self, request: LaunchRequest) -> QwenPlan:
        """Return the launch under construction."""
        return QwenPlan(self, request)

    def home_environment(self, home: Path) -> Mapping[str, str]:
        """Return the variables for a folder with all that is Qwen Code's, sessions included."""
        return {HOME: str(home), RUNTIME_DIR: str(home)}

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand Qwen Code's arguments: words alone are the prompt of a one-shot call."""
        invocation = super().classify(args)
        call = self.options.take_apart(args)
        recording = call.options("--chat-recording")
        if recording and recording[-1].value == "false":
            why = {"why": "--chat-recording=false keeps no session"}
            invocation = invocation._replace(select=Select.DETACHED, native_id=None, facts=why)
        alone = call.words() or call.last("--input-format") == "stream-json"
        if invocation.form is Form.INTERACTIVE and alone and not call.has(INTERACTIVE):
            return invocation._replace(form=Form.ONE_SHOT)
        return invocation

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        """Say who has a session open; refuse one of another directory, where qwen finds none."""
        path = source.path
        assert path is not None  # noqa: S101  (a session that is present has a file)
        live = _live(path)
        if live is not None:
            return live
        if path.parent.parent.name == folder_of(cwd.resolve()):
            return None
        where = self.importer.describe(source).cwd
        return Preflight(
            Readiness.REFUSED, f"qwen resumes it only in its own directory {where or path.parent}"
        )

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        del program
        return {
            "session id": "chosen by us before the start",
            "resume": "by id, in the directory of the session",
            "context on create": "UserPromptSubmit hook of settings in the run's folder",
            "context on resume": "the same hook",
            "proof of delivery": "found again in the session beside the person's words",
            "one-shot": "words, -p",
            "interactive": "yes",
            "several sessions in one run": "followed",
        }

    def about(self) -> About:
        """Return what is settled about Qwen Code."""
        from launcher.harnesses.qwen.about import ABOUT  # only the documentation asks

        return ABOUT


def _live(path: Path) -> Preflight | None:
    """Return the process that has a session open.

    A terminal notes itself beside the session. A call without one is known by its arguments: what
    a person starts only starts the program itself, which goes on when the starter is killed.
    """
    pid = _noted(path)
    if pid is None:
        pid = next(_mentioning(path.stem), None)
    if pid is None:
        return None
    return Preflight(Readiness.BUSY, f"the session is open in qwen (pid {pid})", pid)


def _noted(path: Path) -> int | None:
    try:
        note = json.loads(path.with_suffix(".runtime.json").read_bytes())
    except (OSError, ValueError):
        return None
    pid = note.get("pid") if isinstance(note, dict) else None
    if not isinstance(pid, int) or note.get("hostname") != socket.gethostname():
        return None
    alive = processes.start_ticks(pid) is not None
    named = any("qwen" in word for word in processes.describe(pid).command)
    return pid if alive and named else None  # else dead, or another one got its number


def _mentioning(native_id: str) -> Iterator[int]:
    """Yield the processes of the package that were started with a session's id."""
    try:
        names = [name for name in os.listdir(processes.PROC) if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return
    wanted = native_id.encode()
    for name in names:
        try:
            words = (processes.PROC / name / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(wanted in word for word in words) and any(b"@qwen-code/" in word for word in words):
            yield int(name)


ADAPTER: Final[Adapter] = Qwen()
