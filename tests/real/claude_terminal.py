"""Claude Code's terminal interface under `workstream run`, as a person uses it."""

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
class Claude:
    """A Claude Code that is running in a terminal."""

    stage: Stage
    terminal: Terminal
    path: Path
    """Where its run writes the report."""

    def say(self, text: str) -> Request:
        """Type a prompt, wait for the whole turn, return the request that it made."""
        before = len(self.stage.messages.turns)
        self.terminal.submit(text)
        self.stage.messages.wait_turns(before + 1)
        self.terminal.wait_quiet()
        return self.stage.messages.turns[before]

    def command(self, text: str) -> None:
        """Give a slash command and wait until the program has come to rest."""
        self.terminal.submit(text)
        self.terminal.wait_quiet(1)

    def compact(self) -> None:
        """Have the conversation compacted."""
        self.terminal.submit("/compact")
        self.terminal.wait_text("Compacted")
        self.terminal.wait_quiet(0.8)

    def press(self, *keys: str) -> None:
        """Press keys, each once the program has come to rest."""
        for key in keys:
            self.terminal.press(key)
            self.terminal.wait_quiet({"backspace": 0.1, "escape": 0.3}.get(key, 0.8))

    def rewind(self, prompts_back: int, typed: int) -> None:
        """Go back to an earlier prompt (1: the newest) and empty the input line of its text."""
        ups = ["up"] * prompts_back
        self.press("escape", "escape", *ups, "enter", "enter", *["backspace"] * typed)

    def leave(self) -> dict[str, Any]:
        """Quit as a person does, and return the run's report."""
        self.terminal.submit("/exit")
        assert self.terminal.wait_exit() == 0
        return read_report(self.path)


@contextmanager
def claude(
    stage: Stage, *args: str, options: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> Iterator[Claude]:
    """Start `workstream run OPTIONS claude ARGS` in a terminal and wait for its input line."""
    path = stage.next_report()
    command = ("run", *options, *reporting(path), "claude", *args)
    with stage.terminal(*command, env=env) as terminal:
        terminal.wait_text("Claude Code")
        terminal.wait_quiet()
        yield Claude(stage=stage, terminal=terminal, path=path)
