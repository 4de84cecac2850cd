"""The values a handoff is made of, as everybody inside handles them.

The invariant this module protects: one thing has one value. Text is trimmed and NFC, evidence is
without repetition and sorted, covered fields are in reading order, whatever door they came in by;
so equal words are equal values and give equal digests. Values are not valid because they exist:
`handoffs.validation` says what is wrong with a content, with all findings at once. Foreign JSON
comes in through `handoffs.parsing`.

Times are milliseconds since the Unix epoch, UTC.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from enum import StrEnum
from typing import Final, NamedTuple

SCHEMA: Final = "handoff.v1"
"""Tag of the content's shape; part of what is digested."""

MAX_TEXT: Final = 2_000
"""Characters of an objective, a statement and the next action."""
MAX_OMISSION_TEXT: Final = 500
"""Characters of an omission."""
MAX_STATE: Final = 32
MAX_EVIDENCE: Final = 16
MAX_OMISSIONS: Final = 32
MAX_COVERS: Final = MAX_STATE + 1
MAX_REF_ID: Final = 200
MAX_CONTENT_BYTES: Final = 12 * 1024
"""Bytes of a content's canonical JSON."""
DRAFT_BYTES: Final = 4 * 1024
"""What a draft made from the ledger aims at, so that it and the delta fit one briefing."""

NEXT_ACTION: Final = "next_action"
OBJECTIVE: Final = "objective"

_SPACE: Final = " \t\n\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""What is trimmed: white space without the controls, which are refused wherever they stand."""
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_REF_ID: Final = re.compile(r"[!-~]{1,200}")
_COVERED: Final = re.compile(r"state\[(0|[1-9][0-9]{0,3})\]|next_action")


class RefKind(StrEnum):
    """What a reference points at."""

    LEDGER = "ledger"
    CHECK = "check"
    GIT = "git"
    FILE = "file"
    NOTE = "note"
    HANDOFF = "handoff"


class Basis(StrEnum):
    """What a statement rests on; derived from its evidence, never given."""

    CITED = "cited"
    DECLARED = "declared"


class OmissionKind(StrEnum):
    """Why something is not in the content or not known."""

    UNVERIFIED_CHECK = "unverified_check"
    MISSING_HOST_STATE = "missing_host_state"
    EXCLUDED_MATERIAL = "excluded_material"
    UNAVAILABLE_EVIDENCE = "unavailable_evidence"
    UNCAPTURED_CONTEXT = "uncaptured_context"
    DECLARED_ONLY = "declared_only"
    REDACTED = "redacted"
    OTHER = "other"


class Disposition(StrEnum):
    """Whether and how the work goes on."""

    CONTINUABLE = "continuable"
    BLOCKED = "blocked"
    COMPLETE = "complete"


class Reason(StrEnum):
    """Why a handoff was prepared; outside the content."""

    USER_REQUESTED = "user_requested"
    HOST_CONTEXT_BUDGET = "host_context_budget"
    HOST_COMPACTION = "host_compaction"
    CONTEXT_QUALITY = "context_quality"
    DELEGATION = "delegation"
    MANUAL_CHECKPOINT = "manual_checkpoint"


class ActorKind(StrEnum):
    """Who made or received something."""

    HUMAN = "human"
    AGENT = "agent"
    LAUNCHER = "launcher"


class EvidenceState(StrEnum):
    """What became of a cited thing, the better ones first."""

    AVAILABLE = "available"
    CHANGED = "changed"
    MISSING = "missing"
    EXPIRED = "expired"
    UNAUTHORIZED = "unauthorized"
    WRONG_SCOPE = "wrong_scope"


class GitRelation(StrEnum):
    """How the head now stands to the head then."""

    SAME = "same"
    AHEAD = "ahead"
    BEHIND = "behind"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"


class ReceiptStatus(StrEnum):
    """A receiver's answer."""

    ACCEPTED = "accepted"
    NEEDS_CLARIFICATION = "needs_clarification"
    DECLINED = "declined"


class Confirmation(StrEnum):
    """A receiver's answer to one of the three checks before accepting."""

    CONFIRMED = "confirmed"
    UNKNOWN = "unknown"
    FAILED = "failed"


class OutcomeStatus(StrEnum):
    """How accepted work ended. Covered does not mean success."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    BLOCKED = "blocked"
    FAILED = "failed"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class CheckStatus(StrEnum):
    """Result of one check; what did not run keeps saying so."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    TIMED_OUT = "timed_out"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


def normalized(text: str) -> str:
    """Give text trimmed of white space and in NFC. Control characters are left to be refused."""
    return unicodedata.normalize("NFC", text.strip(_SPACE)).strip(_SPACE)


def state_field(index: int) -> str:
    """Return the name of a state statement, counted from 0: `state[2]`."""
    return f"state[{index}]"


def is_digest(value: str) -> bool:
    """Tell whether `value` is `sha256:` and 64 lower-case hex digits."""
    return _DIGEST.fullmatch(value) is not None


def is_ref_id(value: str) -> bool:
    """Tell whether `value` is 1 to 200 printable ASCII characters without space."""
    return _REF_ID.fullmatch(value) is not None


def covered_index(name: str) -> int | None:
    """Return the place of a coverable field: a state's index, MAX_STATE for the next action.

    None: `name` is no field that an omission can cover.
    """
    match = _COVERED.fullmatch(name)
    if match is None:
        return None
    return MAX_STATE if match[1] is None else int(match[1])


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Ref:
    """One citation: what, and the digest of its content when it was cited."""

    kind: RefKind
    id: str
    """Printable ASCII without space: an event id, a check id, a commit, a path, …"""
    digest: str
    """`sha256:` and 64 hex digits."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}@{self.digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One sentence of where the work stands, or the next action."""

    text: str
    evidence: tuple[Ref, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", normalized(self.text))
        object.__setattr__(self, "evidence", tuple(sorted(set(self.evidence))))

    @property
    def basis(self) -> Basis:
        """Cited if there is evidence, else declared."""
        return Basis.CITED if self.evidence else Basis.DECLARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Something that the content does not hold or does not know."""

    kind: OmissionKind
    text: str
    covers: tuple[str, ...] = ()
    """Fields it speaks about: `state[i]`, `next_action`."""
    ref: Ref | None = None
    """Never checked for readability."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", normalized(self.text))
        object.__setattr__(self, "covers", tuple(sorted(set(self.covers), key=_reading_order)))


def _reading_order(name: str) -> tuple[int, str]:
    index = covered_index(name)
    return (10_000 if index is None or name == NEXT_ACTION else index, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is handed off: the part that the digest covers, and nothing about who, when or why."""

    objective: str
    state: tuple[Statement, ...]
    disposition: Disposition
    next_action: Statement | None = None
    blocker: int | None = None
    """Index into `state`, set exactly when blocked."""
    omissions: tuple[Omission, ...] = ()
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", normalized(self.objective))

    @property
    def statements(self) -> tuple[tuple[str, Statement], ...]:
        """Field name and statement, the state in order, then the next action."""
        found = [(state_field(index), item) for index, item in enumerate(self.state)]
        if self.next_action is not None:
            found.append((NEXT_ACTION, self.next_action))
        return tuple(found)

    @property
    def refs(self) -> tuple[Ref, ...]:
        """All evidence of statements, sorted and once each."""
        return tuple(sorted({ref for _, item in self.statements for ref in item.evidence}))


class Base(NamedTuple):
    """The revision that a preparation builds on."""

    revision: int
    content_digest: str


class Author(NamedTuple):
    """Who made a record."""

    kind: ActorKind
    session: str | None = None
    """Native session id."""
    harness: str | None = None
    """Harness entry."""
    owner: str | None = None
    """User name of the person whose machine it was made on."""


class GitSnapshot(NamedTuple):
    """The work tree at a point in time. None: not known."""

    head: str | None
    branch: str | None
    dirty_digest: str | None
    tree: str | None = None
    """Tree of the head commit."""


class HostObservation(NamedTuple):
    """Context pressure as a harness recorded it or a flag gave it; untrusted, never evidence."""

    source: str
    model: str | None = None
    context_tokens: int | None = None
    limit_tokens: int | None = None
    compactions: int | None = None
    age_seconds: int | None = None


class Prepared(NamedTuple):
    """A content bound to a scope and a base, ready to be committed or delivered."""

    prepared_id: str
    scope_id: str
    base: Base | None
    content: Content
    content_digest: str
    reasons: tuple[Reason, ...]
    created_at: int
    author: Author
    observations: tuple[HostObservation, ...] = ()
    statement: str | None = None
    """Who says that the context got bad, and why."""
    objective_digest: str | None = None
    git: GitSnapshot | None = None


class Revision(NamedTuple):
    """A committed handoff; the one with the greatest number is the head."""

    scope_id: str
    revision: int
    content_digest: str
    prepared_id: str
    content: Content
    committed_at: int
    by: Author


class Target(NamedTuple):
    """Exactly what was received. `revision` is None for a prepared record."""

    content_digest: str
    revision: int | None


class LiveChecks(NamedTuple):
    """The three questions a receiver answers before it accepts."""

    live_state: Confirmation = Confirmation.UNKNOWN
    capability: Confirmation = Confirmation.UNKNOWN
    authorization: Confirmation = Confirmation.UNKNOWN

    @property
    def confirmed(self) -> bool:
        """Tell whether all three are confirmed."""
        answers = (self.live_state, self.capability, self.authorization)
        return all(answer is Confirmation.CONFIRMED for answer in answers)


class LiveObserved(NamedTuple):
    """How the live tree stands to the one handed off. `dirty` None: not known."""

    relation: GitRelation
    dirty: bool | None


class EvidenceCheck(NamedTuple):
    """What became of the evidence of one statement."""

    field: str
    state: EvidenceState
    """The worst of its references; available for a declared statement."""
    refs: tuple[tuple[Ref, EvidenceState], ...] = ()


class Receipt(NamedTuple):
    """A receiver's answer to one exact target."""

    receipt_key: str
    target: Target
    receiver: Author
    status: ReceiptStatus
    checks: LiveChecks | None
    """None where the status asks for none."""
    message: str | None
    evidence: tuple[EvidenceCheck, ...]
    live_observed: LiveObserved
    position: int
    """Newest event of the workstream when it was given."""


class OutcomeCheck(NamedTuple):
    """One check as the receiver reports it at the end."""

    name: str
    status: CheckStatus
    ref: Ref | None = None


class Outcome(NamedTuple):
    """How work ended. It covers a transfer only if it names the active accepted receipt."""

    outcome_key: str
    receipt_key: str | None
    status: OutcomeStatus
    summary: str
    checks: tuple[OutcomeCheck, ...] = ()
    remaining: tuple[str, ...] = ()


class Severity(StrEnum):
    """E refuses, W is kept and shown to the person and to the receiver."""

    ERROR = "E"
    WARNING = "W"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, where, and what to do about it."""

    code: str
    field: str
    """`objective`, `state[2]`, `next_action`, `omissions[0]`, … or "" for the whole."""
    detail: str
    fix: str
    severity: Severity = Severity.ERROR
    facts: Mapping[str, object] = attribute(default_factory=dict, compare=False)
    """More for programs, such as `ref` or `expected_base`; JSON values only."""

    def value(self) -> dict[str, object]:
        """Return the finding as it stands in `errors[]` of a JSON answer."""
        return {
            "code": self.code,
            "field": self.field,
            "detail": self.detail,
            "fix": self.fix,
            "severity": self.severity.value,
            **self.facts,
        }


def errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return those that refuse."""
    return tuple(item for item in findings if item.severity is Severity.ERROR)


def warnings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return those that are kept and shown."""
    return tuple(item for item in findings if item.severity is Severity.WARNING)
