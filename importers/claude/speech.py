"""What the records of a session say, in conversation order: events, turns, plans, usage, limits.

Identity of every event is (record uuid, block number); of a record without a uuid, which only very
old or damaged files hold, ("file:<session>:<n>", block number), n counting such records. A call
that never got a result is yielded as an interrupted result under the identity of the call's block.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from importers import own_output
from importers.base import (
    Event,
    Item,
    Json,
    Kind,
    Limit,
    Receipt,
    Sighting,
    StoreUnreadable,
    Turn,
    Usage,
)
from importers.claude import calls, plans, results
from importers.claude.content import (
    block_text,
    json_value,
    result_text,
    without_data_uris,
    without_reminder,
)
from importers.claude.records import (
    ANY,
    ATTACHMENT,
    BLOCKS,
    COMPACT,
    ORIGIN,
    TEXT,
    TEXTS,
    Attachment,
    Block,
    Envelope,
    Message,
    decode_or,
    milliseconds,
)
from importers.claude.refusals import is_limit, resets_at
from importers.claude.state import OPEN_CALLS, RECENT_MESSAGES, Call, Spoken, State
from importers.claude.tree import Twig
from importers.claude.visible import HUMAN, TYPED, Said, classify
from importers.jsonl import open_regular

SYNTHETIC: Final = "<synthetic>"
WORDS: Final = 1000
"""Added to the block number of what belongs behind a result in the same record."""
PERSISTED_LIMIT: Final = 4 * 1024 * 1024 - 4096
"""Most bytes of a persisted output that are kept: head and tail, with a remark between."""
TOOL_RESULTS: Final = "tool-results"
ENDED: Final = frozenset({"end_turn", "stop_sequence"})
STOPPED: Final = frozenset({"refusal", "model_context_window_exceeded"})
_LINE_NUMBER: Final = re.compile(r"^[ \t]*\d+(?:\t|→)", re.MULTILINE)
"""What the Read tool puts before each line."""


@dataclass(slots=True, eq=False)
class Record:
    """A tree record: decoded envelope and message, its place, its time."""

    envelope: Envelope
    message: Message | None
    twig: Twig
    at: int
    turn: str | None = None


class Speech:
    """Turns records into items; keeps what later records need in the state."""

    def __init__(
        self, state: State, side_folder: Path, left_out: dict[str, int] | None = None
    ) -> None:
        self._state = state
        self._side = side_folder
        self._left_out = {} if left_out is None else left_out
        self._items: list[Item] = []
        self._usage: dict[str, Usage] = {}
        self._sighted: set[str] = set()
        self._turns: dict[str, str | None] = {}

    def items(self) -> list[Item]:
        """Return what was said since the start of the batch."""
        return [*self._items, *self._usage.values()]

    def close(self) -> list[Item]:
        """Return what is interrupted because no process writes the session any more."""
        state = self._state
        for call_id, call in state.calls.items():
            self._items.append(
                Event(
                    identity=(call.uuid, str(call.block)),
                    kind=Kind.TOOL_RESULT,
                    role="tool",
                    text="",
                    at=call.at,
                    depth=call.depth,
                    record=call.record,
                    block=call.block + WORDS,
                    turn=call.turn,
                    call_id=call_id,
                    tool=call.tool,
                    status="interrupted",
                    cwd=call.cwd,
                    active=call.active,
                )
            )
        if state.open is not None:
            self._items.append(
                Turn(
                    turn=state.open,
                    state="interrupted",
                    record=state.open_record,
                    ended_at=state.facts.last_at,
                )
            )
        state.calls, state.open = {}, None
        return self._items

    def hear(self, record: Record) -> None:
        """Take in one record; records come in conversation order."""
        envelope, twig = record.envelope, record.twig
        inherited = self._turns.get(twig.parent or "", self._state.turn)
        record.turn = envelope.prompt_id or inherited
        kind = envelope.type
        if kind == "user":
            self._user(record)
        elif kind == "assistant":
            self._assistant(record)
        elif kind == "attachment":
            self._attachment(record)
        elif kind == "system":
            self._system(record)
        else:
            self._leave("bookkeeping" if kind == "progress" else f"unknown:{kind[:60]}")
        self._turns[twig.uuid] = record.turn
        self._state.turn = record.turn

    # --- making items

    def _leave(self, kind: str) -> None:
        self._left_out[kind] = self._left_out.get(kind, 0) + 1

    def _event(
        self,
        record: Record,
        kind: Kind,
        role: str | None,
        text: str,
        *,
        block: int = 0,
        place: int | None = None,
        at: int | None = None,
        call_id: str | None = None,
        tool: str | None = None,
        tool_input: Json = None,
        exit_code: int | None = None,
        status: str | None = None,
        meta: dict[str, Json] | None = None,
    ) -> None:
        twig = record.twig
        self._items.append(
            Event(
                identity=(twig.uuid, str(block)),
                kind=kind,
                role=role,
                text=text,
                at=record.at if at is None else at,
                depth=twig.depth,
                record=twig.record,
                block=block if place is None else place,
                turn=record.turn,
                call_id=call_id,
                tool=tool,
                tool_input=tool_input,
                exit_code=exit_code,
                status=status,
                cwd=record.envelope.cwd,
                active=twig.active,
                meta=meta or {},
            )
        )

    def _turn(self, record: Record, state: str, error: str | None = None) -> None:
        """Say what became of the record's turn; the state keeps which one is open."""
        if record.turn is None:
            return
        opens = state == "open"
        self._items.append(
            Turn(
                turn=record.turn,
                state=state,
                record=record.twig.record,
                error=error,
                started_at=record.at if opens else None,
                ended_at=None if opens else record.at,
            )
        )
        if opens:
            self._state.open, self._state.open_record = record.turn, record.twig.record
        elif self._state.open == record.turn:
            self._state.open = None

    def _abandon(self, record: Record) -> None:
        """Count a turn as interrupted that was still open when the next prompt came."""
        state = self._state
        if state.open is not None and state.open != record.turn:
            self._items.append(
                Turn(
                    turn=state.open,
                    state="interrupted",
                    record=state.open_record,
                    ended_at=record.at,
                )
            )

    # --- user records

    def _user(self, record: Record) -> None:
        envelope, message = record.envelope, record.message
        if message is None:
            self._leave("bookkeeping")
            return
        if envelope.is_compact_summary:
            self._leave("injected")
            return
        blocks = message.blocks()
        for number, block in enumerate(blocks):
            if block.type == "tool_result":
                self._tool_result(record, block, number)
        texts = [(number, b) for number, b in enumerate(blocks) if b.type != "tool_result"]
        if not texts:
            return
        if envelope.is_meta or self._is_injected(envelope):
            self._leave("injected")
            return
        self._said(record, texts, typed=envelope.prompt_source in TYPED)

    def _is_injected(self, envelope: Envelope) -> bool:
        origin = decode_or(envelope.origin, ORIGIN, None)
        if origin is not None and origin.kind is not None and origin.kind not in HUMAN:
            return True
        return envelope.prompt_source == "system" or envelope.agent_id is not None

    def _said(self, record: Record, texts: list[tuple[int, Block]], *, typed: bool) -> None:
        """Sort the text blocks of a user record; the person's words become one message."""
        words: list[str] = []
        first = texts[0][0]
        for number, block in texts:
            text = block_text(block)
            if text is None:
                self._leave(f"unknown:block {block.type[:40]}")
                continue
            found = classify(text, typed=typed) if block.type == "text" else None
            if found is None or found.said is Said.WORDS:
                first = number if not words else first
                words.append(text if found is None else found.text)
            else:
                self._special(record, number, found.said, found.text)
        if words:
            self._message(record, "\n".join(words), first)

    def _message(self, record: Record, text: str, block: int, at: int | None = None) -> None:
        """Yield the person's words, without what the harness or we put between them."""
        text, reminded = without_reminder(text)
        text, briefings = own_output.without_briefings(text)
        if reminded:
            self._leave("injected")
        for _ in briefings:
            self._leave("briefing")
        if not text.strip():
            return
        if record.envelope.prompt_id is None and at is None:
            record.turn = record.twig.uuid
        if at is None:
            self._abandon(record)
            self._turn(record, "open")
        self._event(record, Kind.USER_MESSAGE, "user", text, block=block, at=at)

    def _special(self, record: Record, block: int, said: Said, text: str) -> None:
        if said is Said.COMMAND:
            self._event(record, Kind.USER_MESSAGE, "user", text, block=block)
        elif said is Said.SHELL:
            self._shell(record, block, text)
        elif said is Said.SHELL_OUTPUT:
            self._shell_output(record, block, text)
        elif said is Said.INTERRUPTION:
            self._leave("bookkeeping")
            self._turn(record, "interrupted")
        elif said is Said.INJECTED:
            self._leave("injected")
        else:
            self._leave("bookkeeping")

    def _shell(self, record: Record, block: int, command: str) -> None:
        call_id = f"shell:{record.twig.uuid}"
        self._state.shell = call_id
        tool_input: Json = {"command": command}
        self._remember(record, block, call_id, "shell", tool_input)
        self._event(
            record,
            Kind.TOOL_CALL,
            "user",
            "",
            block=block,
            call_id=call_id,
            tool="shell",
            tool_input=tool_input,
        )

    def _shell_output(self, record: Record, block: int, text: str) -> None:
        call_id = self._state.shell or f"shell:{record.twig.parent}"
        call = self._state.calls.pop(call_id, None)
        self._event(
            record,
            Kind.TOOL_RESULT,
            "user",
            self._ours(record, call, text),
            block=block,
            call_id=call_id,
            tool="shell",
            status="unknown",
        )

    # --- tool calls and results

    def _remember(
        self, record: Record, block: int, call_id: str, tool: str, tool_input: Json
    ) -> None:
        twig, open_calls = record.twig, self._state.calls
        open_calls[call_id] = Call(
            uuid=twig.uuid,
            block=block,
            depth=twig.depth,
            record=twig.record,
            tool=tool,
            at=record.at,
            turn=record.turn,
            detail=calls.detail(tool, tool_input),
            own=calls.is_own(tool, tool_input),
            cwd=record.envelope.cwd,
            active=twig.active,
        )
        while len(open_calls) > OPEN_CALLS:
            del open_calls[next(iter(open_calls))]

    def _tool_result(self, record: Record, block: Block, number: int) -> None:
        envelope = record.envelope
        call_id = block.tool_use_id or ""
        call = self._state.calls.pop(call_id, None)
        tool = call.tool if call is not None else None
        told = results.told(envelope.tool_use_result)
        text, reminded = without_reminder(result_text(block.content))
        if reminded:
            self._leave("injected")
        is_error = bool(block.is_error)
        ended = results.outcome(
            text, told, is_error=is_error, denied=envelope.tool_denial_kind is not None
        )
        spoken = results.spoken(text, envelope.tool_use_result, tool, is_error=is_error)
        if text.startswith(results.PERSISTED):
            text = self._persisted(text, told)
        self._event(
            record,
            Kind.TOOL_RESULT,
            "tool",
            self._ours(record, call, text, call_id),
            block=number,
            call_id=call_id,
            tool=tool,
            exit_code=ended.exit_code,
            status=ended.status,
            meta={"refused": True} if ended.refused else None,
        )
        if spoken:
            self._event(
                record, Kind.USER_MESSAGE, "user", spoken, block=number, place=number + WORDS
            )
        if call is not None and ended.status == "ok":
            self._succeeded(record, call, told, text)

    def _succeeded(self, record: Record, call: Call, told: results.Told, text: str) -> None:
        fact = calls.file_fact(call.tool, call.detail, told.type, record.at)
        if fact is not None:
            self._items.append(fact)
        if call.tool in plans.TASK_TOOLS:
            given = decode_or(msgspec.Raw(call.detail.encode()), ANY, None)
            result = results.plain(record.envelope.tool_use_result)
            tasks = self._state.tasks
            given = given if isinstance(given, dict) else {}
            if plans.apply_task(tasks, call.tool, given, result, text):
                self._items.append(plans.task_plan(tasks, record.at))

    def _ours(self, record: Record, call: Call | None, text: str, call_id: str = "") -> str:
        """Return a result's text without what this program printed; keeps receipts."""
        if call is not None and call.own:
            self._leave("own_output")
            for line in own_output.receipts(text):
                self._items.append(Receipt(line=line, call_id=call_id, record=record.twig.record))
            return own_output.STUB
        rest, found = _without_briefings(text)
        for _ in found:
            self._leave("own_output")
        return f"{rest}\n{own_output.STUB}".lstrip() if found else rest

    def _persisted(self, preview: str, told: results.Told) -> str:
        """Return a large output that the harness moved to a file of its own.

        The file counts only inside the session's own folder, wherever that is now; without it the
        first 30,000 characters that Bash results repeat, or the preview.
        """
        recorded = results.persisted_path(preview, told)
        if recorded is not None:
            text = _bounded_file(self._side / TOOL_RESULTS / os.path.basename(recorded))  # noqa: PTH119
            if text is not None:
                return without_data_uris(text)
        return preview if not told.stdout else without_data_uris(told.stdout)

    # --- assistant records

    def _assistant(self, record: Record) -> None:
        envelope, message = record.envelope, record.message
        if message is None:
            self._leave("bookkeeping")
            return
        if envelope.is_api_error_message:
            self._api_error(record, message)
            return
        if message.model == SYNTHETIC:
            self._leave("bookkeeping")
            return
        if message.model is not None:
            self._state.facts.model = message.model
        spoken = self._spoken(message, record.twig.uuid)
        for number, block in enumerate(message.blocks()):
            self._assistant_block(record, block, number, spoken)
        self._count(record, message, spoken)
        self._stop(record, message.stop_reason)

    def _assistant_block(
        self, record: Record, block: Block, number: int, spoken: Spoken | None
    ) -> None:
        kind = block.type
        if kind in ("thinking", "redacted_thinking"):
            self._leave("reasoning")
        elif kind == "text":
            self._assistant_text(record, block.text or "", number, spoken)
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            self._tool_use(record, block, number)
        elif kind.endswith("tool_result"):
            self._tool_result(record, block, number)
        else:
            text = block_text(block)
            if text is None:
                self._leave(f"unknown:block {kind[:40]}")
            else:
                self._event(record, Kind.ASSISTANT_MESSAGE, "assistant", text, block=number)

    def _assistant_text(
        self, record: Record, text: str, number: int, spoken: Spoken | None
    ) -> None:
        if not text.strip() or text.strip() == "(no content)":
            return
        if spoken is not None:
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            if digest in spoken.texts:
                self._leave("bookkeeping")  # the same block once more, under another uuid
                return
            spoken.texts.append(digest)
        rest, found = _without_briefings(text)
        for _ in found:
            self._leave("briefing")
        if rest:
            rest = without_data_uris(rest)
            self._event(record, Kind.ASSISTANT_MESSAGE, "assistant", rest, block=number)

    def _tool_use(self, record: Record, block: Block, number: int) -> None:
        tool, call_id = block.name or "", block.id or ""
        tool_input = json_value(block.input)
        self._remember(record, number, call_id, tool, tool_input)
        self._event(
            record,
            Kind.TOOL_CALL,
            "assistant",
            "",
            block=number,
            call_id=call_id,
            tool=tool,
            tool_input=tool_input,
        )
        if tool == "TodoWrite":
            plan = plans.todo_plan(tool_input, record.at)
            if plan is not None:
                self._items.append(plan)

    def _spoken(self, message: Message, uuid: str) -> Spoken | None:
        if message.id is None:
            return None
        recent = self._state.messages
        for spoken in recent:
            if spoken.id == message.id:
                spoken.uuids.append(uuid)
                del spoken.uuids[:-RECENT_MESSAGES]
                return spoken
        spoken = Spoken(message.id, [uuid], [])
        recent.append(spoken)
        del recent[:-RECENT_MESSAGES]
        return spoken

    def _count(self, record: Record, message: Message, spoken: Spoken | None) -> None:
        tokens = message.usage
        if tokens is None or spoken is None:
            return
        asked = [
            tokens.input_tokens,
            tokens.cache_creation_input_tokens,
            tokens.cache_read_input_tokens,
        ]
        figures = [*asked, tokens.output_tokens]
        if figures == spoken.usage:
            return
        spoken.usage = figures
        known = [part for part in asked if part is not None]
        self._usage[spoken.id] = Usage(
            at=record.at,
            model=message.model,
            context_tokens=sum(known) if known else None,
            output_tokens=tokens.output_tokens,
        )

    def _stop(self, record: Record, reason: str | None) -> None:
        if reason in ENDED:
            self._turn(record, "complete")
        elif reason in STOPPED:
            self._turn(record, "failed", reason)
        elif reason is not None and self._state.open != record.turn:
            self._turn(record, "open")

    def _api_error(self, record: Record, message: Message) -> None:
        self._leave("bookkeeping")
        envelope = record.envelope
        text = "\n".join(block.text or "" for block in message.blocks() if block.type == "text")
        error = decode_or(envelope.error, ANY, None)
        details = decode_or(envelope.error_details, ANY, None)
        name = error if isinstance(error, str) else ""
        told = details if isinstance(details, str) else ""
        status = envelope.api_error_status
        number = int(status) if status is not None and str(status).isdigit() else None
        self._turn(record, "failed", text.strip() or name or told or "API error")
        if is_limit(name, number, text):
            when = resets_at(text, record.at) or resets_at(told, record.at)
            self._items.append(
                Limit(at=record.at, message=text.strip() or told or name, resets_at=when)
            )

    # --- attachments and system records

    def _attachment(self, record: Record) -> None:
        attachment = decode_or(record.envelope.attachment, ATTACHMENT, Attachment())
        if attachment.type == "queued_command":
            self._queued(record, attachment)
        elif attachment.type in ("hook_additional_context", "hook_success"):
            self._hook(record, attachment)
        else:
            self._leave("injected")

    def _queued(self, record: Record, attachment: Attachment) -> None:
        """Yield a message that the person sent while the harness was busy."""
        origin = attachment.origin
        human = origin is None or origin.kind is None or origin.kind in HUMAN
        if attachment.command_mode not in (None, "prompt") or attachment.is_meta or not human:
            self._leave("injected")
            return
        at = milliseconds(attachment.timestamp) or record.at
        prompt = decode_or(attachment.prompt, BLOCKS, None)
        blocks = [Block(type="text", text=prompt)] if isinstance(prompt, str) else prompt or []
        texts = [text for text in map(block_text, blocks) if text]
        if origin is None and texts and classify(texts[0], typed=False).said is Said.INJECTED:
            self._leave("injected")
        elif texts:
            self._message(record, "\n".join(texts), 0, at)

    def _hook(self, record: Record, attachment: Attachment) -> None:
        content = decode_or(attachment.content, TEXTS, None)
        texts = [content] if isinstance(content, str) else list(content or ())
        texts.append(decode_or(attachment.stdout, TEXT, None) or "")
        found = {name for text in texts for name in own_output.DELIVERY.findall(text)}
        self._leave("briefing" if found else "injected")
        for delivery in sorted(found - self._sighted):
            self._sighted.add(delivery)
            self._items.append(
                Sighting(
                    delivery=delivery,
                    depth=record.twig.depth,
                    record=record.twig.record,
                    active=record.twig.active,
                )
            )

    def _system(self, record: Record) -> None:
        envelope = record.envelope
        if envelope.subtype == "compact_boundary":
            self._compaction(record)
            return
        if envelope.subtype == "local_command":
            text = decode_or(envelope.content, TEXT, None) or ""
            found = classify(text, typed=False)
            if found.said is not Said.WORDS:
                self._special(record, 0, found.said, found.text)
                return
        elif envelope.subtype == "turn_duration" and self._state.open == record.turn:
            self._turn(record, "complete")
        self._leave("bookkeeping")

    def _compaction(self, record: Record) -> None:
        figures = decode_or(record.envelope.compact_metadata, COMPACT, None)
        meta: dict[str, Json] = {}
        if figures is not None:
            meta = {
                key: value
                for key, value in (
                    ("trigger", figures.trigger),
                    ("tokens_before", figures.pre_tokens),
                    ("tokens_after", figures.post_tokens),
                )
                if value is not None
            }
        text = decode_or(record.envelope.content, TEXT, None) or "Conversation compacted"
        self._event(record, Kind.COMPACTION, None, text, meta=meta)
        self._items.append(
            Usage(
                at=record.at,
                model=self._state.facts.model,
                context_tokens=None if figures is None else figures.post_tokens,
                compactions=1,
            )
        )


def _without_briefings(text: str) -> tuple[str, list[str]]:
    """Take briefings out of a text, also where a tool put line numbers before its lines."""
    rest, found = own_output.without_briefings(text)
    if found or "BEGIN WORKSTREAM" not in text:
        return rest, found
    return own_output.without_briefings(_LINE_NUMBER.sub("", text))


def _bounded_file(path: Path) -> str | None:
    """Return a file's text, its middle left out beyond the limit; None if there is no such file."""
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            return None
        descriptor, status = open_regular(path)
    except (OSError, StoreUnreadable):
        return None
    try:
        if status.st_size <= PERSISTED_LIMIT:
            return _bytes(descriptor, 0, status.st_size).decode("utf-8", "replace")
        half = PERSISTED_LIMIT // 2
        head, tail = _bytes(descriptor, 0, half), _bytes(descriptor, status.st_size - half, half)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    left = status.st_size - 2 * half
    gap = f"\n[{left} bytes left out]\n"
    return head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")


def _bytes(descriptor: int, offset: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.pread(descriptor, size, offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)
