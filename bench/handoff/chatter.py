"""What fills a session between the facts: remarks, code that is read, output of tools.

Own words instead of the standard library's, so that figures do not depend on the Python version.
None of them is a word that a fact of a task is recognised by.
"""

from __future__ import annotations

from typing import Final

from bench.words import Words

_REMARKS: Final = (
    "Let me look at how this is wired together first.",
    "That module keeps its state in one place; the callers only read it.",
    "I see the entry point now. The helper below it does the real work.",
    "Nothing surprising here. I will look at the callers next.",
    "The types line up with what the interface promises.",
    "This was split in two at some point, and the names still tell the older story.",
    "There is a fallback here that only matters on the slow path.",
    "I want to be sure nobody depends on the order before I go on.",
    "The loop is fine; the boundary condition is what needs care.",
    "Looking at the neighbours for the conventions of this code base.",
    "The docstring is out of date, the behaviour is the one in the body.",
    "Two of the call sites pass a default, the third one does not.",
    "That matches the trace from before.",
    "Checking how errors travel up from here.",
)
_PROSE: Final = (
    "The component reads its configuration once at start and keeps it for its whole life.",
    "Values that may vary are asked for at each use.",
    "Callers hand in a context and get back a plain value.",
    "Nothing in this layer talks to the network or to the disk by itself.",
    "When the buffer is full the oldest entries go first; two dashboards rely on it.",
    "The naming follows the wire format, not the domain, hence the odd attributes.",
    "Retries are bounded and jittered; after the last one the error is passed on.",
    "For historical reasons there are two spellings of the same option.",
    "Both are accepted, only one is shown in the help text.",
    "The scheduler wakes up every few seconds, looks at the queue, and goes back to sleep.",
)
_CODE: Final = tuple(
    f'''class {noun}Source:
    """Gives {noun.lower()} items in order, each once."""

    def __init__(self, root, limit=128):
        self.root = root
        self.limit = limit
        self._seen = set()

    def items(self):
        for entry in sorted(self.root.iterdir()):
            if entry.name.startswith("."):
                continue
            key = ({tag!r}, entry.stat().st_ino)
            if key in self._seen:
                continue
            self._seen.add(key)
            yield entry
            if len(self._seen) >= self.limit:
                return

    def reset(self):
        self._seen.clear()


def {noun.lower()}_by_name(source, name):
    for item in source.items():
        if item.name == name:
            return item
    raise LookupError(f"no {noun.lower()} named {{name}}")
'''
    for noun, tag in (
        ("Widget", "w"), ("Ledger", "l"), ("Packet", "p"), ("Column", "c"), ("Branch", "b"),
        ("Sensor", "s"), ("Parcel", "r"), ("Drawer", "d"),
    )
)  # fmt: skip


class Chatter(Words):
    """A seeded source of filler."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, (list(_PROSE), list(_CODE)))

    def prose(self, size: int) -> str:
        """Return about `size` characters of prose."""
        return self._pieces(self._prose, size, " ")

    def remark(self) -> str:
        """Return what an agent says between two tool calls."""
        return self.random.choice(_REMARKS)

    def output(self, size: int) -> str:
        """Return about `size` characters of a tool's output: lines of a log, or a listing."""
        lines, length = [], 0
        while length < size:
            name = self.random.choice(self._names)
            at = self.random.randrange(99)
            line = self.random.choice(
                (
                    (
                        f"2026-11-30 10:{at % 60:02d}:17,042 INFO  worker.{name} handled"
                        f" {self.hexes(6)} in {at} ms"
                    ),
                    f"src/{name}.py:{at}:    return self._{name}(value, limit={at})",
                    f"-rw-r--r-- 1 dev dev {at * 37:8d} Nov 30 10:17 src/{name}.py",
                    f"DEBUG {name} cache={self.hexes(4)} size={at}",
                )
            )
            lines.append(line)
            length += len(line) + 1
        return "\n".join(lines)
