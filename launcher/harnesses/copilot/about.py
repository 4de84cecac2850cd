"""What is settled about GitHub Copilot CLI: observed with 1.0.102."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="--session-id ID",
    resume="--resume=ID; it goes on in the directory that the session was made in.",
    session_id="Chosen by us; UUIDs only. The hooks tell each session that a run opens.",
    store="~/.copilot/session-state/<id>/events.jsonl; COPILOT_HOME moves ~/.copilot. The database "
    "session-store.db is an index of the same and is not read.",
    format="JSON lines, version 1",
    identity="id of the event; events stand in the order in which they happened.",
    rewrites="Append only, also over a resume. A resume makes up results for calls that were cut "
    "off; these are not read. /undo writes the file anew without the turns that it takes back: it "
    "is read from the start, and what was imported of them before stays.",
    visible="Typed words, answers, calls and results.",
    hidden="reasoningText; what hooks and Copilot CLI add to the typed words; system messages; "
    "model.* events, which hold the conversation a second time; subagents.",
    compaction="session.compaction_complete with the figures; its summary is dropped.",
    tools="Success and exit code of each call; kinds of file edits. The list of tasks is kept in a "
    "database of the session and not read.",
    turns="An answer without a call ends a turn; session.error fails it, with a status code. "
    "Usage and the most tokens of each request. No reset time of a limit but what the message "
    "says.",
    context_create="userPromptSubmitted hook of a plugin in the run's folder (--plugin-dir), with "
    "the first prompt: 60,000 bytes. It runs also with disableAllHooks.",
    context_resume="The same. After a compaction nothing is told again before the next run.",
    proof="transformedContent of the person's message, what was sent of it.",
    first_run="Login, and trust of a folder in the terminal, on resume too.",
    one_shot="-p, --acp",
    yolo="--yolo, unless it, --allow-all, --allow-all-tools or --assisted-approval is given.",
    utilities="app, completion, config, help, init, instruction, login, lsp, mcp, memories, "
    "plugin, sandbox, sessions, skill, update, version, workflow; --help, --version",
    exit_codes="Unknown --resume: 1. Refused by the provider: 1, at once.",
    dangers="npm's script keeps signals from the program: the program behind it is started. A "
    "plugin gets an empty data folder below ~/.copilot/plugin-data: the last hook removes that of "
    "ours. A killed copilot leaves its inuse.<pid>.lock: the process counts, not the file. Without "
    "COPILOT_AUTO_UPDATE=false a newer version may run than the one that was asked.",
)
