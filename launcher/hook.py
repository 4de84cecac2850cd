"""What a harness's session hook executes: note the event, print the briefing meant for it.

The launcher copies this file into the run's folder, with `hook.json` beside it, and has the
harness run it with `python -I -S`. Standard library only; it ends with 0 whatever happens and is
silent on every failure: a harness must never suffer from it. One line per event goes to the
run's event file in a single write; a printed briefing carries a delivery id of its own, unique
within the run however many hooks run at once.

How the harness names things and what it wants to read is in `hook.json`, as data: the `dialect` of
its adapter. `--event NAME` names the event where the payload does not. With `--mcp FILE` it is an
MCP server for a harness whose hooks are switched off: its instructions point at its only tool, and
that answers with the text of FILE.
"""

from __future__ import annotations

import json
import os
import sys
import time

PLACEHOLDER = "dlv_@@@@@@@@@@_@@@@"
"""Stands in a briefing where the delivery id goes; equal to `ledger.ids.DELIVERY_PLACEHOLDER`."""
MOST_DELIVERIES = 9999
_FIELDS = ("source", "reason", "cwd", "model")
TEXT = "@briefing"
EVENT = "@event"

Json = dict[str, object]

POINTER = (
    "This session is not up to date: work went on elsewhere since it last looked. Before anything"
    " else call this server's tool briefing; it tells what changed."
)
"""Instructions of the MCP server: one line of less than 247 bytes, no more is shown everywhere."""
_TOOL: Json = {
    "name": "briefing",
    "description": "What happened elsewhere on this line of work since this session last looked.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    "annotations": {"readOnlyHint": True},
}
"""A server without a tool is not shown to the model at all."""


def main(arguments: list[str], folder: str) -> None:
    """Serve one hook call, or the MCP fallback; prints nothing when there is nothing for it."""
    if arguments[:1] == ["--mcp"]:
        serve_mcp(arguments[1])
        return
    payload = json.loads(sys.stdin.buffer.read() or b"{}")
    with open(os.path.join(folder, "hook.json"), "rb") as file:
        run = json.loads(file.read())
    dialect = run["dialect"]
    native = arguments[1] if arguments[:1] == ["--event"] else payload.get(dialect["event"])
    event = dialect["events"].get(native, native)
    source = payload.get("source")
    told: Json = {
        "session": payload.get(dialect["session"]),
        "transcript": payload.get(dialect["transcript"]),
        **{name: payload.get(name) for name in _FIELDS},
        "source": dialect["sources"].get(source, source) if isinstance(source, str) else None,
        "agent": payload.get("agent_id"),
    }
    entry = None
    if event == dialect["delivers"] and due(folder, event, told):
        first = nothing_yet(folder, str(run["events"]), event)
        entry = choose(run.get("briefings"), told, first=first)
    text, delivery = None, None
    if entry is not None:
        text, delivery = stamped(folder, str(entry["file"]), str(run["nonce"]))
    line: Json = {
        "version": 1,
        "at": time.time_ns() // 1_000_000,
        "event": event,
        **{name: _text(value) for name, value in told.items()},
        "briefing": None if entry is None else entry["id"],
        "delivery": delivery,
        "proof": run.get("proof", True),
    }
    append(str(run["events"]), json.dumps(line) + "\n")
    if text is not None:
        _write(1, answer(str(dialect["answer"]), str(native), text).encode())


def answer(form: str, event: str, text: str) -> str:
    """Return what the harness reads: plain text, or JSON with the briefing in its place."""
    return text if form == TEXT else json.dumps(_filled(json.loads(form), event, text))


def _filled(value: object, event: str, text: str) -> object:
    if isinstance(value, dict):
        return {name: _filled(item, event, text) for name, item in value.items()}
    if value in (TEXT, EVENT):
        return text if value == TEXT else event
    return value


def due(folder: str, event: object, told: Json) -> bool:
    """Return whether the session may be told something on this event.

    A prompt counts once for each session of the run, unless whoever calls names a source: then it
    knows itself when a session has to be told again.
    """
    if event != "Prompt" or told["source"] is not None:
        return True
    name = str(told["session"]).encode("utf-8", "replace").hex()[:200]
    try:
        os.close(os.open(os.path.join(folder, "prompt." + name), os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def choose(briefings: object, told: Json, *, first: bool = False) -> Json | None:
    """Return the briefing entry for the session that starts, None when there is none for it.

    A subagent gets none, and neither does a linked session for which there is nothing new: its
    entry is null. A session that is not linked gets the one for a new session, whatever its
    source says: some harnesses report a fork as a resume. Only the fork that the run itself was
    started to make (`first`) is given what is new to its parent.
    """
    if not isinstance(briefings, dict) or told.get("agent"):
        return None
    session, source = told.get("session"), told.get("source")
    if source == "clear":
        return _entry(briefings.get("clear"))
    if first and "fork" in briefings and session not in (briefings.get("sessions") or ()):
        return _entry(briefings["fork"])
    names = ("compact", "compact_new") if source == "compact" else ("sessions", "new")
    own, other = (briefings.get(name) for name in names)
    return _entry(own[session]) if isinstance(own, dict) and session in own else _entry(other)


def _entry(node: object) -> Json | None:
    return node if isinstance(node, dict) and "file" in node else None


def stamped(folder: str, name: str, nonce: str) -> tuple[str, str]:
    """Return a briefing's text under a fresh delivery id, and that id."""
    with open(os.path.join(folder, name), "rb") as file:
        text = file.read().decode("utf-8", "replace")
    delivery = f"dlv_{nonce}_{next_number(folder):04d}"
    return text.replace(PLACEHOLDER, delivery), delivery


def next_number(folder: str) -> int:
    """Return the next delivery number of the run, from 1; never the same one twice.

    Leaves an empty file per number. Raises OSError when the folder cannot be written, or when all
    four digits are used up.
    """
    for number in range(1, MOST_DELIVERIES + 1):
        path = os.path.join(folder, f"delivery.{number:04d}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return number
    message = "no delivery number is left"
    raise OSError(message)


def nothing_yet(folder: str, events: str, event: object) -> bool:
    """Return whether this is the first thing that a session of the run could be told.

    That is the first event; where a briefing comes with a prompt, the first delivery.
    """
    if event == "Prompt":
        return not os.path.exists(os.path.join(folder, "delivery.0001"))
    try:
        return os.stat(events).st_size == 0
    except FileNotFoundError:
        return True


def append(path: str, line: str) -> None:
    """Append a line to the event file in one write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        _write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def serve_mcp(path: str) -> None:
    """Answer a harness that speaks MCP on stdin until it closes it."""
    with open(path, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    for line in sys.stdin.buffer:
        request = json.loads(line)
        answer = reply(request, text) if isinstance(request, dict) else None
        if answer is not None:
            _write(1, json.dumps(answer).encode() + b"\n")


def reply(request: Json, text: str) -> Json | None:
    """Return the answer to one JSON-RPC message; None for a notification or a response."""
    method, number = request.get("method"), request.get("id")
    if method is None or number is None:
        return None
    results: dict[str, Json] = {
        "ping": {},
        "tools/list": {"tools": [_TOOL]},
        "tools/call": {"content": [{"type": "text", "text": text}]},
        "initialize": {
            "protocolVersion": _protocol(request),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "workstream_context", "version": "1"},
            "instructions": POINTER,
        },
    }
    result = results.get(str(method))
    if result is None:
        error = {"code": -32601, "message": f"no such method: {method}"}
        return {"jsonrpc": "2.0", "id": number, "error": error}
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _protocol(request: Json) -> object:
    params = request.get("params")
    wanted = params.get("protocolVersion") if isinstance(params, dict) else None
    return wanted or "2025-06-18"


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _write(descriptor: int, data: bytes) -> None:
    """Write everything; a file takes it in one call, a pipe may need several."""
    while data:
        data = data[os.write(descriptor, data) :]


if __name__ == "__main__":
    try:  # noqa: SIM105 - contextlib would be one more import in a harness's start
        main(sys.argv[1:], os.path.dirname(os.path.abspath(__file__)))
    except BaseException:  # noqa: S110 - a hook that fails must not disturb the harness
        pass
    os._exit(0)
