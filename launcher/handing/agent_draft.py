"""`handoff draft --with HARNESS`: the agent that did the work is asked for the handoff.

Its session is asked in a fork that nothing keeps. What comes back is checked against the ledger
like anything that is prepared; findings go back to it, in a fresh fork with its answer: a fork that
is not kept cannot be asked twice, and a process for each question has one end and one deadline.
Whatever goes wrong is told, never raised past `ask`, so that the ledger's draft can take its place.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from handoffs import parsing, validation
from handoffs.answer_schema import answer_schema
from handoffs.citable import citable
from handoffs.errors import RefusedError
from handoffs.ledger_facts import STATE_MS, LedgerFacts
from handoffs.models import (
    MAX_TEXT,
    ActorKind,
    Author,
    Content,
    Disposition,
    Finding,
    Omission,
    errors,
)
from handoffs.parsing import Parsed
from handoffs.resolver import Resolver
from handoffs.scrubbing import scrubbed
from launcher import asking, folder
from launcher.handing import ask_target, headless
from launcher.handing.ask_target import Linked, Target
from launcher.handing.ask_words import Earlier, Knowledge, question
from launcher.handing.bench import Bench, tell_findings
from launcher.harnesses import registry
from launcher.harnesses.base import Askable, Question
from launcher.output import plural, say
from ledger import facts, git, host
from ledger.errors import UnavailableError, UsageError, WorkstreamError
from ledger.model import SessionRow
from ledger.redaction import scrub
from ledger.visible import cut

ATTEMPTS: Final = 3
"""One question and at most two corrections."""
TIME_LIMIT: Final = 300
"""Seconds for all of them together."""
PROBLEM: Final = 400
"""Bytes of what a harness says went wrong."""


class Attempt(NamedTuple):
    """One question, and what came of it."""

    findings: tuple[Finding, ...]
    """About the answer; none refuses in the last attempt of a good one."""
    problem: str | None = None
    """Why there was no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDraft:
    """What an agent was asked and answered."""

    entry: str
    title: str
    session: SessionRow | None
    """None: none was found to be asked."""
    attempts: tuple[Attempt, ...]
    content: Content | None
    """Checked, scrubbed, ready to be prepared; None: `failure` says why."""
    failure: WorkstreamError | None

    @property
    def author(self) -> Author:
        """The agent of the session that was asked."""
        return Author(
            kind=ActorKind.AGENT,
            session=None if self.session is None else self.session.native_id,
            harness=self.entry,
            owner=host.user_name(),
        )

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What is not perfect about a good answer."""
        return self.attempts[-1].findings if self.attempts and self.content else ()


def askable() -> tuple[str, ...]:
    """Return the built-in harnesses whose sessions can be asked."""
    return tuple(name for name in registry.names() if isinstance(registry.get(name), Askable))


def ask(bench: Bench, name: str, *, seconds: float = TIME_LIMIT) -> AgentDraft:
    """Ask the session of a harness entry that is current in the workstream; may take `seconds`.

    Raises UsageError for a harness that cannot be asked, UnavailableError for one that does not
    exist; everything else is the `failure` of what is returned. Nothing is stored.
    """
    asked = asking.ask_for(bench.place, name, ())
    if not isinstance(asked.adapter, Askable):
        raise UsageError(
            f"{asked.adapter.title} cannot be asked about a session without changing it",
            next_step=f"These can: {', '.join(askable())}",
        )
    talk = _Talk(bench, asked, asked.adapter, seconds)
    content, failure = None, None
    try:
        content = talk.hold()
    except WorkstreamError as error:
        failure = error
    return AgentDraft(
        entry=asked.entry.name,
        title=asked.adapter.title,
        session=talk.session,
        attempts=tuple(talk.attempts),
        content=content,
        failure=failure,
    )


class _Talk:
    """The question, the answers, the corrections."""

    def __init__(self, bench: Bench, asked: asking.Asked, adapter: Askable, seconds: float) -> None:
        self._bench = bench
        self._asked = asked
        self._adapter = adapter
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self.session: SessionRow | None = None
        self.attempts: list[Attempt] = []

    def hold(self) -> Content:
        """Return a content without a finding that refuses. Raises the reason why there is none."""
        chosen = ask_target.linked(self._bench, self._asked)
        self.session = chosen.session
        target = ask_target.ready(self._bench, self._asked, chosen)
        known = self._known(chosen.session)
        say(
            f"asking {self._asked.entry.name} for a handoff, in a fork of its session"
            f" {chosen.session.native_id}; this calls its model and takes at most"
            f" {self._seconds:.0f} s"
        )
        earlier: Earlier | None = None
        for number in range(1, ATTEMPTS + 1):
            text = self._answer(chosen, target, question(known, earlier))
            content, shown, found = self._judged(text, known.objective)
            self.attempts.append(Attempt(found))
            if content is not None and not errors(found):
                return content
            earlier = Earlier(shown, errors(found))
            if number < ATTEMPTS:
                what = plural(len(errors(found)), "finding")
                say(f"its answer has {what}; asking again ({number + 1} of {ATTEMPTS})")
                tell_findings(errors(found))
        raise RefusedError(
            f"{self._asked.adapter.title} gave no handoff that can be taken"
            f" in {plural(ATTEMPTS, 'attempt')}",
            self.attempts[-1].findings,
        )

    def _known(self, session: SessionRow) -> Knowledge:
        store, workstream = self._bench.store, self._bench.workstream
        given = workstream.objective
        turn = facts.last_turn(store, session.id)
        tree = self._bench.worktree
        head = git.state(tree, timeout_ms=STATE_MS).head
        return Knowledge(
            objective=given if given is not None and len(given) <= MAX_TEXT else None,
            citable=citable(store, workstream, session, tree, head),
            required=_required(self._bench),
            turn=None if turn is None else turn[1],
        )

    # --- one question -----------------------------------------------------------------------------

    def _answer(self, chosen: Linked, target: Target, words: str) -> str:
        """Return what the fork answers. Raises UnavailableError and its kin."""
        with tempfile.TemporaryDirectory(prefix="workstream-ask-") as name:
            asked = Question(
                program=chosen.program,
                entry_args=self._asked.entry.args,
                env=chosen.env,
                cwd=target.cwd,
                home=chosen.home,
                folder=Path(name),
                native_id=chosen.session.native_id,
                path=target.path,
                text=words,
                schema=answer_schema(),
            )
            launch = self._adapter.ask(asked)
            for file, data in launch.files.items():
                folder.write(asked.folder, file, data)
            stdin = folder.write(asked.folder, "question.txt", launch.stdin)
            env = {k: v for k, v in chosen.env.items() if k not in launch.env_remove}
            try:
                spoken = headless.call(
                    launch.argv,
                    {**env, **launch.env_set},
                    target.cwd,
                    stdin,
                    seconds=max(1.0, self._deadline - time.monotonic()),
                )
            except WorkstreamError as error:
                self.attempts.append(Attempt((), str(error)))
                raise
            reply = self._adapter.reply(asked, spoken)
        if reply.text is None:
            problem = _told(reply.problem or "it gave no answer")
            self.attempts.append(Attempt((), problem))
            raise UnavailableError(f"{self._asked.adapter.title} did not answer", detail=problem)
        return reply.text

    def _judged(
        self, text: str, objective: str | None
    ) -> tuple[Content | None, str, tuple[Finding, ...]]:
        """Return the content, what may be shown of the answer, and everything about it."""
        store, workstream = self._bench.store, self._bench.workstream
        resolve = Resolver(store, workstream, self._bench.worktree)
        made = parsing.parse_content(_unfenced(text), resolve=resolve)
        made = _scrubbed(made)
        ledger = LedgerFacts(store, workstream, self._bench.worktree, content=made.content)
        found = validation.findings_of(made, ledger, expected_objective=objective)
        content = None if made.content is None else validation.with_declared_only(made.content)
        return content, scrub(text).text, tuple(_clean(item) for item in found)


def _required(bench: Bench) -> tuple[Omission, ...]:
    """Return what the ledger wants to be said whatever the words are."""
    ledger = LedgerFacts(bench.store, bench.workstream, bench.worktree)
    nothing = Content(objective="", state=(), disposition=Disposition.COMPLETE)
    return validation.required_omissions(nothing, ledger)


def _unfenced(text: str) -> str:
    """Return the JSON of an answer that was put into a code block."""
    lines = text.strip().splitlines()
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1])
    return text


def _scrubbed(made: Parsed) -> Parsed:
    content = None if made.content is None else scrubbed(made.content)
    partial = None if made.partial is None else scrubbed(made.partial)
    return replace(made, content=content, partial=partial)


def _clean(item: Finding) -> Finding:
    """Return a finding that repeats no secret of the answer."""
    ref = item.facts.get("ref")
    more = {"ref": scrub(ref).text} if isinstance(ref, str) else {}
    return replace(item, detail=scrub(item.detail).text, facts={**item.facts, **more})


def _told(problem: str) -> str:
    return cut(scrub(" ".join(problem.split())).text, PROBLEM).text
