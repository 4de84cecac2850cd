"""What a launch adapter is: the contract between the run and one harness's command line.

An adapter knows argv, environment, context channel and live-process probes of its harness and
nothing of the ledger. It never writes to a user's file; all that it needs on disk goes into the
run's folder, as bytes it returns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, runtime_checkable

_NONE: Final[Mapping[str, str]] = MappingProxyType({})

ANSWER: Final = '{"hookSpecificOutput":{"hookEventName":"@event","additionalContext":"@briefing"}}'
"""Answer of a hook in the form that most harnesses share."""


class Form(StrEnum):
    """What a native argument list asks for."""

    INTERACTIVE = "interactive"
    ONE_SHOT = "one_shot"
    UTILITY = "utility"
    """`--help`, `--version`, login, mcp, …: passed straight through, nothing recorded."""


class Select(StrEnum):
    """How a native argument list chooses a session by itself."""

    NONE = "none"
    CREATE = "create"
    """A new session under an id that the user gave."""
    RESUME = "resume"
    FORK = "fork"
    NAMED = "named"
    """The session of an id that the user gave: resumed when it exists, created when it does not."""
    PICK = "pick"
    """The harness will choose: picker, `--last`, `--continue`, a name. Known only afterwards."""
    DETACHED = "detached"
    """The user asked for a session that leaves no trace: nothing can be imported."""


class Invocation(NamedTuple):
    """Native arguments, understood by a small table; `args` is what the user typed, in order."""

    form: Form
    args: tuple[str, ...]
    select: Select = Select.NONE
    native_id: str | None = None
    """Session named by the user, for CREATE, RESUME, NAMED and FORK."""
    facts: Mapping[str, str] = _NONE
    """What the adapter noticed and needs again in `plan` (positions, settings, reasons)."""


class Program(NamedTuple):
    """An executable that was found and asked for its version."""

    path: Path
    """Native binary, after resolving the package's own shim."""
    version: str | None
    features: frozenset[str] = frozenset()
    """Adapter's own names: no_daemon, hooks, …"""
    problems: tuple[str, ...] = ()
    """Sentences for the person: too old, never verified, …"""
    complete: bool = True
    """False: not every question was answered in time, so this must not be remembered."""


class Readiness(StrEnum):
    """Whether a linked session can be resumed right now."""

    READY = "ready"
    MISSING = "missing"
    ARCHIVED = "archived"
    BUSY = "busy"
    """Locked or open in another process; `detail` names it."""
    UNREADABLE = "unreadable"
    REFUSED = "refused"
    """The harness would refuse it (other provider, needed directory gone); `detail` says why."""


class Preflight(NamedTuple):
    """Answer of `preflight`."""

    readiness: Readiness
    detail: str | None = None
    """One sentence: who holds it, why not, what to do."""
    pid: int | None = None


class Channel(NamedTuple):
    """How context reaches the harness's model in this run, on this call.

    Create and resume may have different ones: the request says which it is.
    """

    name: str
    """`hook`: our hook prints it, started by the harness's own hooks or by an extension in the
    run's folder; it chooses the text by session and says so in the event file. Every other channel
    carries one text, composed for the session that is asked for: `instructions` (a file or text
    named by a variable or a setting), `system_prompt` (an argument), `file` (read on the command
    line), `mcp`, `prompt` (put before the person's own words), `none`."""
    capacity: int
    """Most UTF-8 bytes that surely arrive whole (adapters state stricter native units in bytes)."""
    proof: bool
    """Whether the text is found again in the native store when it was delivered, so that its
    reader yields a `Sighting`. Without proof a delivery stays `unverified` for good."""
    why: str | None = None
    """Why it is not the preferred channel: "hooks are switched off in …"."""


class LaunchRequest(NamedTuple):
    """Everything an adapter may use to build a launch."""

    invocation: Invocation
    program: Program
    entry_args: tuple[str, ...]
    """Default arguments of the harness entry (from the user's configuration)."""
    env: Mapping[str, str]
    """The child's environment before the adapter's changes."""
    cwd: Path
    """The person's directory; the child starts there."""
    home: Path
    """Store home."""
    run_dir: Path
    """Private folder of the run; absolute."""
    hook_command: tuple[str, ...]
    """argv of our hook (isolated interpreter, script in run_dir); quote it for the harness."""
    resume: str | None
    """Native session to resume, None: create a new one."""
    resume_path: Path | None
    """Its file, when known."""
    resume_cwd: str | None
    """Directory it was last used in."""
    yolo: bool
    briefing: bool
    """False: no context channel at all, but the event hook stays."""
    text: str | None = None
    """The briefing with its delivery id filled in, for every channel but `hook`, whose text the
    hook chooses itself. Composed after `channel` said how much fits; only `plan` reads it."""


class Launch(NamedTuple):
    """A launch, ready for exec."""

    argv: tuple[str, ...]
    env_set: Mapping[str, str]
    env_remove: tuple[str, ...]
    files: Mapping[str, bytes]
    """Files to create 0600 below run_dir before the start, by relative path."""
    native_id: str | None
    """Session id that will be used, when it is known before the start."""
    channel: Channel
    notices: tuple[str, ...] = ()
    """Sentences for the start line: what differs from what the person may expect."""


class Dialect(NamedTuple):
    """How a harness talks to our hook, as data: `launcher/hook.py` knows no harness.

    The hook reads one JSON object from stdin and prints at most one answer. The defaults are those
    of the form that most of them share.
    """

    event: str = "hook_event_name"
    """Member that names the event. Where none does, the hook is called with `--event NAME`."""
    session: str = "session_id"
    """Member with the native session id."""
    transcript: str = "transcript_path"
    events: Mapping[str, str] = _NONE
    """The harness's event name -> ours (`SessionStart`, `SessionEnd`, `Prompt`); names that are
    not there stay as they are."""
    sources: Mapping[str, str] = _NONE
    """Its word for why a session starts -> ours (startup, resume, fork, clear, compact)."""
    delivers: str = "SessionStart"
    """Our name of the event on which a briefing is printed. On `Prompt` it is printed with the
    first prompt of each session in a run."""
    answer: str = ANSWER
    """What is printed: JSON in which the text "@briefing" stands for the briefing and "@event" for
    the harness's name of the event; or just @briefing: the briefing as plain text."""

    def document(self) -> dict[str, object]:
        """Return it as JSON-ready values, as `hook.json` holds it."""
        return {**self._asdict(), "events": dict(self.events), "sources": dict(self.sources)}


class About(NamedTuple):
    """What a harness's adapter and importer settle, in sentences: `docs/harnesses.md`.

    Only what was seen with the verified versions; anything that was merely read says so.
    """

    create: str
    """Arguments that start a new session."""
    resume: str
    session_id: str
    """Chosen or discovered, and how a run knows which sessions it touched."""
    store: str
    """Where sessions are kept, with every variable that moves them."""
    format: str
    """Format and versions."""
    identity: str
    """What identifies a record and orders it; what forks copy."""
    rewrites: str
    """What of the store is rewritten in place, written twice, compressed or deleted."""
    visible: str
    """What counts as said and done."""
    hidden: str
    """What is injected or reasoned, and dropped."""
    compaction: str
    tools: str
    """Calls and outcomes."""
    turns: str
    """Ends of turns, usage, limits."""
    context_create: str
    """Channel with its capacity on a new session."""
    context_resume: str
    proof: str
    """Whether the text lands in the store, and how its delivery is proven there."""
    first_run: str
    """Screens that are left to the person."""
    one_shot: str
    """Noninteractive forms."""
    yolo: str
    utilities: str
    """Calls that pass straight through."""
    exit_codes: str
    """Of unknown sessions and dead providers."""
    dangers: str
    """Known dangers, each with the defence."""


CAPABILITIES: Final = (
    "session id",
    "resume",
    "context on create",
    "context on resume",
    "proof of delivery",
    "one-shot",
    "interactive",
    "several sessions in one run",
)
"""What `Adapter.capabilities` answers, each with one sentence that also says why something does
not work."""


class Adapter(Protocol):
    """Launch side of one harness."""

    name: str
    title: str
    """Its name for people."""
    program_names: tuple[str, ...]
    """Executable names on PATH, best first."""
    home_variables: tuple[str, ...]
    """Environment variables that decide where the store is, the strongest first; a blank one counts
    as unset. May be empty: then only the person's home directory decides."""
    verified: tuple[str, ...]
    """Versions driven for real by the suite."""
    install_hint: str
    """One sentence: how a person gets it."""
    context_capacity: int
    """Bytes that the usual channel takes whole."""
    context_proof: bool
    """Whether deliveries over the usual channel can be proven."""
    dialect: Dialect
    """How the harness's hooks, or our extension in it, talk to our hook."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that people type."""

    @property
    def parent_variables(self) -> tuple[str, ...]:
        """Variables that this harness sets for its own children; no child of ours inherits them."""

    def home_environment(self, home: Path) -> Mapping[str, str]:
        """Return the variables that put the store into a folder: `home` of a harness entry."""

    def store_environment(self, args: Sequence[str]) -> Mapping[str, str]:
        """Return what arguments say about where the store is, as variables that say the same.

        They are set for the child, so that launcher, importer and harness agree.
        """

    def classify(self, args: Sequence[str]) -> Invocation:
        """Understand native arguments; never raises, an unknown option is left alone."""

    def inspect(self, path: Path, env: Mapping[str, str]) -> Program:
        """Resolve a shim to the native binary and ask for the version.

        Bounded to 5 s; the caller caches the answer by path, size and mtime.
        """

    def channel(self, request: LaunchRequest) -> Channel:
        """Return the context channel this launch will have; reads settings, changes nothing."""

    def preflight(
        self,
        home: Path,
        native_id: str,
        path: Path | None,
        cwd: Path,
        *,
        args: Sequence[str] = (),
    ) -> Preflight:
        """Check a session in its native store and its live processes, without touching them.

        `args` are the arguments it would be resumed with (the entry's, then the user's): a
        provider chosen there can make the harness refuse the session.
        """

    def plan(self, request: LaunchRequest, channel: Channel) -> Launch:
        """Build argv, environment and files. The user's own arguments keep their order."""

    def capabilities(self, program: Program | None) -> Mapping[str, str]:
        """Return what works, for `harnesses` and `doctor`: a sentence for each of CAPABILITIES."""

    def about(self) -> About:
        """Return what is settled about this harness, for the documentation."""


class Question(NamedTuple):
    """What a linked session is asked, in a fork that leaves it as it is."""

    program: Program
    entry_args: tuple[str, ...]
    """Default arguments of the harness entry; those about trust, tools and output do not count."""
    env: Mapping[str, str]
    """The child's environment before the adapter's changes."""
    cwd: Path
    """The child starts there."""
    home: Path
    """Store home."""
    folder: Path
    """Private folder that lasts as long as the question; absolute."""
    native_id: str
    path: Path | None
    """The session's file, when known."""
    text: str
    schema: Mapping[str, object]
    """JSON schema of the answer: every member required, no others allowed."""


class Asking(NamedTuple):
    """A question, ready for exec without a terminal."""

    argv: tuple[str, ...]
    env_set: Mapping[str, str]
    env_remove: tuple[str, ...]
    files: Mapping[str, bytes]
    """Files to create 0600 below the question's folder, by relative path."""
    stdin: bytes


class Spoken(NamedTuple):
    """How the child of a question ended and what it printed."""

    code: int
    """Exit code, 128+n for a signal."""
    out: bytes
    err: bytes
    """The end of it."""


class Reply(NamedTuple):
    """What the session answered."""

    text: str | None
    """The model's words, which should be JSON of the schema; None: it gave no answer."""
    problem: str | None = None
    """Why there is none, in the harness's words where it has any."""


@runtime_checkable
class Askable(Protocol):
    """An adapter whose harness answers a question in a fork of a session.

    The fork has no tool that changes anything, runs none of the person's hooks and servers, and is
    not kept; an adapter of a harness that cannot promise this does not have these two methods.
    """

    def ask(self, question: Question) -> Asking:
        """Build argv, environment and files of the child that asks."""

    def reply(self, question: Question, spoken: Spoken) -> Reply:
        """Read the answer from what the child printed and left in the question's folder."""
