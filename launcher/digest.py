"""From events to lines: what a receiver is told about each visible thing, one line or a few.

Tool calls are described, never replayable: name, what, outcome. Reads collapse to a count, repeats
to "failed ×3, then passed"; failed commands keep their last lines. Deterministic: the same events
give the same lines.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from handoffs.pastes import collapse_pastes
from ledger.model import EventKind, EventRow
from ledger.visible import cut, show

USER_BYTES: Final = 500
ASSISTANT_BYTES: Final = 900
COMMAND_BYTES: Final = 160
FAILURE_BYTES: Final = 400
FAILURE_LINES: Final = 6
ANCHOR_BYTES: Final = 140

_READ_TOOLS: Final = frozenset(
    {"read", "grep", "glob", "ls", "notebookread", "websearch", "web_search", "webfetch", "view"}
)
_READ_COMMAND: Final = re.compile(
    r"^(?:cat|ls|head|tail|less|sed -n|rg|grep|find|fd|tree|wc|stat|file|pwd|which"
    r"|git (?:status|log|diff|show|branch|blame|ls-files|rev-parse))(?:\s|$)"
)
_ANCHOR: Final = re.compile(r"[`/\\.:_#\d]|[a-z][A-Z]|\w+\(\)|[\"']")


class Share(StrEnum):
    """Part of the delta's budget that a line belongs to."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Line(NamedTuple):
    """What is told about one or several events."""

    seqs: tuple[int, ...]
    """Events it stands for."""
    share: Share
    place: int
    """Position in conversation order."""
    head: str
    """Reference, time, harness, label."""
    text: str
    last_turn: bool = False
    unfinished: bool = False
    """Belongs to a last turn that did not complete: kept whole, from its end."""

    @property
    def rendered(self) -> str:
        """The line as printed: head, text, continuation lines indented so that none looks ours."""
        return f"{self.head} {self.text}".replace("\n", "\n    ")

    @property
    def cost(self) -> int:
        """Bytes it takes, with prefixes of its lines and the final newline."""
        rendered = self.rendered
        return len(rendered.encode()) + 3 * (rendered.count("\n") + 1)

    def shortened(self, limit: int) -> Line | None:
        """Return the line cut so that it costs at most `limit`; None when nothing useful is left.

        Tails are kept of an unfinished turn, head and tail of anything else.
        """
        room = limit - (self.cost - len(self.text.encode()))
        if room < 120:
            return None
        kept = cut(self.text, room, keep="tail" if self.unfinished else "both").text
        shorter = self._replace(text=kept)
        return shorter if shorter.cost <= limit else None


def digest(
    given: Sequence[EventRow], *, unfinished: bool, worktree: str = ""
) -> tuple[list[Line], list[int]]:
    """Return the lines for events in conversation order, and the seqs that need no words.

    `unfinished`: the turn of the newest event did not complete. Paths of tool calls below
    `worktree` are told relative to it.
    """
    events = [_seen_from(event, worktree) for event in given]
    results = _results(events)
    last = _last_turn(events)
    lines: list[Line] = []
    silent: list[int] = []
    used: set[int] = set()
    answered: EventRow | None = None
    for place, event in enumerate(events):
        mine = last is not None and (event.session, event.turn) == last
        line: Line | None = None
        match event.kind:
            case EventKind.USER_MESSAGE:
                line = _user(event, place, answered)
            case EventKind.ASSISTANT_MESSAGE:
                answered = event
                line = _assistant(event, place)
            case EventKind.TOOL_CALL:
                result = results.get((event.session, event.call_id))
                if result is not None:
                    used.add(result.seq)
                line = _tool(event, result, place)
            case EventKind.TOOL_RESULT if event.seq not in used:
                line = _tool(event, event, place)
            case EventKind.ANNOTATION:
                line = _annotation(event, place)
            case EventKind.COMPACTION | EventKind.CHECKPOINT:
                silent.append(event.seq)
        if line is not None:
            lines.append(line._replace(last_turn=mine, unfinished=mine and unfinished))
    return _collapse(lines, {e.seq: e for e in events}), silent


def _seen_from(event: EventRow, worktree: str) -> EventRow:
    """Return a tool call with its paths as they are called in the work tree."""
    if event.kind is not EventKind.TOOL_CALL or not worktree.strip("/"):
        return event
    below = worktree.rstrip("/") + "/"
    given = event.tool_input
    return event._replace(
        text=event.text.replace(below, ""),
        tool_input=None if given is None else given.replace(below, ""),
    )


def _results(events: Iterable[EventRow]) -> dict[tuple[str | None, str | None], EventRow]:
    """Results by call; a real one wins over the interruption that was recorded before it."""
    found: dict[tuple[str | None, str | None], EventRow] = {}
    for event in events:
        if event.kind is EventKind.TOOL_RESULT and event.call_id is not None:
            key = (event.session, event.call_id)
            if key not in found or found[key].status == "interrupted":
                found[key] = event
    return found


def _last_turn(events: Sequence[EventRow]) -> tuple[str | None, str | None] | None:
    for event in reversed(events):
        if event.session is not None and event.turn is not None:
            return (event.session, event.turn)
    return None


def _head(event: EventRow, label: str, what: str) -> str:
    moment = datetime.datetime.fromtimestamp(event.occurred_at / 1000, datetime.UTC)
    return f"e{event.seq} {moment:%m-%d %H:%M} {event.harness or '-'} [{label}] {what}"


def _user(event: EventRow, place: int, answered: EventRow | None) -> Line:
    text = cut(collapse_pastes(show(event.text).strip()), USER_BYTES, keep="both").text
    if len(event.text) < 120 and not _ANCHOR.search(event.text) and answered is not None:
        said = cut(show(answered.text).strip(), ANCHOR_BYTES, keep="tail").text
        text += f"\n(in answer to: {said})"
    return Line(
        seqs=(event.seq,),
        share=Share.USER,
        place=place,
        head=_head(event, "person", "asked:"),
        text=text,
    )


def _assistant(event: EventRow, place: int) -> Line:
    return Line(
        seqs=(event.seq,),
        share=Share.ASSISTANT,
        place=place,
        head=_head(event, "agent", "said:"),
        text=show(event.text).strip(),
    )


def _annotation(event: EventRow, place: int) -> Line:
    text = cut(show(event.text, newline=False), 200, keep="head").text
    return Line(
        seqs=(event.seq,),
        share=Share.TOOL,
        place=place,
        head=_head(event, "fact", "not imported:"),
        text=text,
    )


def _tool(call: EventRow, result: EventRow | None, place: int) -> Line:
    seqs = (call.seq,) if result is None or result.seq == call.seq else (call.seq, result.seq)
    text = f"{_what(call)} → {outcome(result)}"
    if result is not None and _failed(result):
        output = show(result.text).rstrip().splitlines()[-FAILURE_LINES:]
        kept = cut("\n".join(output), FAILURE_BYTES, keep="tail").text
        text += f"\n{kept}" if kept else ""
    return Line(
        seqs=seqs, share=Share.TOOL, place=place, head=_head(call, "fact", "tool:"), text=text
    )


def _what(call: EventRow) -> str:
    text = call.text if call.kind is EventKind.TOOL_CALL else ""
    first = next((line for line in show(text).splitlines() if line.strip()), "")
    if not first:
        first = _path(call) or ""
    more = " …" if text.strip().count("\n") else ""
    name = call.tool or "tool"
    return f"{name}: {cut(first, COMMAND_BYTES, keep='head').text}{more}" if first else name


def _path(call: EventRow) -> str | None:
    try:
        values = json.loads(call.tool_input or "null")
    except ValueError:
        return None
    if not isinstance(values, dict):
        return None
    for key in ("file_path", "path", "notebook_path", "pattern", "query", "url"):
        value = values.get(key)
        if isinstance(value, str):
            return show(value, newline=False)
    return None


def outcome(result: EventRow | None) -> str:
    """Return how a tool call ended, in a word or two."""
    if result is None:
        return "no result recorded"
    if result.exit_code is not None:
        return "passed (exit 0)" if result.exit_code == 0 else f"failed (exit {result.exit_code})"
    return {"ok": "done", "error": "failed", "interrupted": "interrupted, result unknown"}.get(
        result.status or "", "result unknown"
    )


def _failed(result: EventRow) -> bool:
    return bool(result.exit_code) or result.status == "error"


# --- collapsing ---------------------------------------------------------------------------------


def _collapse(lines: list[Line], events: dict[int, EventRow]) -> list[Line]:
    return _merge_reads(_merge_repeats(lines, events), events)


def _merge_repeats(lines: list[Line], events: dict[int, EventRow]) -> list[Line]:
    """Put repeats of one command of one session into its last occurrence."""
    groups: dict[tuple[str | None, str], list[int]] = {}
    for index, line in enumerate(lines):
        call = events[line.seqs[0]]
        if line.share is Share.TOOL and call.kind is EventKind.TOOL_CALL and call.text.strip():
            groups.setdefault((call.session, f"{call.tool}\0{call.text}"), []).append(index)
    drop: set[int] = set()
    changed = dict(enumerate(lines))
    for indexes in groups.values():
        if len(indexes) < 2:
            continue
        final = lines[indexes[-1]]
        call = events[final.seqs[0]]
        outcomes = [_outcome_word(lines[i]) for i in indexes]
        rest = final.text.split("\n", 1)[1:]
        text = "\n".join([f"{_what(call)} → {_runs(outcomes)}", *rest])
        seqs = tuple(seq for i in indexes for seq in lines[i].seqs)
        changed[indexes[-1]] = final._replace(text=text, seqs=seqs)
        drop.update(indexes[:-1])
    return [changed[i] for i in range(len(lines)) if i not in drop]


def _outcome_word(line: Line) -> str:
    return line.text.split("\n", 1)[0].rsplit(" → ", 1)[-1].split(" (", 1)[0]


def _runs(outcomes: Sequence[str]) -> str:
    parts: list[tuple[str, int]] = []
    for word in outcomes:
        if parts and parts[-1][0] == word:
            parts[-1] = (word, parts[-1][1] + 1)
        else:
            parts.append((word, 1))
    return ", then ".join(word if count == 1 else f"{word} ×{count}" for word, count in parts)


def _merge_reads(lines: list[Line], events: dict[int, EventRow]) -> list[Line]:
    """Put neighbouring successful reads into one line."""
    merged: list[Line] = []
    group: list[Line] = []

    def close() -> None:
        if len(group) > 1:
            names = [_subject(events[line.seqs[0]]) for line in group]
            unique = list(dict.fromkeys(name for name in names if name))
            shown = ", ".join(unique[:4]) + (f" and {len(unique) - 4} more" if unique[4:] else "")
            merged.append(
                (group[-1])._replace(
                    seqs=tuple(seq for line in group for seq in line.seqs),
                    text=f"{len(group)} reads: {shown}",
                )
            )
        else:
            merged.extend(group)
        group.clear()

    for line in lines:
        call = events[line.seqs[0]]
        if _is_read(line, call):
            if group and events[group[-1].seqs[0]].session != call.session:
                close()
            group.append(line)
        else:
            close()
            merged.append(line)
    close()
    return merged


def _is_read(line: Line, call: EventRow) -> bool:
    if line.share is not Share.TOOL or call.kind is not EventKind.TOOL_CALL:
        return False
    if _outcome_word(line) not in ("done", "passed", "result unknown", "no result recorded"):
        return False
    name = (call.tool or "").lower()
    return name in _READ_TOOLS or bool(_READ_COMMAND.match(call.text.strip()))


def _subject(call: EventRow) -> str:
    subject = _path(call) or next(iter(show(call.text).strip().splitlines()), "")
    return cut(subject, 48, keep="tail").text if subject else ""
