"""The report on handoffs: how dense, which are stale, what was never received, who has none.

Costs the same however long a workstream is: what could be many is counted up to a limit, and the
newest are named.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from handoffs.canonical import content_bytes
from handoffs.models import ActorKind, Basis, Disposition
from handoffs.store import drafts, leading, reading, states
from handoffs.store.reading import Found, Origin
from handoffs.store.states import Coverage, Transfer
from ledger import facts, workstreams
from ledger.facts import Work
from ledger.model import Workstream

if TYPE_CHECKING:
    from ledger.store import Store

STALE_EVENTS: Final = 200
"""Events after a handoff from which on it is behind the work."""
STALE_MS: Final = 7 * 86_400_000
"""Age from which on a handoff is behind any work that came after it."""
IDLE_MS: Final = 14 * 86_400_000
"""Time without an event after which work that is not complete has been left lying."""
MANY_COMPACTIONS: Final = 2
NEWEST: Final = 10
"""Revisions that are looked at for their receipt, sessions that are named."""


class Stale(StrEnum):
    """Why a workstream is called stale."""

    NO_HANDOFF = "no_handoff"
    """Something happened, and there is no handoff at all."""
    BEHIND = "behind"
    """The leading handoff does not tell of much that came after it."""
    IDLE = "idle"
    """Its work is not complete, and nothing has happened for long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How handoffs stand in one workstream."""

    workstream: Workstream
    revisions: int
    prepared: int
    """Open ones by a person or an agent; those counted are the newest 50."""
    drafted: bool
    """The rollover policy prepared a draft that nobody took up."""
    leading: str | None
    """Name of the leading handoff."""
    origin: str | None
    statements: int
    cited: int
    """Statements with evidence."""
    omissions: int
    bytes: int
    age_ms: int | None
    events_since: int
    stale: tuple[Stale, ...]
    idle_ms: int | None
    """Time since the newest event."""
    work: Work
    """What was done, to set the number of handoffs against."""
    never_received: tuple[str, ...]
    """Of what somebody made, the newest: those that no session was ever shown."""
    awaiting: tuple[str, ...]
    """Of the newest revisions: accepted, without an outcome."""
    unsaved: tuple[tuple[str, int], ...]
    """(native session, compactions) of those compacted often since the last handoff by somebody."""
    damaged: bool
    """The head cannot be read: `doctor` says why."""

    @property
    def handoffs(self) -> int:
        """Handoffs that somebody made, committed or ready to be."""
        return self.revisions + self.prepared

    @property
    def per_session(self) -> float | None:
        """Handoffs by somebody for each session; None without a session."""
        return None if not self.work.sessions else round(self.handoffs / self.work.sessions, 2)

    @property
    def per_100_turns(self) -> float | None:
        """Handoffs by somebody for a hundred turns; None without a turn, or with uncounted ones."""
        if not self.work.turns or self.work.turns_capped:
            return None
        return round(100 * self.handoffs / self.work.turns, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A page of the report."""

    entries: tuple[Entry, ...]
    left_out: int
    """Workstreams after those of the page."""


def report(store: Store, repository: str | None, *, limit: int = 50, skip: int = 0) -> Report:
    """Return one entry for each workstream of a repository, or of all; a page of them."""
    rows = workstreams.list_all(store, repository)
    page = rows[skip : skip + limit]
    return Report(
        entries=tuple(_entry(store, row) for row in page),
        left_out=max(0, len(rows) - skip - limit),
    )


def _entry(store: Store, workstream: Workstream) -> Entry:
    lead = leading.leading(store, workstream)
    newest = reading.revisions(store, workstream, limit=NEWEST)
    open_ones = reading.open_prepared(store, workstream)
    head = reading.head_numbers(store, workstream)
    by_hand = [item for item in open_ones if item.author.kind is not ActorKind.LAUNCHER]
    now = store.clock.now_ms()
    work = facts.work(store, workstream.id)
    brought = [lead] if lead is not None and lead.origin is Origin.TRANSFER else []
    never, awaiting = _unreceived(store, workstream, [*brought, *by_hand[:NEWEST], *newest])
    statements = () if lead is None else lead.content.statements
    return Entry(
        workstream=workstream,
        revisions=0 if head is None else head[0],
        prepared=len(by_hand),
        drafted=drafts.kept(store, workstream) is not None,
        leading=None if lead is None else lead.name,
        origin=None if lead is None else str(lead.origin),
        statements=len(statements),
        cited=sum(1 for _, item in statements if item.basis is Basis.CITED),
        omissions=0 if lead is None else len(lead.content.omissions),
        bytes=0 if lead is None else len(content_bytes(lead.content)),
        age_ms=None if lead is None else now - lead.created_at,
        events_since=workstream.head_seq - (0 if lead is None else lead.at_seq),
        stale=_stale(workstream, lead, work, now),
        idle_ms=None if work.last_at is None else now - work.last_at,
        work=work,
        never_received=never,
        awaiting=awaiting,
        unsaved=_unsaved(store, workstream),
        damaged=head is not None and head[0] not in [item.revision for item in newest],
    )


def _unreceived(
    store: Store, workstream: Workstream, made: list[Found]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return those that nobody was shown, and those that wait for an outcome."""
    never, awaiting = [], []
    for item in made:
        standing = states.standing(store, workstream, item.content_digest)
        if standing.first_seen is None and standing.transfer is Transfer.OPEN:
            never.append(item.name)
        if standing.coverage is Coverage.AWAITING_OUTCOME:
            awaiting.append(item.name)
    return tuple(never), tuple(awaiting)


def _stale(workstream: Workstream, lead: Found | None, work: Work, now: int) -> tuple[Stale, ...]:
    if workstream.head_seq == 0:
        return ()
    found = []
    if lead is None:
        found.append(Stale.NO_HANDOFF)
    else:
        since = workstream.head_seq - lead.at_seq
        if since > STALE_EVENTS or (since > 0 and now - lead.created_at > STALE_MS):
            found.append(Stale.BEHIND)
    complete = lead is not None and lead.content.disposition is Disposition.COMPLETE
    if not complete and work.last_at is not None and now - work.last_at > IDLE_MS:
        found.append(Stale.IDLE)
    return tuple(found)


def _unsaved(store: Store, workstream: Workstream) -> tuple[tuple[str, int], ...]:
    made = leading.by_somebody(store, workstream)
    return tuple(
        facts.compacted_since(
            store,
            workstream.id,
            0 if made is None else made.at_seq,
            least=MANY_COMPACTIONS,
            limit=NEWEST,
        )
    )
