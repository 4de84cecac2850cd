"""Asking a Claude Code session in a fork: `-p --fork-session --no-session-persistence`.

The fork gets no tool but the one that gives the answer, and `--safe-mode` leaves the person's
hooks, servers, plugins and memory out. Observed with Claude Code 2.1.197 and 2.1.332.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from launcher.harnesses import claude_args, claude_store
from launcher.harnesses.argv import Kind
from launcher.harnesses.base import Asking, Question, Reply, Spoken
from launcher.harnesses.claude import resolve_home

_KEPT: Final = (
    "--betas",
    "--effort",
    "--fallback-model",
    "--max-thinking-tokens",
    "--model",
    "--setting-sources",
    "--settings",
    "--thinking",
)
"""Options that say which model is asked, and on whose account."""


def ask(question: Question) -> Asking:
    """Build the child that asks; everything that it answers comes as one JSON document."""
    return Asking(
        argv=(
            str(question.program.path),
            "-p",
            f"--resume={_session(question)}",
            "--fork-session",
            "--no-session-persistence",
            "--safe-mode",
            "--tools=",
            "--permission-mode=dontAsk",
            "--output-format=json",
            f"--json-schema={json.dumps(question.schema)}",
            *_kept(question),
        ),
        env_set=_environment(question),
        env_remove=(),
        files={},
        stdin=question.text.encode("utf-8", "replace"),
    )


def reply(spoken: Spoken) -> Reply:
    """Return the structured answer, the words where there is none, or what went wrong."""
    result = _result(spoken.out)
    if result is None:
        said = spoken.err.decode("utf-8", "replace").splitlines()
        said = [line for line in said if line.strip()] or [f"it ended with exit {spoken.code}"]
        return Reply(text=None, problem=said[-1])
    structured = result.get("structured_output")
    if structured is not None and spoken.code == 0:
        return Reply(text=json.dumps(structured, ensure_ascii=False))
    words = result.get("result")
    if spoken.code == 0 and not result.get("is_error") and isinstance(words, str):
        return Reply(text=words)
    return Reply(text=None, problem=_problem(result, spoken.code))


def _session(question: Question) -> str:
    """Return the id where claude finds it from the child's directory, else the file's path."""
    if claude_store.resumable_by_id(question.home, question.native_id, question.cwd):
        return question.native_id
    path = claude_store.locate(question.home, question.native_id, question.path)
    return question.native_id if path is None else str(path.absolute())


def _kept(question: Question) -> list[str]:
    call = claude_args.take_apart(question.entry_args)
    return [
        f"{item.name}={value}"
        for item in call.items
        if item.kind is Kind.OPTION and item.name in _KEPT
        for value in item.values
    ]


def _environment(question: Question) -> dict[str, str]:
    added = {"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"}
    if resolve_home(question.env) != question.home:
        added["CLAUDE_CONFIG_DIR"] = str(question.home)
    return added


def _result(out: bytes) -> Mapping[str, object] | None:
    """Return the last result document among the lines that were printed."""
    for line in reversed(out.split(b"\n")):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get("type") == "result":
            return value
    return None


def _problem(result: Mapping[str, object], code: int) -> str:
    complaints = result.get("errors")
    if isinstance(complaints, list) and complaints:
        return str(complaints[-1])
    words = result.get("result")
    if isinstance(words, str) and words.strip():
        return words.strip()
    return f"it ended with exit {code}"
