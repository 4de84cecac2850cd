"""How a scripted answer is performed, whatever the wire format.

The formats differ in their envelopes; which step does what, and when an answer fails, waits, breaks
off or ends, is the same for all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol

from tests.fakes.scripting import TOOL_VERBS, Script, Step, Usage, Verb
from tests.fakes.server import Failure, Reply, Request, ScriptedServer, found_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Json = dict[str, Any]
    Opening = Callable[[Usage, Mapping[str, str]], "Answer"]


class Answer(Protocol):
    """One answer on its way to the client."""

    def words(self, text: str) -> None:
        """Say a text."""

    def thinking(self, text: str) -> None:
        """Think a text."""

    def call(self, name: str, arguments: Json) -> None:
        """Call a tool."""

    def complete(self) -> None:
        """End the answer."""


class Stage(Protocol):
    """What a wire format gives to the performance of one request."""

    def open(self, usage: Usage, headers: Mapping[str, str]) -> Answer:
        """Begin the answer."""

    def calls(self, step: Step) -> Iterable[tuple[str, Json]]:
        """Return the tool calls of a step: name and arguments."""

    def failure(self, step: Step) -> Failure:
        """Return the error of a `fail` step."""

    def limits(self, step: Step) -> dict[str, str]:
        """Return the headers of a `limits` step."""


def perform(
    server: ScriptedServer, request: Request, reply: Reply, script: Script, number: int, on: Stage
) -> None:
    """Answer `request` with the answer `number` of a script."""
    headers: dict[str, str] = {}
    answer: Answer | None = None
    for step in script.answer(number):
        if step.verb is Verb.LIMITS:
            headers.update(on.limits(step))
            continue
        if step.verb is Verb.FAIL:
            if server.due(step, request):
                failure = on.failure(step)
                reply.json(failure.status, failure.body, {**headers, **failure.headers})
                return
            continue
        if answer is None:
            answer = on.open(script.usage, headers)
        if step.verb in (Verb.HOLD, Verb.PAUSE):
            answer.words("working on it\n\n")
            server.waiting(step, reply)
        elif step.verb is Verb.DROP:
            if server.due(step, request):
                answer.words(step.field(0))
                reply.drop()
        elif step.verb is Verb.THINK:
            answer.thinking(step.text)
        elif step.verb in TOOL_VERBS:
            for name, arguments in on.calls(step):
                answer.call(name, arguments)
        else:
            said = step.verb is Verb.SAY_FOUND
            answer.words(found_in(request, step.text) if said else step.text)
    (answer or on.open(script.usage, headers)).complete()


_TAGGED: Final = re.compile(r"<([a-zA-Z][\w:-]*)(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_WRAPPER: Final = re.compile(r"</?(?:user_query|user_request|user_input)(?:\s[^<>]*)?>")
_BRIEFING: Final = re.compile(
    r"BEGIN WORKSTREAM BRIEFING (?P<id>\S+)\n.*?END WORKSTREAM BRIEFING (?P=id)", re.S
)
_WRITTEN: Final = re.compile(
    r"\s*(This session is being continued from a previous conversation"
    r"|The conversation (?:so far|history before this point) (?:has been|was) compacted"
    r"|Some of the conversation history has been summarized"
    r"|Prior model work/tool state available"
    r"|Continue if you have next steps|What did we do so far\?)"
)
"""How texts of role `user` begin that a client writes after a compaction."""
_REMINDER: Final = re.compile(r"\n+# \*SEARCH/REPLACE block\* Rules:.*", re.DOTALL)
"""What aider 0.86.2 puts behind the person's text in each request."""


def persons_text(text: str) -> str:
    """Return a user text without what clients put around it: a wrapper, `<tagged>` blocks,
    quotes, our briefing.

    Empty when nothing of a person is in it.
    """
    if _WRITTEN.match(text):
        return ""
    bare = _TAGGED.sub("", _WRAPPER.sub("", _REMINDER.sub("", _BRIEFING.sub("", text)))).strip()
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        # opencode 1.18.33 quotes an argument that has blanks.
        bare = bare[1:-1].replace('\\"', '"')
    return bare
