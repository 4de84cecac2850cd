"""Subagent transcripts: which files they touched, which commands they ran; never their messages.

Since Claude Code 2.x they lie in `<session>/subagents/agent-<id>.jsonl`; older versions kept them
in the session's own file, marked `isSidechain`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from importers import jsonl
from importers.base import AgentCheck, FileFact, Item, Limits, Loss, StoreUnreadable
from importers.claude import calls, results
from importers.claude.content import json_value, result_text
from importers.claude.records import (
    ENVELOPE,
    MESSAGE,
    REQUEST,
    Block,
    Envelope,
    Message,
)
from importers.claude.state import AgentState
from importers.times import milliseconds

OPEN_CALLS: Final = 64
PREFIX: Final = "agent-"
FOLDER: Final = "subagents"
IN_FILE: Final = "sidechain"
"""Agent id where an old version recorded none."""


class Sweep(NamedTuple):
    """What one step through a subagent's transcript gave."""

    items: list[Item]
    records: int
    read_bytes: int


def transcripts(side_folder: Path) -> list[Path]:
    """Return the subagent transcripts beside a session, by name; regular files only."""
    found = []
    try:
        with os.scandir(side_folder / FOLDER) as entries:
            for entry in entries:
                wanted = entry.name.startswith(PREFIX) and entry.name.endswith(".jsonl")
                if wanted and stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
                    found.append(Path(entry.path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreUnreadable(f"{side_folder / FOLDER}: {error.strerror}") from error
    return sorted(found)


def sweep(path: Path, states: dict[str, AgentState], limits: Limits) -> Iterator[Sweep]:
    """Read what is new in one transcript, in bounded steps; `states` moves along with each."""
    agent = path.stem.removeprefix(PREFIX)
    known = states.get(agent)
    position = None if known is None else jsonl.Position.load(known.position)
    name = f"{FOLDER}/{path.name}"
    with jsonl.Tail(path, position, max_line=limits.max_line) as tail:
        open_calls = dict(known.calls) if known is not None and tail.resumed else {}
        items: list[Item] = []
        records, begin = 0, tail.offset
        for line in tail.lines():
            if not jsonl.blank(line.data) or line.length > limits.max_line:
                records += 1
                items += _line_items(name, line, agent, open_calls, limits)
            full = tail.offset - begin >= limits.batch_bytes or records >= limits.batch_items
            if full or len(items) >= limits.batch_items:
                states[agent] = AgentState(tail.position.dump(), dict(open_calls))
                yield Sweep(items, records, tail.offset - begin)
                items, records, begin = [], 0, tail.offset
        if records or tail.offset > begin or known is None:
            states[agent] = AgentState(tail.position.dump(), dict(open_calls))
            yield Sweep(items, records, tail.offset - begin)


def _line_items(
    name: str, line: jsonl.Line, agent: str, open_calls: dict[str, list[str]], limits: Limits
) -> list[Item]:
    if line.length > limits.max_line:
        return [jsonl.oversized(name, line, limits.max_line)]
    if line.data.startswith(REQUEST):
        return []
    try:
        record = jsonl.decode(line.data, ENVELOPE)
        if record.type not in ("user", "assistant"):
            return []
        message = jsonl.decode(record.message, MESSAGE)
    except jsonl.Undecodable as error:
        loss: Loss = jsonl.broken(name, line, error)
        return [loss]
    return list(facts(record, message, agent, open_calls))


def facts(
    record: Envelope, message: Message, agent: str, open_calls: dict[str, list[str]]
) -> Iterator[FileFact | AgentCheck]:
    """Yield what one record of a subagent says about files and commands."""
    if isinstance(message.content, str):
        return
    at = milliseconds(record.timestamp) or 0
    for block in message.content or ():
        if block.type == "tool_use" and block.id:
            tool = block.name or ""
            open_calls[block.id] = [tool, calls.detail(tool, json_value(block.input))]
            while len(open_calls) > OPEN_CALLS:
                del open_calls[next(iter(open_calls))]
        elif block.type == "tool_result" and block.tool_use_id:
            call = open_calls.pop(block.tool_use_id, None)
            if call is not None:
                yield from _outcome(record, block, call, agent, at)


def _outcome(
    record: Envelope, block: Block, call: list[str], agent: str, at: int
) -> Iterator[FileFact | AgentCheck]:
    tool, detail = call
    told = results.told(record.tool_use_result)
    ended = results.outcome(
        result_text(block.content),
        told,
        is_error=bool(block.is_error),
        denial=record.tool_denial_kind,
    )
    if tool in calls.SHELLS and detail and not ended.refused:
        yield AgentCheck(
            agent=agent,
            call_id=block.tool_use_id or "",
            command=detail,
            exit_code=ended.exit_code,
            at=at,
        )
    elif ended.status == "ok":
        fact = calls.file_fact(tool, detail, told.type, at, agent)
        if fact is not None:
            yield fact
