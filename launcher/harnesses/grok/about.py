"""What is settled about Grok Build: observed with 1.0.41."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="--session-id ID",
    resume="--resume ID, from any directory.",
    session_id="Chosen by us; UUIDs only. Sessions that /new or a fork in the terminal makes are "
    "found by what changed in the store.",
    store="~/.grok/sessions/<url-encoded directory>/<id>/updates.jsonl, summary.json beside it; "
    "GROK_HOME moves it.",
    format="JSON lines: the updates of the Agent Client Protocol, and the harness's own",
    identity="eventId and its time: the number starts over with every process. A fork copies the "
    "records of its parent with both; the summary names the parent.",
    rewrites="updates.jsonl is append only as far as seen; chat_history.jsonl and summary.json are "
    "rewritten, and only the summary is read, for title, directory and parent.",
    visible="Words, answers, calls and results. Pieces of one stream are one answer.",
    hidden="Thoughts; commands; injected records stand in chat_history.jsonl, which is not read.",
    compaction="auto_compact_completed with the figures, asked for or not; the summary is in files "
    "that are not read.",
    tools="Status and exit code of a call's last update; a command that exits with another code "
    "than 0 is an error. The plan update is the plan.",
    turns="turn_completed ends a turn, with its reason; one that was killed is ended by the next "
    "start. Context of a turn only where it had a single request: else figures are sums. No reset "
    "time of a limit but what the message says.",
    context_create="One-shot: before the prompt, in a file of the run's folder given as "
    "--prompt-file: 60,000 bytes. Interactive, --prompt-json, and commands that begin with a "
    "slash: --rules, unverified.",
    context_resume="One-shot: before the prompt, as on create. Otherwise none: a session keeps the "
    "rules of its first start, and what hooks print is dropped.",
    proof="Found again in the person's message of updates.jsonl, and taken out of it there. None "
    "for --rules.",
    first_run="Login, where no key is in the environment.",
    one_shot="-p, --single, --prompt-file, --prompt-json",
    yolo="--always-approve, unless it or --permission-mode is given.",
    utilities="agent, clone, completions, cursor-worker, dashboard, doctor, du, export, help, "
    "inspect, leader, login, logout, mcp, memory, models, plugin, sessions, setup, trace, update, "
    "usage, version, worktree, wrap; --help, --version",
    exit_codes="Unknown --resume: 1, after it looked for the session on the vendor's servers. "
    "Taken --session-id: 1. Refused by the provider: 1. Bad arguments: 2.",
    dangers="It also runs the hooks that a person set up for two other agents, from their own "
    "settings in the home directory: these fire inside it, and one that keeps a stopped turn going "
    "loops. Nothing of ours is ever in such a file. --rules stands in the argument list, which "
    "other users of the machine can read: no variable and no file does the same (GROK_CONFIG "
    "ignores paths.extra_rule_dirs), so only what no prompt carries goes there. A process has a "
    "session when its events.jsonl is open in it or its id is in its arguments.",
)
