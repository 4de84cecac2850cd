"""Reader of sessions that are a tree of *entries*: a format that several harnesses share.

One JSON line each: a header `{"type":"session","version":3,"id",…,"cwd"}`, then entries with `id`,
`parentId` and `timestamp`. A message entry holds what was said; other entries are settings,
summaries, and what extensions left. The next entry is appended below the leaf, and the last entry
of the file is the leaf when the session is opened again. A fork copies entries with id and time
into a file of its own, whose header names its parent; ids are eight random digits, so that only id
and time together are unique. An adapter says in a subclass what its harness does differently.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Any, ClassVar, Final, Literal

from importers import jsonl, refusals
from importers.base import Json, NodeIndex, SessionFacts, Source, StoreUnreadable, Usage
from importers.binary import blob
from importers.ends import ends
from importers.lines import Branch, TreeLineState, TreeReader
from importers.session_facts import Facts
from importers.telling import Place
from importers.times import milliseconds

FORMATS: Final = (2, 3)
"""Of version 1 the harness makes version 3, with new ids, as soon as it opens the session."""
STAMPED: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d-]+Z_(?P<id>.+)\.jsonl")
"""Name of a session's file: time and id."""
BOOKKEEPING: Final = frozenset(
    {"model_change", "thinking_level_change", "custom", "label", "usage", "session_info",
     "context_edit"}
)  # fmt: skip
_EXIT: Final = re.compile(r"Command exited with code (\d{1,9})\s*\Z")
_ABORTED: Final = re.compile(r"Command aborted\s*\Z")

Said = Literal["user", "assistant", "tool", "shell", "injected"]


class EntryState(TreeLineState, omit_defaults=True):
    """Nothing more than that of a tree."""


class EntryReader(TreeReader[EntryState]):
    """Reads entries as they are defined; subclasses adapt single methods."""

    version: ClassVar[int] = 1
    state_type = EntryState

    def __init__(self, source: Source, path: Path, state: EntryState, nodes: NodeIndex) -> None:
        super().__init__(source, path, state, nodes)
        self._turns: dict[str, str | None] = {}

    # --- lines

    def record(self, value: dict[str, Any], line: jsonl.Line) -> None:
        """Take in the header, put an entry into the tree."""
        kind, name = value.get("type"), value.get("id")
        if kind == "session":
            self.header(value, line)
        elif not isinstance(name, str):
            self.tell.leave("bookkeeping" if self.is_side(value) else f"unknown:{kind}"[:60])
        else:
            parent = value.get("parentId")
            self.grow(value, line, name, parent if isinstance(parent, str) else None)

    def is_side(self, value: dict[str, Any]) -> bool:
        """Return whether a line without an id is known to carry nothing."""
        del value
        return False

    def header(self, value: dict[str, Any], line: jsonl.Line) -> None:
        """Take over what the session says about itself."""
        describe_header(self.state.facts, value)
        if value.get("version") not in FORMATS:
            self.tell.add(
                jsonl.loss(
                    self.path.name,
                    line,
                    "unknown_version",
                    f"format {value.get('version', 1)}; read are {FORMATS[0]} and {FORMATS[-1]}",
                    record=line.number,
                )
            )

    # --- entries

    def speak(self, branch: Branch) -> None:
        """Tell what an entry says."""
        entry, twig = branch
        at = milliseconds(entry.get("timestamp")) or self.state.facts.last_at or 0
        self.state.facts.time(at)
        place = Place(
            identity=(twig.uuid, str(entry.get("timestamp") or "")),
            at=at,
            record=twig.record,
            depth=twig.depth,
            active=twig.active,
            turn=self._turns.get(twig.parent or "", self.state.told.turn),
            cwd=self.state.facts.cwd,
            node=twig.uuid,
        )
        self.entry(entry, place)
        self._turns[twig.uuid] = self.state.told.turn

    def entry(self, entry: dict[str, Any], place: Place) -> None:
        """Sort an entry by its type."""
        kind = str(entry.get("type"))
        if kind == "message":
            message = entry.get("message")
            self.message(message if isinstance(message, dict) else {}, entry, place)
        elif kind == "compaction":
            before = entry.get("tokensBefore")
            self.tell.compaction(place, {"tokens_before": before} if before else {})
        elif kind == "custom_message":
            self.tell.injected(place, text_of(entry.get("content")))
        elif kind == "branch_summary":
            self.tell.leave("injected")
        elif kind in BOOKKEEPING:
            self.note(entry)
            self.tell.leave("bookkeeping")
        else:
            self.tell.leave(f"unknown:{kind}"[:60])

    def note(self, entry: dict[str, Any]) -> None:
        """Take over a setting."""
        note(self.state.facts, entry)

    def message(self, message: dict[str, Any], entry: dict[str, Any], place: Place) -> None:
        """Sort a message by its role."""
        role = message.get("role")
        if role == "user":
            self.words(message, place)
        elif role == "assistant":
            self.answer(message, entry, place)
        elif role == "toolResult":
            self.result(message, place)
        elif role == "bashExecution":
            self.shell(message, place)
        elif role in ("system", "custom", "hookMessage", "branchSummary", "compactionSummary"):
            parts = (message.get("content"), *(message.get("sections") or {}).values())
            self.tell.injected(place, "\n".join(text_of(part) for part in parts))
        else:
            self.tell.leave(f"unknown:role {role}"[:60])

    def words(self, message: dict[str, Any], place: Place) -> None:
        """Take in what the person said; every message begins a turn."""
        self.tell.user(
            place._replace(turn="/".join(place.identity)), text_of(message.get("content"))
        )

    def answer(self, message: dict[str, Any], entry: dict[str, Any], place: Place) -> None:
        """Take in what the model said and called, its usage, and how the turn ended."""
        del entry
        for number, block in enumerate(blocks_of(message.get("content"))):
            self.block(block, place, number)
        if isinstance(message.get("model"), str):
            self.state.facts.model = message["model"]
            self.state.facts.provider = message.get("provider") or self.state.facts.provider
        self.usage(message.get("usage"), place)
        self.ended(message, place)

    def block(self, block: dict[str, Any], place: Place, number: int) -> None:
        """Take in one block of an answer."""
        kind = block.get("type")
        if kind in ("thinking", "redacted_thinking"):
            self.tell.leave("reasoning")
        elif kind == "text":
            self.tell.assistant(place, str(block.get("text") or ""), block=number)
        elif kind in ("toolCall", "tool_use"):
            given = block.get("arguments") if kind == "toolCall" else block.get("input")
            self.tell.call(place, str(block.get("id")), str(block.get("name")), given, block=number)
        else:
            self.tell.leave(f"unknown:block {kind}"[:60])

    def result(self, message: dict[str, Any], place: Place) -> None:
        """Take in the result of a call."""
        text = text_of(message.get("content"))
        status, exit_code = outcome(text, failed=bool(message.get("isError")))
        if status == "ok" and message.get("toolName") in self.tools.shells:
            exit_code = 0  # any other one is told with the result
        self.tell.result(
            place,
            str(message.get("toolCallId")),
            text,
            status=status,
            exit_code=exit_code,
            tool=message.get("toolName"),
        )

    def shell(self, message: dict[str, Any], place: Place) -> None:
        """Take in a command that the person ran, with its output."""
        call_id = f"shell:{place.identity[0]}"
        command: Json = {"command": str(message.get("command") or "")}
        self.tell.call(place, call_id, "shell", command, role="user")
        code = message.get("exitCode")
        status = "interrupted" if message.get("cancelled") else "error" if code else "ok"
        output = str(message.get("output") or "")
        self.tell.result(place, call_id, output, status=status, exit_code=code, block=1)

    def usage(self, given: Any, place: Place) -> None:  # noqa: ANN401  (as it was decoded)
        """Take in the token figures of an answer."""
        if not isinstance(given, dict):
            return
        names = ("input", "cacheRead", "cacheWrite"), ("inputTokens", "cacheReadTokens")
        asked = [given[name] for name in (*names[0], *names[1]) if isinstance(given.get(name), int)]
        output = given.get("output", given.get("outputTokens"))
        if sum(asked) or output:
            self.tell.add(
                Usage(
                    at=place.at,
                    model=self.state.facts.model,
                    context_tokens=sum(asked) or None,
                    output_tokens=output,
                )
            )

    def ended(self, message: dict[str, Any], place: Place) -> None:
        """Say how the turn ended, if it did."""
        reason, error = message.get("stopReason"), str(message.get("errorMessage") or "")
        if reason in ("stop", "length"):
            self.tell.turn_end(place)
        elif reason == "aborted":
            self.tell.turn_end(place, "interrupted")
        elif reason == "error":
            self.tell.turn_end(place, "failed", error or "the provider failed")
            self.refused(error, place)

    def refused(self, error: str, place: Place) -> None:
        """Say what a provider's refusal means."""
        if refusals.is_limit("", None, error):
            self.tell.limit(place, error, refusals.resets_at(error, place.at))
        full = refusals.overflow(place.at, error, "")
        if full is not None:
            self.tell.add(full)


def outcome(text: str, *, failed: bool) -> tuple[str, int | None]:
    """Return status and exit code of a call from what its tool says at the end."""
    code = _EXIT.search(text)
    if code is not None:
        return ("error" if int(code[1]) else "ok"), int(code[1])
    if failed and _ABORTED.search(text):
        return "interrupted", None
    return ("error" if failed else "ok"), None


def blocks_of(content: Any) -> list[dict[str, Any]]:  # noqa: ANN401  (as it was decoded)
    """Return content as blocks; a plain text is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def text_of(content: Any) -> str:  # noqa: ANN401  (as it was decoded)
    """Return the visible text of content, pictures as placeholders."""
    texts = []
    for block in blocks_of(content):
        if block.get("type") == "image":
            media = block.get("mimeType") or block.get("media_type")
            texts.append(blob("image", media, str(block.get("data") or "")))
        elif isinstance(block.get("text"), str):
            texts.append(block["text"])
    return "\n".join(texts)


# --- what a session says about itself -----------------------------------------------------------


def describe_header(facts: Facts, value: dict[str, Any]) -> None:
    """Take over the header of a session."""
    if isinstance(value.get("cwd"), str):
        facts.cwd = facts.first_cwd = value["cwd"]
    facts.version = f"format {value.get('version', 1)}"
    facts.time(milliseconds(value.get("timestamp")))
    parent = value.get("parentSession")
    if isinstance(parent, str):
        found = STAMPED.fullmatch(PurePath(parent).name)
        facts.parent = found["id"] if found is not None else None


def note(facts: Facts, entry: dict[str, Any]) -> None:
    """Take over an entry that is a setting."""
    if entry.get("type") == "model_change":
        model = entry.get("modelId") or entry.get("model")
        facts.model = model if isinstance(model, str) else facts.model
    elif entry.get("type") == "session_info" and isinstance(entry.get("name"), str):
        facts.named = entry["name"]


def describe(source: Source) -> SessionFacts:
    """Read both ends of a session. Raises StoreUnreadable."""
    if source.path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    found = ends(source.path)
    facts = Facts()
    for value in (*found.head, *found.tail):
        if value.get("type") == "session":
            describe_header(facts, value)
        else:
            note(facts, value)
            facts.time(milliseconds(value.get("timestamp")))
    return facts.of(source.native_id)
