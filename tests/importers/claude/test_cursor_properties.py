"""Whatever happens to a file between reads, the ledger ends with what a clean read gives."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from importers.base import Limits
from tests.importers.claude.transcript import Got, Transcript, join, read

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "half", "truncate", "replace", "shuffle"]),
        st.integers(0, 11),
    ),
    min_size=1,
    max_size=12,
)
CHOICES = st.lists(st.integers(0, 5), min_size=6, max_size=40)


def _session(choices: list[int]) -> list[bytes]:
    """Return the lines of a session with tools, rewinds, queued messages and last prompts."""
    t = Transcript()
    prompts = [t.user("begin")]
    for number, choice in enumerate(choices):
        if choice == 0:
            prompts.append(t.user(f"prompt {number}"))
        elif choice == 1:
            t.assistant(f"answer {number}")
        elif choice == 2:
            t.call(f"c{number}", "Bash", {"command": "x"}, id=f"m{number}")
            t.result(f"c{number}", f"out {number}", {"stdout": "x"})
        elif choice == 3:
            prompts.append(t.user(f"rewound {number}", parent=prompts[number % len(prompts)]))
        elif choice == 4:
            t.leaf(prompts[number % len(prompts)])
        else:
            t.attachment("queued_command", prompt=f"queued {number}", commandMode="prompt")
    return t.lines


def _apply(step: tuple[str, int], lines: list[bytes], shown: list[bytes], path: Path) -> None:
    """Change the file as a harness, an editor or a crash may do."""
    kind, amount = step
    if kind in ("append", "half"):
        fresh = lines[len(shown) : len(shown) + amount]
        shown += fresh
        data = join(shown)
        rest = lines[len(shown) : len(shown) + 1]
        if kind == "half" and rest:
            data += rest[0][: len(rest[0]) // 2]
        path.write_bytes(data)
        return
    if kind == "truncate":
        del shown[max(0, len(shown) - amount) :]
    if kind == "shuffle" and shown:
        shown.append(shown[amount % len(shown)])  # the same record once more
        lines.insert(len(shown) - 1, shown[-1])
    temporary = path.with_suffix(".new")
    temporary.write_bytes(join(shown))
    if kind == "truncate":
        path.write_bytes(temporary.read_bytes())
        temporary.unlink()
    else:
        temporary.replace(path)


def _kept(got: Got) -> dict[Any, Any]:
    return {key: (event.text, event.call_id) for key, event in got.events().items()}


@settings(max_examples=50, deadline=None)
@given(choices=CHOICES, steps=STEPS, batch=st.sampled_from([1, 3, 2000]))
def test_the_final_set_is_that_of_a_clean_read(
    choices: list[int], steps: list[tuple[str, int]], batch: int
) -> None:
    lines = _session(choices)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "projects" / "-p"
        folder.mkdir(parents=True)
        path = folder / "s.jsonl"
        shown: list[bytes] = []
        path.write_bytes(b"")
        got = Got()
        for step in steps:
            _apply(step, lines, shown, path)
            got.read(path, limits=Limits(batch_items=batch))
        shown = list(lines)
        path.write_bytes(join(shown))
        got.read(path, limits=Limits(batch_items=batch))
        assert got.read(path) == []
        got.read(path, closed=True)
        clean = read(path, closed=True)
        assert _kept(got) == _kept(clean)
        json.loads(got.state or "")


@settings(max_examples=50, deadline=None)
@given(choices=CHOICES, sizes=st.lists(st.integers(1, 6), min_size=1, max_size=20))
def test_reading_in_pieces_gives_the_same_order_and_the_same_live_branch(
    choices: list[int], sizes: list[int]
) -> None:
    lines = _session(choices)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "projects" / "-p"
        folder.mkdir(parents=True)
        path = folder / "s.jsonl"
        got = Got()
        at = 0
        for size in sizes:
            at += size
            path.write_bytes(join(lines[:at]))
            got.read(path)
        path.write_bytes(join(lines))
        got.read(path)
        clean = read(path)
        assert got.active() == clean.active()
        assert {key: (e.depth, e.record, e.block) for key, e in got.events().items()} == {
            key: (e.depth, e.record, e.block) for key, e in clean.events().items()
        }
        states = {uuid: node.active for uuid, node in got.nodes.nodes.items()}
        assert states == {uuid: node.active for uuid, node in clean.nodes.nodes.items()}
