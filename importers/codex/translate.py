"""From rollout records to items: what is visible, what is evidence, and what is neither.

The conversation is in `event_msg` records only. A `response_item` is what the model was sent: it
repeats every visible message and carries injected context as "user" text, so it is never read for
messages; it tells calls without an item, and our delivery ids in developer messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from importers.base import (
    Event,
    FileFact,
    Item,
    Json,
    Kind,
    LeftOut,
    Limit,
    Mark,
    Plan,
    Receipt,
    Sighting,
    Turn,
)
from importers.codex import tools
from importers.codex.meter import Meter
from importers.codex.records import (
    ANY,
    EVENT,
    NULL,
    OBJECT,
    RESPONSE,
    Envelope,
    EventHead,
    Record,
    ResponseHead,
    milliseconds,
    number_of,
    object_of,
    objects_of,
    text_of,
)
from importers.codex.state import MAX_COUNTS, MAX_DONE, MAX_PENDING, MAX_PROMPTS, Context, Pending
from importers.jsonl import Undecodable, decode
from importers.own_output import (
    DELIVERY_BYTES,
    STUB,
    holds_briefing,
    receipts,
    runs_us,
    without_briefings,
)

_CODE_MODE: Final = "exec"
"""The custom tool whose JavaScript calls other tools; those have items of their own."""
_BRIEFING_TOOL: Final = "mcp__workstream_context__briefing"
"""What the launcher serves where hooks are off; its result is a delivery like a hook's text."""
_ITEM_MESSAGES: Final = {"UserMessage": "user", "AgentMessage": "assistant", "Plan": "assistant"}
_EVENT_MESSAGES: Final = {"user_message": "user", "agent_message": "assistant"}
_QUIET_EVENTS: Final = frozenset(
    {
        "thread_settings_applied", "agent_reasoning", "agent_reasoning_raw_content",
        "context_compacted", "thread_name_updated", "entered_review_mode", "exited_review_mode",
        "item_started", "exec_command_begin", "patch_apply_begin", "mcp_tool_call_begin",
        "web_search_begin", "turn_diff", "background_event", "stream_error", "warning",
        "model_reroute", "session_configured", "shutdown_complete", "undo_completed",
        "collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end",
        "collab_close_end", "collab_resume_end", "thread_goal_updated", "hook_started",
        "hook_completed", "deprecation_notice",
    }
)  # fmt: skip
_QUIET_ITEMS: Final = frozenset(
    {
        "ContextCompaction", "SubAgentActivity", "CollabAgentToolCall", "EnteredReviewMode",
        "ExitedReviewMode", "Sleep", "FunctionCallOutput",
    }
)  # fmt: skip
_QUIET_RECORDS: Final = frozenset(
    {
        "session_meta", "world_state", "inter_agent_communication_metadata", "session_state",
        "ghost_snapshot", "turn_diff",
    }
)  # fmt: skip
_QUIET_RESPONSES: Final = frozenset(
    {
        "message", "additional_tools", "web_search_call", "compaction", "configuration_update",
        "tool_search_call", "tool_search_output", "image_generation_call", "compaction_trigger",
        "context_compaction", "ghost_snapshot", "compaction_summary",
    }
)  # fmt: skip
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_ANSWERS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}
)


class Translator:
    """Translates the records of one segment, in order.

    `context` is what has to survive between reads; everything else is output.
    """

    def __init__(self, thread: str, context: Context, *, agent: str = "") -> None:
        self.thread = thread
        self.context = context
        self.agent = agent
        """Thread id of the subagent whose records these are; "" for the session itself."""
        self.items: list[Item] = []
        self.left: Counter[str] = Counter()

        self.children: set[str] = set()
        self._record = 0
        self._active = True
        self._stamp = ""
        self._known_at: int | None = None
        self._meter = Meter(thread, context)

    def feed(self, envelope: Envelope, data: bytes, record: int, *, active: bool) -> None:
        """Translate one record. Raises Undecodable when its payload cannot be read."""
        self._record, self._active = record, active
        self._stamp = envelope.timestamp or f"#{record & 0xFFFFFFFF}"
        self._known_at = None
        kind = envelope.type
        if kind == "event_msg":
            self._event(decode(envelope.payload, EVENT), envelope.payload)
        elif kind == "response_item":
            self._response(decode(envelope.payload, RESPONSE), data)
        elif kind == "turn_context":
            self._turn_context(decode(envelope.payload, OBJECT), data)
        elif kind == "token_usage_record":
            self._meter.record(envelope.payload, self._stamp)
        elif kind == "compacted":
            self._compacted(decode(envelope.payload, OBJECT))
        elif kind in _QUIET_RECORDS:
            self.left["bookkeeping"] += 1
            if kind == "session_meta":
                self._sight(data)
        else:
            self.left[f"unknown:{kind[:40]}"] += 1

    def close(self) -> None:
        """Say that nothing follows: yield what is still pending as interrupted."""
        for call_id, call in list(self.context.pending.items()):
            self._flush(call_id, call)
            self.context.done.remove(call_id)
            self.context.cut[call_id] = call.name
        for call_id in list(self.context.cut)[:-MAX_DONE]:
            del self.context.cut[call_id]

    def drain(self) -> list[Item]:
        """Return and forget what was translated since the last call."""
        if usage := self._meter.drain(self.context.at or 0):
            self.items.append(usage)
        self.context.last_at = milliseconds(self._stamp) or self.context.last_at
        items, self.items = self.items, []
        items.extend(LeftOut(kind=kind, number=count) for kind, count in sorted(self.left.items()))
        self.left.clear()
        return items

    @property
    def _at(self) -> int:
        """Time of the record, worked out when somebody wants it; without one the last known."""
        if self._known_at is None:
            self._known_at = milliseconds(self._stamp) or self.context.at or 0
            self.context.at = self._known_at
        return self._known_at

    # --- events --------------------------------------------------------------------------------

    def _event(self, head: EventHead, raw: msgspec.Raw) -> None:
        kind = head.type
        if kind == "item_completed":
            self._item(decode(head.item, OBJECT), head.turn_id or self.context.turn)
        elif kind == "token_count":
            if limit := self._meter.count(raw, self._stamp):
                self.items.append(limit)
        elif kind in _EVENT_MESSAGES:
            self._old_message(_EVENT_MESSAGES[kind], decode(raw, OBJECT))
        elif handle := _EVENTS.get(kind):
            handle(self, decode(raw, OBJECT))
        elif kind in _QUIET_EVENTS:
            self.left["bookkeeping"] += 1
        else:
            payload = decode(raw, OBJECT)
            item = tools.item_of_end_event(kind, payload)
            if item is None:
                self.left[f"unknown:event_msg.{kind[:40]}"] += 1
            else:
                self._tool_item(item, head.turn_id or self.context.turn)

    def _task_started(self, payload: Record) -> None:
        context = self.context
        context.turn = text_of(payload.get("turn_id")) or None
        context.turn_record, context.prompted, context.error = self._record, False, None
        context.window = number_of(payload.get("model_context_window")) or context.window
        for call_id, call in list(context.pending.items()):
            if call.outcome != "running":
                self._flush(call_id, call)
        self._turn("open", payload, started_at=self._at)

    def _task_complete(self, payload: Record) -> None:
        failure = object_of(payload.get("error"))
        error = text_of(failure.get("message")) or self.context.error
        if failure:
            self._refusal(failure)
        elif not error:
            self._meter.exceeded(now=False)
        self._turn("failed" if error else "complete", payload, error=error, ended_at=self._at)

    def _turn_aborted(self, payload: Record) -> None:
        reason = text_of(payload.get("reason")) or None
        self._turn("interrupted", payload, error=reason, ended_at=self._at)

    def _turn(
        self,
        state: str,
        payload: Record,
        *,
        error: str | None = None,
        started_at: int | None = None,
        ended_at: int | None = None,
    ) -> None:
        turn = text_of(payload.get("turn_id")) or self.context.turn
        if turn is None:
            return
        self.items.append(
            Turn(
                turn=turn,
                state=state,
                record=self._record,
                error=error,
                started_at=started_at,
                ended_at=ended_at,
            )
        )

    def _error(self, payload: Record) -> None:
        self.context.error = text_of(payload.get("message")) or "error"
        self._refusal(payload)

    def _refusal(self, payload: Record) -> None:
        """Take what an error says: the provider's limit is reached, or the context is full."""
        info = payload.get("codex_error_info")
        names = [info] if isinstance(info, str) else list(object_of(info))
        if "context_window_exceeded" in names:
            self._meter.exceeded(now=True)
        statuses = [object_of(part).get("http_status_code") for part in object_of(info).values()]
        if 429 in statuses or any("usage_limit" in n or "rate_limit" in n for n in names):
            message = text_of(payload.get("message"))
            self.items.append(
                Limit(at=self._at, message=message, resets_at=self._meter.resets_at())
            )

    def _turn_context(self, payload: Record, data: bytes) -> None:
        self.context.cwd = text_of(payload.get("cwd")) or self.context.cwd
        self.context.model = text_of(payload.get("model")) or self.context.model
        self.left["bookkeeping"] += 1
        self._sight(data)

    def _compacted(self, payload: Record) -> None:
        number = number_of(payload.get("window_number"))
        self._add(
            Kind.COMPACTION,
            None,
            "",
            ("c", self.thread, self._stamp, str(self._nth("compaction"))),
            meta={} if number is None else {"window": number},
        )
        self._meter.compacted()

    def _rolled_back(self, payload: Record) -> None:
        prompts, turns = self.context.prompts, number_of(payload.get("num_turns")) or 0
        if turns <= 0 or not prompts:
            return
        first = prompts[max(0, len(prompts) - turns)]
        del prompts[max(0, len(prompts) - turns) :]
        self.items.append(Mark(first=first, last=self._record, active=False))

    def _plan_update(self, payload: Record) -> None:
        self._plan(payload.get("plan"))

    def _plan(self, steps: object) -> None:
        items = tuple(
            (text_of(step.get("step")), text_of(step.get("status")) or "pending")
            for step in objects_of(steps)
        )
        self.items.append(Plan(items=items, at=self._at))

    # --- messages ------------------------------------------------------------------------------

    def _item(self, item: Record, turn: str | None) -> None:
        kind = text_of(item.get("type"))
        self.context.items = True
        if kind in _ITEM_MESSAGES:
            phase = "plan" if kind == "Plan" else text_of(item.get("phase"))
            text = text_of(item.get("text")) or tools.content_text(item.get("content"))
            self._message(_ITEM_MESSAGES[kind], text, turn, "item", phase)
        elif kind == "Reasoning":
            self.left["reasoning"] += 1
        elif kind == "HookPrompt":
            self.left["injected"] += 1
        elif kind in _QUIET_ITEMS:
            self._subagents(item)
            self.left["bookkeeping"] += 1
        else:
            self._tool_item(item, turn)

    def _subagents(self, item: Record) -> None:
        receivers = item.get("receiver_thread_ids")
        ids = [item.get("agent_thread_id"), *(receivers if isinstance(receivers, list) else [])]
        self.children.update(each for each in map(text_of, ids) if each and each != self.thread)

    def _old_message(self, role: str, payload: Record) -> None:
        text = text_of(payload.get("message"))
        images = [*_texts(payload.get("images")), *_texts(payload.get("local_images"))]
        shown = "\n".join([text, *(tools.image_text(image) for image in images)]).strip("\n")
        turn = text_of(payload.get("turn_id")) or self.context.turn
        self._message(role, shown if images else text, turn, "event", text_of(payload.get("phase")))

    def _message(self, role: str, text: str, turn: str | None, style: str, phase: str) -> None:
        if self.context.styles.setdefault(role, style) != style and phase != "plan":
            self.left["bookkeeping"] += 1
            return
        nth = str(self._nth(role))
        if role == "user":
            self._prompted()
        text, deliveries = without_briefings(text)
        if deliveries:
            self.left["briefing"] += len(deliveries)
            if role == "user":
                self._sightings(deliveries)
        if not text and deliveries:
            return
        kind = Kind.USER_MESSAGE if role == "user" else Kind.ASSISTANT_MESSAGE
        meta: dict[str, Json] = {"phase": phase} if phase else {}
        identity = ("m", self.thread, self._stamp, role, nth)
        self._add(kind, role, text, identity, turn=turn, meta=meta)

    def _prompted(self) -> None:
        """Note where a user turn begins: at its start record, or at a message within a turn."""
        context = self.context
        fresh = context.turn_record and not context.prompted
        context.prompts.append(context.turn_record if fresh else self._record)
        del context.prompts[:-MAX_PROMPTS]
        context.prompted = True

    def _nth(self, role: str) -> int:
        """Count equal (role, time) keys; only recent ones can repeat."""
        counts, key = self.context.counts, f"{role} {self._stamp}"
        nth = counts[key] + 1 if key in counts else 0
        counts[key] = nth
        if len(counts) > MAX_COUNTS:
            del counts[next(iter(counts))]
        return nth

    # --- tools ---------------------------------------------------------------------------------

    def _response(self, head: ResponseHead, data: bytes) -> None:
        kind = head.type
        if kind in _CALLS:
            self._call(head)
        elif kind in _ANSWERS:
            self._answer(head)
        elif kind == "message":
            self._context_message(head, data)
        elif kind == "reasoning":
            self.left["reasoning"] += not self.context.items
        elif kind == "agent_message":
            self.left["subagent"] += 1
        elif kind not in _QUIET_RESPONSES:
            self.left[f"unknown:response_item.{kind[:40]}"] += 1

    def _context_message(self, head: ResponseHead, data: bytes) -> None:
        kinds = head.marks.content_item_kinds if head.marks else None
        if head.role == "developer":
            self.left["briefing" if self._sight(data) else "injected"] += 1
        elif head.role == "user" and kinds and any(kind != "user.text" for kind in kinds):
            self.left["injected"] += 1

    def _sight(self, data: bytes) -> bool:
        found = DELIVERY_BYTES.findall(data) if b"dlv_" in data else []
        self._sightings([each.decode() for each in found])
        return bool(found)

    def _sightings(self, deliveries: list[str]) -> None:
        for delivery in dict.fromkeys(deliveries):
            self.items.append(
                Sighting(delivery=delivery, depth=0, record=self._record, active=self._active)
            )

    def _call(self, head: ResponseHead) -> None:
        call_id, context = head.call_id or "", self.context
        if not call_id or call_id in context.done or call_id in context.cut:
            return
        name = head.name or ("local_shell" if head.type == "local_shell_call" else "")
        if head.namespace:
            name = f"{head.namespace}__{name}"
        asked = next((x for x in (head.arguments, head.input, head.action) if x is not NULL), NULL)
        given = decode(asked, ANY)
        context.pending[call_id] = Pending(
            name=name,
            arguments=given if isinstance(given, str) else tools.compact(given),
            record=self._record,
            at=self._at,
            turn=context.turn,
            active=self._active,
        )
        if len(context.pending) > MAX_PENDING:
            oldest = next(iter(context.pending))
            self._flush(oldest, context.pending[oldest])
        if name == "update_plan":
            self._plan(object_of(_parsed(context.pending[call_id].arguments)).get("plan"))

    def _answer(self, head: ResponseHead) -> None:
        call_id, context = head.call_id or "", self.context
        if not call_id or call_id in context.done:
            return
        call = context.pending.get(call_id)
        output = decode(head.output, ANY)
        outcome = tools.outcome_of(output)
        if call_id in context.cut:
            if not (context.items and outcome.running):
                name = context.cut[call_id]
                self._late(tools.from_pair(name, "", call_id, outcome), context.turn)
            return
        if call is None:  # its request was in a line that is lost, or before a copied part's end
            self._done(call_id)
            self._tool(tools.from_pair("", "", call_id, outcome), context.turn, asked=False)
            return
        if self._waits(call, outcome):
            call.outcome = "running" if outcome.running else outcome.status
            call.text = tools.cut(outcome.text, tools.MAX_LABEL)
            return
        self._finish(call_id, call, outcome)

    def _waits(self, call: Pending, outcome: tools.Outcome) -> bool:
        """Return whether an item may still tell more than this answer does."""
        shell = call.name in tools.SHELL_TOOLS or call.name == _CODE_MODE
        return self.context.items and shell and (outcome.running or outcome.status == "interrupted")

    def _finish(self, call_id: str, call: Pending, outcome: tools.Outcome) -> None:
        """Yield a call from its request and answer, unless it is known to be no tool of its own."""
        self._done(call_id)
        polled = call.name == "write_stdin" and not text_of(
            object_of(_parsed(call.arguments)).get("chars")
        )
        inner = call.name == _CODE_MODE and outcome.status != "interrupted"
        if call.name == "update_plan" or (self.context.items and (polled or inner)):
            self.left["bookkeeping"] += 1
            return
        if call.name == "request_user_input":
            self._answers(call_id, call, outcome)
        tool = tools.from_pair(call.name, call.arguments, call_id, outcome)
        self._tool(tool, call.turn)

    def _flush(self, call_id: str, call: Pending) -> None:
        """Yield a call that will not be answered any more."""
        here = (self._record, self._known_at, self._active)
        self._record, self._known_at, self._active = call.record, call.at, call.active
        status = "unknown" if call.outcome == "running" else "interrupted"
        self._finish(call_id, call, tools.Outcome(text=call.text, status=status))
        self._record, self._known_at, self._active = here

    def _answers(self, call_id: str, call: Pending, outcome: tools.Outcome) -> None:
        """Yield what the person answered to a question of the agent: those are the user's words."""
        answers = object_of(object_of(_parsed(outcome.text)).get("answers"))
        words = [
            word for each in answers.values() for word in _texts(object_of(each).get("answers"))
        ]
        if words:
            identity = ("t", self.thread, call_id)
            self._add(
                Kind.USER_MESSAGE, "user", "\n".join(words), identity, turn=call.turn, block=2
            )

    def _tool_item(self, item: Record, turn: str | None) -> None:
        tool = tools.from_item(item)
        if tool is None:
            self.left[f"unknown:item.{text_of(item.get('type'))[:40]}"] += 1
            return
        if tool.call_id in self.context.done:
            self.left["bookkeeping"] += 1
            return
        if tool.call_id in self.context.cut:
            self._late(tool, turn)
            return
        call = self.context.pending.get(tool.call_id)
        self._done(tool.call_id)
        if call is not None and call.outcome == "interrupted":
            outcome = tool.outcome
            code = outcome.exit_code if outcome.exit_code != -1 else None
            text = outcome.text or call.text
            outcome = tools.Outcome(text=text, exit_code=code, status="interrupted")
            tool = msgspec.structs.replace(tool, outcome=outcome)
        self._tool(tool, turn)

    def _late(self, tool: tools.Tool, turn: str | None) -> None:
        """Yield the real result of a call that was taken for interrupted; the call is known."""
        del self.context.cut[tool.call_id]
        self._done(tool.call_id)
        if tool.outcome.status == "interrupted":
            self.left["bookkeeping"] += 1
        else:
            self._tool(tool, turn, asked=False)

    def _done(self, call_id: str) -> None:
        self.context.pending.pop(call_id, None)
        self.context.done.append(call_id)
        del self.context.done[:-MAX_DONE]

    def _tool(self, tool: tools.Tool, turn: str | None, *, asked: bool = True) -> None:
        identity = ("t", self.thread, tool.call_id)
        cwd = tool.cwd or self.context.cwd
        outcome = tool.outcome
        if asked:
            self._add(
                Kind.TOOL_CALL,
                "tool",
                tool.label,
                identity,
                turn=turn,
                call=tool,
                cwd=cwd,
                meta=tool.meta,
            )
        text = self._kept_output(tool)
        self._add(
            Kind.TOOL_RESULT,
            "tool",
            text,
            identity,
            turn=turn,
            call=tool,
            cwd=cwd,
            outcome=outcome,
            block=1,
        )
        for path, action in tool.files:
            self.items.append(
                FileFact(
                    path=tools.absolute(path, cwd), action=action, at=self._at, agent=self.agent
                )
            )

    def _kept_output(self, tool: tools.Tool) -> str:
        """Return the output to keep: a stub for that of our own commands and for a briefing."""
        text = tool.outcome.text
        ours = runs_us(tool.command)
        if ours:
            for line in receipts(text):
                self.items.append(Receipt(line=line, call_id=tool.call_id, record=self._record))
        if ours or holds_briefing(text):
            if tool.name == _BRIEFING_TOOL:  # the launcher's own server: the model read it there
                self._sightings(without_briefings(text)[1])
            self.left["own_output"] += 1
            return STUB
        return text

    def _add(
        self,
        kind: Kind,
        role: str | None,
        text: str,
        identity: tuple[str, ...],
        *,
        turn: str | None = None,
        block: int = 0,
        call: tools.Tool | None = None,
        outcome: tools.Outcome | None = None,
        cwd: str | None = None,
        meta: dict[str, Json] | None = None,
    ) -> None:
        self.items.append(
            Event(
                identity=identity,
                kind=kind,
                role=role,
                text=text,
                at=self._at,
                depth=0,
                record=self._record,
                block=block,
                turn=turn,
                call_id=call.call_id if call else None,
                tool=call.name if call else None,
                tool_input=call.input if call and outcome is None else None,
                exit_code=outcome.exit_code if outcome else None,
                status=outcome.status if outcome else None,
                cwd=cwd or self.context.cwd,
                active=self._active,
                meta=meta or {},
            )
        )


_EVENTS: Final[dict[str, Callable[[Translator, Record], None]]] = {
    "task_started": Translator._task_started,
    "turn_started": Translator._task_started,
    "task_complete": Translator._task_complete,
    "turn_complete": Translator._task_complete,
    "turn_aborted": Translator._turn_aborted,
    "thread_rolled_back": Translator._rolled_back,
    "plan_update": Translator._plan_update,
    "error": Translator._error,
}


def _parsed(text: str) -> object:
    try:
        return decode(text.encode("utf-8", "replace"), ANY)
    except Undecodable:
        return None


def _texts(value: object) -> list[str]:
    return [part for part in value if isinstance(part, str)] if isinstance(value, list) else []
