"""Reader of Qwen Code sessions: a tree of records by `uuid` and `parentUuid`.

The next record is appended below the one before it; a rewind appends one below an earlier record.
A fork copies records with their uuid into a file of its own and notes their origin. Nothing says
that a turn is over: it is with an answer that calls no tool. Observed with Qwen Code 0.24.4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final

from importers import jsonl, refusals
from importers.base import Json, NodeIndex, Plan, SessionFacts, Source, StoreUnreadable, Usage
from importers.calls import Tools
from importers.ends import ends
from importers.lines import Branch, TreeLineState, TreeReader
from importers.qwen import results
from importers.qwen.words import part_text, parts_of, payload_of, spoken
from importers.session_facts import Facts
from importers.telling import Place
from importers.times import milliseconds

ASIDE: Final = frozenset(
    {"session_artifact_event", "session_artifact_snapshot", "session_sources_snapshot",
     "managed_session_header_v1", "managed_session_event_v1", "managed_session_commit_v1"}
)  # fmt: skip
"""Records that qwen itself does not take for a part of the conversation: never its leaf."""
BOOKKEEPING: Final = frozenset(
    {"agent_bootstrap", "agent_launch_prompt", "agent_retry", "agent_session_ready", "at_command",
     "attribution_snapshot", "background_task_completed", "branch_checkpoint", "custom_title",
     "file_history_snapshot", "goal_runtime", "goal_state", "goal_turn_end", "parent_session",
     "rewind", "session_model", "session_source", "slash_command", "turn_result",
     "user_text_elements"}
)  # fmt: skip
MID_TURN: Final = "mid_turn_user_message"


class QwenState(TreeLineState, omit_defaults=True):
    """Nothing more than that of a tree."""


class QwenReader(TreeReader[QwenState]):
    """Reads Qwen Code's records."""

    version: ClassVar[int] = 1
    state_type = QwenState
    tools: ClassVar[Tools] = Tools(
        shells=frozenset({"run_shell_command"}),
        readers=frozenset({"read_file"}),
        editors=frozenset({"edit", "replace", "notebook_edit"}),
        writers=frozenset({"write_file"}),
        searchers=frozenset({"grep_search", "search_file_content", "glob", "list_directory"}),
        agents=frozenset({"agent", "task"}),
    )

    def __init__(self, source: Source, path: Path, state: QwenState, nodes: NodeIndex) -> None:
        super().__init__(source, path, state, nodes)
        self._turns: dict[str, str | None] = {}

    def record(self, value: dict[str, Any], line: jsonl.Line) -> None:
        """Put a record into the tree."""
        name, parent = value.get("uuid"), value.get("parentUuid")
        if value.get("subtype") in ASIDE:
            self.tell.leave("bookkeeping")
        elif not isinstance(name, str) or not name:
            self.tell.leave(f"unknown:{value.get('type')}"[:60])
        else:
            note(self.state.facts, value)
            self.grow(value, line, name, parent if isinstance(parent, str) else None)

    def speak(self, branch: Branch) -> None:
        """Tell what a record says."""
        value, twig = branch
        at = milliseconds(value.get("timestamp")) or self.state.facts.last_at or 0
        place = Place(
            identity=(twig.uuid,),
            at=at,
            record=twig.record,
            depth=twig.depth,
            active=twig.active,
            turn=self._turns.get(twig.parent or "", self.state.told.turn),
            cwd=self.state.facts.cwd,
            node=twig.uuid,
        )
        kind = value.get("type")
        if kind == "user":
            self.words(value, place)
        elif kind == "assistant":
            self.answer(value, place)
        elif kind == "tool_result":
            self.result(value, place)
        elif kind == "system":
            self.system(value, place)
        else:
            self.tell.leave(f"unknown:{kind}"[:60])
        self._turns[twig.uuid] = self.state.told.turn

    # --- words

    def words(self, value: dict[str, Any], place: Place) -> None:
        """Take in what a person said, and what a hook put behind it."""
        subtype = value.get("subtype")
        if subtype not in (None, MID_TURN) or value.get("provenance", "real_user") != "real_user":
            self.tell.leave("injected")
            return
        words = spoken(value)
        if words.context is not None:
            self.tell.injected(place, words.context)
        if words.others:
            self.tell.leave("injected", words.others)
        opens = subtype is None
        self.tell.user(place._replace(turn=None) if opens else place, words.text, opens=opens)

    def answer(self, value: dict[str, Any], place: Place) -> None:
        """Take in what the model said and called."""
        calls = False
        for number, part in enumerate(parts_of(value)):
            call = part.get("functionCall")
            if part.get("thought"):
                self.tell.leave("reasoning")
            elif isinstance(call, dict):
                calls = True
                given: Json = call.get("args")
                self.tell.call(
                    place, str(call.get("id")), str(call.get("name")), given, block=number
                )
            else:
                self.tell.assistant(place, part_text(part), block=number)
        self.usage(value.get("usageMetadata"), place)
        if not calls:
            self.tell.turn_end(place)

    def usage(self, given: Any, place: Place) -> None:  # noqa: ANN401  (as it was decoded)
        """Take in the token figures of an answer."""
        if not isinstance(given, dict):
            return
        asked, output = (given.get(n) for n in ("promptTokenCount", "candidatesTokenCount"))
        if isinstance(asked, int) and asked > 0:
            self.tell.add(
                Usage(
                    at=place.at,
                    model=self.state.facts.model,
                    context_tokens=asked,
                    output_tokens=output if isinstance(output, int) else None,
                )
            )

    # --- tools

    def result(self, value: dict[str, Any], place: Place) -> None:
        """Take in the results of calls: mostly one for each record."""
        told = value.get("toolCallResult")
        told = told if isinstance(told, dict) else {}
        for number, part in enumerate(parts_of(value)):
            response = part.get("functionResponse")
            if not isinstance(response, dict):
                self.tell.leave("injected")
                continue
            result = results.of(response, told)
            self.tell.result(
                place,
                str(response.get("id") or told.get("callId")),
                result.text,
                status=result.status,
                exit_code=result.exit_code,
                tool=str(response.get("name")),
                block=number,
                created=result.created,
            )
        plan = results.plan(told)
        if plan is not None and place.active:
            self.tell.add(Plan(items=plan, at=place.at))

    # --- what is nobody's word

    def system(self, value: dict[str, Any], place: Place) -> None:
        """Take in what Qwen Code notes for itself."""
        subtype, payload = str(value.get("subtype")), payload_of(value)
        if subtype == "chat_compression":
            info = payload.get("info")
            figures = info if isinstance(info, dict) else {}
            before, after = (figures.get(n) for n in ("originalTokenCount", "newTokenCount"))
            self.tell.compaction(
                place,
                {"tokens_before": before} if before else {},
                context_tokens=after if isinstance(after, int) and after > 0 else None,
            )
            return
        if subtype == "ui_telemetry":
            event = payload.get("uiEvent")
            if isinstance(event, dict) and str(event.get("event.name")).endswith(".api_error"):
                self.refused(event, place)
        known = subtype in BOOKKEEPING or subtype == "ui_telemetry"
        self.tell.leave("bookkeeping" if known else f"unknown:{subtype}"[:60])

    def refused(self, event: dict[str, Any], place: Place) -> None:
        """Say what it means that the provider refused; a subagent's request ends no turn."""
        if event.get("subagent_name"):
            return
        error = str(event.get("error_message") or event.get("error") or "the provider failed")
        self.tell.turn_end(place, "failed", error)
        status = event.get("status_code")
        if refusals.is_limit("", status if isinstance(status, int) else None, error):
            self.tell.limit(place, error, refusals.resets_at(error, place.at))
        full = refusals.overflow(place.at, error, "")
        if full is not None:
            self.tell.add(full)


def note(facts: Facts, value: dict[str, Any]) -> None:
    """Take over what a record says about its session."""
    cwd, version, model = (value.get(name) for name in ("cwd", "version", "model"))
    if isinstance(cwd, str):
        facts.cwd, facts.first_cwd = cwd, facts.first_cwd or cwd
    facts.version = version if isinstance(version, str) else facts.version
    facts.model = model if isinstance(model, str) else facts.model
    facts.time(milliseconds(value.get("timestamp")))
    origin = value.get("forkedFrom")
    if isinstance(origin, dict) and isinstance(origin.get("sessionId"), str):
        facts.parent = origin["sessionId"]
    if value.get("subtype") == "custom_title":
        payload = payload_of(value)
        title = payload.get("customTitle")
        if isinstance(title, str) and payload.get("titleSource") == "auto":
            facts.titled = title
        elif isinstance(title, str):
            facts.named = title


def describe(source: Source) -> SessionFacts:
    """Read both ends of a session. Raises StoreUnreadable."""
    if source.path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    found = ends(source.path)
    facts = Facts()
    for value in (*found.head, *found.tail):
        note(facts, value)
    return facts.of(source.native_id)
