"""What is settled about pi: observed with 1.6.0."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="--session-id ID",
    resume="--session FILE. --session-id would create a second session in another directory.",
    session_id="Chosen by us, a UUID; pi takes any safe word. The extension tells each session "
    "that a run opens: /new, /resume, /fork, /clone.",
    store="~/.pi/agent/sessions/--<directory>--/<time>_<id>.jsonl; PI_CODING_AGENT_DIR moves the "
    "agent folder; PI_CODING_AGENT_SESSION_DIR, sessionDir in its settings and --session-dir name "
    "a flat session folder.",
    format="JSON lines, a tree by id and parentId, format 3 (2 is read too)",
    identity="Entry id, eight random digits, with its time. A fork copies all entries of the file "
    "with both.",
    rewrites="Append only. Nothing is written before the first answer. A session of format 1 or 2 "
    "is rewritten when pi opens it.",
    visible="User messages, assistant text, calls and results, ! commands with their output.",
    hidden="Thinking, system messages, messages of extensions, summaries of branches.",
    compaction="compaction entry; its summary is dropped.",
    tools="isError; the exit code from the last line of the output; aborted calls are interrupted.",
    turns="stopReason stop, length, aborted, error with errorMessage; usage of each answer.",
    context_create="Extension in the run's folder, with the first prompt: 60,000 bytes.",
    context_resume="The same; after a compaction once more.",
    proof="custom_message entry on the live branch.",
    first_run="Login, first setup, trust of a folder's own extensions.",
    one_shot="-p, --mode json, --mode rpc; also without a terminal",
    yolo="Nothing: pi asks for no approvals. --approve trusts a folder's files and is never added.",
    utilities="install, remove, update, list, config, auth, mcp; --help, --version, --list-models, "
    "--export",
    exit_codes="Unknown --session: 1. Dead provider: 1.",
    dangers="pi works in the session's directory: one of another work tree is not resumed. "
    "An unknown --session-id creates a session: never used to resume. Needs node 22.19: told when "
    "PATH has an older one.",
)
