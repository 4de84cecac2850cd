"""Codex's terminal interface under `workstream run`, as a person uses it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.real.stage import read_report, reporting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.server import Request
    from tests.lab.terminal import Terminal
    from tests.real.stage import Stage


@dataclass(slots=True, kw_only=True)
class Codex:
    """A Codex that is running in a terminal."""

    stage: Stage
    terminal: Terminal
    path: Path
    """Where its run writes the report."""

    def say(self, text: str) -> Request:
        """Type a prompt, wait for the whole turn, return the request that it made."""
        before = len(self.stage.responses.turns)
        self.terminal.submit(text)
        self.stage.responses.wait_turns(before + 1)
        self.terminal.wait_quiet()
        return self.stage.responses.turns[before]

    def command(self, text: str) -> None:
        """Give a slash command and wait until the program has come to rest."""
        self.terminal.submit(text)
        self.terminal.wait_quiet(0.8)

    def new(self, command: str = "/new") -> None:
        """Begin a new conversation in the same work tree; Codex asks where."""
        self.terminal.submit(command)
        self.terminal.wait_text("Use current Git worktree")
        self.terminal.wait_quiet()
        self.terminal.press("enter")
        self.terminal.wait_quiet(0.8)

    def press(self, *keys: str) -> None:
        """Press keys, each once the program has come to rest."""
        for key in keys:
            self.terminal.press(key)
            self.terminal.wait_quiet({"backspace": 0.1, "escape": 0.3}.get(key, 0.8))

    def rewind(self, prompts_back: int, typed: int) -> None:
        """Go back to an earlier prompt (1: the newest) and empty the input line of its text."""
        lefts = ["left"] * (prompts_back - 1)
        self.press("escape", "escape", *lefts, "enter", *["backspace"] * typed)

    def leave(self) -> dict[str, Any]:
        """Quit as a person does, and return the run's report."""
        self.terminal.submit("/exit")
        assert self.terminal.wait_exit() == 0
        return read_report(self.path)


@contextmanager
def codex(
    stage: Stage, *args: str, options: tuple[str, ...] = (), name: tuple[str, ...] = ("codex",)
) -> Iterator[Codex]:
    """Start `workstream run OPTIONS codex ARGS` in a terminal and wait for its input line.

    `name` () leaves the harness to us.
    """
    path = stage.next_report()
    with stage.terminal("run", *options, *reporting(path), *name, *args) as terminal:
        terminal.wait_text("/")  # the input line's hints, or a screen that asks something
        terminal.wait_quiet()
        yield Codex(stage=stage, terminal=terminal, path=path)
