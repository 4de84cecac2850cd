"""What is settled about Codex: observed with 0.98.0, 0.130.0 and 0.171.0."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="codex, codex exec; codex review is always a session of its own",
    resume="resume ID, exec resume ID",
    session_id="Given by codex. A SessionStart hook tells each thread that a run opens: /clear, "
    "/new, rewind, fork.",
    store="~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl and archived_sessions/; "
    "CODEX_HOME",
    format="JSON lines, several files for a thread after a rewind, .zst when packed; 0.98 to 0.171",
    identity="Thread, time, kind and a count; call id. New forks name it, old ones copy.",
    rewrites="Append only; packed files and archived ones are moved.",
    visible="Typed prompts, assistant messages with their phase, calls and results, web searches.",
    hidden="Reasoning, developer and environment messages, AGENTS.md, encrypted content.",
    compaction="compacted record; the replaced history is dropped.",
    tools="Exit codes from items, function outputs and custom tools.",
    turns="task_started and task_complete; usage, windows and reset times from token_count.",
    context_create="SessionStart hook in session flags: 60,000 bytes, 9,000 before 0.171. Hooks "
    "off: developer instructions, 60,000 bytes.",
    context_resume="The same hook. Hooks off: an MCP server with one tool, 9,000 bytes.",
    proof="Context record of the rollout; instructions and MCP leave no trace that counts.",
    first_run="Login, trust and model offers.",
    one_shot="exec, review",
    yolo="--dangerously-bypass-approvals-and-sandbox, unless the person chose approvals or sandbox",
    utilities="login, logout, mcp, app-server, apply, cloud, ... and --help, --version.",
    exit_codes="An unknown name starts a new thread with 0; archived: 1.",
    dangers="The background server would keep the session: --no-daemon. A thread locked by another "
    "process is not resumed: its holder is named. A refused port makes exec wait for ever.",
)
