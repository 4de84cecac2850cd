"""Asking a codex session in a fork: `exec fork ID --ephemeral`, which writes no rollout.

The fork gets no shell, no servers, no hooks and a read-only sandbox. Observed with codex 0.171.0,
with plain tools and in code mode.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from launcher.harnesses import codex_args, codex_config, codex_hooks, codex_program
from launcher.harnesses.argv import Item, Kind
from launcher.harnesses.base import Asking, Question, Reply, Spoken
from launcher.harnesses.codex import resolve_home

SCHEMA: Final = "schema.json"
ANSWER: Final = "answer.txt"
MAX_ANSWER: Final = 1 << 20
"""Bytes that are read of an answer."""
BAD_ARGUMENTS: Final = 2
"""Its exit code then; 0.130.0 and older have no `exec fork`."""
_KEPT: Final = (
    "--config",
    "--enable",
    "--disable",
    "--model",
    "--profile",
    "--oss",
    "--local-provider",
    "--ignore-user-config",
)
"""Options that say which model is asked, and on whose account."""
_OURS: Final = (
    "approval_policy",
    "default_permissions",
    "hooks",
    "mcp_servers",
    "notify",
    "permissions",
    "sandbox_mode",
    "sandbox_workspace_write",
    "web_search",
)
"""Settings that are ours to decide here."""
_OFF: Final = (
    "apps",
    "browser_use",
    "computer_use",
    "goals",
    "hooks",
    "image_generation",
    "memories",
    "multi_agent",
    "plugins",
    "shell_snapshot",
    "shell_tool",
)
"""Features that would run, fetch or keep something."""


def ask(question: Question, system: Path) -> Asking:
    """Build the child that asks; its answer comes in a file, errors as JSON lines."""
    schema = question.folder / SCHEMA
    return Asking(
        argv=(
            str(question.program.path),
            "exec",
            *_kept(question),
            "--sandbox=read-only",
            "--skip-git-repo-check",
            f"--cd={question.cwd}",
            *_settings(question, system),
            "fork",
            question.native_id,
            "--ephemeral",
            "--json",
            f"--output-schema={schema}",
            f"--output-last-message={question.folder / ANSWER}",
            "-",
        ),
        env_set=_environment(question),
        env_remove=(),
        files={SCHEMA: json.dumps(question.schema).encode()},
        stdin=question.text.encode("utf-8", "replace"),
    )


def reply(question: Question, spoken: Spoken) -> Reply:
    """Return the last message of a turn that completed, else what codex says went wrong."""
    text = _answer(question.folder / ANSWER)
    if spoken.code == 0 and text.strip():
        return Reply(text=text)
    return Reply(text=None, problem=_problem(question, spoken))


def _kept(question: Question) -> list[str]:
    call = codex_args.take_apart(question.entry_args)
    foreign = {o.item.start for o in codex_config.overrides(call) if o.path[0] in _OURS}
    kept: list[str] = []
    for item in call.items:
        if item.kind is Kind.OPTION and item.name in _KEPT and item.start not in foreign:
            kept += _again(item)
    return kept


def _again(item: Item) -> list[str]:
    return [item.name] if item.value is None else [f"{item.name}={item.value}"]


def _settings(question: Question, system: Path) -> list[str]:
    """Return session flags that leave the fork without anything to act with."""
    settings = [f"features.{name}=false" for name in _OFF]
    settings += ['web_search="disabled"', "notify=[]"]
    servers = _servers(question, system)
    if servers:
        table = {name: {"enabled": False} for name in servers}
        settings.append(f"mcp_servers={codex_hooks.toml(table)}")
    return [word for setting in settings for word in ("-c", setting)]


def _servers(question: Question, system: Path) -> list[str]:
    """Return the configured servers, which codex would start; each is switched off by name."""
    call = codex_args.take_apart(("exec", *_kept(question)))
    found: dict[str, None] = {}
    for layer in codex_config.read(question.home, question.cwd, call, system).layers:
        table = layer.table.get("mcp_servers")
        found |= dict.fromkeys(table) if isinstance(table, dict) else {}
    return list(found)


def _environment(question: Question) -> dict[str, str]:
    added = codex_program.shim_env(question.program.path, question.env)
    if resolve_home(question.env) != question.home:
        added["CODEX_HOME"] = str(question.home)
    return added


def _answer(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_ANSWER).decode("utf-8", "replace")
    except OSError:
        return ""


def _complaints(out: bytes) -> Iterator[str]:
    """Yield the messages of `error` and `turn.failed` events."""
    for line in out.split(b"\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict) or event.get("type") not in ("error", "turn.failed"):
            continue
        inner = event.get("error")
        message = inner.get("message") if isinstance(inner, dict) else event.get("message")
        if isinstance(message, str) and message.strip():
            yield message.strip()


def _problem(question: Question, spoken: Spoken) -> str:
    told = list(_complaints(spoken.out))
    if told:
        return told[-1]
    lines = [line for line in spoken.err.decode("utf-8", "replace").splitlines() if line.strip()]
    if spoken.code == BAD_ARGUMENTS:
        said = next((line for line in lines if line.startswith("error:")), "")
        return f"codex {question.program.version} does not know these arguments. {said}".strip()
    if spoken.code == 0:
        return "it ended without an answer"
    return lines[-1] if lines else f"it ended with exit {spoken.code}"
