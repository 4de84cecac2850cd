"""What is settled about Qwen Code: observed with 0.24.4."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="--session-id ID",
    resume="--resume ID, in the directory that the session was made in.",
    session_id="Chosen by us; UUIDs only. A fork gives itself one. The hooks tell each session "
    "that a run opens: /clear, /resume, --fork-session.",
    store="~/.qwen/projects/<directory>/chats/<id>.jsonl, archived ones in chats/archive; "
    "QWEN_RUNTIME_DIR, advanced.runtimeOutputDir of the person's settings (an absolute path) and "
    "QWEN_HOME move it.",
    format="JSON lines, a tree by uuid and parentUuid",
    identity="uuid of the record. A fork copies all records of the live branch with it and says "
    "forkedFrom.",
    rewrites="Append only. What the model said stands a second time in ui_telemetry records, which "
    "are not read.",
    visible="Words, answers, calls and results; messages typed while a turn runs.",
    hidden="Thoughts; what hooks add; files named with @; notifications; slash commands.",
    compaction="chat_compression record with the figures; its summary is dropped.",
    tools="Status and exit code beside the result; the todo list of todo_write is the plan.",
    turns="An answer without a call ends a turn; api_error in the telemetry fails it; usage "
    "of each answer. No reset time of a limit but what the message says.",
    context_create="UserPromptSubmit hook, with the first prompt: 60,000 bytes. Without hooks "
    "(--bare, --safe-mode, disableAllHooks) --append-system-prompt, unverified.",
    context_resume="The same. After a compaction nothing is told again before the next run.",
    proof="hookContext of the person's record on the live branch; < and > are escaped there.",
    first_run="Choice of a provider and login; trust of a folder where that is switched on.",
    one_shot="Words without -i, -p, --json-schema, --input-format stream-json, --acp",
    yolo="--yolo, unless it or --approval-mode is given.",
    utilities="auth, board, channel, extensions, hooks, mcp, review, sandbox, serve, sessions, "
    "update; --help, --version, --list-extensions",
    exit_codes="Unknown --resume: 1. Taken --session-id: 1. Refused by the provider: 1. "
    "Only read: --max-wall-time and --max-tool-calls 55.",
    dangers="qwen starts the program itself, which goes on when only the starter is killed: a "
    "session that it has is not resumed beside it. Hooks run again for each answer to a call, with "
    "an empty prompt: told once a session. "
    "The copy of the system's defaults holds them too, and a run inside a run starts from the "
    "original. Only the person's and the run's folder are written: memory, usage_record.jsonl and "
    "the like are Qwen Code's own.",
)
