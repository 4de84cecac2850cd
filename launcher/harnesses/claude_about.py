"""What is settled about Claude Code: observed with 2.1.197 and 2.1.332."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="--session-id=UUID",
    resume="--resume=UUID; --resume=FILE where claude does not find the id from the directory",
    session_id="Chosen by us. A SessionStart hook tells each session that a run opens: /clear, "
    "/branch, /resume.",
    store="~/.claude/projects/<folder>/<id>.jsonl; CLAUDE_CONFIG_DIR",
    format="JSON lines, a tree by uuid and parentUuid; 2.1",
    identity="Record uuid and block number; a fork copies records with their uuid.",
    rewrites="Append only, but for rewritten parts after old compactions; /cd moves the file.",
    visible="Typed and queued prompts, slash commands, ! lines, answers to questions, assistant "
    "text, calls and results.",
    hidden="Thinking, attachments, system reminders, command output, copies of API requests, "
    "subagents' messages.",
    compaction="compact_boundary record; the summary is dropped.",
    tools="Result with is_error and toolUseResult; outputs moved to files are read from there.",
    turns="stop_reason, turn_duration, API errors; usage per API message; limits with reset time.",
    context_create="SessionStart hook: 9,900 bytes. Hooks off: system prompt, 60,000 bytes.",
    context_resume="The same.",
    proof="hook_additional_context record on the live branch; the system prompt leaves no trace.",
    first_run="Theme, trust and permission screens.",
    one_shot="-p, --print",
    yolo="--dangerously-skip-permissions, unless --permission-mode is given",
    utilities="Subcommands (mcp, plugin, doctor, ...), --help, --version, --bg, --cloud, --remote.",
    exit_codes="Unknown session: 1.",
    dangers="A child mark in the environment keeps no transcript: removed. The same text on resume "
    "leaves no second record: every printing has an id of its own. Sessions are deleted after "
    "cleanupPeriodDays: doctor tells.",
)
