"""Reader of Grok Build sessions: the updates that it sends to whoever shows the conversation.

Each line is one update. `eventId` starts over with every process, so that a record is named by it
and its time; a fork copies the records of its parent with both. Words of the model come in chunks
of one stream, which are one message. Observed with Grok Build 1.0.41.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from importers import jsonl, refusals
from importers.base import Json, NodeIndex, Plan, SessionFacts, Source, StoreUnreadable, Usage
from importers.binary import blob
from importers.calls import PATHS, Tools
from importers.ends import ends
from importers.grok import results, store
from importers.lines import LineReader, LineState
from importers.session_facts import Facts
from importers.telling import Place
from importers.times import milliseconds

BOOKKEEPING: Final = frozenset(
    {"auto_compact_started", "available_commands_update", "background_tasks",
     "compaction_checkpoint", "config_option_update", "current_mode_update",
     "hook_execution", "session_info_update", "usage_update"}
)  # fmt: skip
_ENDS: Final = {"cancelled": "interrupted", "interrupted": "interrupted", "error": "failed"}


class Words(msgspec.Struct, array_like=True):
    """A message of the model whose stream may go on."""

    identity: list[str]
    at: int
    record: int
    stream: str
    text: str


class GrokState(LineState, omit_defaults=True):
    """The cursor, with the message that is not whole yet."""

    words: Words | None = None
    prompt: int | None = None
    """Number of the last prompt while nothing followed it."""


class GrokReader(LineReader[GrokState]):
    """Reads Grok Build's updates."""

    version: ClassVar[int] = 1
    state_type = GrokState
    tools: ClassVar[Tools] = Tools(
        shells=frozenset({"run_terminal_command"}),
        readers=frozenset({"read_file"}),
        editors=frozenset({"search_replace"}),
        writers=frozenset({"write"}),
        searchers=frozenset({"grep", "list_dir"}),
        agents=frozenset({"task"}),
        paths=("target_file", *PATHS),
    )

    def __init__(self, source: Source, path: Path, state: GrokState, nodes: NodeIndex) -> None:
        super().__init__(source, path, state, nodes)
        summarized(state.facts, path)

    def record(self, value: dict[str, Any], line: jsonl.Line) -> None:
        """Take in an update."""
        update, meta = parts(value)
        event, at = meta.get("eventId"), meta.get("agentTimestampMs")
        if not isinstance(event, str) or not isinstance(at, int):
            self.whole()
            self.tell.leave(f"unknown:{value.get('method')}"[:60])
            return
        note(self.state.facts, self.source.native_id, update, meta)
        place = Place(
            identity=(event, str(at)), at=at, record=line.number, cwd=self.state.facts.cwd
        )
        kind = str(update.get("sessionUpdate"))
        if kind == "agent_message_chunk":
            self.chunk(update, meta, place)
            return
        self.whole()
        if kind != "user_message_chunk":
            self.state.prompt = None
        if kind == "user_message_chunk":
            self.person(update, place)
        elif kind == "agent_thought_chunk":
            self.tell.leave("reasoning")
        elif kind == "tool_call":
            self.call(update, place)
        elif kind == "tool_call_update":
            self.result(update, place)
        elif kind == "turn_completed":
            self.end(update, place)
        elif kind == "auto_compact_completed":
            self.compacted(update, place)
        elif kind == "plan":
            self.tell.add(Plan(items=results.plan(update), at=place.at))
        elif kind == "retry_state":
            self.refused(update, place)
        else:
            self.tell.leave("bookkeeping" if kind in BOOKKEEPING else f"unknown:{kind}"[:60])

    def close(self) -> None:
        """Tell the last words, and what is interrupted."""
        self.whole()
        super().close()

    # --- words

    def person(self, update: dict[str, Any], place: Place) -> None:
        """Take in what a person said; the parts of one prompt are records of one turn."""
        inner = update.get("_meta")
        meta = inner if isinstance(inner, dict) else {}
        if meta.get("hostTurn"):
            self.tell.leave("bookkeeping")  # a command: `/compact`
            return
        number = meta.get("promptIndex")
        number = number if isinstance(number, int) else None
        opens = number is None or number != self.state.prompt
        self.state.prompt = number
        self.tell.user(place, content_text(update), opens=opens)

    def chunk(self, update: dict[str, Any], meta: dict[str, Any], place: Place) -> None:
        """Take in a piece of a message."""
        self.state.prompt = None
        stream = f"{meta.get('promptId')}/{meta.get('streamStartMs')}"
        words, text = self.state.words, content_text(update)
        if words is not None and words.stream == stream:
            words.text += text
            return
        self.whole()
        self.state.words = Words(list(place.identity), place.at, place.record, stream, text)

    def whole(self) -> None:
        """Tell the message whose stream is over."""
        words, self.state.words = self.state.words, None
        if words is not None:
            place = Place(
                identity=tuple(words.identity),
                at=words.at,
                record=words.record,
                cwd=self.state.facts.cwd,
            )
            self.tell.assistant(place, words.text)

    # --- tools

    def call(self, update: dict[str, Any], place: Place) -> None:
        """Take in a call."""
        given: Json = update.get("rawInput")
        self.tell.call(place, str(update.get("toolCallId")), tool_name(update), given)

    def result(self, update: dict[str, Any], place: Place) -> None:
        """Take in how a call goes on; only its end counts."""
        found = results.of(update)
        if found is None:
            self.tell.leave("bookkeeping")
            return
        self.tell.result(
            place,
            str(update.get("toolCallId")),
            found.text,
            status=found.status,
            exit_code=found.exit_code,
            created=found.created,
        )

    # --- turns

    def end(self, update: dict[str, Any], place: Place) -> None:
        """Take in the end of a turn, and what it cost."""
        if self.tell.state.open is None:
            return  # of a command
        reason = str(update.get("stop_reason"))
        error = update.get("agent_result")
        failed = reason == "error" and isinstance(error, str)
        self.tell.turn_end(place, _ENDS.get(reason, "complete"), str(error) if failed else None)
        usage = update.get("usage")
        if isinstance(usage, dict):
            asked, output = (usage.get(name) for name in ("inputTokens", "outputTokens"))
            alone = usage.get("modelCalls") == 1  # else the sum of all requests of the turn
            self.tell.add(
                Usage(
                    at=place.at,
                    model=self.state.facts.model,
                    context_tokens=asked if alone and isinstance(asked, int) else None,
                    output_tokens=output if isinstance(output, int) else None,
                )
            )

    def compacted(self, update: dict[str, Any], place: Place) -> None:
        """Take in a compaction, asked for or not; its summary stands elsewhere."""
        before, after = (update.get(name) for name in ("tokens_before", "tokens_after"))
        self.tell.compaction(
            place,
            {"tokens_before": before} if isinstance(before, int) else {},
            context_tokens=after if isinstance(after, int) and after > 0 else None,
        )

    def refused(self, update: dict[str, Any], place: Place) -> None:
        """Say what it means that the provider refused; the turn's end says that it failed."""
        self.tell.leave("bookkeeping")
        error = str(update.get("message") or "")
        if update.get("type") != "failed" or not error:
            return
        if refusals.is_limit(str(update.get("error_type")), None, error):
            self.tell.limit(place, error, refusals.resets_at(error, place.at))
        full = refusals.overflow(place.at, error, "")
        if full is not None:
            self.tell.add(full)


def parts(value: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the update of a line, and what is noted beside it."""
    params = value.get("params")
    inner = params if isinstance(params, dict) else {}
    update, meta = inner.get("update"), inner.get("_meta")
    return (update if isinstance(update, dict) else {}, meta if isinstance(meta, dict) else {})


def content_text(update: dict[str, Any]) -> str:
    """Return the visible text of a piece of content, a placeholder for a picture."""
    content = update.get("content")
    if not isinstance(content, dict):
        return ""
    if isinstance(content.get("data"), str):
        return blob(str(content.get("type")), content.get("mimeType"), content["data"])
    return content["text"] if isinstance(content.get("text"), str) else ""


def tool_name(update: dict[str, Any]) -> str:
    """Return a call's tool; its title says it too, until the call begins."""
    meta = update.get("_meta")
    about = meta.get("x.ai/tool") if isinstance(meta, dict) else None
    name = about.get("name") if isinstance(about, dict) else None
    return name if isinstance(name, str) else str(update.get("title"))


def note(facts: Facts, native_id: str, update: dict[str, Any], meta: dict[str, Any]) -> None:
    """Take over what an update says about its session."""
    inner = update.get("_meta")
    model = inner.get("modelId") if isinstance(inner, dict) else None
    facts.model = model if isinstance(model, str) else facts.model
    facts.time(milliseconds(meta.get("agentTimestampMs")))
    maker = str(meta.get("eventId")).rpartition("-")[0]
    if maker and maker != native_id:
        facts.parent = maker  # copied from there


def summarized(facts: Facts, path: Path) -> None:
    """Take over what the folder's name and the summary in it say."""
    noted = store.summary(path)
    info = noted.get("info")
    cwd = info.get("cwd") if isinstance(info, dict) else None
    where = cwd if isinstance(cwd, str) else store.directory_of(path)
    facts.cwd, facts.first_cwd = where or facts.cwd, where or facts.first_cwd
    parent, title = noted.get("parent_session_id"), noted.get("generated_title")
    facts.parent = parent if isinstance(parent, str) else facts.parent
    facts.titled = title if isinstance(title, str) else facts.titled
    kind = noted.get("session_kind")
    if isinstance(kind, str):
        facts.one_shot = kind == "headless"


def describe(source: Source) -> SessionFacts:
    """Read both ends of a session and its summary. Raises StoreUnreadable."""
    if source.path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    found = ends(source.path)
    facts = Facts()
    for value in (*found.head, *found.tail):
        note(facts, source.native_id, *parts(value))
    summarized(facts, source.path)
    return facts.of(source.native_id)
