"""Tool calls of Codex: from items, from older end events, and from bare call/output pairs.

Everything here is a pure function of one record's payload. Shapes observed with codex 0.130.0 and
0.171.0; older end events are read in the form that their names and the newer items suggest.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import shlex
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from importers.base import Json
from importers.codex.records import Record, number_of, object_of, objects_of, text_of

MAX_INPUT_TEXT: Final = 64 * 1024
"""Characters of one string kept in a structured input; what a call wrote is not its description."""
MAX_LABEL: Final = 2000

_EXIT: Final = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_RUNNING: Final = re.compile(r"^Process running with session ID \S+$", re.MULTILINE)
_ABORTED: Final = re.compile(r"\Aaborted by user|^aborted by user", re.MULTILINE)
_HEADER_LINES: Final = 8
_PATCH_FILE: Final = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCH_MOVE: Final = re.compile(r"^\*\*\* Move to: (.+)$", re.MULTILINE)
_ACTIONS: Final = {"add": "create", "update": "edit", "delete": "delete"}
SHELL_TOOLS: Final = frozenset(
    {"exec_command", "shell", "shell_command", "local_shell", "container.exec", "user_shell"}
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call."""

    text: str
    exit_code: int | None = None
    status: str = "unknown"
    """ok, error, interrupted or unknown."""
    running: bool = False
    """The command was still running when the tool answered; its end comes later, or never."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One finished tool call."""

    call_id: str
    name: str
    label: str
    """The command of a shell call, else a short description."""
    input: Json
    outcome: Outcome
    command: str = ""
    """Shell text, when the call ran one."""
    cwd: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    """(path, action) of files that the call is known to have read or changed."""
    meta: dict[str, Json] = msgspec.field(default_factory=dict)


def from_item(item: Record) -> Tool | None:
    """Return the tool call of a completed item; None if the item is not one."""
    make = _ITEMS.get(text_of(item.get("type")))
    if make is None or not text_of(item.get("id")):
        return None
    return make(item)


def item_of_end_event(kind: str, payload: Record) -> Record | None:
    """Return an older `…_end` event in the form of an item; None if it is none."""
    item = dict(payload, id=text_of(payload.get("call_id")))
    if kind == "exec_command_end":
        if not text_of(item.get("aggregated_output")):
            item["aggregated_output"] = text_of(item.get("stdout")) + text_of(item.get("stderr"))
        return dict(item, type="CommandExecution")
    if kind == "patch_apply_end":
        status = item.get("status") or ("completed" if item.get("success") else "failed")
        return dict(item, type="FileChange", status=status)
    if kind == "mcp_tool_call_end":
        return _mcp_item(item)
    if kind == "web_search_end":
        return dict(item, type="WebSearch")
    if kind == "view_image_tool_call":
        return dict(item, type="ImageView")
    return None


def _mcp_item(item: Record) -> Record:
    invocation, result = object_of(item.get("invocation")), object_of(item.get("result"))
    failure = result.get("Err")
    return dict(
        item,
        type="McpToolCall",
        server=invocation.get("server"),
        tool=invocation.get("tool"),
        arguments=invocation.get("arguments"),
        result=result.get("Ok", result),
        error={"message": failure} if isinstance(failure, str) else None,
        status="failed" if "Err" in result else "completed",
    )


def _command(item: Record) -> Tool:
    command = command_text(item.get("command"))
    cwd = local_path(text_of(item.get("cwd"))) or None
    code = number_of(item.get("exit_code"))
    done = text_of(item.get("status"))
    if code is not None:
        status = "ok" if code == 0 else "error"
    else:
        status = {"completed": "ok", "failed": "error", "declined": "error"}.get(done, "unknown")
    source = text_of(item.get("source"))
    name = "user_shell" if source == "user_shell" else "exec_command"
    reads = objects_of(item.get("parsed_cmd")) if code == 0 else []
    files = [
        (absolute(text_of(part.get("path")), cwd), "read")
        for part in reads
        if part.get("type") == "read" and text_of(part.get("path"))
    ]
    return Tool(
        call_id=text_of(item.get("id")),
        name=name,
        label=command,
        input={"command": command, **({"cwd": cwd} if cwd else {})},
        outcome=Outcome(text=text_of(item.get("aggregated_output")), exit_code=code, status=status),
        command=command,
        cwd=cwd,
        files=tuple(files),
        meta={"declined": True} if done == "declined" else {},
    )


def _file_change(item: Record) -> Tool:
    changes = object_of(item.get("changes"))
    files = [pair for path, change in changes.items() for pair in _changed(path, object_of(change))]
    status = text_of(item.get("status"))
    done = status == "completed"
    return Tool(
        call_id=text_of(item.get("id")),
        name="apply_patch",
        label=_file_label(files),
        input={"changes": bounded(changes)},
        outcome=Outcome(
            text="\n".join(
                text for key in ("stdout", "stderr") if (text := text_of(item.get(key)))
            ),
            status="ok" if done else "error",
        ),
        files=tuple(files) if done else (),
        meta={"declined": True} if status == "declined" else {},
    )


def _changed(path: str, change: Record) -> list[tuple[str, str]]:
    moved = text_of(change.get("move_path"))
    if moved and moved != path:
        return [(path, "delete"), (moved, "create")]
    return [(path, _ACTIONS.get(text_of(change.get("type")), "edit"))]


def _file_label(files: list[tuple[str, str]]) -> str:
    return cut(", ".join(f"{action} {path}" for path, action in files), MAX_LABEL)


def _mcp(item: Record) -> Tool:
    server, name = text_of(item.get("server")), text_of(item.get("tool"))
    result, arguments = object_of(item.get("result")), item.get("arguments")
    failure = text_of(object_of(item.get("error")).get("message"))
    failed = bool(failure) or result.get("isError") is True or item.get("status") == "failed"
    return Tool(
        call_id=text_of(item.get("id")),
        name=f"mcp__{server}__{name}",
        label=cut(f"{server}.{name} {compact(arguments)}", MAX_LABEL),
        input=bounded(arguments),
        outcome=Outcome(
            text=failure or content_text(result.get("content")),
            status="error" if failed else "ok",
        ),
    )


def _dynamic(item: Record) -> Tool:
    name, arguments = text_of(item.get("tool")) or "dynamic_tool", item.get("arguments")
    failed = item.get("success") is False or item.get("status") == "failed"
    content = item.get("content_items", item.get("contentItems"))
    return Tool(
        call_id=text_of(item.get("id")),
        name=name,
        label=cut(f"{name} {compact(arguments)}", MAX_LABEL),
        input=bounded(arguments),
        outcome=Outcome(text=content_text(content), status="error" if failed else "ok"),
    )


def _web_search(item: Record) -> Tool:
    action = object_of(item.get("action"))
    label = text_of(item.get("query")) or text_of(action.get("url")) or compact(action)
    return Tool(
        call_id=text_of(item.get("id")),
        name="web_search",
        label=cut(label, MAX_LABEL),
        input=bounded(action or {"query": label}),
        outcome=Outcome(text="", status="ok"),
    )


def _image_view(item: Record) -> Tool:
    path = text_of(item.get("path"))
    return Tool(
        call_id=text_of(item.get("id")),
        name="view_image",
        label=path,
        input={"path": path},
        outcome=Outcome(text="", status="ok"),
        files=((path, "read"),) if path else (),
    )


def _image_generation(item: Record) -> Tool:
    path = text_of(item.get("saved_path"))
    return Tool(
        call_id=text_of(item.get("id")),
        name="image_generation",
        label=cut(text_of(item.get("revised_prompt")), MAX_LABEL),
        input={"saved_path": path} if path else None,
        outcome=Outcome(text=path, status="ok"),
    )


_ITEMS: Final[dict[str, Callable[[Record], Tool]]] = {
    "CommandExecution": _command,
    "FileChange": _file_change,
    "McpToolCall": _mcp,
    "DynamicToolCall": _dynamic,
    "WebSearch": _web_search,
    "ImageView": _image_view,
    "ImageGeneration": _image_generation,
}


def from_pair(name: str, arguments: str, call_id: str, outcome: Outcome) -> Tool:
    """Return a call that is known by its request and its answer only."""
    try:
        given: Any = json.loads(arguments) if arguments else None
    except (ValueError, RecursionError):
        given = arguments
    label, command, cwd = cut(compact(given), MAX_LABEL), "", None
    files: list[tuple[str, str]] = []
    fields = object_of(given)
    if name in SHELL_TOOLS:
        command = command_text(fields.get("cmd") or fields.get("command"))
        label = command
        cwd = text_of(fields.get("workdir")) or text_of(fields.get("working_directory")) or None
        files = patched_files(command) if "*** Begin Patch" in command else []
    elif name == "apply_patch":
        files = patched_files(given if isinstance(given, str) else text_of(fields.get("input")))
        label = _file_label(files)
    return Tool(
        call_id=call_id,
        name=name or "unknown",
        label=label,
        input=bounded(given),
        outcome=outcome,
        command=command,
        cwd=cwd,
        files=tuple(files) if outcome.status == "ok" else (),
    )


def patched_files(patch: str) -> list[tuple[str, str]]:
    """Return (path, action) for each file section of an `apply_patch` text."""
    files: list[tuple[str, str]] = []
    sections = list(_PATCH_FILE.finditer(patch))
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        path = section[2].strip()
        body = patch[section.end() : following.start() if following else len(patch)]
        moved = _PATCH_MOVE.search(body)
        change = {"type": section[1].lower(), "move_path": moved[1].strip() if moved else ""}
        files.extend(_changed(path, change))
    return files


def outcome_of(output: object, success: object = None) -> Outcome:
    """Read an answer as the model saw it: header lines, JSON with metadata, or plain content."""
    if isinstance(output, dict):
        inner = output.get("content", output.get("output"))
        return outcome_of(inner, output.get("success", success))
    text = content_text(output)
    if text.startswith('{"output":'):
        return _json_outcome(text)
    head = "\n".join(text.split("\n", _HEADER_LINES)[:_HEADER_LINES])
    header, marker, body = text.partition("Output:\n")
    if marker and header.count("\n") < _HEADER_LINES:
        head = header
    else:
        body = text
    if _ABORTED.search(head):
        return Outcome(text=text, status="interrupted")
    if _RUNNING.search(head):
        return Outcome(text=body, running=True)
    if found := _EXIT.search(head):
        code = int(found[1])
        return Outcome(text=body, exit_code=code, status="error" if code else "ok")
    return Outcome(text=text, status=_SUCCESS.get(success, "unknown"))


_SUCCESS: Final[dict[object, str]] = {True: "ok", False: "error"}


def _json_outcome(text: str) -> Outcome:
    try:
        value = object_of(json.loads(text))
    except (ValueError, RecursionError):
        return Outcome(text=text)
    code = number_of(object_of(value.get("metadata")).get("exit_code"))
    status = "unknown" if code is None else "error" if code else "ok"
    return Outcome(text=text_of(value.get("output")), exit_code=code, status=status)


def command_text(command: object) -> str:
    """Return the shell text of a command: the script of `sh -c`, else the quoted words."""
    if isinstance(command, str):
        return command
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    if len(words) == 3 and words[1] in {"-c", "-lc", "-ic", "-lic"}:
        return words[2]
    return shlex.join(words)


def content_text(content: object) -> str:
    """Return the visible text of a content list; binary parts become a short description."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text for part in parts if (text := _part_text(object_of(part))))


def _part_text(part: Record) -> str:
    if "text" in part:
        return text_of(part.get("text"))
    kind = text_of(part.get("type"))
    if "image" in kind:
        given = part.get("image_url") or part.get("url") or part.get("path") or part.get("data")
        if isinstance(given, dict):
            given = given.get("url")
        return image_text(text_of(given), text_of(part.get("mimeType")))
    if kind in {"audio", "input_audio", "resource", "resource_link"}:
        return f"[{kind} {text_of(part.get('uri'))}]"
    if name := text_of(part.get("name")):
        return f"[{kind} {name}]"
    return ""


def image_text(given: str, media_type: str = "") -> str:
    """Describe an image: path or address, or type, size and digest of inlined bytes."""
    if given.startswith("data:"):
        header, _, given = given.partition(",")
        media_type = header[5:].partition(";")[0]
    elif not media_type:
        return f"[image {given}]"
    try:
        raw = base64.b64decode(given)
    except (ValueError, binascii.Error):
        return f"[image {media_type}]"
    return f"[image {media_type} {len(raw)} bytes sha256:{hashlib.sha256(raw).hexdigest()[:16]}]"


def local_path(address: str) -> str:
    """Return the path of a `file://` address; anything else is a path already."""
    return unquote(urlsplit(address).path) if address.startswith("file://") else address


def absolute(path: str, cwd: str | None) -> str:
    """Return a path as seen from a directory; without one it stays as it is."""
    return path if path.startswith("/") or not cwd else f"{cwd.rstrip('/')}/{path}"


def compact(value: object) -> str:
    """Return a value as one line: text as it is, the rest as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def cut(text: str, limit: int) -> str:
    """Return the text, or its start with a note of how much is missing."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def bounded(value: Any) -> Json:  # noqa: ANN401  (JSON as it was decoded)
    """Return JSON with every long string cut to `MAX_INPUT_TEXT` characters."""
    if isinstance(value, str):
        return cut(value, MAX_INPUT_TEXT)
    if isinstance(value, list):
        return [bounded(part) for part in value]
    if isinstance(value, dict):
        return {key: bounded(part) for key, part in value.items()}
    return value  # type: ignore[no-any-return]
