"""The script's side of a session: what happens, in the store, in the tree, and before the eyes.

Everything that a harness shows on its screen is kept beside the store, so that the simple ways of
handing over get it as a perfect reader of that store would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from bench.handoff.chatter import Chatter
from bench.handoff.natives import Change, Native, Steps, patch_text


class Role(StrEnum):
    """Who a shown text is from."""

    USER = "User"
    ASSISTANT = "Assistant"
    CALL = "Tool call"
    RESULT = "Tool result"


class Shown(NamedTuple):
    """A visible text."""

    role: Role
    text: str


class Talk:
    """One native session while a task is being played."""

    def __init__(self, native: Native, tree: Path, chatter: Chatter, shown: list[Shown]) -> None:
        self.native = native
        self._tree = tree
        self._chatter = chatter
        self._shown = shown
        self.after: Talk | None = None
        """The session that the person began with /clear in this one's place."""

    # --- words ------------------------------------------------------------------------------------

    def asked(self, text: str) -> None:
        """The person writes; a turn begins."""
        self.native.asked(text)
        self._show(Role.USER, text)

    def said(self, text: str) -> None:
        """The agent writes between two tool calls."""
        self.native.said(text)
        self._show(Role.ASSISTANT, text)

    def answered(self, text: str, *, plain: bool = False) -> None:
        """The agent ends its turn, with an explanation before or after the point unless `plain`.

        A question stands at the end, where the person sees it.
        """
        if not plain:
            words = self._chatter
            more = words.prose(words.size(300, 1800))
            last = text.endswith("?") or words.random.random() < 0.5
            text = f"{more}\n\n{text}" if last else f"{text}\n\n{more}"
        self.native.answered(text)
        self._show(Role.ASSISTANT, text)

    # --- tools ------------------------------------------------------------------------------------

    def ran(self, command: str, output: str = "", exit_code: int = 0) -> None:
        """A command runs to its end."""
        self.native.ran(command, output, exit_code)
        self._show(Role.CALL, command)
        failed = f"Exit code {exit_code}\n" if exit_code else ""
        self._show(Role.RESULT, f"{failed}{output}")

    def cut_off(self, command: str) -> None:
        """A command is started and never answered: the program is killed meanwhile."""
        self.native.ran(command, "", None)
        self._show(Role.CALL, command)

    def read(self, path: str, size: int = 1500) -> None:
        """A file is read."""
        content = self._chatter.code(size)
        self.native.read(str(self._tree / path), content)
        self._show(Role.CALL, f"Read {path}")
        self._show(Role.RESULT, content)

    def edited(self, *paths: str, new: str = "") -> None:
        """Files that exist are changed."""
        for path in paths:
            file = self._tree / path
            line = new or f"value = {len(self._shown)}"
            with file.open("a", encoding="utf-8") as opened:
                opened.write(f"{line}\n")
            self._changed(Change(path=str(file), action="edit", old="value = 0", new=line))

    def created(self, *paths: str, content: str = "") -> None:
        """Files are written that were not there."""
        for path in paths:
            file = self._tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            text = content or self._chatter.code(600)
            file.write_text(text, encoding="utf-8")
            self._changed(Change(path=str(file), action="create", new=text))

    def deleted(self, path: str) -> None:
        """A file is removed."""
        (self._tree / path).unlink()
        self._changed(Change(path=str(self._tree / path), action="delete"))

    def planned(self, done: Sequence[str], doing: Sequence[str], later: Sequence[str]) -> None:
        """The agent writes its plan as a whole."""
        steps: Steps = [
            *((text, "completed") for text in done),
            *((text, "in_progress") for text in doing),
            *((text, "pending") for text in later),
        ]
        self.native.planned(steps)
        self._show(Role.CALL, "Plan\n" + "\n".join(f"[{status}] {text}" for text, status in steps))
        self._show(Role.RESULT, "Plan updated")

    def looked_around(self, steps: int, *, largest: int = 6000) -> None:
        """Filler: files are read, things are searched, remarks are made."""
        words = self._chatter
        for _ in range(steps):
            if words.random.random() < 0.35:
                self.said(words.remark())
            size = words.size(900, largest)
            name = words.path().removesuffix(".py").rpartition("/")[2]
            kind = words.random.random()
            if kind < 0.45:
                self.read(f"src/{name}.py", size)
            elif kind < 0.8:
                self.ran(f"rg -n '{name}' src | head -60", words.output(size))
            else:
                self.ran(f"python -m tools.{name} --verbose", words.output(size))

    def log(self, size: int) -> str:
        """Return filler of a tool's output."""
        return self._chatter.output(size)

    def prose(self, size: int) -> str:
        """Return filler of an explanation."""
        return self._chatter.prose(size)

    @contextmanager
    def helped(self, task: str, report: str) -> Iterator[Talk]:
        """A subagent works; what it does is not shown, only its report."""
        child = self.native.child()
        child.asked(task)
        yield Talk(child, self._tree, self._chatter, [])
        child.answered(report)
        self.native.helped(task, child, report)
        self._show(Role.CALL, f"Agent: {task}")
        self._show(Role.RESULT, report)

    # --- ends -------------------------------------------------------------------------------------

    def interrupted(self) -> None:
        """The person stops the turn."""
        self.native.interrupted()

    def limited(self, message: str) -> None:
        """The provider refuses to go on."""
        self.native.limited(message)
        self._show(Role.ASSISTANT, message)

    def cleared(self) -> Talk:
        """The person clears the context. What was shown before is not before anybody's eyes."""
        self._shown.clear()
        self.after = Talk(self.native.cleared(), self._tree, self._chatter, self._shown)
        return self.after

    def compacted(self, summary: str) -> None:
        """The harness replaces its context by a summary, which is no visible message."""
        self.native.compacted(summary)

    def _changed(self, change: Change) -> None:
        self.native.changed(change)
        self._show(Role.CALL, patch_text(change))
        self._show(Role.RESULT, "Success. Updated the following files")

    def _show(self, role: Role, text: str) -> None:
        self._shown.append(Shown(role, text))
