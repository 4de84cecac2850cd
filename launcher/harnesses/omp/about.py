"""What is settled about OMP: observed with 18.2.3."""

from __future__ import annotations

from typing import Final

from launcher.harnesses.base import About

ABOUT: Final = About(
    create="No option: OMP makes the id.",
    resume="--resume FILE",
    session_id="Made by OMP. The extension tells each session that a run opens.",
    store="~/.omp/agent/sessions/<directory>/<time>_<id>.jsonl; PI_CODING_AGENT_DIR names the "
    "agent folder, OMP_PROFILE or PI_PROFILE a profile, PI_CONFIG_DIR another folder than ~/.omp. "
    "--session-dir and folders that OMP moved below XDG_DATA_HOME are not followed.",
    format="JSON lines, a tree by id and parentId, format 3, behind a title line",
    identity="Entry id, eight random digits, with its time.",
    rewrites="Append only but for the first line, the title, which is written again in place: then "
    "the session is read once more from the start, and nothing is new in it.",
    visible="User messages, assistant text, calls and results.",
    hidden="Thinking, messages of extensions, notes of starts of tools and of exits.",
    compaction="compaction entry; its summary is dropped.",
    tools="isError; the exit code from the last line of the output; aborted calls are interrupted.",
    turns="stopReason stop, length, aborted, error with errorMessage; usage of each answer.",
    context_create="Extension in the run's folder, with the first prompt: 60,000 bytes.",
    context_resume="The same; after a compaction once more.",
    proof="custom_message entry on the live branch.",
    first_run="Setting up in five steps, login.",
    one_shot="-p, --mode json, --mode rpc; also without a terminal",
    yolo="--auto-approve, unless the person chose --approval-mode.",
    utilities="acp, agents, bench, commit, config, grep, models, plugin, setup, stats, update, … ; "
    "--help, --version, --export, --alias",
    exit_codes="Unknown --resume: 1.",
    dangers="OMP works in the session's directory: one of another work tree is not resumed.",
)
