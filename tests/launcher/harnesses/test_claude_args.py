from __future__ import annotations

import shlex

import pytest

from launcher.harnesses.base import Form, Select
from launcher.harnesses.claude_args import classify

ID = "6c422773-b7eb-4f88-bfcb-6b7a818a4d47"
NEW = "0f0f0f0f-b7eb-4f88-bfcb-6b7a818a4d47"
TUI, PRINT, UTILITY = Form.INTERACTIVE, Form.ONE_SHOT, Form.UTILITY

ROWS = [
    ("", TUI, Select.NONE, None),
    ("'fix the build'", TUI, Select.NONE, None),
    ("'mcp is broken'", TUI, Select.NONE, None),
    ("hello mcp", TUI, Select.NONE, None),
    ("-- mcp", TUI, Select.NONE, None),
    ("-- --help", TUI, Select.NONE, None),
    ("-- -p", TUI, Select.NONE, None),
    ("--model opus", TUI, Select.NONE, None),
    ("--model mcp", TUI, Select.NONE, None),
    ("--model --print", TUI, Select.NONE, None),
    ("--model=-p", TUI, Select.NONE, None),
    ("--name --resume", TUI, Select.NONE, None),
    ("-n mcp hello", TUI, Select.NONE, None),
    ("--system-prompt -p", TUI, Select.NONE, None),
    ("--append-system-prompt --continue", TUI, Select.NONE, None),
    ("--append-system-prompt-file config", TUI, Select.NONE, None),
    ("--settings --version", TUI, Select.NONE, None),
    ("--allowedTools Bash mcp doctor", TUI, Select.NONE, None),
    ("--allowed-tools Bash Edit", TUI, Select.NONE, None),
    ("--add-dir a b mcp", TUI, Select.NONE, None),
    ("--mcp-config a.json update", TUI, Select.NONE, None),
    ("--mcp-config=a.json hello", TUI, Select.NONE, None),
    ("--tools '' hello", TUI, Select.NONE, None),
    ("-d", TUI, Select.NONE, None),
    ("-d api,hooks", TUI, Select.NONE, None),
    ("-d mcp", TUI, Select.NONE, None),
    ("-d2e", TUI, Select.NONE, None),
    ("--debug --verbose hello", TUI, Select.NONE, None),
    ("-w", TUI, Select.NONE, None),
    ("-w update hello", TUI, Select.NONE, None),
    ("--dangerously-skip-permissions go", TUI, Select.NONE, None),
    ("--frobnicate", TUI, Select.NONE, None),
    ("--frobnicate=-p", TUI, Select.NONE, None),
    ("-Zp", TUI, Select.NONE, None),
    ("-", TUI, Select.NONE, None),
    ("--fork-session", TUI, Select.NONE, None),
    ("-p hello", PRINT, Select.NONE, None),
    ("--print", PRINT, Select.NONE, None),
    ("hello -p", PRINT, Select.NONE, None),
    ("-p --output-format json hello", PRINT, Select.NONE, None),
    ("-p --max-turns 3 hello", PRINT, Select.NONE, None),
    ("-p --permission-prompt-tool mcp hello", PRINT, Select.NONE, None),
    ("--add-dir x -p hello", PRINT, Select.NONE, None),
    ("-pn title hello", PRINT, Select.NONE, None),
    # selecting
    (f"--resume {ID}", TUI, Select.RESUME, ID),
    (f"--resume={ID}", TUI, Select.RESUME, ID),
    (f"-r {ID} 'go on'", TUI, Select.RESUME, ID),
    (f"-r{ID}", TUI, Select.RESUME, ID),
    (f"-pr {ID} hello", PRINT, Select.RESUME, ID),
    (f"-p hello --resume {ID}", PRINT, Select.RESUME, ID),
    (f"--resume /x/y/{ID}.jsonl", TUI, Select.RESUME, ID),
    (f"--resume {ID} --fork-session", TUI, Select.FORK, ID),
    (f"--fork-session -r {ID} -p x", PRINT, Select.FORK, ID),
    (f"--resume {ID} --fork-session --session-id {NEW}", TUI, Select.FORK, ID),
    ("--resume", TUI, Select.PICK, None),
    ("-r", TUI, Select.PICK, None),
    ("--resume --verbose", TUI, Select.PICK, None),
    ("--resume -p", PRINT, Select.PICK, None),
    ("--resume 'search term'", TUI, Select.PICK, None),
    ("--resume my-title hello", TUI, Select.PICK, None),
    ("--resume notes.jsonl", TUI, Select.PICK, None),
    (f"--resume {ID[:-1]}", TUI, Select.PICK, None),
    ("--continue", TUI, Select.PICK, None),
    ("-c", TUI, Select.PICK, None),
    ("-cp hello", PRINT, Select.PICK, None),
    ("-pc", PRINT, Select.PICK, None),
    ("-c --fork-session", TUI, Select.PICK, None),
    ("--from-pr 12", TUI, Select.PICK, None),
    ("--from-pr", TUI, Select.PICK, None),
    ("--teleport", TUI, Select.PICK, None),
    (f"--session-id {NEW}", TUI, Select.CREATE, NEW),
    (f"--session-id={NEW} -p x", PRINT, Select.CREATE, NEW),
    (f"--model --resume {ID}", TUI, Select.NONE, None),
    (f"--name --session-id {ID}", TUI, Select.NONE, None),
    ("-p --no-session-persistence x", PRINT, Select.DETACHED, None),
    (f"-p -r {ID} --fork-session --no-session-persistence x", PRINT, Select.DETACHED, None),
    # no conversation of this process
    ("--help", UTILITY, Select.NONE, None),
    ("-h", UTILITY, Select.NONE, None),
    ("--version", UTILITY, Select.NONE, None),
    ("-v", UTILITY, Select.NONE, None),
    ("-V", UTILITY, Select.NONE, None),
    ("hello --help", UTILITY, Select.NONE, None),
    ("--resume --help", UTILITY, Select.NONE, None),
    ("-ph", UTILITY, Select.NONE, None),
    ("mcp list", UTILITY, Select.NONE, None),
    ("mcp add x -- npx -p y", UTILITY, Select.NONE, None),
    ("--debug-file mcp mcp list", UTILITY, Select.NONE, None),
    ("plugin install x", UTILITY, Select.NONE, None),
    ("plugins", UTILITY, Select.NONE, None),
    ("config set a b", UTILITY, Select.NONE, None),
    ("doctor", UTILITY, Select.NONE, None),
    ("update", UTILITY, Select.NONE, None),
    ("upgrade", UTILITY, Select.NONE, None),
    ("--update", UTILITY, Select.NONE, None),
    ("install stable", UTILITY, Select.NONE, None),
    ("setup-token", UTILITY, Select.NONE, None),
    ("agents --json", UTILITY, Select.NONE, None),
    ("auth login", UTILITY, Select.NONE, None),
    ("project purge", UTILITY, Select.NONE, None),
    ("attach abc", UTILITY, Select.NONE, None),
    ("stop abc", UTILITY, Select.NONE, None),
    ("--bg 'do it'", UTILITY, Select.NONE, None),
    ("--cloud 'do it'", UTILITY, Select.NONE, None),
]


@pytest.mark.parametrize(("line", "form", "select", "native_id"), ROWS, ids=[r[0] for r in ROWS])
def test_arguments_are_understood(
    line: str, form: Form, select: Select, native_id: str | None
) -> None:
    args = shlex.split(line)
    found = classify(args)
    assert (found.form, found.select, found.native_id) == (form, select, native_id)
    assert found.args == tuple(args)


def test_a_fork_under_a_chosen_id_is_remembered() -> None:
    found = classify(["--resume", ID, "--fork-session", "--session-id", NEW])
    assert found.facts == {"fork": NEW}


def test_a_session_named_by_its_file_is_remembered() -> None:
    path = f"/x/{ID}.jsonl"
    assert classify(["--resume", path]).facts == {"path": path}
