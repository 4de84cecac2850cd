"""Launch adapter for Grok Build.

Its hooks cannot say anything to the model, and the rules of a session are those of its first turn.
So the text goes before the prompt of a one-shot call, in a file of the run's folder, and is found
again in the person's message. An interactive start has it in its rules, which nothing that is read
records; an interactive resume cannot be told anything. Observed with Grok Build 1.0.41.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from importers.base import Source
from importers.grok.store import HOME
from launcher.harnesses import processes
from launcher.harnesses.argv import Item
from launcher.harnesses.base import (
    About,
    Adapter,
    Channel,
    LaunchRequest,
    Preflight,
    Program,
    Readiness,
)
from launcher.harnesses.frame import Additions, Frame, Plan, no_channel
from launcher.harnesses.grok.args import OPTIONS, OVERRIDE, PROMPT, PROMPT_FILE, RULES

CAPACITY: Final = 60_000
"""Bytes; whole up to there in a prompt and in rules."""
TEXT: Final = "grok/prompt.txt"


class GrokPlan(Plan):
    """A launch of Grok Build."""

    def __init__(self, frame: Frame, request: LaunchRequest) -> None:
        super().__init__(frame, request)
        self.prompt, self.said, self.why = self._prompt()

    def usual(self) -> Channel:
        """Return the prompt of a one-shot call, else the rules of a new session."""
        if self.prompt is not None:
            return Channel(name="prompt", capacity=CAPACITY, proof=True)
        if self.resuming:
            return no_channel(f"{self.why}, and a session keeps the rules of its start")
        if self.call.has(OVERRIDE):
            return no_channel(f"{self.why}, and {OVERRIDE} leaves no room for rules")
        return Channel(name="system_prompt", capacity=CAPACITY, proof=False, why=self.why)

    def carried(self, channel: Channel, text: str) -> Additions:
        """Put the text before the prompt, or behind the person's own rules."""
        if channel.name == "prompt":
            return Additions(files={TEXT: f"{text}\n\n{self.said}".encode()})
        own = self.call.last(RULES)
        return Additions(args=(f"{RULES}={text}" if own is None else f"{RULES}={own}\n\n{text}",))

    def arguments(self, ours: Sequence[str]) -> list[str]:
        """Replace what ours contains: the prompt, or the person's own rules."""
        args = list(self.call.args)
        told = self.request.text is not None
        if told and self.channel.name == "prompt" and self.prompt is not None:
            args[self.prompt.start : self.prompt.stop] = [PROMPT_FILE, str(self.in_run(TEXT))]
        elif any(arg.startswith(f"{RULES}=") for arg in ours):
            for item in reversed(self.call.options(RULES)):
                del args[item.start : item.stop]
        return [*ours, *args]

    def yolo(self) -> list[str]:
        """Return the argument for a launch without approvals."""
        chosen = self.call.has("--always-approve", "--permission-mode")
        return ["--always-approve"] if self.request.yolo and not chosen else []

    def _prompt(self) -> tuple[Item | None, str, str]:
        """Return the option with the prompt, its text, and why there is none to be used."""
        given = self.call.options(PROMPT, PROMPT_FILE)
        value = given[0].value if len(given) == 1 else None
        if value is None:
            why = "it is given as JSON" if self.call.has("--prompt-json") else "none is given"
            return None, "", f"the prompt cannot carry it: {why}"
        item = given[0]
        if sum(other.start == item.start for other in self.call.items) > 1:
            return None, "", f"the prompt cannot carry it: {PROMPT} is one of several short options"
        try:
            said = value if item.name == PROMPT else self._read(value)
            said.encode()
        except (OSError, ValueError):
            return None, "", "the prompt cannot carry it: it is no text"
        if said.lstrip().startswith("/"):
            return None, "", "the prompt cannot carry it: it is a command"
        return item, said, ""

    def _read(self, name: str) -> str:
        folder = self.request.cwd / (self.call.last("--cwd") or "")
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(path)  # a pipe can be read only once
        return path.read_text(encoding="utf-8")


class Grok(Frame):
    """Launch side of Grok Build."""

    name = "grok"
    title = "Grok Build"
    program_names: tuple[str, ...] = ("grok",)
    home_variables: tuple[str, ...] = (HOME,)
    verified: tuple[str, ...] = ("1.0.41",)
    install_hint = "npm install -g @xai-official/grok"
    context_capacity = CAPACITY
    options = OPTIONS

    def planned(self, request: LaunchRequest) -> GrokPlan:
        """Return the launch under construction."""
        return GrokPlan(self, request)

    def holder(self, source: Source, cwd: Path) -> Preflight | None:
        """Say which process has a session open."""
        del cwd
        assert source.path is not None  # noqa: S101  (a session that is present has a file)
        pid = next(_holding(source.path), None)
        if pid is None:
            return None
        return Preflight(Readiness.BUSY, f"the session is open in grok (pid {pid})", pid)

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Say what works, for people."""
        del program
        return {
            "session id": "chosen by us before the start",
            "resume": "by id, from any directory",
            "context on create": "one-shot: before the prompt; interactive: --rules",
            "context on resume": "one-shot: before the prompt; interactive: none",
            "proof of delivery": "one-shot: found again in the person's message; else unverified",
            "one-shot": "-p, --prompt-file, --prompt-json",
            "interactive": "yes",
            "several sessions in one run": "found afterwards, by what changed in the store",
        }

    def about(self) -> About:
        """Return what is settled about Grok Build."""
        from launcher.harnesses.grok.about import ABOUT  # only the documentation asks

        return ABOUT


def _holding(path: Path) -> Iterator[int]:
    """Yield the processes of the program that have a session open, or were started with its id.

    Its log of events stays open for as long as the session does.
    """
    try:
        names = [name for name in os.listdir(processes.PROC) if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return
    wanted, log = path.parent.name.encode(), str(path.resolve().with_name("events.jsonl"))
    for name in names:
        folder = processes.PROC / name
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].rpartition(b"/")[2] != b"grok":
            continue
        if any(wanted in word for word in words) or log in _open_files(folder / "fd"):
            yield int(name)


def _open_files(folder: Path) -> Iterator[str]:
    """Yield the files that a process has open; none of another user's process."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return
    for name in names:
        try:
            yield os.readlink(folder / name)  # noqa: PTH115
        except OSError:
            continue  # closed since


ADAPTER: Final[Adapter] = Grok()
