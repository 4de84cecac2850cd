"""Full-text search over the log.

Any words give hits or a sentence that says why not; a query never reaches the FTS parser raw. Of
the matching events the newest few thousand are ranked; older ones follow, newest first. Superseded
events are found and labelled as such, forgotten ones never.

Tool output is indexed with head and tail only, messages to 64 Ki characters (`ledger/index.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ledger import events, fold, index
from ledger.index import index_rows, rebuild, remove, searchable
from ledger.model import EventKind, EventRow

if TYPE_CHECKING:
    from typing import Any

    from ledger.store import Store

__all__ = ["Hit", "Results", "index_rows", "rebuild", "remove", "search", "searchable"]

RANKED: Final = 2000
"""Newest matching events that are ranked."""
COUNTED: Final = 10_000
"""Totals are exact up to this number."""
SCANNED: Final = 50_000
"""Newest matching events that a filter by harness or time looks at."""
HIT_BYTES: Final = 16 * 1024
"""Bytes of an event's text that a hit carries unless asked otherwise."""

_RANK_BYTES: Final = 2048
_SNIPPET_REACH: Final = 1500
_WEIGHT: Final[dict[str, float]] = {EventKind.USER_MESSAGE: 1.6, EventKind.ASSISTANT_MESSAGE: 1.3}
_K1: Final = 1.2
_B: Final = 0.5
_USUAL_LENGTH: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """An event that matches."""

    event: EventRow
    """`event.branch` says when it was superseded."""
    snippet: str
    """One line of its text around the first match; control characters are left in."""
    score: float
    """Higher is better; 0 beyond the ranked ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A page of hits."""

    hits: tuple[Hit, ...]
    total: int
    """Matching events, at least."""
    total_capped: bool
    """There may be more than `total`."""
    problem: str | None
    """A sentence for the person: why nothing was searched, or what the answer leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A query in SQL terms."""

    match: str
    terms: list[str]
    filters: str
    """SQL over `event`, or empty."""
    values: tuple[Any, ...]


def search(
    store: Store,
    query: str,
    *,
    workstreams: Collection[int] | None = None,
    kinds: Collection[str] | None = None,
    harness: str | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
    offset: int = 0,
    text_bytes: int | None = HIT_BYTES,
) -> Results:
    """Return a page of the events that match, best first.

    `workstreams` None means all of them, `harness` an entry or an adapter name; `since` is
    inclusive, `until` exclusive, both compared with the source's own time. Raises StateError when
    the index is damaged: it says how to build it again.
    """
    asked = fold.query(query)
    if asked.match is None or (workstreams is not None and not workstreams):
        return Results(hits=(), total=0, total_capped=False, problem=asked.problem)
    if index.state(store) == "damaged":
        raise index.damaged(store, "found when it was last written")
    filters, values = _filters(harness, since, until)
    wanted = _Wanted(
        match=_match(asked.match, workstreams, kinds),
        terms=asked.terms,
        filters=filters,
        values=values,
    )
    try:
        return _run(store, wanted, limit, offset, text_bytes, asked.problem)
    except sqlite3.DatabaseError as error:
        if index.is_damage(error):
            raise index.damaged(store, str(error)) from error
        from ledger.store import translated

        with translated(store.path):
            raise


def _run(
    store: Store,
    wanted: _Wanted,
    limit: int,
    offset: int,
    text_bytes: int | None,
    problem: str | None,
) -> Results:
    want = max(RANKED, offset + limit)
    found = _candidates(store, wanted, want)
    total, capped = _total(store, wanted, len(found), want)
    ranked = _ranked(store, found[:RANKED], wanted.terms) if limit else []
    order = [*ranked, *((eid, 0.0) for eid in found[RANKED:])]
    page = order[offset : offset + limit]
    rows = events.by_eids(store, [eid for eid, _ in page], text_bytes=text_bytes)
    hits = tuple(
        Hit(event=rows[eid], snippet=_snippet(rows[eid], wanted.terms), score=round(score, 4))
        for eid, score in page
        if eid in rows
    )
    share = index.rebuilt_share(store)
    if share is not None:
        unfinished = (
            f"the search index is being built again ({share:.0%} so far), older or newer events"
            f" may be missing; if no rebuild is running: {index.REBUILD_HINT}"
        )
        problem = unfinished if problem is None else f"{problem}; {unfinished}"
    return Results(hits=hits, total=total, total_capped=capped, problem=problem)


def _match(text: str, workstreams: Collection[int] | None, kinds: Collection[str] | None) -> str:
    """Return the FTS expression: narrowed inside the index by workstream and kind."""
    parts = []
    if workstreams is not None:
        tokens = " OR ".join(index.workstream_token(number) for number in sorted(workstreams))
        parts.append(f"scope : ({tokens})")
    if kinds:
        parts.append(f"scope : ({' OR '.join(sorted(index.kind_token(kind) for kind in kinds))})")
    parts.append(f"text : ({text})")
    return " AND ".join(parts)


def _filters(
    harness: str | None, since: int | None, until: int | None
) -> tuple[str, tuple[Any, ...]]:
    parts: list[str] = []
    values: list[Any] = []
    if harness is not None:
        parts.append(
            "(event.harness = ? OR event.session IN (SELECT id FROM session WHERE harness = ?))"
        )
        values += [harness, harness]
    if since is not None:
        parts.append("event.occurred_at >= ?")
        values.append(since)
    if until is not None:
        parts.append("event.occurred_at < ?")
        values.append(until)
    return " AND ".join(parts), tuple(values)


def _matching(limit: int) -> str:
    return f"SELECT rowid AS eid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT {limit}"


def _candidates(store: Store, wanted: _Wanted, want: int) -> list[int]:
    """Return the newest matching row ids, newest first."""
    if not wanted.filters:
        rows = store.db.execute(_matching(want), (wanted.match,))
    else:
        rows = store.db.execute(
            f"SELECT found.eid FROM ({_matching(SCANNED)}) AS found"
            f" CROSS JOIN event ON event.eid = found.eid WHERE {wanted.filters} LIMIT {want}",
            (wanted.match, *wanted.values),
        )
    return [int(row[0]) for row in rows]


def _total(store: Store, wanted: _Wanted, found: int, want: int) -> tuple[int, bool]:
    """Return how many match, and whether there may be more."""
    if not wanted.filters:
        if found < want:
            return found, False
        most = max(COUNTED, want)
        row = store.db.execute(
            f"SELECT count(*) FROM ({_matching(most + 1)})", (wanted.match,)
        ).fetchone()
        return min(int(row[0]), most), int(row[0]) > most
    row = store.db.execute(
        f"SELECT count(*), coalesce(sum({wanted.filters}), 0) FROM ({_matching(SCANNED)}) AS found"
        " CROSS JOIN event ON event.eid = found.eid",
        (*wanted.values, wanted.match),
    ).fetchone()
    most = max(COUNTED, want)
    return min(int(row[1]), most), int(row[0]) >= SCANNED or int(row[1]) > most


# --- ranking --------------------------------------------------------------------------------------


def _ranked(store: Store, eids: Sequence[int], terms: list[str]) -> list[tuple[int, float]]:
    """Return the ids with scores, best first, newer ones first among equals.

    Term frequency with saturation and length as in BM25, measured on the beginning of the text.
    FTS5's own bm25() counts every row that a phrase has in the whole index first, which alone
    costs more than a search may take.
    """
    scored = []
    for start in range(0, len(eids), 500):
        chunk = eids[start : start + 500]
        rows = store.db.execute(
            f"SELECT event.eid, kind, codec, coalesce(substr(data, 1, {_RANK_BYTES}), x'') AS data,"
            f" bytes, substr(tool_input, 1, {_RANK_BYTES})"
            " FROM event JOIN body ON body.eid = event.eid"
            f" WHERE event.eid IN ({','.join('?' * len(chunk))})",
            chunk,
        )
        for eid, kind, codec, data, length, tool_input in rows:
            text = events.head(codec, data, _RANK_BYTES)
            if tool_input is not None:
                text = f"{text}\n{tool_input}"
            scored.append((-_score(kind, fold.fold(text), length, terms), -eid))
    scored.sort()
    return [(-eid, -score) for score, eid in scored]


def _score(kind: str, folded: str, length: int, terms: list[str]) -> float:
    norm = _K1 * (1 - _B + _B * min(length, 65536) / _USUAL_LENGTH)
    score = 0.0
    for term in terms:
        # At least one: the index has the word, perhaps beyond the part that is looked at.
        times = folded.count(term) or 1
        score += times * (_K1 + 1) / (times + norm)
    if len(terms) > 1 and " ".join(terms) in folded:
        score += 1.0
    return score * _WEIGHT.get(kind, 1.0)


# --- snippets -------------------------------------------------------------------------------------


def _snippet(event: EventRow, terms: list[str]) -> str:
    text = event.text
    if event.tool_input is not None and not _holds(text, terms):
        text = f"{event.tool or ''} {event.tool_input}"
    return fold.snippet(_near(text, terms), terms)


def _holds(text: str, terms: list[str]) -> bool:
    folded = fold.fold(text)
    return any(term in folded for term in terms)


def _near(text: str, terms: list[str]) -> str:
    """Return the part of a long text in which the first match is, for `fold.snippet` to cut."""
    if len(text) <= 2 * _SNIPPET_REACH:
        return text
    lowered = text.lower()
    words = [*terms, *(term.split()[0] for term in terms)]
    places = [at for at in (lowered.find(word) for word in words) if at >= 0]
    at = min(places, default=0)
    start = max(0, at - _SNIPPET_REACH)
    return text[start : at + _SNIPPET_REACH]
