"""What a handoff can cite, as a short list for somebody who is asked to write one.

Newest first and bounded: checks with what came of them, changed files, what the person asked, what
others said last, the commit that is checked out. Each entry has the name that evidence is given by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs import imported_checks
from handoffs.models import CheckStatus
from handoffs.store import checks
from ledger import events, facts
from ledger.model import Branch, EventKind, EventRow, Origin, SessionRow, Workstream
from ledger.visible import cut, show

if TYPE_CHECKING:
    from pathlib import Path

    from ledger.store import Store

CHECKS: Final = 8
CHANGES: Final = 16
REQUESTS: Final = 6
LOOKED_AT: Final = 40
"""Newest messages of a kind that are looked at."""
WORDS: Final = 160
"""Bytes of a command, a path or a message."""


class Citable(NamedTuple):
    """One thing that can be cited."""

    name: str
    """e1532, chk_…, or the beginning of a commit."""
    text: str
    """What it is, on one line."""


def citable(
    store: Store, workstream: Workstream, session: SessionRow, worktree: Path, head: str | None
) -> list[Citable]:
    """Return what can be cited; `session` is the one that is asked, `head` the commit."""
    found = [
        *_checks(store, workstream),
        *_changes(store, workstream, worktree),
        *_requests(store, workstream),
        *_others(store, workstream, session),
    ]
    if head is not None:
        found.append(Citable(head[:12], "the commit that is checked out"))
    return found


# --- checks ---------------------------------------------------------------------------------------


class _Ran(NamedTuple):
    name: str
    command: str
    status: CheckStatus
    exit_code: int | None
    at: int
    who: str


def _checks(store: Store, workstream: Workstream) -> Iterator[Citable]:
    last_change = facts.last_change(store, workstream.id) or 0
    recorded = [
        _Ran(row.id, row.command, row.status, row.exit_code, row.ended_at, "handoff check")
        for row in checks.of_workstream(store, workstream)
    ]
    imported = [
        _Ran(f"e{row.seq}", row.command, row.status, row.exit_code, row.at, row.entry or "an agent")
        for row in imported_checks.recent(store, workstream)
        if row.seq  # a subagent's has no event of its own
    ]
    for ran in _newest_of_each([*recorded, *imported]):
        code = "" if ran.exit_code is None else f", exit {ran.exit_code}"
        after = "; files were changed after it" if last_change > ran.at else ""
        text = f"check `{_short(ran.command)}` by {ran.who}: {ran.status}{code}{after}"
        yield Citable(ran.name, text)


def _newest_of_each(found: Iterable[_Ran]) -> list[_Ran]:
    newest: dict[str, _Ran] = {}
    for ran in sorted(found, key=lambda item: (item.at, item.name), reverse=True):
        newest.setdefault(" ".join(ran.command.split()), ran)
    return list(newest.values())[:CHECKS]


# --- changes, words -------------------------------------------------------------------------------


def _changes(store: Store, workstream: Workstream, worktree: Path) -> Iterator[Citable]:
    """Yield the newest change of each file, by the event of the tool that made it."""
    rows = store.all(
        "SELECT f.path, f.action, session.entry, (SELECT max(e.seq) FROM event AS e"
        "  WHERE e.session = f.session AND e.workstream = f.workstream AND e.occurred_at = f.at"
        "  AND e.kind IN ('tool_call', 'tool_result')) AS seq"
        " FROM (SELECT * FROM file_fact WHERE workstream = ? AND action <> 'read' AND agent = ''"
        "  ORDER BY at_seq DESC, at DESC, id DESC LIMIT 200) AS f"
        " JOIN session ON session.id = f.session WHERE session.deliver = 1 ORDER BY f.at DESC",
        workstream.id,
    )
    words = {"create": "created", "delete": "deleted", "edit": "edited"}
    told: dict[str, Citable] = {}
    for row in rows:
        path = row["path"].removeprefix(f"{worktree}/")
        if row["seq"] is not None and path not in told:
            text = f"`{_short(path)}` {words[row['action']]} by {row['entry']}"
            told[path] = Citable(f"e{row['seq']}", text)
    yield from list(told.values())[:CHANGES]


def _requests(store: Store, workstream: Workstream) -> Iterator[Citable]:
    for event in _newest(store, workstream, EventKind.USER_MESSAGE)[:REQUESTS]:
        yield Citable(f"e{event.seq}", f'the person asked: "{_short(event.text)}"')


def _others(store: Store, workstream: Workstream, session: SessionRow) -> Iterator[Citable]:
    """Yield what another session said last, when that was after the one that is asked."""
    for event in _newest(store, workstream, EventKind.ASSISTANT_MESSAGE)[:1]:
        if event.session_id != session.id:
            text = f'{event.harness} said after you: "{_short(event.text)}"'
            yield Citable(f"e{event.seq}", text)


def _newest(store: Store, workstream: Workstream, kind: EventKind) -> list[EventRow]:
    rows = events.log(store, workstream, limit=LOOKED_AT, kinds=(kind,), text_bytes=2 * WORDS)
    return [
        row
        for row in reversed(rows)
        if row.branch is Branch.ACTIVE and row.origin is not Origin.ARCHIVE and row.text.strip()
    ]


def _short(text: str) -> str:
    flat = show(" ".join(text.split()), newline=False)
    return cut(flat, WORDS).text.replace("`", "'").replace('"', "'")
