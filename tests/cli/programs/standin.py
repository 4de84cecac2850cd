"""Stand-ins for `codex` and `claude`: they log their call and write a session as those would.

Each takes its session hook seriously (runs it, records what it printed), writes one turn into the
store named by its own variable, and ends as `STANDIN_DO` says: `exit:N`, `signal:NAME`,
`wait:FILE` (until that file is there), or `nothing` (no session at all). `STANDIN_LOG` names a
file that gets one JSON line a call.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import uuid
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def main(name: str, args: list[str]) -> int:
    """Be the harness `name` for one call."""
    if "--version" in args:
        print({"codex": "codex-cli 0.171.0", "claude": "2.1.332 (Claude Code)"}[name])
        return 0
    if "--help" in args:
        print("Usage: ... --no-daemon ... --system-prompt-snapshot ...")
        return 0
    if args[:2] == ["features", "list"]:
        print("hooks    stable    true")
        return 0
    stdin = "" if sys.stdin.isatty() else sys.stdin.read()
    log = os.environ.get("STANDIN_LOG")
    if log:
        with Path(log).open("a", encoding="utf-8") as file:
            call = {"name": name, "args": args, "env": sorted(os.environ), "stdin": stdin}
            file.write(json.dumps({**call, "cwd": str(Path.cwd())}) + "\n")
    what = os.environ.get("STANDIN_DO", "exit:0")
    if what != "nothing":
        print({"codex": codex, "claude": claude}[name](args))
        sys.stdout.flush()
    return _end(what)


def _end(what: str) -> int:
    kind, _, value = what.partition(":")
    if kind == "signal":
        os.kill(os.getpid(), getattr(signal, f"SIG{value}"))
        time.sleep(5)
    deadline = time.monotonic() + 30
    while kind == "wait" and not Path(value).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return int(value) if kind == "exit" else 0


def _prompt(args: list[str]) -> str:
    return args[-1] if args and not args[-1].startswith("-") else "hello"


def _now() -> str:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime())
        + f"{time.time_ns() // 10**6 % 1000:03d}Z"
    )


def _hook(command: str | None, session: str, source: str, path: Path) -> str | None:
    """Run the session hook and return the context it gives."""
    if command is None:
        return None
    payload = {
        "hook_event_name": "SessionStart",
        "session_id": session,
        "source": source,
        "transcript_path": str(path),
        "cwd": str(Path.cwd()),
    }
    done = subprocess.run(
        command, shell=True, input=json.dumps(payload), capture_output=True, text=True, check=True
    )
    if not done.stdout.strip():
        return None
    text: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return text


# --- Claude Code --------------------------------------------------------------------------------


def claude(args: list[str]) -> str:
    """Write one turn as Claude Code 2.1.197 does."""
    home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    given = _value(args, "--session-id")
    resumed = _value(args, "--resume")
    session = Path(resumed).stem if resumed else given or str(uuid.uuid4())
    folder = home / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session}.jsonl"
    prompt = _prompt(args)
    context = _hook(_settings_hook(args), session, "resume" if resumed else "startup", path)
    parent = _last_uuid(path)
    with path.open("a", encoding="utf-8") as file:
        for record in _claude_turn(session, parent, prompt, context, one_shot="-p" in args):
            file.write(json.dumps(record) + "\n")
    return f"claude heard {prompt}"


def _claude_turn(
    session: str, parent: str | None, prompt: str, context: str | None, *, one_shot: bool
) -> list[Record]:
    parts: list[Record] = []
    if context is not None:
        attachment = {
            "type": "hook_additional_context",
            "content": [context],
            "hookName": "SessionStart",
            "toolUseID": "SessionStart",
            "hookEvent": "SessionStart",
        }
        parts.append({"type": "attachment", "attachment": attachment})
    message = {"role": "user", "content": prompt}
    parts.append({"type": "user", "promptId": str(uuid.uuid4()), "message": message})
    reply = {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": "claude-stand-in",
        "content": [{"type": "text", "text": f"claude heard {prompt}"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }
    parts.append({"type": "assistant", "requestId": uuid.uuid4().hex, "message": reply})
    for part in parts:
        part |= {
            "parentUuid": parent,
            "isSidechain": False,
            "uuid": str(uuid.uuid4()),
            "timestamp": _now(),
            "userType": "external",
            "entrypoint": "sdk-cli" if one_shot else "cli",
            "cwd": str(Path.cwd()),
            "sessionId": session,
            "version": "2.1.197",
            "gitBranch": "main",
        }
        parent = part["uuid"]
    return parts


def _settings_hook(args: list[str]) -> str | None:
    path = _value(args, "--settings")
    if path is None:
        return None
    document = json.loads(Path(path).read_bytes())
    command: str = document["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    return command


def _last_uuid(path: Path) -> str | None:
    if not path.exists():
        return None
    uuid_: str = json.loads(path.read_bytes().splitlines()[-1])["uuid"]
    return uuid_


def _value(args: list[str], option: str) -> str | None:
    for position, word in enumerate(args):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option:
            return args[position + 1]
    return None


# --- Codex --------------------------------------------------------------------------------------


def codex(args: list[str]) -> str:
    """Write one turn as Codex 0.171.0 does."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    resumed = args[args.index("resume") + 1] if "resume" in args else None
    thread = resumed or _uuid7()
    prompt = _prompt([word for word in args if word not in ("exec", "resume", thread)])
    path = _rollout(home, thread, fresh=resumed is None)
    new = not path.exists()
    context = _hook(_flag_hook(args), thread, "resume" if resumed else "startup", path)
    path.parent.mkdir(parents=True, exist_ok=True)
    ordinal = 0 if new else len(path.read_bytes().splitlines())
    with path.open("a", encoding="utf-8") as file:
        records = [_meta(thread, one_shot="exec" in args)] if new else []
        for record in [*records, *_codex_turn(thread, prompt, context)]:
            line = {"timestamp": _now(), "ordinal": ordinal, **record}
            file.write(json.dumps(line) + "\n")
            ordinal += 1
    return f"codex heard {prompt}"


def _rollout(home: Path, thread: str, *, fresh: bool) -> Path:
    if not fresh:
        return next((home / "sessions").glob(f"*/*/*/rollout-*-{thread}.jsonl"))
    day, stamp = time.strftime("%Y/%m/%d"), time.strftime("%Y-%m-%dT%H-%M-%S")
    return home / "sessions" / day / f"rollout-{stamp}-{thread}.jsonl"


def _meta(thread: str, *, one_shot: bool) -> Record:
    payload = {
        "session_id": thread,
        "id": thread,
        "timestamp": _now(),
        "cwd": str(Path.cwd()),
        "originator": "codex_exec" if one_shot else "codex-tui",
        "cli_version": "0.171.0",
        "source": "exec" if one_shot else "cli",
        "thread_source": "user",
        "model_provider": "openai",
        "history_mode": "paginated",
    }
    return {"type": "session_meta", "payload": payload}


def _codex_turn(thread: str, prompt: str, context: str | None) -> list[Record]:
    turn = _uuid7()

    def event(kind: str, **payload: object) -> Record:
        return {"type": "event_msg", "payload": {"type": kind, "turn_id": turn, **payload}}

    def item(kind: str, part: str, text: str) -> Record:
        content = [{"type": part, "text": text}]
        body = {"type": kind, "id": f"item_{uuid.uuid4().hex}", "content": content}
        at = time.time_ns() // 10**6
        return event(
            "item_completed", thread_id=thread, item=body, started_at_ms=at, completed_at_ms=at
        )

    records = [event("task_started", started_at=int(time.time()))]
    if context is not None:
        message = {
            "type": "message",
            "id": f"msg_{_uuid7()}",
            "role": "developer",
            "content": [{"type": "input_text", "text": context}],
            "internal_chat_message_metadata_passthrough": {
                "turn_id": turn,
                "content_item_kinds": ["hooks.additional_context"],
            },
        }
        records.append({"type": "response_item", "payload": message})
    records.append(item("UserMessage", "text", prompt))
    records.append(item("AgentMessage", "Text", f"codex heard {prompt}"))
    records.append(event("task_complete", last_agent_message=f"codex heard {prompt}"))
    return records


def _flag_hook(args: list[str]) -> str | None:
    for position, word in enumerate(args[:-1]):
        if word == "-c" and args[position + 1].startswith("hooks.SessionStart="):
            groups = tomllib.loads(args[position + 1].replace("hooks.SessionStart", "g", 1))["g"]
            command: str = groups[-1]["hooks"][-1]["command"]
            return command
    return None


def _uuid7() -> str:
    raw = (time.time_ns() // 10**6 << 80) | int.from_bytes(os.urandom(10))
    raw = raw & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=raw & ~(0x3 << 62) | 0x2 << 62))
