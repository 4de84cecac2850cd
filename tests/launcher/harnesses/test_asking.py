"""What both adapters make of a question, and what they read from the child that asked it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from launcher.harnesses import claude, codex
from launcher.harnesses.base import Askable, Asking, Program, Question, Spoken

CODEX, CLAUDE = codex.Codex(Path("/nowhere")), claude.Claude(Path("/nowhere"))
SCHEMA = {"type": "object"}
ID = "01a22cf5-d7ba-74e0-bdb5-5126d1b3e283"


def question(tmp_path: Path, *entry_args: str, **how: Any) -> Question:
    values = {
        "program": Program(path=Path("/opt/agent"), version="9.9.9"),
        "entry_args": entry_args,
        "env": {"HOME": str(tmp_path)},
        "cwd": tmp_path,
        "home": tmp_path / ".codex",
        "folder": tmp_path,
        "native_id": ID,
        "path": None,
        "text": "What now?",
        "schema": SCHEMA,
        **how,
    }
    return Question(**values)


def settings(asking: Asking) -> dict[str, str]:
    """Return what is given with `-c`."""
    args = asking.argv
    pairs = [args[i + 1].partition("=") for i, word in enumerate(args) if word == "-c"]
    return {name: value for name, _, value in pairs}


def test_both_can_be_asked() -> None:
    assert isinstance(CODEX, Askable)
    assert isinstance(CLAUDE, Askable)


# --- codex ----------------------------------------------------------------------------------------


def test_codex_is_asked_in_a_fork_that_is_not_kept_and_cannot_write(tmp_path: Path) -> None:
    asking = CODEX.ask(question(tmp_path))
    assert asking.argv[:2] == ("/opt/agent", "exec")
    at = asking.argv.index("fork")
    assert asking.argv[at + 1] == ID
    assert "--ephemeral" in asking.argv[at:]
    assert "--sandbox=read-only" in asking.argv[:at]
    assert asking.argv[-1] == "-"
    assert asking.stdin == b"What now?"
    assert json.loads(asking.files["schema.json"]) == SCHEMA
    given = settings(asking)
    assert given["features.shell_tool"] == given["features.hooks"] == "false"
    assert given["notify"] == "[]"
    assert "mcp_servers" not in given


def test_every_server_that_codex_would_start_is_switched_off(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('[mcp_servers."a b"]\ncommand = "x"\n')
    value = settings(CODEX.ask(question(tmp_path)))["mcp_servers"]
    assert tomllib.loads(f"v = {value}")["v"] == {"a b": {"enabled": False}}


def test_of_codex_arguments_only_model_and_account_count(tmp_path: Path) -> None:
    given = (
        "--yolo",
        "-m=gpt",
        "-cmodel_provider=x",
        "-c",
        'sandbox_mode="danger-full-access"',
        "--config=mcp_servers.a.command=x",
        "-p",
        "work",
        "--oss",
        "--search",
        "-s",
        "danger-full-access",
        "exec",
        "--json",
        "a prompt",
    )
    argv = CODEX.ask(question(tmp_path, *given)).argv
    until = argv.index("--sandbox=read-only")
    kept = ("--model=gpt", "--config=model_provider=x", "--profile=work", "--oss")
    assert argv[2:until] == kept
    assert "danger" not in " ".join(argv)


def test_another_codex_home_is_named(tmp_path: Path) -> None:
    assert "CODEX_HOME" not in CODEX.ask(question(tmp_path)).env_set
    other = question(tmp_path, home=tmp_path / "other")
    assert CODEX.ask(other).env_set["CODEX_HOME"] == str(tmp_path / "other")


def test_the_answer_of_codex_is_its_last_message(tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text('{"a": 1}')
    assert CODEX.reply(question(tmp_path), Spoken(0, b"", b"")).text == '{"a": 1}'


@pytest.mark.parametrize(
    ("spoken", "says"),
    [
        (Spoken(1, b'{"type":"error","message":"no network"}\n', b"x"), "no network"),
        (
            Spoken(1, b'junk\n{"type":"turn.failed","error":{"message":"limit"}}\n', b""),
            "limit",
        ),
        (Spoken(1, b"", b"first\nno rollout found\n"), "no rollout found"),
        (
            Spoken(2, b"", b"error: unexpected argument 'x' found\n\nUsage: codex\n"),
            "codex 9.9.9 does not know these arguments. error: unexpected argument 'x' found",
        ),
        (Spoken(0, b"", b""), "it ended without an answer"),
        (Spoken(137, b"\xff\xfe[1,2]\n", b""), "it ended with exit 137"),
    ],
)
def test_codex_says_why_there_is_no_answer(tmp_path: Path, spoken: Spoken, says: str) -> None:
    reply = CODEX.reply(question(tmp_path), spoken)
    assert (reply.text, reply.problem) == (None, says)


def test_an_answer_of_a_turn_that_failed_is_none(tmp_path: Path) -> None:
    (tmp_path / "answer.txt").write_text("half of it")
    assert CODEX.reply(question(tmp_path), Spoken(1, b"", b"oh\n")).text is None


# --- claude ---------------------------------------------------------------------------------------


def test_claude_is_asked_in_a_fork_without_tools_hooks_and_trace(tmp_path: Path) -> None:
    asking = CLAUDE.ask(question(tmp_path, home=tmp_path / ".claude"))
    assert asking.argv[:3] == ("/opt/agent", "-p", f"--resume={ID}")
    for flag in (
        "--fork-session",
        "--no-session-persistence",
        "--safe-mode",
        "--tools=",
        "--permission-mode=dontAsk",
        "--output-format=json",
    ):
        assert flag in asking.argv
    assert f"--json-schema={json.dumps(SCHEMA)}" in asking.argv
    assert (asking.stdin, dict(asking.files)) == (b"What now?", {})
    assert asking.env_set == {"CLAUDE_CODE_DISABLE_AGENT_VIEW": "1"}


def test_a_claude_session_of_another_directory_is_named_by_its_file(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "projects" / "elsewhere" / f"{ID}.jsonl"
    file.parent.mkdir(parents=True)
    file.touch()
    asking = CLAUDE.ask(question(tmp_path, home=tmp_path / ".claude"))
    assert f"--resume={file}" in asking.argv


def test_of_claude_arguments_only_model_and_account_count(tmp_path: Path) -> None:
    given = (
        "--dangerously-skip-permissions",
        "--model",
        "opus",
        "--tools",
        "Bash",
        "Edit",
        "--mcp-config=x.json",
        "--settings={}",
        "--permission-mode",
        "bypassPermissions",
        "--append-system-prompt",
        "be brief",
        "-p",
        "hello",
    )
    argv = CLAUDE.ask(question(tmp_path, *given)).argv
    assert argv[-2:] == ("--model=opus", "--settings={}")
    text = " ".join(argv)
    assert "Bash" not in text
    assert "bypass" not in text
    assert "hello" not in text


def said(**members: object) -> bytes:
    return b"a warning\n" + json.dumps({"type": "result", **members}).encode() + b"\n"


@pytest.mark.parametrize(
    ("spoken", "text", "problem"),
    [
        (Spoken(0, said(structured_output={"a": "ü"}, result="x"), b""), '{"a": "ü"}', None),
        (Spoken(0, said(result="only words", is_error=False), b""), "only words", None),
        (
            Spoken(1, said(result="Invalid API key", is_error=True), b""),
            None,
            "Invalid API key",
        ),
        (
            Spoken(1, said(errors=["no valid output after 5 attempts"]), b""),
            None,
            "no valid output after 5 attempts",
        ),
        (Spoken(0, b"Execution error\n", b""), None, "it ended with exit 0"),
        (Spoken(1, b"", b"No conversation found\n"), None, "No conversation found"),
        (Spoken(1, b'{"type":"result"', b""), None, "it ended with exit 1"),
        (Spoken(1, said(structured_output={"a": 1}), b""), None, "it ended with exit 1"),
    ],
)
def test_what_claude_said_is_read(
    tmp_path: Path, spoken: Spoken, text: str | None, problem: str | None
) -> None:
    reply = CLAUDE.reply(question(tmp_path), spoken)
    assert (reply.text, reply.problem) == (text, problem)


def test_the_words_reach_neither_list_of_arguments(tmp_path: Path) -> None:
    askers: Sequence[Askable] = (CODEX, CLAUDE)
    for adapter in askers:
        assert "What now?" not in " ".join(adapter.ask(question(tmp_path)).argv)
