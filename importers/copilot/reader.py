"""Reader of Copilot CLI sessions: events in the order in which they happened, each with an id.

`parentId` names the event before it, so that the order of the lines is the conversation. What the
person typed and what was sent of it stand side by side; what hooks add is only in the latter.
Events that the model's own requests leave (`model.*`) hold the conversation a second time.
Observed with Copilot CLI 1.0.102.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from importers import jsonl, refusals
from importers.base import SessionFacts, Source, StoreUnreadable, Usage
from importers.calls import Tools
from importers.copilot import results
from importers.ends import ends
from importers.lines import LineReader, LineState
from importers.session_facts import Facts
from importers.telling import Place
from importers.times import milliseconds

INJECTED: Final = frozenset({"system.message", "system.notification", "skill.invoked"})
BOOKKEEPING: Final = ("session.", "hook.", "model.", "assistant.", "tool.", "permission.")
"""Beginnings of the types of events that say nothing that is not said elsewhere."""
OPENING: Final = "<system_reminder>"
OWN_SOURCE: Final = "user"
RESUMED: Final = "resume"
"""Stands for the turn of what a resume makes up: results for calls that have none."""


class CopilotState(LineState, omit_defaults=True):
    """Nothing more than that of lines."""


class CopilotReader(LineReader[CopilotState]):
    """Reads Copilot CLI's events."""

    version: ClassVar[int] = 1
    state_type = CopilotState
    tools: ClassVar[Tools] = Tools(
        shells=frozenset({"bash", "powershell"}),
        readers=frozenset({"view"}),
        editors=frozenset({"edit", "str_replace", "insert"}),
        writers=frozenset({"create"}),
        searchers=frozenset({"grep", "glob", "rg"}),
        agents=frozenset({"task"}),
    )

    def record(self, value: dict[str, Any], line: jsonl.Line) -> None:
        """Take in an event."""
        kind, name, data = value.get("type"), value.get("id"), value.get("data")
        if not isinstance(kind, str) or not isinstance(name, str) or not isinstance(data, dict):
            self.tell.leave(f"unknown:{kind}"[:60])
            return
        if value.get("agentId") or data.get("parentToolCallId"):
            self.tell.leave("subagent")
            return
        note(self.state.facts, value)
        turn = data.get("interactionId")
        turn = None if turn == RESUMED else turn
        place = Place(
            identity=(name,),
            at=milliseconds(value.get("timestamp")) or self.state.facts.last_at or 0,
            record=line.number,
            turn=turn if isinstance(turn, str) and turn else None,
            cwd=self.state.facts.cwd,
        )
        self.speak(kind, data, place)

    def speak(self, kind: str, data: dict[str, Any], place: Place) -> None:
        """Tell what an event says."""
        tell = _SPEAKERS.get(kind)
        if tell is not None:
            tell(self, data, place)
        elif kind in INJECTED:
            self.tell.leave("injected")
        elif kind.startswith("subagent."):
            self.tell.leave("subagent")
        else:
            known = kind.startswith(BOOKKEEPING)
            self.tell.leave("bookkeeping" if known else f"unknown:{kind}"[:60])

    # --- words

    def words(self, data: dict[str, Any], place: Place) -> None:
        """Take in what a person typed, and what hooks put beside it when it was sent."""
        text = data.get("content")
        text = text if isinstance(text, str) else ""
        if data.get("source") not in (None, "", OWN_SOURCE):
            self.tell.injected(place, f"{data.get('transformedContent') or text}")
            return
        sent = data.get("transformedContent")
        added = sent.replace(text, "", 1) if isinstance(sent, str) else ""
        if OPENING in added:
            self.tell.injected(place, added)
        self.tell.user(place, text, opens=place.turn is None or place.turn != self.state.told.open)

    def answer(self, data: dict[str, Any], place: Place) -> None:
        """Take in what the model said and called; with nothing called the turn is over."""
        if data.get("reasoningText") or data.get("reasoningOpaque"):
            self.tell.leave("reasoning")
        text = data.get("content")
        if isinstance(text, str):
            self.tell.assistant(place, text)
        requests = data.get("toolRequests")
        calls = [r for r in requests if isinstance(r, dict)] if isinstance(requests, list) else []
        for number, call in enumerate(calls, 1):
            name, given = str(call.get("name")), call.get("arguments")
            self.tell.call(place, str(call.get("toolCallId")), name, given, block=number)
        if not calls:
            self.tell.turn_end(place)

    # --- tools

    def asked(self, data: dict[str, Any], place: Place) -> None:
        """Take in a command that the person ran."""
        self.call(data, place, role="user")

    def call(self, data: dict[str, Any], place: Place, *, role: str) -> None:
        """Take in a call that no answer of the model has."""
        call_id, tool = str(data.get("toolCallId")), str(data.get("toolName"))
        self.tell.call(place, call_id, tool, data.get("arguments"), role=role)

    def started(self, data: dict[str, Any], place: Place) -> None:
        """Take in that a call runs, which is known from the answer already."""
        if str(data.get("toolCallId")) in self.state.told.calls:
            self.tell.leave("bookkeeping")
        else:
            self.call(data, place, role="assistant")

    def result(self, data: dict[str, Any], place: Place) -> None:
        """Take in the outcome of a call."""
        call_id = str(data.get("toolCallId"))
        if data.get("interactionId") == RESUMED and call_id not in self.state.told.calls:
            self.tell.leave("bookkeeping")
            return
        found = results.of(data)
        self.tell.result(
            place,
            call_id,
            found.text,
            status=found.status,
            exit_code=found.exit_code,
            created=found.created,
        )

    # --- figures and ends

    def resumed(self, data: dict[str, Any], place: Place) -> None:
        """Take in that another process goes on: what was cut off before stays so."""
        del data, place
        self.tell.close()
        self.tell.leave("bookkeeping")

    def aborted(self, data: dict[str, Any], place: Place) -> None:
        """Take in that the person stopped the turn."""
        del data
        self.tell.turn_end(place, "interrupted")

    def usage(self, data: dict[str, Any], place: Place) -> None:
        """Take in the token figures of a request of the conversation itself."""
        given = data.get("usage")
        if not isinstance(given, dict) or given.get("interactionType") != "conversation-agent":
            return
        asked, output, limit = (
            given.get(name) for name in ("inputTokens", "outputTokens", "maxPromptTokens")
        )
        if not isinstance(asked, int) or asked <= 0:
            return
        self.tell.add(
            Usage(
                at=place.at,
                model=self.state.facts.model,
                context_tokens=asked,
                limit_tokens=limit if isinstance(limit, int) and limit > 0 else None,
                output_tokens=output if isinstance(output, int) else None,
            )
        )

    def compacted(self, data: dict[str, Any], place: Place) -> None:
        """Take in that the conversation was compacted, unless that failed."""
        if data.get("success") is False:
            self.tell.leave("bookkeeping")
            return
        before, after = (data.get(name) for name in ("preCompactionTokens", "postCompactionTokens"))
        self.tell.compaction(
            place,
            {"tokens_before": before} if isinstance(before, int) and before > 0 else {},
            context_tokens=after if isinstance(after, int) and after > 0 else None,
        )

    def refused(self, data: dict[str, Any], place: Place) -> None:
        """Say what it means that a request failed."""
        text = data.get("message")
        error = text if isinstance(text, str) and text else "the provider failed"
        kind, status = str(data.get("errorType")), data.get("statusCode")
        self.tell.turn_end(place, "failed", error)
        code = status if isinstance(status, int) else None
        if kind in ("rate_limit", "quota") or refusals.is_limit(kind, code, error):
            self.tell.limit(place, error, refusals.resets_at(error, place.at))
        full = refusals.overflow(place.at, error, "")
        if full is not None:
            self.tell.add(full)


_SPEAKERS: Final[dict[str, Callable[[CopilotReader, dict[str, Any], Place], None]]] = {
    "user.message": CopilotReader.words,
    "assistant.message": CopilotReader.answer,
    "tool.user_requested": CopilotReader.asked,
    "tool.execution_start": CopilotReader.started,
    "tool.execution_complete": CopilotReader.result,
    "session.usage_record": CopilotReader.usage,
    "session.compaction_complete": CopilotReader.compacted,
    "session.error": CopilotReader.refused,
    "session.resume": CopilotReader.resumed,
    "abort": CopilotReader.aborted,
}


def note(facts: Facts, value: dict[str, Any]) -> None:
    """Take over what an event says about its session."""
    kind, data = value.get("type"), value.get("data")
    facts.time(milliseconds(value.get("timestamp")))
    if not isinstance(data, dict):
        return
    if kind in ("session.start", "session.resume"):
        context = data.get("context")
        cwd = context.get("cwd") if isinstance(context, dict) else None
        if isinstance(cwd, str) and cwd:
            facts.cwd, facts.first_cwd = cwd, facts.first_cwd or cwd
        version = data.get("copilotVersion")
        facts.version = version if isinstance(version, str) else facts.version
    model = {
        "session.start": data.get("selectedModel"),
        "session.resume": data.get("selectedModel"),
        "session.model_change": data.get("newModel"),
        "assistant.message": data.get("model"),
    }.get(str(kind))
    facts.model = model if isinstance(model, str) and model else facts.model
    title = data.get("title") if kind == "session.title_changed" else None
    facts.titled = title if isinstance(title, str) and title else facts.titled


def describe(source: Source) -> SessionFacts:
    """Read both ends of a session. Raises StoreUnreadable."""
    if source.path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    found = ends(source.path)
    facts = Facts()
    for value in (*found.head, *found.tail):
        note(facts, value)
    return facts.of(source.native_id)
